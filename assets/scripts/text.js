// The text of a token as nodes: what cannot be seen gets a mark, which is drawn by the style sheet and is no text.

const MARKS = { "\n": "↵", "\t": "⇥", "\r": "␍", "\u00a0": "⍽", "\u3000": "□" };

// Controls and formatting characters without a shape; joiners of letters and emoji are left alone.
const SHAPELESS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const JOINERS = /[\u200c\u200d\ufe0e\ufe0f]/u;
const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

function mark(text) {
  const span = document.createElement("span");
  span.className = "sd-mark";
  span.dataset.mark = text;
  return span;
}

function markOf(character, alone) {
  if (MARKS[character]) return MARKS[character];
  if (character === " ") return alone ? "␣" : null;
  if (JOINERS.test(character) && !alone) return null;
  if (!SHAPELESS.test(character)) return null;
  return character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
}

/**
 * Append a token's text to `parent`, character by character the same, with marks where it would not show.
 * With `flat` it stays on its line: a break is only a mark.
 */
export function spell(parent, text, { flat = false } = {}) {
  if (TURNING.test(text)) parent.classList.add("sd-turning");
  const alone = text.trim() === "" || !/[^\p{Cc}\p{Cf}\p{Z}]/u.test(text);
  let plain = "";
  for (const character of text) {
    const sign = markOf(character, alone);
    if (sign === null) {
      plain += character;
      continue;
    }
    if (plain) parent.append(plain);
    parent.append(mark(sign));
    plain = flat && (character === "\n" || character === "\r") ? "" : character;
  }
  if (plain) parent.append(plain);
  if (!text) parent.append(mark("◦"));
}

/** A token's text on one line, for headings and labels. */
export function oneLine(text, limit = 40) {
  const shown = [...text].map((c) => markOf(c, true) ?? c).join("");
  return [...shown].length > limit ? [...shown].slice(0, limit - 1).join("") + "…" : shown;
}

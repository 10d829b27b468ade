// The text of a token as nodes: what cannot be seen gets a mark, which is drawn by the style sheet and is no text.

const MARKS = { "\n": "↵", "\t": "⇥", "\r": "␍", "\u00a0": "⍽", "\u3000": "□" };

// Controls and formatting characters without a shape; joiners of letters and emoji are left alone.
const SHAPELESS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const JOINERS = /[\u200c\u200d\ufe0e\ufe0f]/u;
const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

/** A mark, with what it stands for inside, unless that has to be laid out by itself. */
function mark(sign, character = "") {
  const span = document.createElement("span");
  span.className = "sd-mark";
  span.dataset.mark = sign;
  if (!character) return span;
  const unseen = document.createElement("span");
  unseen.className = "sd-unseen";
  unseen.textContent = character;
  span.append(unseen);
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
  const alone = !/[^\p{Cc}\p{Cf}\p{Z}]/u.test(text);
  let plain = "";
  for (const character of text) {
    const sign = markOf(character, alone);
    if (sign === null) {
      plain += character;
      continue;
    }
    if (plain) parent.append(plain);
    const breaks = character === "\n";
    parent.append(mark(sign, breaks ? "" : character));
    plain = breaks && !flat ? character : "";
  }
  if (plain) parent.append(plain);
  if (!text) parent.append(mark("◦"));
}

// The six outcomes: glyph, label, meaning, drawn as the lanes draw them.

import { tell } from "../shared/words.js";

export function legend(root, outcomes) {
  root.replaceChildren(
    ...outcomes.map(({ name, glyph }) => {
      const item = document.createElement("div");
      item.setAttribute("role", "listitem");
      const sample = document.createElement("span");
      sample.className = `sd-tok sd-${name}`;
      tell(sample, name);
      const sign = document.createElement("span");
      sign.className = `sd-glyph sd-ink-${name}`;
      sign.textContent = glyph;
      const text = document.createElement("span");
      text.className = "sd-meaning";
      tell(text, `${name}_meaning`);
      item.append(sign, sample, text);
      return item;
    }),
  );
}

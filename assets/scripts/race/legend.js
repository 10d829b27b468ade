// The six outcomes: glyph, label, meaning, drawn as the lanes draw them.

export function legend(root, outcomes) {
  root.replaceChildren(
    ...outcomes.map(({ name, glyph, label, meaning }) => {
      const item = document.createElement("div");
      item.setAttribute("role", "listitem");
      const sample = document.createElement("span");
      sample.className = `sd-tok sd-${name}`;
      sample.textContent = label;
      const sign = document.createElement("span");
      sign.className = `sd-glyph sd-ink-${name}`;
      sign.textContent = glyph;
      const text = document.createElement("span");
      text.className = "sd-meaning";
      text.textContent = meaning;
      item.append(sign, sample, text);
      return item;
    }),
  );
}

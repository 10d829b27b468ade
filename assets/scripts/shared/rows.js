// Rows of a table and lines of a list, from texts.

import { make } from "./make.js";

/** A row of cells, the first of which names it. */
export function row(texts) {
  const line = document.createElement("tr");
  texts.forEach((text, i) => {
    const cell = make(i ? "td" : "th", "", text);
    if (!i) cell.scope = "row";
    line.append(cell);
  });
  return line;
}

/** Lines {label, text} as the pairs of a description list. */
export function lines(list, all) {
  list.replaceChildren(...all.flatMap(({ label, text }) => [make("dt", "", label), make("dd", "", text)]));
}

// The texts of gradio's own components, as updates that gradio understands.

import { LANGUAGES, say } from "./words.js";

/** The same with every sentence said in the reader's language, however deep it stands. */
function said(value) {
  if (Array.isArray(value)) return value.map(said);
  return value !== null && typeof value === "object" && LANGUAGES.every((name) => name in value) ? say(value) : value;
}

export function updates(texts) {
  return texts.map((names) => ({
    __type__: "update",
    ...Object.fromEntries(Object.entries(names).map(([name, value]) => [name, said(value)])),
  }));
}

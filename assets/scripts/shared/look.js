// How a tab is looked at: in which theme and language, and whether at all.

import { onShown } from "./shown.js";
import { language, onLanguage } from "./words.js";

export function look() {
  return { theme: document.body.classList.contains("dark") ? "dark" : "light", language: language() };
}

/** Call back when what `look` says has changed, or `root` comes into sight again. */
export function onLook(root, callback) {
  let before = look().theme;
  new MutationObserver(() => {
    const { theme } = look();
    if (theme !== before) callback();
    before = theme;
  }).observe(document.body, { attributeFilter: ["class"] });
  onLanguage(callback);
  onShown(root, callback);
}

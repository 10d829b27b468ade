// The header: the page's name, and the switches that hold for all of it.

import { themeButton } from "./shared/theme.js";
import { LANGUAGES, choose, language, onLanguage, speak } from "./shared/words.js";

/** `again()` tells gradio to say its own components' texts again. */
export function mount({ element, again }) {
  speak(element);
  themeButton(element.querySelector(".sd-theme"));
  languageButton(element.querySelector(".sd-language"));
  onLanguage(again);
}

/** Shows the name of the other language, and switches to it. */
function languageButton(button) {
  button.addEventListener("click", () => choose(other()));
  const name = () => (button.lang = other());
  onLanguage(name);
  name();
}

function other() {
  return LANGUAGES.find((name) => name !== language());
}

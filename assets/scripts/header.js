// The header: the page's name, and the switches that hold for all of it.

import { fetched } from "./shared/fetched.js";
import { projectorButton } from "./shared/projector.js";
import { themeButton } from "./shared/theme.js";
import { LANGUAGES, choose, language, onLanguage, speak } from "./shared/words.js";

/** `again()` tells gradio to say its own components' texts again. */
export function mount({ element, again }) {
  speak(element);
  themeButton(element.querySelector(".sd-theme"));
  projectorButton(element.querySelector(".sd-projector-switch"));
  languageButton(element.querySelector(".sd-language"));
  lessonButton(element.querySelector(".sd-lesson-switch"), element.querySelector(".sd-lesson"));
  onLanguage(again);
}

/**
 * Opens the lesson, which is fetched when it is first asked for; the address may ask too. Its panel has the focus at
 * once, and keys that are pressed before the lesson has come wait for it.
 */
function lessonButton(button, panel) {
  let lesson = null;
  let coming = null;
  const early = [];
  const load = async () => {
    const { Lesson } = await fetched("lesson/lesson.js", panel);
    lesson = new Lesson(panel, () => button.focus());
  };
  const open = async () => {
    panel.hidden = false;
    panel.querySelector(".sd-lesson-words").focus();
    await (coming ??= load());
    lesson.open();
    for (const press of early.splice(0)) lesson.key(press);
  };
  panel.addEventListener("keydown", (press) => {
    if (lesson) lesson.key(press);
    else if (press.key !== "Tab") {
      press.preventDefault();
      early.push(press);
    }
  });
  button.addEventListener("click", open);
  if (new URLSearchParams(location.search).has("lesson")) open();
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

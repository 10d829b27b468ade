// What the page says, in the reader's language. What was told to an element is told again in the other language.

import { WORDS } from "../../dictionary.js";
import { fill } from "./format.js";
import { recall, remember } from "./memory.js";

export const LANGUAGES = Object.keys(WORDS);

// What <html lang> says: the script matters to the choice of a font.
const TAGS = { en: "en", zh: "zh-CN" };

// Where an element says something: its text, or an attribute; the templates name these too.
const PLACES = ["text", "title", "aria-label", "placeholder"];

const told = new WeakMap(); // element -> place -> [what, values]
const listeners = [];
let current = first();

/** The language asked for by the address, else the one chosen before, else the first of the browser's that we have. */
function first() {
  const asked = new URLSearchParams(location.search).get("lang");
  const wanted = [asked, recall("language"), ...navigator.languages.map((tag) => tag.split("-")[0])];
  return wanted.find((name) => LANGUAGES.includes(name)) ?? LANGUAGES[0];
}

export function language() {
  return current;
}

/**
 * A sentence. `what` is a key, or a sentence that the server has said in every language, or a function that returns
 * one; so is a value.
 */
export function say(what, values = {}) {
  if (typeof what === "function") return what();
  const sentence = typeof what === "string" ? WORDS[current][what] : what[current];
  if (sentence === undefined) throw new Error(`no words for ${JSON.stringify(what)}`);
  return fill(sentence, Object.fromEntries(Object.entries(values).map(([place, value]) => [place, plain(value)])));
}

function plain(value) {
  return value !== null && (typeof value === "object" || typeof value === "function") ? say(value) : value;
}

/** Say it in an element, or in one of its attributes; from now on it follows the language. */
export function tell(element, what, values = {}, place = "text") {
  if (!told.has(element)) told.set(element, {});
  told.get(element)[place] = [what, values];
  element.setAttribute(`data-say-${place}`, typeof what === "string" ? what : "");
  write(element, place);
}

function write(element, place) {
  const [what, values] = told.get(element)?.[place] ?? [element.getAttribute(`data-say-${place}`), {}];
  const text = say(what, values);
  if (place !== "text") element.setAttribute(place, text);
  else if (element.textContent !== text) element.textContent = text;
}

/** Say all that `root` has to say in the reader's language: for what came from a template. */
export function speak(root = document) {
  for (const place of PLACES)
    for (const element of root.querySelectorAll(`[data-say-${place}]`)) write(element, place);
}

/** `listener` is called after the language has changed, for what is no sentence of an element. */
export function onLanguage(listener) {
  listeners.push(listener);
}

/** From now on the page speaks this language. */
export function choose(name) {
  current = name;
  remember("language", name);
  const address = new URL(location);
  if (address.searchParams.has("lang")) {
    address.searchParams.set("lang", name);
    history.replaceState(history.state, "", address);
  }
  mark();
  speak();
  for (const listener of listeners) listener();
}

function mark() {
  document.documentElement.lang = TAGS[current];
  document.title = say("name");
}

mark();

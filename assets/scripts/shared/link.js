// What a link says: the form's values, the tab, the recorded run, and what a teacher wants hidden.

import { say } from "./words.js";

const NUMBERS = ["k", "temperature", "length", "top_k", "top_p", "min_p"];
const SWITCHES = ["chat", "auto"];

// Parts of the page that `hide` may name; the style sheet knows where they are.
export const PARTS = [
  "tabs", "controls", "examples", "models", "settings", "numbers", "target", "player", "legend", "inspector", "whatif",
  "rounds",
];

const asked = () => new URLSearchParams(location.search);

/**
 * What the link puts into the form's fields, as updates that gradio understands: nothing where it says nothing. What is
 * out of bounds is refused when it is sent, as any other value.
 */
export function updates(names) {
  const said = asked();
  const value = (name) => (said.has(name) ? { value: read(name, said.get(name)) } : {});
  return names.map((name) => ({ __type__: "update", ...value(name) }));
}

function read(name, text) {
  if (SWITCHES.includes(name)) return !["0", "false", "off"].includes(text);
  return NUMBERS.includes(name) && text.trim() !== "" && Number.isFinite(+text) ? +text : text;
}

/** The tab and the recording that the link names, null where it names none. */
export const linkedTab = () => asked().get("tab");
export const linkedRecording = () => asked().get("run");

/** Hide what the link says is to be hidden; other names do nothing. */
export function hide() {
  document.body.dataset.hide = (asked().get("hide") ?? "")
    .split(",")
    .filter((name) => PARTS.includes(name))
    .join(" ");
}

/** Put the address of the page on the clipboard, with the form's values where they are not as a fresh page has them. */
export async function give(names, values, fresh) {
  const address = new URL(location);
  const put = (name, value) =>
    value === undefined ? address.searchParams.delete(name) : address.searchParams.set(name, value);
  names.forEach((name, place) => {
    const [value, usual] = [values, fresh].map((all) => (SWITCHES.includes(name) ? +all[place] : (all[place] ?? "")));
    put(name, value === usual ? undefined : value);
  });
  put("tab", document.querySelector("#sd-tabs [role=tab][aria-selected=true]")?.id.replace(/^sd-tab-|-button$/g, ""));
  put("run", document.querySelector(".sd")?.dataset.recording || undefined);
  await copy(address.href);
  const button = document.querySelector("#sd-link");
  button.dataset.copied = say("link_copied");
  setTimeout(() => delete button.dataset.copied, 2000);
}

/** Put a text on the clipboard, in the old way where the page came without encryption. */
async function copy(text) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const box = document.createElement("textarea");
  box.value = text;
  document.body.append(box);
  box.select();
  document.execCommand("copy");
  box.remove();
}

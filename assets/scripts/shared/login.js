// The login, asked for again where the server knows this browser no longer: it was started anew, say.

import { make } from "./make.js";
import { speak, tell } from "./words.js";

let bar = null; // while the server asks for the login

/** Whether the server answers only who logs in. */
export function loginWanted() {
  return bar !== null;
}

/** Take note of an answer by its status. */
export function heed(status) {
  const wanted = status === 401;
  if (wanted === loginWanted()) return;
  bar?.remove();
  bar = wanted ? form() : null;
  if (bar) document.querySelector(".gradio-container").append(bar);
  speak(); // of what is said of the connection, too
}

/** Below the page, which can be read and used meanwhile. */
function form() {
  const form = make("form", "sd-login");
  const said = make("p", "");
  said.role = "alert";
  tell(said, "phase_login");
  const button = make("button", "sd-button");
  tell(button, "login_go");
  form.append(said, field("username", "login_user"), field("password", "login_password"), button);
  form.addEventListener("submit", async (submit) => {
    submit.preventDefault();
    button.disabled = true;
    const refusal = await logIn(form);
    button.disabled = false;
    if (refusal) tell(said, refusal);
  });
  return form;
}

function field(name, key) {
  const label = make("label", "");
  const words = make("span", "");
  const input = make("input", "");
  Object.assign(input, { name, type: name === "password" ? name : "text", required: true });
  input.autocomplete = name === "password" ? "current-password" : name;
  tell(words, key);
  label.append(words, input);
  return label;
}

/** Asks gradio; the key of what to say where that was in vain. */
async function logIn(form) {
  try {
    const body = new URLSearchParams(new FormData(form));
    const response = await fetch(new URL("login", document.baseURI), { method: "POST", body });
    if (!response.ok) return "login_refused";
    heed(response.status);
    return null;
  } catch {
    return "phase_lost";
  }
}

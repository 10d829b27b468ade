// What the server is asked. Where no answer comes, it throws.

import { heed } from "./login.js";
import { visitor } from "./visitor.js";

// A server that takes longer is gone, or hangs.
const ANSWER_MS = 12_000;

// What moves a whole file takes as long as it takes.
const PATIENT = ["open", "trace"];

/** Send an object as JSON; `signal` may abort it, and with `keepalive` it is sent even as the page goes. */
export async function post(path, body, { headers = {}, signal, keepalive = false } = {}) {
  const response = await fetch(new URL(`specdemo/${path}`, document.baseURI), {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
    signal,
    keepalive,
  });
  heed(response.status);
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response;
}

/** A function a question, each of which takes an object; the server knows those of a `tab` by its name, too. */
export function questions(names, tab = null) {
  const asking = (name) => async (question) => {
    const headers = name === "start" ? await visitor() : {}; // it has work done
    const signal = PATIENT.includes(name) ? undefined : AbortSignal.timeout(ANSWER_MS);
    const how = { headers, signal, keepalive: name === "stop" };
    return (await post(`ask/${tab ? `${tab}_` : ""}${name}`, question, how)).json();
  };
  return Object.fromEntries(names.map((name) => [name, asking(name)]));
}

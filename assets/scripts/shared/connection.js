// Whether the server is there again, once it was lost.

import { questions } from "./server.js";

const ASK_MS = 1500;

const server = questions(["status"]);
const waiting = new Set();

/** Call back once, as soon as the server answers again; the same callback is called once however often it is given. */
export function onceBack(callback) {
  if (!waiting.size) setTimeout(ask, ASK_MS);
  waiting.add(callback);
}

async function ask() {
  try {
    await server.status({});
  } catch {
    setTimeout(ask, ASK_MS);
    return;
  }
  const callbacks = [...waiting];
  waiting.clear();
  for (const callback of callbacks) callback();
}

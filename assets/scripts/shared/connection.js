// Whether the server is there again, once it was lost.

import { questions } from "./server.js";

const ASK_MS = 1500;

const server = questions(["status"]);
const waiting = new Set();
let asking = null; // the timer of the next question, kept until that one is answered

/**
 * Look again as soon as the server answers, and until the look succeeds: a server that says how it is, and nothing else,
 * is not back. `look` throws, or is a promise that fails, where it has no answer; the same one waits only once.
 */
export function onceBack(look) {
  waiting.add(look);
  asking ??= setTimeout(ask, ASK_MS);
}

async function ask() {
  try {
    await server.status({});
    await Promise.allSettled([...waiting].map(succeeded));
  } catch {
    // not yet
  }
  asking = waiting.size ? setTimeout(ask, ASK_MS) : null;
}

async function succeeded(look) {
  await look();
  waiting.delete(look);
}

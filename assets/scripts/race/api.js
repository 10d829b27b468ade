// What the server is asked. Where no answer comes, it throws.

import { visitor } from "../shared/visitor.js";

const QUESTIONS = ["resync", "stop", "inspect", "rounds", "open", "trace", "status"];

async function post(path, body, signal, headers = {}) {
  const response = await fetch(new URL(`specdemo/${path}`, document.baseURI), {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response;
}

/** A function a question. */
export const server = Object.fromEntries(
  QUESTIONS.map((name) => [name, async (question) => (await post(`ask/${name}`, question)).json()]),
);

/** A new run, told as it goes on, until `signal` aborts it; `way` is "run" or "fork". */
export async function* deltas(way, fields, signal) {
  const response = await post(way, fields, signal, await visitor());
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let begun = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (begun + value).split("\n");
    begun = lines.pop();
    for (const line of lines) yield JSON.parse(line);
  }
}

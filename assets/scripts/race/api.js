// What the server is asked by the race.

import { PAGE } from "../shared/identity.js";
import { post, questions } from "../shared/server.js";
import { visitor } from "../shared/visitor.js";

export const server = questions(["resync", "stop", "inspect", "rounds", "open", "trace", "status"]);

/** A new run, told as it goes on, until `signal` aborts it; `way` is "run" or "fork". */
export async function* deltas(way, fields, signal) {
  const response = await post(way, { ...fields, page: PAGE }, { headers: await visitor(), signal });
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

// With what something was asked for, in a few words each.

import { say } from "./words.js";

/** Of a run or a measurement, by what the server told of it; K is left out where it has none of its own. */
export function settings(head) {
  const parts = "k" in head ? [`K ${head.k ?? say("short_auto")}`] : [];
  parts.push(`${say("short_temperature")} ${head.temperature}`);
  if (head.top_k > 0) parts.push(`top-k ${head.top_k}`);
  if (head.top_p < 1) parts.push(`top-p ${head.top_p}`);
  if (head.min_p > 0) parts.push(`min-p ${head.min_p}`);
  if (head.seed !== null) parts.push(`${say("short_seed")} ${head.seed}`);
  if (head.chat === false) parts.push(say("short_raw"));
  return parts;
}

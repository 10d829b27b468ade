// The steps of the lesson: the name of its words, and what happens on the page. An action returns what to look at.

import { pick, rule, values } from "./hands.js";

const plainScore = '.sd-score[data-lane="plain"]';
const specScore = '.sd-score[data-lane="spec"]';
const coin = '[data-figure="coin"]';
const flow = ".sd-lab-picture";

export const STEPS = [
  { name: "guess", show: async () => (await pick("plain", "plain")) && plainScore },
  { name: "pass", show: async () => (await pick("spec", "accepted")) && specScore },
  { name: "coin", show: async () => (await pick("spec", "accepted")) && coin },
  { name: "rejection", show: async () => (await pick("spec", "rejected")) && coin },
  { name: "residual", show: async () => (await values("example")) && (await rule("resample")) && flow },
  { name: "halt", show: async () => (await pick("spec", "discarded")) && ".sd-about" },
  { name: "bonus", show: async () => (await pick("spec", "bonus")) && '[data-figure="position"]' },
  { name: "proof", show: async () => (await values("example")) && (await rule("lossless")) && ".sd-lab-table" },
  { name: "chance", show: async () => (await values("example")) && (await rule("threshold")) && flow },
  { name: "cost", show: async () => (await values("disjoint")) && (await rule("lossless")) && flow },
];

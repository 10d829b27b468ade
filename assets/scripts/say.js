// The line that says what is going on, and the line that says what runs.

import { bytes, fill, parameters } from "./format.js";

export class Say {
  constructor(root, words) {
    this.root = root;
    this.words = words;
    this.text = root.querySelector(".sd-phase-text");
    this.pair = root.querySelector(".sd-pair");
    this.bar = root.querySelector(".sd-progress");
    this.fill = this.bar.firstElementChild;
  }

  phase(phase) {
    const sentence = phase.name === "failed" ? phase.sentence : this.words[`phase_${phase.name}`] ?? "";
    const text = fill(sentence, phase);
    if (this.text.textContent !== text) this.text.textContent = text;
    this.root.dataset.phase = phase.name;
    this.progress(phase.name === "loading" ? phase.fraction : null);
  }

  progress(fraction) {
    this.bar.classList.toggle("sd-on", fraction !== null && fraction !== undefined);
    this.fill.style.width = `${100 * (fraction ?? 0)}%`;
  }

  models(about) {
    if (!about?.target) return;
    const one = (role) =>
      `${about[role]} (${parameters(about[`${role}_parameters`])}, ${about[`${role}_dtype`]}, ${bytes(about[`${role}_bytes`])})`;
    this.pair.textContent = `${one("target")} + ${one("draft")} · ${about.target_device}`;
  }
}

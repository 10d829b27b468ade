// The line that says what is going on and with which settings, and beside it what runs.

import { bytes, parameters } from "../shared/format.js";
import { sentence } from "../shared/phase.js";
import { settings } from "../shared/settings.js";
import { say, tell } from "../shared/words.js";

const ANSWERS = ["sent", "failed"];

export class Say {
  constructor(root, asked) {
    this.root = root;
    this.asked = asked;
    this.text = root.querySelector(".sd-phase-text");
    this.settings = root.querySelector(".sd-settings");
    this.pair = root.querySelector(".sd-pair");
    this.summary = this.pair.querySelector("summary");
    this.notes = this.pair.querySelector("ul");
    this.bar = root.querySelector(".sd-progress");
    this.fill = this.bar.firstElementChild;
  }

  phase(phase) {
    tell(this.text, ...sentence(phase));
    this.root.dataset.phase = phase.name;
    this.progress(phase.name === "loading" ? phase.fraction : null);
    // What a reader has asked for may be answered far above the button that was pressed.
    if (ANSWERS.includes(phase.name)) this.root.scrollIntoView({ block: "nearest" });
  }

  progress(fraction) {
    this.bar.classList.toggle("sd-on", fraction > 0); // with nothing to show, nothing need fade
    this.fill.style.width = `${100 * (fraction ?? 0)}%`;
  }

  /** With what the run on the page was asked for. */
  run(head) {
    tell(this.settings, () => [...left(head), ...settings(head)].join(" · "));
    this.asked.hidden = false;
    this.asked.classList.toggle("sd-as-in-form", !head.recorded); // a projector has no line for it twice
    this.asked.querySelector("q").textContent = head.prompt;
  }

  /** The pair's models, and behind them the notes on how they run. */
  models(about, notes = []) {
    if (!about?.target) return;
    const one = (role) =>
      [
        about[role],
        `${parameters(about[`${role}_parameters`])}, ${about[`${role}_dtype`]}, ${bytes(about[`${role}_bytes`])}`,
      ].join(" (") + ")";
    tell(this.summary, () => `${one("target")} + ${one("draft")} · ${about.target_device}`);
    this.pair.classList.toggle("sd-has-notes", notes.length > 0);
    this.notes.replaceChildren(
      ...notes.map((note) => {
        const item = document.createElement("li");
        tell(item, note);
        return item;
      }),
    );
  }

  /** A sentence in the place of the models, while they come. */
  coming(sentence) {
    tell(this.summary, sentence);
  }
}

function left({ fork }) {
  return fork ? [say("fork_told", { round: fork.round + 1, token: fork.given })] : [];
}

// Where the time of each round went: a figure and a table, made only where somebody opens them.

import { Figure } from "../shared/figure.js";
import { look } from "../shared/look.js";
import { onLanguage } from "../shared/words.js";
import { Profile } from "./profile.js";

export class Timing {
  /** `ask` gets both from the server. */
  constructor(root, log, { plotlyConfig, ask, onLost }) {
    Object.assign(this, { root, log, ask, onLost });
    this.figure = new Figure(root.querySelector("figure"), plotlyConfig);
    this.profile = new Profile(root.querySelector(".sd-profile"));
    this.round = null;
    root.addEventListener("toggle", () => this.draw());
    onLanguage(() => this.draw());
    new MutationObserver(() => this.draw()).observe(document.body, { attributeFilter: ["class"] });
  }

  /** Mark the round of a token; nothing is asked for while the run goes on. */
  show(address) {
    this.round = address?.lane === "spec" ? address.round : null;
    this.draw();
  }

  async draw() {
    try {
      await this.look();
    } catch {
      this.onLost();
    }
  }

  /** Show what is to be shown now; throws where the server does not say it. */
  async look() {
    if (!this.root.open || !this.log.final || !this.log.rounds.spec.length) return;
    const question = { run: this.log.run, current: this.round, ...look() };
    const key = JSON.stringify(question);
    if (this.wanted === key) return;
    this.wanted = key;
    try {
      const told = await this.ask(question);
      if (this.wanted !== key) return;
      this.profile.show(told?.profile);
      await this.figure.draw(told?.figure);
      this.root.dataset.drawn = key;
    } catch (error) {
      this.wanted = null;
      throw error;
    }
  }
}

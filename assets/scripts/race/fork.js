// Where a run can be left at a token: with its coin, real or moved by hand, or with another token in its place.

import { probability } from "../shared/format.js";
import { make } from "../shared/make.js";
import { tell } from "../shared/words.js";

export class Fork {
  /** `onFork({u})` or `onFork({token})` asks for the run that goes on; `coin()` is the u that stands. */
  constructor(root, coin, onFork) {
    this.root = root;
    this.byCoin = root.querySelector(".sd-fork-coin");
    this.tokens = root.querySelector("select");
    this.byCoin.addEventListener("click", () => onFork({ u: coin() }));
    this.how = root.querySelector(".sd-fork-how");
    this.byToken = root.querySelector(".sd-fork-token");
    this.byToken.addEventListener("click", () => onFork({ token: +this.tokens.value }));
  }

  /**
   * Another token is looked at, or none; what was never judged follows no text that was written. `instead` is the text
   * of the token that the run drew in its place, if any.
   */
  show(event, instead) {
    this.root.hidden = !event || event.outcome === "discarded";
    this.byCoin.hidden = this.how.hidden = !event || event.u === null;
    this.instead = instead;
    if (event) this.decide(event.outcome);
    this.tokens.replaceChildren();
    this.byToken.disabled = true; // there is none to choose yet
  }

  /** Say what the coin that stands leads to, which makes the draft "accepted" or "rejected". */
  decide(outcome) {
    const refused = this.instead === undefined ? "fork_draws" : "fork_redrawn";
    tell(this.how, outcome === "rejected" ? refused : "fork_keeps", { token: this.instead });
  }

  /** What the target may write here: [id, name, p, …], likeliest first. */
  take(candidates) {
    if (this.tokens.childElementCount) return;
    this.byToken.disabled = !candidates.length;
    this.tokens.append(
      ...candidates.map(([id, name, p]) => {
        const option = make("option", "", `${name} · p ${probability(p)}`);
        option.value = id;
        return option;
      }),
    );
  }
}

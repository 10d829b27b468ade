// What if: the coin of a judged token, moved by hand.

import { isNoNumber } from "../shared/fields.js";
import { probability } from "../shared/format.js";
import { say, tell } from "../shared/words.js";

const DIGITS = 5; // of the coin in its box; it is moved from there, and never sent from there unmoved

export class WhatIf {
  /** `onMove(u)`: show what u would have decided; null: what the real coin did. */
  constructor(root, onMove) {
    this.root = root;
    this.onMove = onMove;
    this.slider = root.querySelector("input[type=range]");
    this.number = root.querySelector("input[type=number]");
    this.verdict = root.querySelector(".sd-whatif-verdict");
    this.back = root.querySelector(".sd-whatif-back");
    this.slider.addEventListener("input", () => this.move(+this.slider.value));
    this.number.addEventListener("change", () => this.type(this.number.value));
    this.back.addEventListener("click", () => this.move(null));
  }

  /** Another token is looked at, or none. */
  show(event) {
    this.real = event?.u ?? null;
    this.root.hidden = this.real === null;
    if (this.real !== null) this.tell(null);
  }

  /** What is no number from 0 to 1 stays where it was typed, and moves nothing. */
  type(text) {
    const none = isNoNumber(this.number) ? "no_number" : "nothing_given";
    if (text !== "" && text >= 0 && text <= 1) this.move(+text);
    else tell(this.verdict, "fork_wrong_u", { u: text || (() => say(none)) });
  }

  move(u) {
    this.tell(u);
    this.onMove(u);
  }

  tell(u) {
    this.u = u;
    this.slider.value = this.number.value = u ?? +this.real.toPrecision(DIGITS);
    this.back.disabled = u === null;
    if (u === null) tell(this.verdict, "whatif_thrown");
  }

  /** What the server says would have become of it. */
  take(outcome) {
    if (this.u !== null) tell(this.verdict, `whatif_${outcome}`, { u: probability(this.u) });
  }
}

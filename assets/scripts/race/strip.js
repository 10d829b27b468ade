// The rounds as small columns: a cell a token, what became of each.

import { Pinned } from "../shared/pinned.js";
import { tell } from "../shared/words.js";

export class Strip {
  constructor(root, onPick) {
    this.box = root.querySelector(".sd-strip");
    this.pinned = new Pinned(this.box, "right");
    this.box.addEventListener("click", (click) => {
      const cell = click.target.closest("i");
      const column = click.target.closest(".sd-column");
      if (!column) return;
      const event = cell ? +cell.dataset.event : column.childElementCount - 1;
      onPick({ lane: "spec", round: +column.dataset.round, event });
    });
  }

  clear() {
    this.box.replaceChildren();
    this.pinned.reset();
  }

  add(rounds) {
    this.box.append(...rounds.map((round) => this.column(round)));
  }

  column(round) {
    const column = document.createElement("span");
    column.className = "sd-column";
    column.dataset.round = round.index;
    tell(column, "round", { round: round.index + 1 }, "title");
    round.events.forEach((event, place) => {
      const cell = document.createElement("i");
      cell.className = `sd-cell sd-${event.outcome}`;
      cell.dataset.event = place;
      column.append(cell);
    });
    return column;
  }

  /** The cells of each token, by round and event. */
  parts() {
    return [...this.box.children].map((column) => [...column.children]);
  }

  show(address) {
    this.box.querySelector(".sd-picked")?.classList.remove("sd-picked");
    if (address?.lane !== "spec") return;
    const column = this.box.children[address.round];
    if (!column) return;
    column.classList.add("sd-picked");
    const left = column.getBoundingClientRect().left - this.box.getBoundingClientRect().left + this.box.scrollLeft;
    if (left < this.box.scrollLeft || left > this.box.scrollLeft + this.box.clientWidth - 24)
      this.box.scrollLeft = left - this.box.clientWidth / 2;
  }
}

// A box that stays at its end however fast it grows, until the reader moves back in it.

import { onShown } from "./shown.js";

const NEAR = 32; // pixels

const AXES = {
  down: { at: "scrollTop", whole: "scrollHeight", seen: "clientHeight" },
  right: { at: "scrollLeft", whole: "scrollWidth", seen: "clientWidth" },
};

export class Pinned {
  constructor(box, axis) {
    this.box = box;
    this.axis = AXES[axis];
    this.reset();
    // Told late: more may have come since, so being far from the end means nothing unless the reader moved back.
    box.addEventListener("scroll", () => {
      const { at, whole, seen } = this.axis;
      if (box[whole] - box[at] - box[seen] < NEAR) this.stuck = true;
      else if (box[at] < this.last) this.stuck = false;
      this.last = box[at];
    });
    onShown(box, () => this.follow());
  }

  reset() {
    this.stuck = true;
    this.last = 0; // where it was scrolled to
  }

  /** To be called once all is written: asking how large a box is has the page laid out. */
  follow() {
    if (!this.stuck) return;
    const { at, whole } = this.axis;
    this.box[at] = this.box[whole];
    this.last = this.box[at];
  }
}

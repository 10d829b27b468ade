// The guided lesson: a panel at the foot of the page, whose every step is first a text and then one action above it.

import { speak, tell } from "../shared/words.js";
import { STEPS } from "./steps.js";

const MARGIN = 12; // pixels

export class Lesson {
  /** `onLeave` is called when the reader has left it. */
  constructor(panel, onLeave) {
    this.panel = panel;
    this.onLeave = onLeave;
    this.part = (name) => panel.querySelector(`.sd-lesson-${name}`);
    this.step = 0;
    speak(panel);
    for (const scroll of ["wheel", "touchmove"])
      document.addEventListener(scroll, () => this.moved?.disconnect(), { passive: true });
    this.part("next").addEventListener("click", () => this.next());
    this.part("back").addEventListener("click", () => this.go(this.step - 1));
    this.part("leave").addEventListener("click", () => this.leave());
  }

  open() {
    this.panel.hidden = false;
    document.documentElement.classList.add("sd-in-lesson");
    this.go(this.step);
  }

  leave() {
    this.panel.hidden = true;
    document.documentElement.classList.remove("sd-in-lesson");
    this.look(null);
    this.onLeave();
  }

  /** Space and the arrows belong to the lesson while it has the focus; a button keeps its own Enter. */
  key(press) {
    const act = {
      " ": () => this.next(),
      ArrowRight: () => this.go(this.step + 1),
      ArrowLeft: () => this.go(this.step - 1),
      Home: () => this.go(0),
      End: () => this.go(STEPS.length - 1),
      Escape: () => this.leave(),
    }[press.key];
    if (!act || press.ctrlKey || press.metaKey || press.altKey) return;
    press.preventDefault();
    press.stopPropagation();
    act();
  }

  /** The action of the step, then the next one. */
  next() {
    if (!this.shown) this.act();
    else if (this.step === STEPS.length - 1) this.leave();
    else this.go(this.step + 1);
  }

  /** Show the text of a step; out of range: nothing. */
  go(step) {
    if (step < 0 || step >= STEPS.length) return;
    this.step = step;
    this.shown = false;
    const { name } = STEPS[step];
    this.look(null);
    tell(this.part("place"), "lesson_place", { step: step + 1, steps: STEPS.length });
    tell(this.part("title"), `lesson_${name}_title`);
    tell(this.part("text"), `lesson_${name}`);
    tell(this.part("shown"), () => "");
    this.part("back").disabled = step === 0;
    tell(this.part("next"), "lesson_show");
    this.part("words").focus();
  }

  async act() {
    const { step } = this;
    const { name, show } = STEPS[step];
    this.shown = true;
    tell(this.part("shown"), `lesson_${name}_show`);
    tell(this.part("next"), step === STEPS.length - 1 ? "lesson_end" : "lesson_next");
    const where = await show();
    if (this.step !== step || !this.shown || this.panel.hidden) return;
    this.look(where ? document.querySelector(where) : null);
    this.part("words").focus({ preventScroll: true });
  }

  /** Frame a part of the page and keep it above the panel while figures are drawn, until the reader scrolls. */
  look(element) {
    document.querySelector(".sd-lesson-look")?.classList.remove("sd-lesson-look");
    this.moved?.disconnect();
    if (!element) return;
    element.classList.add("sd-lesson-look");
    let begun = false; // it is called once for what is there already
    this.moved = new ResizeObserver(() => {
      this.bring(element, begun || calm() ? "instant" : "smooth");
      begun = true;
    });
    for (const part of [element, document.body]) this.moved.observe(part);
  }

  bring(element, behavior) {
    const box = element.getBoundingClientRect();
    const foot = this.panel.getBoundingClientRect().top - MARGIN;
    const top = Math.max(MARGIN, foot - box.height);
    window.scrollBy({ top: box.top - top, behavior });
  }
}

function calm() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

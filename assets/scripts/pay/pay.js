// Does it pay? The formulas by the numbers of the race's run, other numbers by hand, and a sweep over K.

import { current, onCurrent } from "../shared/current.js";
import { counted, fieldsBy } from "../shared/fields.js";
import { Figure } from "../shared/figure.js";
import { Latest } from "../shared/latest.js";
import { look, onLook } from "../shared/look.js";
import { Measurement } from "../shared/measurement.js";
import { lines, row } from "../shared/rows.js";
import { questions } from "../shared/server.js";
import { isShown } from "../shared/shown.js";
import { speak } from "../shared/words.js";

const DIALS = ["alpha", "c"];

class Pay {
  constructor({ element, props, fields }) {
    this.root = element.querySelector(".sd-pay");
    speak(this.root);
    const server = questions(["answer", "start", "look", "stop"], "pay");
    const one = (name) => this.root.querySelector(name);
    this.list = one(".sd-sentences");
    this.whatIf = one(".sd-pay-what-if");
    this.table = one(".sd-pay-sweep table");
    this.dials = Object.fromEntries(DIALS.map((name) => [name, one(`.sd-pay-${name}`)]));
    this.counts = Object.fromEntries(["turns", "length"].map((name) => [name, one(`.sd-pay-${name}`)]));
    this.figures = Object.fromEntries(
      ["speedup", "positions"].map((name) => [name, new Figure(one(`[data-figure=${name}]`), props.plotly)]),
    );
    this.set = {}; // α and c as set by hand; those of the run where they are not
    this.own = {};
    this.answers = new Latest(server.answer, (answer) => this.show(answer), () => this.sweep.lost());
    this.sweep = new Measurement(this.root, server, {
      words: {
        idle: () => ["pay_idle", {}],
        running: (phase) => ["pay_running", { ...phase, runs: Math.min(phase.asked, phase.runs + 1) }],
        clamped: "pay_clamped",
      },
      fields: fieldsBy(fields),
      question: () => ({ ...look(), turns: counted(this.counts.turns), length: counted(this.counts.length) }),
      onNews: () => this.look(),
      beside: () => this.look(),
    });
    for (const [name, { slider }] of Object.entries(this.parts()))
      slider.addEventListener("input", () => this.turn({ [name]: slider.valueAsNumber }));
    one(".sd-pay-measured").addEventListener("click", () => this.turn(null));
    one(".sd-pay-free").addEventListener("click", () => this.turn({ c: 0 }));
    one(".sd-pay-better").addEventListener("click", () => this.turn({ alpha: (1 + this.value("alpha")) / 2 }));
    onCurrent(() => this.ask());
    onLook(this.root, () => this.ask());
    this.ask();
  }

  parts() {
    return Object.fromEntries(
      DIALS.map((name) => [
        name,
        { slider: this.dials[name].querySelector("input"), output: this.dials[name].querySelector("output") },
      ]),
    );
  }

  value(name) {
    return this.set[name] ?? this.own[name];
  }

  /** Set α or c by hand; null: as measured. */
  turn(values) {
    this.set = values ? { ...this.set, ...values } : {};
    this.write();
    this.ask();
  }

  write() {
    for (const [name, { slider, output }] of Object.entries(this.parts())) {
      const value = this.value(name);
      if (document.activeElement !== slider || +slider.value !== value) slider.value = value;
      output.textContent = value.toFixed(2);
    }
  }

  question() {
    return { ...look(), run: current(), sweep: this.sweep.run, ...this.set };
  }

  ask() {
    if (isShown(this.root)) this.answers.put(this.question());
  }

  /** The same for who is to know that there is no answer: it throws. */
  async look() {
    if (isShown(this.root)) await this.answers.look(this.question());
  }

  async show({ alpha, c, speedup, positions, lines: said, what_if: whatIf, rows }) {
    this.own = { alpha, c };
    this.write();
    lines(this.list, said);
    this.whatIf.textContent = whatIf;
    if (rows) {
      this.table.hidden = !rows.length;
      this.table.tBodies[0].replaceChildren(...rows.map(row));
    }
    await Promise.all([this.figures.speedup.draw(speedup), this.figures.positions.draw(positions)]);
    this.root.dataset.drawn = String(current());
  }
}

export function mount(parts) {
  return new Pay(parts);
}

// The lab: values and a rule on one side, what the server computes of them on the other.

import { onceBack } from "../shared/connection.js";
import { Figure } from "../shared/figure.js";
import { Latest } from "../shared/latest.js";
import { look, onLook } from "../shared/look.js";
import { make } from "../shared/make.js";
import { lost as noAnswer } from "../shared/phase.js";
import { picked } from "../shared/picked.js";
import { questions } from "../shared/server.js";
import { speak, tell } from "../shared/words.js";
import { Draws } from "./draws.js";
import { PRESETS } from "./presets.js";
import { Rules } from "./rules.js";
import { Table } from "./table.js";
import { Values } from "./values.js";

const QUESTIONS = ["show", "compare", "draw_one", "draw_many", "normalise", "candidates"];
const REST_MS = 400;

class Lab {
  constructor({ element, props }) {
    this.root = element.querySelector(".sd-lab");
    this.server = questions(QUESTIONS, "lab");
    this.refusal = this.root.querySelector(".sd-lab-refusal");
    speak(this.root);
    this.gone = false; // whether the server is
    this.wrong = null; // {refused, side}: what is wrong with the values
    this.back = this.back.bind(this);
    const lost = () => this.lost();
    this.flow = new Figure(this.root.querySelector("[data-figure=flow]"), props.plotly, { named: false });
    this.shows = new Latest(this.server.show, (answer) => this.take(answer), lost);
    this.compares = new Latest(this.server.compare, (answer) => this.found(answer), lost);
    this.table = new Table(this.root, () => this.changed());
    this.rules = new Rules(this.root, props.rules, () => this.changed());
    this.draws = new Draws(
      this.root,
      props.plotly,
      (method, more) => this.answer(method, more),
      (figure) => this.flow.draw(figure ?? this.whole),
      lost,
    );
    this.presets();
    this.set(PRESETS.example);
    onLook(this.root, () => this.again());
  }

  presets() {
    const group = this.root.querySelector(".sd-lab-presets");
    const button = (key, onClick) => {
      const chip = make("button", "sd-button");
      chip.type = "button";
      tell(chip, key);
      chip.addEventListener("click", onClick);
      group.append(chip);
    };
    for (const [name, values] of Object.entries(PRESETS)) button(`lab_${name}`, () => this.set(values));
    button("lab_taken", () => this.fromToken());
  }

  async fromToken() {
    const answer = await this.ask("candidates", picked() ?? {});
    if (answer) this.set(answer);
  }

  set(values) {
    this.values = new Values(values);
    this.table.show(this.values);
    this.changed();
  }

  question() {
    const { tokens, q, p } = this.values;
    return { tokens, q, p, rule: this.rules.chosen, ...look() };
  }

  changed() {
    this.draws.clear();
    this.refresh();
  }

  /** The same in another theme or language. */
  again() {
    this.refresh();
    this.draws.again().catch(() => this.lost());
  }

  refresh() {
    this.shows.put(this.question());
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.compares.put(this.question()), REST_MS);
  }

  async take(answer) {
    this.refuse(answer.refused ? answer : null);
    this.root.classList.toggle("sd-stale", Boolean(answer.refused));
    if (answer.refused) {
      this.table.fill(null);
      return;
    }
    if (answer.rows.length === this.table.rows.length) this.table.fill(answer);
    this.whole = answer.figure;
    await this.flow.draw(answer.figure);
  }

  found(answer) {
    if (!answer.refused) this.rules.fill(answer, this.values.tokens);
  }

  /** What the server answers to a question about the values; null where it refused, which is then said. */
  async answer(method, more) {
    const answer = await this.server[method]({ ...this.question(), ...more });
    this.refuse(answer.refused ? answer : null);
    if (answer.refused) this.refusal.scrollIntoView({ block: "nearest" });
    return answer.refused ? null : answer;
  }

  /** The same, and null too where there is no answer, which is then said. */
  async ask(method, more) {
    try {
      return await this.answer(method, more);
    } catch {
      this.lost();
      return null;
    }
  }

  lost() {
    this.gone = true;
    this.tell();
    onceBack(this.back);
  }

  /** The server is there again, once it answers all that is shown; throws where it does not. */
  async back() {
    await this.draws.again();
    await this.compares.look(this.question());
    await this.shows.look(this.question());
    this.gone = false;
    this.tell();
  }

  /** Say what is wrong; null: nothing is. */
  refuse(wrong) {
    this.wrong = wrong;
    this.tell();
  }

  tell() {
    const wrong = this.gone ? { refused: noAnswer, side: null } : this.wrong;
    this.refusal.replaceChildren();
    if (!wrong) return;
    const sentence = make("p", "");
    tell(sentence, wrong.refused);
    this.refusal.append(sentence);
    if (!wrong.side) return;
    const button = make("button", "sd-button");
    button.type = "button";
    tell(button, "lab_normalise", { side: wrong.side });
    button.addEventListener("click", () => this.normalise(wrong.side));
    this.refusal.append(button);
  }

  /** Nothing happens to values that have changed until the answer is there. */
  async normalise(side) {
    const asked = JSON.stringify(this.values[side]);
    const answer = await this.ask("normalise", { values: this.values[side] });
    if (!answer || JSON.stringify(this.values[side]) !== asked) return;
    this.values[side] = answer.values;
    this.table.write();
    this.changed();
  }
}

export function mount(parts) {
  return new Lab(parts);
}

// Draws: one round step by step, or many against p.

import { Figure } from "../shared/figure.js";
import { make } from "../shared/make.js";
import { tell } from "../shared/words.js";

const STEP_MS = 1400;

export class Draws {
  /** `ask("draw_one", {seed})` is a promise of what the server says, null if it refused; `show` draws a flow, or all
   * of it again; `lost` is called where there is no answer to what the reader wants. */
  constructor(root, plotlyConfig, ask, show, lost) {
    this.ask = async (method, question) => {
      const { last } = this;
      const answer = await ask(method, question);
      return this.last === last ? answer : null; // the values have changed meanwhile
    };
    this.show = show;
    this.seed = root.querySelector(".sd-lab-seed input");
    this.round = root.querySelector(".sd-lab-round");
    this.steps = root.querySelector(".sd-lab-steps");
    this.used = root.querySelector(".sd-lab-used");
    this.sample = root.querySelector(".sd-lab-sample");
    this.verdict = root.querySelector(".sd-lab-verdict");
    this.coin = new Figure(root.querySelector("[data-figure=coin]"), plotlyConfig);
    this.histogram = new Figure(root.querySelector("[data-figure=histogram]"), plotlyConfig);
    this.timer = null; // until the next step of a round
    this.last = {}; // what was asked for, to be asked again in another language or theme
    root.querySelector(".sd-lab-one").addEventListener("click", () => this.one(this.seed.value.trim()).catch(lost));
    for (const button of root.querySelectorAll("[data-n]"))
      button.addEventListener("click", () => this.many(+button.dataset.n, this.seed.value.trim()).catch(lost));
  }

  /** The values have changed: what was drawn from others goes. */
  clear() {
    this.rest();
    this.round.hidden = true;
    this.sample.hidden = true;
    this.last = {};
  }

  /** The same draws again; throws where one has no answer. */
  async again() {
    await Promise.all(Object.values(this.last).map((draw) => draw()));
  }

  async one(seed, paced = true) {
    const answer = await this.ask("draw_one", { seed });
    if (!answer) return;
    this.remember("one", () => this.one(answer.seed, false));
    this.round.hidden = false;
    tell(this.used, "lab_seed_used", { seed: answer.seed });
    this.steps.replaceChildren();
    await this.coin.draw(null);
    this.step(answer, 0, paced && !matchMedia("(prefers-reduced-motion: reduce)").matches);
  }

  rest() {
    clearTimeout(this.timer);
    this.timer = null;
  }

  step(answer, i, paced) {
    this.rest();
    const { said, figure } = answer.steps[i];
    const item = make("li", "");
    tell(item, said);
    this.steps.append(item);
    this.show(figure);
    if (i === 1) this.coin.draw(answer.coin);
    if (i + 1 === answer.steps.length) return;
    if (paced) this.timer = setTimeout(() => this.step(answer, i + 1, true), STEP_MS);
    else this.step(answer, i + 1, false);
  }

  async many(n, seed) {
    const answer = await this.ask("draw_many", { n, seed });
    if (!answer) return;
    this.remember("many", () => this.many(n, answer.seed));
    if (!this.timer) this.show(null);
    this.sample.hidden = false;
    this.verdict.classList.toggle("sd-lab-exposed", answer.exposed);
    this.verdict.replaceChildren(
      ...answer.said.map((said) => {
        const line = make("p", "");
        tell(line, said);
        return line;
      }),
    );
    await this.histogram.draw(answer.figure);
  }

  remember(kind, draw) {
    this.last[kind] = draw;
  }
}

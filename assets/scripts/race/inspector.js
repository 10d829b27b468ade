// The inspector: what is known of the picked token at once; its figures and sentences as soon as the server has them.

import { Figure } from "../shared/figure.js";
import { probability } from "../shared/format.js";
import { make } from "../shared/make.js";
import { spell } from "../shared/text.js";
import { language, onLanguage, say, tell } from "../shared/words.js";
import { Inspections } from "./inspections.js";

// p and q stand under the token's own name; a row of the residual holds one bar and one number, not two of each.
const FIGURES = { position: { named: false }, coin: {}, residual: { rows: 0.8 } };

// Candidates shown one by one: more where the screen is high.
const FEW = 6;
const MANY = 10;
const HIGH = 900; // pixels

export class Inspector {
  constructor(root, log, { outcomes, plotlyConfig, ask, onLost }) {
    this.root = root;
    this.log = log;
    this.glyphs = Object.fromEntries(outcomes.map((o) => [o.name, o.glyph]));
    this.inspections = new Inspections(ask);
    this.onLost = onLost;
    this.token = root.querySelector(".sd-token");
    this.sentences = root.querySelector(".sd-sentences");
    this.figures = Object.fromEntries(
      Object.entries(FIGURES).map(([name, look]) => [
        name,
        new Figure(root.querySelector(`[data-figure=${name}]`), plotlyConfig, look),
      ]),
    );
    this.address = null;
    this.frame = null;
    new MutationObserver(() => this.later()).observe(document.body, { attributeFilter: ["class"] });
    onLanguage(() => this.later());
  }

  show(address) {
    this.address = address;
    const event = address && this.log.event(address);
    this.root.classList.toggle("sd-empty", !event);
    this.token.hidden = !event;
    if (event) {
      this.ahead([address]); // under way before the next frame
      this.head(event);
    }
    this.later();
  }

  /** What the page knows without asking. */
  head(event) {
    const { log, address } = this;
    const round = log.round(address.lane, address.round);
    const chip = make("span", `sd-big sd-${event.outcome}`);
    if (event.text) spell(chip, event.text, { flat: true });
    else tell(chip, "no_text");
    const verdict = make("span", `sd-verdict sd-ink-${event.outcome}`);
    tell(verdict, () => `${this.glyphs[event.outcome]} ${say(event.outcome)}`);
    const key = address.lane === "plain" ? "where_plain" : address.event < round.k ? "where_draft" : "where_last";
    const where = make("p", "sd-where");
    const meaning = () => say(`${event.outcome}_meaning`);
    tell(where, key, { round: address.round + 1, place: address.event + 1, k: round.k, meaning });
    const numbers = make("p", "sd-values");
    for (const [name, value] of [["p", event.p], ["q", event.q], ["u", event.u], ["α", event.alpha]]) {
      if (value === null) continue;
      const number = make("span", `sd-value-${name}`, `${name} `);
      number.append(make("b", "", probability(value)));
      numbers.append(number);
    }
    this.token.replaceChildren(chip, verdict, where, numbers);
  }

  /** Draw in the next frame; of several requests before it only the last one counts. */
  later() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  question(address) {
    const theme = document.body.classList.contains("dark") ? "dark" : "light";
    return { run: this.log.run, ...address, theme, language: language(), shown: window.innerHeight > HIGH ? MANY : FEW };
  }

  async draw() {
    const question = this.address && this.question(this.address);
    if (!question) {
      this.fill(null);
      return;
    }
    const key = JSON.stringify(question);
    if (this.drawn === key) return;
    try {
      const answer = await this.inspections.get(question);
      if (!this.address || JSON.stringify(this.question(this.address)) !== key) return;
      await this.fill(answer);
    } catch {
      this.onLost();
      return;
    }
    this.drawn = key;
    this.root.dataset.drawn = `${question.lane}-${question.round}-${question.event}`;
  }

  async fill(answer) {
    this.drawn = null;
    this.sentences.replaceChildren(
      ...(answer?.sentences ?? []).flatMap(({ label, text }) => [make("dt", "", label), make("dd", "", text)]),
    );
    await Promise.all(Object.entries(this.figures).map(([name, figure]) => figure.draw(answer?.[name])));
  }

  /** Ask ahead for tokens that may be drawn. */
  ahead(addresses) {
    for (const address of addresses) this.inspections.get(this.question(address)).catch(() => null);
  }
}

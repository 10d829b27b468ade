// The inspector: what is known of the picked token at once; its figures and sentences as soon as the server has them.

import { Figure } from "../shared/figure.js";
import { probability } from "../shared/format.js";
import { look } from "../shared/look.js";
import { make } from "../shared/make.js";
import { spell } from "../shared/text.js";
import { onLanguage, say, tell } from "../shared/words.js";
import { Fork } from "./fork.js";
import { Inspections } from "./inspections.js";
import { WhatIf } from "./whatif.js";

// p and q stand under the token's own name; a row of the residual holds one bar and one number, not two of each.
const FIGURES = { position: { named: false }, coin: {}, residual: { rows: 0.8 } };

// Candidates shown one by one: more where the screen is high.
const FEW = 6;
const MANY = 10;
const HIGH = 900; // pixels

export class Inspector {
  constructor(root, log, { outcomes, plotlyConfig, ask, onFork, onLost }) {
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
    this.u = null; // a coin moved by hand
    this.whatIf = new WhatIf(root.querySelector(".sd-whatif"), (u) => this.suppose(u));
    const coin = () => this.u ?? this.log.event(this.address).u;
    this.fork = new Fork(root.querySelector(".sd-fork"), coin, (what) => onFork({ ...this.address, ...what }));
    this.frame = null;
    new MutationObserver(() => this.later()).observe(document.body, { attributeFilter: ["class"] });
    onLanguage(() => this.later());
  }

  /** A token; while it is `pending` the target has not read it, and nothing is known but that it was drafted. */
  show(address, pending = false) {
    this.address = address;
    this.pending = pending;
    const event = address && this.log.event(address);
    this.root.classList.toggle("sd-empty", !event);
    this.root.classList.toggle("sd-waiting", pending);
    this.token.hidden = !event;
    this.whatIf.show(pending ? null : event);
    this.fork.show(pending ? null : event, event && this.instead(address, event));
    if (event && !pending) this.ahead([address]); // under way before the next frame
    if (event) this.head(pending ? { ...event, outcome: "pending", p: null, u: null, alpha: null } : event);
    this.suppose(null);
  }

  /** The text of what the run drew from the residual in place of a token that was refused. */
  instead(address, { outcome }) {
    const drawn = this.log.round(address.lane, address.round).events.find((event) => event.outcome === "resampled");
    return outcome === "rejected" ? drawn?.text : undefined;
  }

  /** What would be, had the coin been u; null: what was. */
  suppose(u) {
    this.u = u;
    this.root.classList.toggle("sd-hypothetical", u !== null);
    if (u === null && this.address) this.fork.decide(this.log.event(this.address)?.outcome);
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
    tell(verdict, () => `${this.glyphs[event.outcome] ?? "…"} ${say(event.outcome)}`);
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
    const shown = window.innerHeight > HIGH ? MANY : FEW;
    return { run: this.log.run, ...address, ...look(), shown };
  }

  /** What is to be shown now, as a question to the server. */
  wanted() {
    if (!this.address) return null;
    return { ...this.question(this.address), ...(this.u === null ? {} : { u: this.u }) };
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
    if (this.pending) return;
    const question = this.wanted();
    if (!question) {
      await this.fill(null);
      return;
    }
    const key = JSON.stringify(question);
    const answer = await this.inspections.get(question);
    if (this.pending || JSON.stringify(this.wanted()) !== key) return;
    if (answer) {
      this.whatIf.take(answer.outcome);
      if (answer.outcome) this.fork.decide(answer.outcome);
      this.fork.take(answer.candidates);
    }
    if (this.drawn === key) return;
    await this.fill(answer ?? { sentences: [{ label: "", text: say("runs_forgotten") }] });
    this.drawn = key;
    this.root.dataset.drawn = [question.lane, question.round, question.event, ...(this.u === null ? [] : [this.u])].join("-");
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

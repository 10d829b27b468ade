// The inspector: what is known of the picked token at once, its figures and sentences as soon as the server has drawn them.

import { draw, Inspections, plotly } from "./figures.js";
import { fill, probability } from "./format.js";
import { spell } from "./text.js";

const FIGURES = ["position", "coin", "residual"];

export class Inspector {
  constructor(root, log, { words, outcomes, plotlyConfig, ask }) {
    this.log = log;
    this.words = words;
    this.outcomes = Object.fromEntries(outcomes.map((o) => [o.name, o]));
    this.config = plotlyConfig;
    this.root = root;
    this.inspections = new Inspections(ask);
    this.token = root.querySelector(".sd-token");
    this.hint = root.querySelector(".sd-hint");
    this.sentences = root.querySelector(".sd-sentences");
    this.boxes = Object.fromEntries(FIGURES.map((name) => [name, root.querySelector(`[data-figure=${name}]`)]));
    this.address = null;
    this.frame = null;
    new MutationObserver(() => this.later()).observe(document.body, { attributeFilter: ["class"] });
  }

  show(address) {
    this.address = address;
    const event = address && this.log.event(address);
    this.root.classList.toggle("sd-empty", !event);
    this.token.hidden = !event;
    if (event) this.head(event);
    this.later();
  }

  head(event) {
    const { words, log, address } = this;
    const outcome = this.outcomes[event.outcome];
    const round = log.round(address.lane, address.round);
    const chip = document.createElement("span");
    chip.className = `sd-chip-big sd-${event.outcome}`;
    if (event.text) spell(chip, event.text, { flat: true });
    else chip.textContent = words.no_text;
    const verdict = document.createElement("p");
    verdict.className = `sd-verdict sd-ink-${event.outcome}`;
    verdict.textContent = `${outcome.glyph} ${outcome.label}`;
    const meaning = document.createElement("span");
    meaning.textContent = `: ${outcome.meaning}`;
    verdict.append(meaning);
    const where = document.createElement("p");
    where.className = "sd-where";
    const key = address.lane === "plain" ? "where_plain" : address.event < round.k ? "where_draft" : "where_last";
    where.textContent = fill(words[key], { round: address.round + 1, place: address.event + 1, k: round.k });
    const numbers = document.createElement("dl");
    for (const [name, value] of [
      ["p", event.p],
      ["q", event.q],
      ["u", event.u],
      ["α", event.alpha],
    ]) {
      if (value === null) continue;
      const pair = document.createElement("div");
      const term = document.createElement("dt");
      const number = document.createElement("dd");
      term.textContent = name;
      number.textContent = probability(value);
      pair.append(term, number);
      numbers.append(pair);
    }
    this.token.replaceChildren(chip, verdict, where, numbers);
  }

  /** Draw in the next frame; of several requests in a frame only the last one counts. */
  later() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.figures();
    });
  }

  question(address) {
    const theme = document.body.classList.contains("dark") ? "dark" : "light";
    return { run: this.log.run, ...address, theme };
  }

  async figures() {
    const address = this.address;
    if (!address) {
      for (const box of Object.values(this.boxes)) if (box.childElementCount) draw(box, null, this.config);
      this.sentences.replaceChildren();
      return;
    }
    const question = this.question(address);
    const [answer] = await Promise.all([this.inspections.get(question).catch(() => null), plotly()]);
    const wanted = this.address && this.question(this.address);
    if (JSON.stringify(question) !== JSON.stringify(wanted)) return;
    for (const name of FIGURES) await draw(this.boxes[name], answer?.[name], this.config);
    this.sentences.replaceChildren(
      ...(answer?.sentences ?? []).map((sentence) => {
        const item = document.createElement("li");
        item.textContent = sentence;
        return item;
      }),
    );
    this.root.dataset.drawn = `${address.lane}-${address.round}-${address.event}`;
  }

  /** Ask ahead for the tokens that an arrow key would lead to. */
  ahead(addresses) {
    for (const address of addresses) this.inspections.get(this.question(address)).catch(() => null);
  }
}

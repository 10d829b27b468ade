// A lane: a pane of tokens that can be walked, and that stays at its end while the reader lets it.

import { probability } from "../shared/format.js";
import { make } from "../shared/make.js";
import { Pinned } from "../shared/pinned.js";
import { spell } from "../shared/text.js";
import { say, tell } from "../shared/words.js";

export class Lane {
  /** `onPick({lane, round, event})` is called when the reader picks a token. */
  constructor(section, name, onPick) {
    this.name = name;
    this.pane = section.querySelector(".sd-pane");
    this.end = section.querySelector(".sd-end");
    this.pinned = new Pinned(this.pane, "down");
    this.picked = null;
    this.events = new WeakMap(); // token -> what it stands for
    this.pane.addEventListener("pointerover", (over) => this.entitle(over.target.closest(".sd-tok")));
    this.pane.addEventListener("click", (click) => {
      const token = click.target.closest(".sd-tok");
      if (token) onPick(this.address(token));
    });
    this.pane.addEventListener("keydown", (press) => {
      const target = this.step(press);
      if (!target) return;
      press.preventDefault();
      onPick(this.address(target));
    });
    this.pane.addEventListener("focus", () => {
      if (!this.picked && this.pane.matches(":focus-visible")) {
        const first = this.tokens()[0];
        if (first) onPick(this.address(first));
      }
    });
  }

  clear() {
    this.pane.replaceChildren();
    this.pane.removeAttribute("aria-activedescendant");
    this.picked = null;
    this.pinned.reset();
  }

  add(rounds) {
    if (!rounds.length) return;
    const fresh = document.createDocumentFragment();
    for (const round of rounds) fresh.append(this.group(round));
    this.pane.append(fresh);
  }

  /** Why the lane came to its end, once it has. */
  ended(why) {
    tell(this.end, () => (why ? say(`end_${why}`) : ""));
  }

  /** What an unfinished last character came to. */
  finish(tail) {
    const last = [...this.pane.querySelectorAll(".sd-tok:not(.sd-lost)")].at(-1);
    if (last) spell(last, tail);
  }

  group(round) {
    const group = document.createElement("span");
    group.className = "sd-round";
    group.setAttribute("role", "group");
    group.dataset.round = round.index;
    round.events.forEach((event, place) => group.append(this.token(round, event, place)));
    return group;
  }

  token(round, event, place) {
    const token = document.createElement("span");
    const lost = event.outcome === "rejected" || event.outcome === "discarded";
    token.className = `sd-tok sd-${event.outcome}${lost ? " sd-lost" : ""}${event.text ? "" : " sd-part"}`;
    token.id = `sd-${this.name}-${round.index}-${place}`;
    token.setAttribute("role", "option");
    token.setAttribute("aria-selected", "false");
    token.dataset.event = place;
    this.events.set(token, event);
    if (!/\S/.test(event.text)) this.entitle(token); // it has no other name
    spell(token, event.text, { flat: lost });
    return token;
  }

  /** Give a token its title. That of a word can wait until somebody is at it: while a run is told, time is short. */
  entitle(token) {
    if (token && !token.title) tell(token, () => title(this.events.get(token)), {}, "title");
  }

  /** Tokens that can be walked to, in the order of time. */
  tokens() {
    const all = [...this.pane.querySelectorAll(".sd-tok")];
    return this.pane.closest(".sd").classList.contains("sd-hide-lost")
      ? all.filter((token) => !token.classList.contains("sd-lost"))
      : all;
  }

  address(token) {
    return { lane: this.name, round: +token.parentNode.dataset.round, event: +token.dataset.event };
  }

  element({ round, event }) {
    return this.pane.querySelector(`#sd-${this.name}-${round}-${event}`);
  }

  /** Where a key leads: left and right by token, up and down by round, Home and End. */
  step(press) {
    if (press.ctrlKey || press.metaKey || press.altKey) return null;
    const tokens = this.tokens();
    if (!tokens.length) return null;
    const here = this.picked ? tokens.indexOf(this.picked) : -1;
    const bounded = (i) => tokens[Math.max(0, Math.min(tokens.length - 1, i))];
    const byRound = (way) => {
      const round = (this.picked ?? tokens[0]).parentNode;
      const groups = this.groups();
      const next = groups[groups.indexOf(round) + way];
      return next ? tokens.find((token) => token.parentNode === next) : bounded(way < 0 ? 0 : tokens.length - 1);
    };
    switch (press.key) {
      case "ArrowRight":
        return bounded(here + 1);
      case "ArrowLeft":
        return bounded(here < 0 ? 0 : here - 1);
      case "ArrowDown":
        return byRound(1);
      case "ArrowUp":
        return byRound(-1);
      case "Home":
        return tokens[0];
      case "End":
        return tokens.at(-1);
      default:
        return null;
    }
  }

  /** Addresses that an arrow key would lead to from the picked token. */
  neighbours() {
    const tokens = this.tokens();
    const here = tokens.indexOf(this.picked);
    return [tokens[here + 1], tokens[here - 1]].filter(Boolean).map((token) => this.address(token));
  }

  /** Mark the picked token, or none; the pane scrolls to it, the page does not. */
  show(address) {
    this.picked?.setAttribute("aria-selected", "false");
    this.picked = address?.lane === this.name ? this.element(address) : null;
    if (!this.picked) {
      this.pane.removeAttribute("aria-activedescendant");
      return;
    }
    this.picked.setAttribute("aria-selected", "true");
    this.entitle(this.picked);
    this.pane.setAttribute("aria-activedescendant", this.picked.id);
    this.seek(this.picked);
  }

  /** Scroll the pane, and nothing else, so that the token is in sight. */
  seek(element) {
    const pane = this.pane.getBoundingClientRect();
    const token = element.getBoundingClientRect();
    const above = token.top - pane.top - 8;
    const below = token.bottom - pane.bottom + 8;
    if (above < 0) this.pane.scrollTop += above;
    else if (below > 0) this.pane.scrollTop += below;
  }

  /** The elements of each token, by round and event. */
  parts() {
    return this.groups().map((group) => [...group.children]);
  }

  groups() {
    return [...this.pane.querySelectorAll(":scope > .sd-round")];
  }

  /** The text that a fork took over from the run that it left, before its own. */
  begin(fork) {
    this.pane.querySelector(".sd-given")?.remove();
    if (!fork) return;
    const given = make("span", "sd-given");
    const token = make("span", "sd-put");
    if (fork.before) spell(given, fork.before);
    spell(token, fork.given);
    given.append(token);
    this.pane.prepend(given);
  }
}

function title({ outcome, p, q }) {
  return `${say(outcome)} · p ${probability(p)}${q === null ? "" : ` · q ${probability(q)}`}`;
}

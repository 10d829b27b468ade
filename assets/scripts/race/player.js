// The player: steps through a finished run, moment by moment or by its own clock, forwards and back.

import { seconds } from "../shared/format.js";
import { onLanguage, say } from "../shared/words.js";
import { PENDING, SETTLED, timeline, UNWRITTEN } from "./timeline.js";

const CLASSES = { [UNWRITTEN]: "sd-unwritten", [PENDING]: "sd-pending" };

export class Player {
  /**
   * `stage` is the element that holds all that is stepped through; `parts()` gives the elements of each token, by lane,
   * round and event. `onStep(moment, playing)` is called with the moment that was reached last, null at the beginning.
   */
  constructor(root, stage, log, { parts, onStep }) {
    Object.assign(this, { root, stage, log, parts, onStep });
    this.slider = root.querySelector(".sd-slider");
    this.clock = root.querySelector(".sd-clock");
    this.speed = root.querySelector(".sd-speed");
    this.toggle = root.querySelector(".sd-play");
    this.clear();
    const commands = {
      "sd-first": () => this.go(0),
      "sd-back-round": () => this.byRound(-1),
      "sd-back": () => this.byStep(-1),
      "sd-play": () => this.play(!this.playing),
      "sd-next": () => this.byStep(1),
      "sd-next-round": () => this.byRound(1),
      "sd-last": () => this.go(this.moments.length),
    };
    for (const [name, command] of Object.entries(commands))
      root.querySelector(`.${name}`).addEventListener("click", command);
    this.slider.addEventListener("input", () => this.go(+this.slider.value));
    root.addEventListener("keydown", (press) => this.key(press));
    onLanguage(() => this.tell());
  }

  /** Another run is on the page. */
  clear() {
    this.playing = false;
    this.made = null; // the run's moments, made when they are first needed
    this.position = null; // so many of them have happened; null: all, and the run has not been stepped through
    this.stage.classList.remove("sd-replaying");
    this.enable(false);
  }

  /** The run is whole now, or it is not. */
  enable(is) {
    if (this.enabled === is) return;
    this.enabled = is;
    this.root.disabled = !is;
    this.tell();
  }

  get moments() {
    this.made ??= timeline(this.log.rounds);
    return this.made;
  }

  get length() {
    return this.enabled ? this.moments.length : 0;
  }

  get here() {
    return this.position ?? this.length;
  }

  // -- where to ------------------------------------------------------------------------------------------------------

  /** A reader's own step ends the play. */
  go(position) {
    this.play(false);
    this.moveTo(position);
  }

  /** To the next or the last moment of the speculative lane; of the other one where this has none left. */
  byStep(way) {
    const { moments, here } = this;
    const last = moments.findLastIndex(({ lane }) => lane === "spec");
    const leads = (i) => i - 1 > last || moments[i - 1].lane === "spec";
    let position = here + way;
    while (position > 0 && position < moments.length && !leads(position)) position += way;
    this.go(position);
  }

  /** To the end of this round or of the next one, or back to the end of the one before. */
  byRound(way) {
    const { moments, here } = this;
    const ends = (i) => i === 0 || i === moments.length || this.endsRound(moments[i - 1]);
    let position = Math.max(0, Math.min(moments.length, here + way));
    while (!ends(position)) position += way;
    this.go(position);
  }

  endsRound({ lane, round, event, after }) {
    if (lane !== "spec" || after !== SETTLED) return false;
    const { events, k } = this.log.round(lane, round);
    return event === (events.length > k ? k : events.findLastIndex(({ outcome }) => outcome === "accepted"));
  }

  /** Let so many moments have happened. */
  moveTo(position) {
    const { moments, here } = this;
    const target = Math.max(0, Math.min(moments.length, position));
    if (this.position === null) {
      this.tokens = this.parts();
      this.stage.classList.add("sd-replaying");
    }
    for (let i = here; i < target; i++) this.happen(moments[i], true);
    for (let i = here; i > target; i--) this.happen(moments[i - 1], false);
    this.position = target;
    this.stage.classList.toggle("sd-replaying", target < moments.length);
    this.tell();
    this.onStep(target > 0 ? moments[target - 1] : null, this.playing);
  }

  /** A moment, or its undoing. */
  happen({ lane, round, event, others, before, after }, forwards) {
    const tokens = this.tokens[lane][round];
    this.show(tokens[event], forwards ? after : before);
    for (const other of others) this.show(tokens[other], forwards ? SETTLED : PENDING);
  }

  show(elements, state) {
    for (const element of elements)
      for (const [of, name] of Object.entries(CLASSES)) element.classList.toggle(name, +of === state);
  }

  // -- by the clock --------------------------------------------------------------------------------------------------

  play(on) {
    if (this.playing === on) return;
    this.playing = on;
    if (on) {
      if (this.here === this.length) this.moveTo(0);
      this.time = this.here ? this.moments[this.here - 1].time : 0;
      this.frame(performance.now());
    }
    this.tell();
  }

  frame(before) {
    requestAnimationFrame((now) => {
      if (!this.playing) return;
      this.time += (Math.max(0, now - before) / 1000) * this.speed.value;
      let position = this.here;
      while (position < this.length && this.moments[position].time <= this.time) position++;
      if (position > this.here) this.moveTo(position);
      else this.tell();
      if (position === this.length) this.play(false);
      else this.frame(now);
    });
  }

  // -- keys and words ------------------------------------------------------------------------------------------------

  key(press) {
    if (press.target === this.speed || press.ctrlKey || press.metaKey || press.altKey) return;
    const step = {
      ArrowRight: () => this.byStep(1),
      ArrowLeft: () => this.byStep(-1),
      ArrowDown: () => this.byRound(1),
      ArrowUp: () => this.byRound(-1),
      Home: () => this.go(0),
      End: () => this.go(this.length),
      " ": press.target.matches("button") ? undefined : () => this.play(!this.playing), // a button has its own space
    }[press.key];
    if (!step) return;
    press.preventDefault();
    step();
  }

  tell() {
    const { slider, here, length, playing } = this;
    slider.max = length;
    slider.value = here;
    this.toggle.setAttribute("aria-pressed", playing);
    const now = this.at();
    this.clock.textContent = length ? say("player_clock", { now: seconds(now), all: seconds(this.end) }) : "";
    slider.setAttribute("aria-valuetext", length ? this.told() : "");
  }

  /** The last moment of a lane that has happened. */
  reached(lane) {
    return this.moments.slice(0, this.here).findLast((moment) => moment.lane === lane);
  }

  /** Seconds since the run began. */
  at() {
    if (this.playing) return Math.min(this.time, this.end);
    return this.here ? this.moments[this.here - 1].time : 0;
  }

  get end() {
    return this.length ? this.moments.at(-1).time : 0;
  }

  told() {
    if (!this.here) return say("player_begin");
    const { lane, round, event, after } = this.moments[this.here - 1];
    const { text, outcome } = this.log.event({ lane, round, event });
    if (lane === "plain") return say("player_pass", { round: round + 1, token: text });
    return say("player_step", { round: round + 1, token: text, what: say(after === PENDING ? "pending" : outcome) });
  }
}

// The stage: takes the deltas and hands each part what is new to it.

import { onceBack } from "../shared/connection.js";
import { setCurrent } from "../shared/current.js";
import { asTyped } from "../shared/fields.js";
import { linkedRecording } from "../shared/link.js";
import { setPicked } from "../shared/picked.js";
import { plotly } from "../shared/plotly.js";
import { say, speak } from "../shared/words.js";
import { deltas, server } from "./api.js";
import { contents } from "./file.js";
import { Inspector } from "./inspector.js";
import { keyboard } from "./keyboard.js";
import { Lane } from "./lane.js";
import { LANES, Log } from "./log.js";
import { legend } from "./legend.js";
import { Player } from "./player.js";
import { Runs } from "./runs.js";
import { save } from "./save.js";
import { Say } from "./say.js";
import { Scoreboard } from "./scoreboard.js";
import { Strip } from "./strip.js";
import { Table } from "./table.js";
import { PENDING } from "./timeline.js";
import { Timing } from "./timing.js";

const SILENCE_MS = 4000;
const POLL_MS = 700;
const REST_MS = 250;
const MARGIN = 12; // pixels
const MOST_CHOSEN = 8; // drafts a round, where K is auto

export class Stage {
  constructor({ element, props }) {
    const { outcomes } = props;
    this.largest = props.largest;
    this.root = element.querySelector(".sd");
    speak(this.root);
    this.log = new Log(outcomes);
    this.say = new Say(this.root.querySelector(".sd-say"), this.root.querySelector(".sd-asked"));
    const pick = (address) => this.pick(address, true);
    this.lanes = Object.fromEntries(
      LANES.map((name) => {
        const section = this.root.querySelector(`.sd-lane[data-lane=${name}]`);
        return [name, new Lane(section, name, pick)];
      }),
    );
    this.scoreboard = new Scoreboard(this.root.querySelector(".sd-scores"));
    this.strip = new Strip(this.root.querySelector(".sd-rounds"), pick);
    this.table = new Table(this.root.querySelector(".sd-rounds-table"), this.log, outcomes);
    this.inspector = new Inspector(this.root.querySelector(".sd-inspector"), this.log, {
      outcomes,
      plotlyConfig: props.plotly,
      ask: server.inspect,
      onFork: (question) => this.fork(question),
      onLost: () => this.lost(),
    });
    this.timing = new Timing(this.root.querySelector(".sd-timing"), this.log, {
      plotlyConfig: props.plotly,
      ask: server.rounds,
      onLost: () => this.lost(),
    });
    this.player = new Player(this.root.querySelector(".sd-player"), this.root, this.log, {
      parts: () => this.parts(),
      onStep: (moment, playing) => this.step(moment, playing),
    });
    this.runs = new Runs(this.root.querySelector(".sd-runs"), this.root, {
      recordings: props.recordings,
      onShow: (run) => this.show(run),
      onFile: (file) => this.open(file),
    });
    this.leaving = null; // the number of the run that a fork has been asked for to leave
    legend(this.root.querySelector(".sd-legend"), outcomes);
    this.download = this.root.querySelector(".sd-download");
    this.download.addEventListener("click", () => this.save());
    this.back = this.back.bind(this);
    this.root.querySelector(".sd-lost-toggle").addEventListener("change", (change) => {
      this.root.classList.toggle("sd-hide-lost", !change.target.checked);
      this.follow();
    });
    this.chosen = false; // whether the reader has picked a token of this run
    this.asked = null; // what ends the reading of the run that was asked for last
    this.heard = performance.now();
    this.checking = false; // whether the server is being asked if it is there
    this.say.phase(this.log.phase);
    keyboard(this.root, { onStop: () => this.stop() });
    document.addEventListener("sd-run", (asked) => this.write("run", asTyped(asked.detail)));
    if (props.value) this.take(JSON.parse(props.value));
    if (props.recordings.includes(linkedRecording())) this.show(`recorded-${linkedRecording()}`);
    setInterval(() => this.checkUp(), SILENCE_MS / 2);
    this.watch();
    (window.requestIdleCallback ?? setTimeout)(() => plotly().catch(() => this.lost()));
  }

  /** Have a run written, and read it to its end; nothing while one is being written. `way` is "run" or "fork". */
  async write(way, fields) {
    if (this.busy) return;
    this.asked?.abort(); // it may have been taken for lost, and go on
    const asked = (this.asked = new AbortController());
    this.say.phase({ name: "sent" });
    this.running(true);
    this.heard = performance.now();
    try {
      for await (const delta of deltas(way, fields, asked.signal)) {
        if (asked.signal.aborted) return;
        this.take(delta);
      }
    } catch {
      if (!asked.signal.aborted) this.lost();
    }
  }

  take(delta) {
    this.heard = performance.now();
    if (!delta.run) {
      if (delta.phase) this.refused(delta.phase);
      return;
    }
    const news = this.log.take(delta);
    if (news.started) this.clear();
    if (news.gap) this.resync();
    for (const [name, lane] of Object.entries(this.lanes)) {
      lane.add(news.rounds[name]);
      if (news.tails[name]) lane.finish(news.tails[name]);
      lane.ended(this.log.phase[name]);
    }
    this.strip.add(news.rounds.spec);
    this.table.catchUp();
    if (delta.stats) this.scoreboard.show(delta.stats);
    if (delta.head) {
      for (const lane of Object.values(this.lanes)) lane.begin(delta.head.fork);
      this.root.dataset.recording = delta.head.recording ?? "";
      this.runs.now(delta.run, { ...delta.head, file: this.log.phase.file }, this.leaving);
      this.say.run(delta.head);
      this.say.models(delta.head.pair, delta.head.notes);
      this.root.style.setProperty("--sd-k", Math.max(1, delta.head.k ?? MOST_CHOSEN));
    }
    this.say.phase(this.log.phase);
    this.running(!this.log.final);
    if (this.log.final) setCurrent(this.log.run);
    this.follow();
    const whole = this.log.final && this.log.rounds.spec.length > 0;
    this.download.disabled = !whole;
    this.player.enable(whole);
    if (this.log.final && !this.chosen && this.log.pick) {
      const [round, event] = this.log.pick;
      this.pick({ lane: "spec", round, event }, false);
    }
  }

  /** Whether the page shows nothing but the recorded run. */
  get quiet() {
    return this.root.dataset.state === "idle" && (!this.log.head || this.log.head.recorded);
  }

  clear() {
    this.player.clear();
    for (const lane of Object.values(this.lanes)) lane.clear();
    this.strip.clear();
    this.table.clear();
    this.scoreboard.show(null);
    this.pick(null, false);
    this.chosen = false;
  }

  refused(phase) {
    this.say.phase(phase);
    this.running(false);
  }

  lost() {
    this.refused({ name: "lost" });
    onceBack(this.back);
  }

  /**
   * The server is there again: what it still knows of the run is taken; else what is on the page stays. Throws, and all
   * stays lost, where what is looked at has no answer.
   */
  async back() {
    if (this.busy) return; // another run has begun meanwhile
    const { asked } = this;
    await Promise.all([this.inspector.look(), this.timing.look()]);
    const gone = { run: this.log.run, phase: { ...this.log.phase, name: "back" } };
    const rest = (await server.resync(this.log.since)) ?? gone;
    if (this.busy || this.asked !== asked || rest.run !== this.log.run) return; // or by now
    this.take(rest);
    this.inspector.later();
  }

  running(is) {
    document.body.classList.toggle("sd-running", is);
    this.root.dataset.state = is ? "running" : "idle";
    this.root.querySelector(".sd-fork").disabled = is;
    if (!is) this.leaving = null;
  }

  get busy() {
    return this.root.dataset.state === "running";
  }

  // -- other runs than the one that was asked for last -----------------------------------------------------------------

  /** Write on from a token of this run: a new one, which the server tells as any other. */
  fork(question) {
    if (this.busy) return;
    const { run } = this.log;
    this.leaving = this.runs.number(run);
    this.write("fork", { run, ...question });
  }

  /** The run as a file. */
  async save() {
    try {
      if (!(await save(this.log))) this.say.phase({ name: "failed", sentence: () => say("runs_forgotten") });
    } catch {
      this.lost();
    }
  }

  /** Have a run on the page that was there before, or a recorded one. */
  show(run) {
    return this.change(async () => {
      const whole = await server.resync({ run, spec: 0, plain: 0 });
      if (!whole) this.runs.drop(run);
      return whole ?? { phase: { name: "failed", sentence: () => say("runs_forgotten") } };
    });
  }

  /** Have a run on the page that was saved in a file. */
  open(file) {
    return this.change(async () => {
      const { unread, ...held } = await contents(file, this.largest);
      if (unread) return { phase: { name: "failed", sentence: () => say(unread) } };
      return server.open({ ...held, name: file.name });
    });
  }

  /** What `ask` brings is a run, or the phase that says why there is none; then all stays as it is. */
  async change(ask) {
    if (this.busy) {
      this.say.phase({ name: "failed", sentence: () => say("runs_busy") });
      return;
    }
    try {
      const whole = await ask();
      if (this.busy) return; // another run has begun meanwhile
      if (whole.run === this.log.run) this.say.phase(this.log.phase);
      this.take(whole);
    } catch {
      this.lost();
    }
  }

  // -- the replay ----------------------------------------------------------------------------------------------------

  /** The elements that stand for each token: in its lane, and of the speculative one in the strip. */
  parts() {
    const strip = this.strip.parts();
    const spec = this.lanes.spec.parts().map((tokens, round) => tokens.map((token, i) => [token, strip[round][i]]));
    return { spec, plain: this.lanes.plain.parts().map((tokens) => tokens.map((token) => [token])) };
  }

  /** The replay stands at a moment; the inspector follows where it rests. */
  step(moment, playing) {
    const address = moment && { lane: moment.lane, round: moment.round, event: moment.event };
    for (const [name, lane] of Object.entries(this.lanes)) {
      lane.show(address);
      const reached = this.player.reached(name);
      if (reached && name !== address.lane) lane.seek(lane.element(reached));
    }
    this.strip.show(address);
    clearTimeout(this.still);
    const inspect = () => {
      this.inspector.show(address, moment?.after === PENDING);
      this.timing.show(address);
    };
    if (playing) this.still = setTimeout(inspect, REST_MS);
    else inspect();
  }

  /** The page is ready for another run at once; what is still to be told of this one is asked for. */
  async stop() {
    if (!this.busy) return;
    this.asked?.abort();
    this.say.phase({ name: "stopped" });
    this.running(false);
    if (!this.log.final) await this.ask(server.stop);
  }

  resync() {
    return this.ask(server.resync);
  }

  /** Take what a question about the run brings, unless another one has been asked for meanwhile. */
  async ask(method) {
    const { asked } = this;
    try {
      const rest = await method(this.log.since);
      if (rest && rest.run === this.log.run && this.asked === asked) this.take(rest);
    } catch {
      if (this.asked === asked) this.lost();
    }
  }

  /** When all has been silent for long: is the server still there, and did we miss anything? */
  async checkUp() {
    if (this.checking || !this.busy || performance.now() - this.heard < SILENCE_MS) return;
    this.checking = true;
    if (this.log.final) await server.status({}).catch(() => this.lost());
    else await this.resync();
    this.checking = false;
    const silent = performance.now() - this.heard >= SILENCE_MS;
    if (!this.log.final && this.busy && silent) this.lost(); // the server knows no such run
  }

  /** Let what is at its end stay there. */
  follow() {
    for (const part of [...Object.values(this.lanes), this.strip]) part.pinned.follow();
  }

  /** How the models come along, until they are there. */
  async watch() {
    try {
      const status = await server.status({});
      if (!this.quiet) return; // a run tells more
      if (status.state === "ready") this.say.models(status.pair, status.notes);
      if (status.state === "failed") this.refused({ name: "failed", sentence: status.sentence });
      this.say.progress(status.state === "loading" ? status.fraction : null);
      if (status.state !== "loading") return;
      this.say.coming(status.sentence);
      setTimeout(() => this.watch(), POLL_MS);
    } catch {
      setTimeout(() => this.watch(), 4 * POLL_MS);
    }
  }

  /** Show a token; `chosen` where the reader picked it. */
  pick(address, chosen) {
    this.chosen = this.chosen || (chosen && address !== null);
    for (const lane of Object.values(this.lanes)) lane.show(address);
    this.strip.show(address);
    this.inspector.show(address);
    this.timing.show(address);
    setPicked(address && { run: this.log.run, ...address });
    if (!chosen || !address) return;
    this.reveal(this.lanes[address.lane].picked);
    if (this.log.final) this.ahead(this.lanes[address.lane]);
  }

  /** Scroll the page so that the inspector is seen, but never so far that the picked token is not. */
  reveal(token) {
    const inspector = this.inspector.root.getBoundingClientRect();
    const down = Math.min(inspector.bottom - window.innerHeight, (token?.getBoundingClientRect().top ?? 0)) - MARGIN;
    const distance = inspector.top < 0 ? inspector.top - MARGIN : Math.max(0, down);
    if (distance) window.scrollBy({ top: distance, behavior: calm() ? "instant" : "smooth" });
  }

  /** Once the reader rests, fetch what the next key would ask for. */
  ahead(lane) {
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.inspector.ahead(lane.neighbours()), REST_MS);
  }
}

function calm() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

export function mount(parts) {
  return new Stage(parts);
}

// A measurement on the server: begun, looked at until it ends, and stopped.

import { onceBack } from "./connection.js";
import { short } from "./format.js";
import { PAGE } from "./identity.js";
import { sentence } from "./phase.js";
import { settings } from "./settings.js";
import { isShown } from "./shown.js";
import { say, tell } from "./words.js";

const LOOK_MS = 250;

const FINAL = ["done", "stopped", "failed", "lost", "back"];

/** Of what an update of the page shows: where it is told, by the class names of the template. */
export class Measurement {
  /**
   * root      holds a .sd-measure: a form with its buttons, the sentence and the bar
   * server    {start, look, stop}, each a promise of what is told
   * words     phase -> [key, values] for what the race has no sentence for
   * fields    a promise of the race's fields
   * question  what else belongs to a question, of the form and of how it is looked at
   * beside    asks what else the tab shows, and throws where there is no answer
   * onNews    gets what is shown, once it is new
   */
  constructor(root, server, { words, fields, question, onNews, beside = () => null }) {
    this.root = root;
    this.server = server;
    this.words = words;
    this.fields = fields;
    this.question = question;
    this.onNews = onNews;
    this.beside = beside;
    this.sentence = root.querySelector(".sd-measure-text");
    this.asked = root.querySelector(".sd-measure-settings");
    this.clamped = root.querySelector(".sd-measure-clamped");
    this.bar = root.querySelector(".sd-measure-bar");
    this.go = root.querySelector("[type=submit]");
    this.halt = root.querySelector(".sd-measure-stop");
    this.run = null;
    this.news = -1;
    this.attempt = 0; // counts what was begun, so that a late answer about another one is passed over
    root.querySelector("form").addEventListener("submit", (submit) => {
      submit.preventDefault();
      this.start();
    });
    this.halt.addEventListener("click", () => this.stop());
    window.addEventListener("pagehide", () => {
      if (this.running && this.run) this.server.stop({ run: this.run }).catch(() => null);
    });
    this.back = this.back.bind(this);
    document.addEventListener("keydown", (press) => {
      if (press.key !== "Escape" || !this.running || !isShown(root)) return;
      press.preventDefault();
      this.stop();
    });
    this.phase({ name: "idle" });
  }

  get running() {
    return this.root.dataset.state === "running";
  }

  async start() {
    if (this.running) return;
    const attempt = (this.attempt += 1);
    this.run = null;
    this.news = -1;
    this.phase({ name: "sent" });
    const fields = await this.fields();
    if (attempt === this.attempt) await this.ask(() => this.server.start({ ...this.question(), fields, page: PAGE }));
  }

  async stop() {
    if (!this.running) return;
    this.attempt += 1;
    this.phase({ name: "stopped" });
    if (this.run) await this.ask(() => this.server.stop(this.known()));
  }

  /** Have what was found shown again, in another language, say. */
  async again() {
    this.news = -1;
    if (this.run) await this.ask(() => this.server.look(this.known()));
  }

  lost() {
    this.phase({ name: "lost" });
    onceBack(this.back);
  }

  /** The server is there again: go on with what it still knows. Throws, and all stays lost, where it has no answer. */
  async back() {
    const { attempt } = this;
    const told = this.run && (await this.server.look(this.known()));
    if (told) await this.show(told);
    await this.beside();
    if (attempt !== this.attempt || this.root.dataset.phase !== "lost") return; // something has begun meanwhile
    this.phase({ name: "back" });
    if (told) await this.ask(() => told);
  }

  known() {
    return { ...this.question(), run: this.run, news: this.news };
  }

  /** Take what an answer tells, and look again until there is no more to come. */
  async ask(question) {
    const { attempt } = this;
    try {
      const told = await question();
      if (attempt !== this.attempt) {
        if (told?.run && told.run !== this.run) await this.server.stop({ run: told.run }); // begun when all was over
        return;
      }
      if (told) await this.take(told);
      else if (this.running) this.phase({ name: "failed", sentence: () => say("runs_forgotten") });
    } catch {
      if (attempt === this.attempt) this.lost();
      return;
    }
    clearTimeout(this.timer);
    if (this.running) this.timer = setTimeout(() => this.ask(() => this.server.look(this.known())), LOOK_MS);
  }

  async take(told) {
    this.run = told.run ?? this.run;
    this.phase(told.phase, told.head);
    await this.show(told);
  }

  /** Show what is new; what could not be shown is asked for again. */
  async show({ shown, news }) {
    if (!shown || news === this.news) return;
    await this.onNews(shown);
    this.news = news;
  }

  phase(phase, head) {
    const [key, values] = this.words[phase.name]?.(phase) ?? sentence(phase);
    tell(this.sentence, key, values);
    // A stop and a lost connection are said of what was asked for before.
    if (head) tell(this.asked, () => [...settings(head), `“${short(head.prompt)}”`].join(" · "));
    else if (phase.name === "sent") tell(this.asked, () => "");
    this.clamped.hidden = !head?.clamped;
    if (head?.clamped) tell(this.clamped, this.words.clamped, head);
    const on = phase.name !== "idle" && !FINAL.includes(phase.name);
    this.root.dataset.state = on ? "running" : "idle";
    this.root.dataset.phase = phase.name;
    this.go.disabled = on;
    this.halt.disabled = !on;
    const fraction = phase.asked ? phase.runs / phase.asked : (phase.fraction ?? 0);
    this.bar.classList.toggle("sd-on", on);
    this.bar.firstElementChild.style.width = `${100 * fraction}%`;
  }
}

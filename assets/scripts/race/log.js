// The run as the page knows it: rounds by lane, each carrying its index, so that an update may come twice or late.

export const LANES = ["spec", "plain"];

const FINAL = ["idle", "done", "stopped", "failed", "recorded", "back"];

/** An event of a round, unpacked. */
function unpackEvent([code, text, id, p, q, u, alpha], outcomes) {
  return { outcome: outcomes[code].name, text, id, p, q, u, alpha };
}

function unpackRound([index, k, events, seconds], outcomes) {
  return { index, k, events: events.map((event) => unpackEvent(event, outcomes)), seconds };
}

export class Log {
  constructor(outcomes) {
    this.outcomes = outcomes;
    this.clear(null);
  }

  clear(run) {
    this.run = run;
    this.rounds = { spec: [], plain: [] };
    this.head = null;
    this.stats = null;
    this.phase = { name: "idle" };
    this.tails = {};
    this.pick = null;
  }

  /** How many rounds of each lane are here: what a resync starts from. */
  get since() {
    return { run: this.run, spec: this.rounds.spec.length, plain: this.rounds.plain.length };
  }

  get final() {
    return FINAL.includes(this.phase.name);
  }

  /** Take in a delta. Returns what is new: {started, rounds: {spec, plain}, tails, gap}. */
  take(delta) {
    const started = delta.run !== undefined && delta.run !== this.run;
    if (started) this.clear(delta.run);
    const news = { started, rounds: { spec: [], plain: [] }, tails: {}, gap: false };
    for (const lane of LANES) {
      for (const row of delta[lane] ?? []) {
        const known = this.rounds[lane].length;
        if (row[0] < known) continue;
        if (row[0] > known) {
          news.gap = true;
          break;
        }
        const round = unpackRound(row, this.outcomes);
        this.rounds[lane].push(round);
        news.rounds[lane].push(round);
      }
    }
    this.head = delta.head ?? this.head;
    this.stats = delta.stats ?? this.stats;
    if (news.gap) return news;
    this.takeTails(delta.tail ?? {}, news);
    this.pick = delta.pick ?? this.pick;
    // What was on its way when the end was told must not undo it.
    if (delta.phase && !(this.final && !started && !FINAL.includes(delta.phase.name))) this.phase = delta.phase;
    return news;
  }

  /** A round that came with its tail has it already; one that came before still lacks it. */
  takeTails(tails, news) {
    for (const [lane, tail] of Object.entries(tails)) {
      if (this.tails[lane] !== undefined) continue;
      this.tails[lane] = tail;
      if (!news.rounds[lane].length) news.tails[lane] = tail;
    }
  }

  round(lane, index) {
    return this.rounds[lane]?.[index];
  }

  event({ lane, round, event }) {
    return this.rounds[lane]?.[round]?.events[event];
  }
}

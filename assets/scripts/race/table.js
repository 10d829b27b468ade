// The rounds of the speculative lane in words and numbers, a row a token, for those who do not see the pictures.

import { probability } from "../shared/format.js";
import { make } from "../shared/make.js";
import { onLanguage, say, tell } from "../shared/words.js";

const COLUMNS = ["table_round", "table_token", "table_outcome", "p", "q", "u", "α"];

/** A <details>; what is in it is made when it is opened, and goes on with the run. */
export class Table {
  constructor(details, log, outcomes) {
    this.details = details;
    this.log = log;
    this.glyphs = Object.fromEntries(outcomes.map((o) => [o.name, o.glyph]));
    this.body = make("tbody", "");
    const table = make("table", "sd-table");
    table.append(this.heading(), this.body);
    this.box = details.querySelector(".sd-table-box");
    this.box.append(table);
    this.rounds = 0; // that are in it
    details.addEventListener("toggle", () => this.catchUp());
    onLanguage(() => this.clear());
  }

  heading() {
    const row = make("tr", "");
    for (const name of COLUMNS) {
      const cell = make("th", "", name);
      cell.scope = "col";
      if (name.startsWith("table_")) tell(cell, name);
      row.append(cell);
    }
    const head = make("thead", "");
    head.append(row);
    return head;
  }

  clear() {
    this.body.replaceChildren();
    this.rounds = 0;
    this.catchUp();
  }

  /** Add the rounds that the log has beyond it. */
  catchUp() {
    if (!this.details.open) return;
    const fresh = this.log.rounds.spec.slice(this.rounds);
    this.rounds += fresh.length;
    this.body.append(...fresh.flatMap((round) => round.events.map((event, place) => this.row(round, event, place))));
  }

  row(round, event, place) {
    const row = make("tr", "");
    if (place === 0) {
      const head = make("th", "", String(round.index + 1));
      head.scope = "rowgroup";
      head.rowSpan = round.events.length;
      row.append(head);
    }
    row.append(
      make("td", "sd-table-token", JSON.stringify(event.text)),
      make("td", `sd-ink-${event.outcome}`, `${this.glyphs[event.outcome]} ${say(event.outcome)}`),
      ...[event.p, event.q, event.u, event.alpha].map((number) => make("td", "", probability(number))),
    );
    return row;
  }
}

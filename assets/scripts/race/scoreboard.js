// The numbers under the lanes, and the speed-up between them.

import { figures, percent, seconds } from "../shared/format.js";
import { make } from "../shared/make.js";
import { say, tell } from "../shared/words.js";

// Tokens a pass from which on they, and not the clock's noise, are what makes a lane faster.
const CLEARLY_MORE = 1.05;

const PARTS = ["draft", "verify", "other"];

class Score {
  constructor(root, lane) {
    this.speculative = lane === "spec";
    this.cells = {};
    const row = make("div", "sd-stats");
    row.append(this.stat("per_second", `per_second_${lane}`), this.stat("per_pass", "per_pass"));
    if (this.speculative) row.append(this.stat("acceptance", "acceptance", { accepted: "–", judged: "–" }));
    this.bar = make("div", "sd-time");
    this.slices = PARTS.map((part) => make("i", `sd-time-${part}`));
    this.bar.append(...this.slices);
    this.times = make("p", "sd-times");
    this.parts = PARTS.filter((part) => this.speculative || part !== "draft").map((part) => {
      const item = make("span", `sd-key sd-key-${part}`);
      const name = make("span", "");
      const value = make("b", "", "–");
      tell(name, part);
      item.append(name, " ", value);
      this.times.append(item);
      return [part, value];
    });
    this.apart = make("p", "sd-apart");
    root.replaceChildren(row, this.bar, this.times, this.apart);
    this.show(null);
  }

  stat(key, name, values) {
    const box = make("div", `sd-stat sd-stat-${key}`);
    this.cells[key] = [make("b", "", "–"), make("span", "")];
    tell(this.cells[key][1], name, values);
    box.append(...this.cells[key]);
    return box;
  }

  show(stats) {
    const set = (key, value) => (this.cells[key][0].textContent = value);
    set("per_second", figures(stats?.per_second));
    set("per_pass", figures(stats?.per_pass));
    if (this.speculative) {
      set("acceptance", percent(stats?.acceptance));
      const { accepted, judged } = stats ?? { accepted: "–", judged: "–" };
      tell(this.cells.acceptance[1], "acceptance", { accepted, judged });
    }
    let spent = stats?.seconds ?? [0, 0, 0];
    if (!this.speculative) spent = [0, spent[1], spent[0] + spent[2]]; // nothing is drafted here
    const total = spent.reduce((a, b) => a + b, 0);
    this.slices.forEach((slice, i) => (slice.style.flexGrow = total ? spent[i] / total : 0));
    for (const [part, value] of this.parts) value.textContent = seconds(stats && spent[PARTS.indexOf(part)]);
    tell(this.apart, () => this.rest(stats).join(" · "));
  }

  rest(stats) {
    return [
      `${say("tokens")} ${stats?.emitted ?? "–"}`,
      `${say("passes")} ${stats?.rounds ?? "–"}`,
      ...(this.speculative ? [`${say("drafted")} ${stats?.drafted ?? "–"}`] : []),
      `${say("prefill")} ${seconds(stats?.prefill_s)}`,
      `${say("first_token")} ${seconds(stats?.first_token_s)}`,
    ];
  }
}

export class Scoreboard {
  constructor(root) {
    this.scores = Object.fromEntries(
      [...root.querySelectorAll(".sd-score")].map((box) => [box.dataset.lane, new Score(box, box.dataset.lane)]),
    );
    this.gain = root.querySelector(".sd-gain");
    this.number = root.querySelector(".sd-gain-number");
    this.why = root.querySelector(".sd-gain-why");
  }

  show(stats) {
    for (const [lane, score] of Object.entries(this.scores)) score.show(stats?.[lane] ?? null);
    const gain = stats?.speedup ?? null;
    this.number.textContent = gain === null ? "–" : `${gain.toFixed(2)}×`;
    this.gain.dataset.side = gain === null ? "none" : gain >= 1 ? "faster" : "slower";
    tell(this.why, () => this.reason(stats, gain));
  }

  /** Why the speculative lane is slower, or what makes it faster. */
  reason(stats, gain) {
    if (stats?.why) return say(`why_${stats.why}`);
    if (gain === null || gain < 1 || stats.spec.per_pass < CLEARLY_MORE) return "";
    return say("why_faster", { per_pass: figures(stats.spec.per_pass) });
  }
}

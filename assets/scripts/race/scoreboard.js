// The numbers under the lanes, and the speed-up between them.

import { figures, fill, percent, seconds } from "../shared/format.js";
import { make } from "../shared/make.js";

// Tokens a pass from which on they, and not the clock's noise, are what makes a lane faster.
const CLEARLY_MORE = 1.05;

const PARTS = ["draft", "verify", "other"];

class Score {
  constructor(root, lane, words) {
    this.words = words;
    this.speculative = lane === "spec";
    this.cells = {};
    const row = make("div", "sd-stats");
    const speed = this.speculative ? words.per_second_spec : words.per_second_plain;
    row.append(this.stat("per_second", speed), this.stat("per_pass", words.per_pass));
    if (this.speculative) row.append(this.stat("acceptance", words.acceptance));
    this.bar = make("div", "sd-time");
    this.slices = PARTS.map((part) => make("i", `sd-time-${part}`));
    this.bar.append(...this.slices);
    this.times = make("p", "sd-times");
    this.parts = PARTS.filter((part) => this.speculative || part !== "draft").map((part) => {
      const item = make("span", `sd-key sd-key-${part}`, words[part] + " ");
      const value = make("b", "", "–");
      item.append(value);
      this.times.append(item);
      return [part, value];
    });
    this.apart = make("p", "sd-apart");
    root.replaceChildren(row, this.bar, this.times, this.apart);
    this.show(null);
  }

  stat(key, name) {
    const box = make("div", `sd-stat sd-stat-${key}`);
    const value = make("b", "", "–");
    box.append(value, make("span", "", name));
    this.cells[key] = [value, box.lastChild];
    return box;
  }

  show(stats) {
    const words = this.words;
    const set = (key, value) => (this.cells[key][0].textContent = value);
    set("per_second", figures(stats?.per_second));
    set("per_pass", figures(stats?.per_pass));
    if (this.speculative) {
      set("acceptance", percent(stats?.acceptance));
      this.cells.acceptance[1].textContent = fill(words.acceptance, {
        accepted: stats?.accepted ?? "–",
        judged: stats?.judged ?? "–",
      });
    }
    let spent = stats?.seconds ?? [0, 0, 0];
    if (!this.speculative) spent = [0, spent[1], spent[0] + spent[2]]; // nothing is drafted here
    const total = spent.reduce((a, b) => a + b, 0);
    this.slices.forEach((slice, i) => (slice.style.flexGrow = total ? spent[i] / total : 0));
    for (const [part, value] of this.parts) value.textContent = seconds(stats && spent[PARTS.indexOf(part)]);
    const apart = [
      `${words.tokens} ${stats?.emitted ?? "–"}`,
      `${words.passes} ${stats?.rounds ?? "–"}`,
      this.speculative && `${words.drafted} ${stats?.drafted ?? "–"}`,
      `${words.prefill} ${seconds(stats?.prefill_s)}`,
      `${words.first_token} ${seconds(stats?.first_token_s)}`,
    ];
    this.apart.textContent = apart.filter(Boolean).join(" · ");
  }
}

export class Scoreboard {
  constructor(root, words) {
    this.words = words;
    this.scores = Object.fromEntries(
      [...root.querySelectorAll(".sd-score")].map((box) => [box.dataset.lane, new Score(box, box.dataset.lane, words)]),
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
    this.why.textContent = this.reason(stats, gain);
  }
  /** Why the speculative lane is slower, or what makes it faster. */
  reason(stats, gain) {
    if (stats?.why) return this.words[`why_${stats.why}`];
    if (gain === null || gain < 1 || stats.spec.per_pass < CLEARLY_MORE) return "";
    return fill(this.words.why_faster, { per_pass: figures(stats.spec.per_pass) });
  }
}

// Is it lossless? The check, and what it finds while it goes on.

import { counted, fieldsBy } from "../shared/fields.js";
import { Figure } from "../shared/figure.js";
import { look, onLook } from "../shared/look.js";
import { make } from "../shared/make.js";
import { Measurement } from "../shared/measurement.js";
import { lines } from "../shared/rows.js";
import { questions } from "../shared/server.js";
import { speak } from "../shared/words.js";

class Proof {
  constructor({ element, props, fields }) {
    this.root = element.querySelector(".sd-proof");
    speak(this.root);
    this.runs = this.root.querySelector(".sd-proof-runs");
    this.found = this.root.querySelector(".sd-proof-found");
    this.says = this.root.querySelector(".sd-proof-says");
    this.tests = this.root.querySelector(".sd-proof-tests tbody");
    this.rules = this.root.querySelector(".sd-proof-rules tbody");
    this.list = this.root.querySelector(".sd-sentences");
    this.figure = new Figure(this.root.querySelector("[data-figure=comparison]"), props.plotly);
    this.choice = "1"; // which histogram is shown: a length, or a wrong rule
    this.measurement = new Measurement(this.root, questions(["start", "look", "stop"], "proof"), {
      words: {
        idle: () => ["proof_idle", {}],
        running: (phase) => [phase.runs ? "proof_running" : "proof_exactly", phase],
        clamped: "proof_clamped",
      },
      fields: fieldsBy(fields),
      question: () => ({ ...look(), choice: this.choice, runs: counted(this.runs) }),
      onNews: (shown) => this.show(shown),
    });
    this.says.addEventListener("change", (change) => this.choose(change.target.value));
    onLook(this.root, () => this.measurement.again());
  }

  choose(choice) {
    this.choice = choice;
    this.measurement.again();
  }

  async show({ figure, tests, rules, lines: said, choice }) {
    this.found.hidden = false;
    fill(
      this.tests,
      tests.map((test, i) => ({
        choice: tests.findIndex((other) => other.length === test.length) === i ? String(test.length) : null,
        texts: [test.what, test.who, test.chi2, test.p_value, test.distance],
      })),
      choice,
    );
    this.tests.parentElement.hidden = !tests.length;
    this.rules.parentElement.hidden = !rules.length;
    fill(
      this.rules,
      rules.map((rule) => ({
        choice: rule.rule,
        texts: [rule.name, rule.exactly, rule.chi2, rule.p_value, rule.distance],
      })),
      choice,
    );
    lines(this.list, said);
    await this.figure.draw(figure);
  }
}

/** Rows {choice, texts}; they are made anew only where there are others, so that none loses the focus. */
function fill(body, rows, chosen) {
  if (body.childElementCount !== rows.length) body.replaceChildren(...rows.map(rowOf));
  rows.forEach(({ choice, texts }, i) => {
    const row = body.children[i];
    row.querySelectorAll("[data-cell]").forEach((cell, j) => (cell.textContent = texts[j]));
    const input = row.querySelector("input");
    if (input) input.checked = choice === chosen;
  });
}

/** A row of empty cells; one with a choice can have its histogram shown. */
function rowOf({ choice, texts }) {
  const row = document.createElement("tr");
  const name = document.createElement("th");
  name.scope = "row";
  const label = document.createElement("label");
  if (choice !== null) {
    const input = { type: "radio", name: "sd-proof-choice", value: choice };
    label.append(Object.assign(document.createElement("input"), input));
  }
  label.append(cell("span"));
  name.append(label);
  row.append(name, ...texts.slice(1).map(() => cell("td")));
  return row;
}

function cell(tag) {
  const made = make(tag, "");
  made.dataset.cell = "";
  return made;
}

export function mount(parts) {
  return new Proof(parts);
}

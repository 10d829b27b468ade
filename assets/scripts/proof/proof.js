// Is it lossless? The check, and what it finds while it goes on.

import { fieldsBy } from "../shared/fields.js";
import { Figure } from "../shared/figure.js";
import { look, onLook } from "../shared/look.js";
import { make } from "../shared/make.js";
import { Measurement } from "../shared/measurement.js";
import { lines } from "../shared/rows.js";
import { reliable } from "../shared/server.js";
import { speak } from "../shared/words.js";

class Proof {
  constructor({ element, props, server, fields }) {
    this.root = element.querySelector(".sd-proof");
    speak(this.root);
    this.runs = this.root.querySelector(".sd-proof-runs");
    this.found = this.root.querySelector(".sd-proof-found");
    this.tests = this.root.querySelector(".sd-proof-tests tbody");
    this.list = this.root.querySelector(".sd-sentences");
    this.figure = new Figure(this.root.querySelector("[data-figure=comparison]"), props.plotly);
    this.length = 1;
    this.measurement = new Measurement(this.root, reliable(server, ["start", "look", "stop"]), {
      words: {
        idle: () => ["proof_idle", {}],
        running: (phase) => [phase.runs ? "proof_running" : "proof_exactly", phase],
        clamped: "proof_clamped",
      },
      fields: fieldsBy(fields),
      question: () => ({ ...look(), length: this.length, runs: this.runs.valueAsNumber }),
      onNews: (shown) => this.show(shown),
    });
    this.tests.addEventListener("change", (change) => this.choose(+change.target.value));
    onLook(this.root, () => this.measurement.again());
  }

  choose(length) {
    this.length = length;
    this.measurement.again();
  }

  async show({ figure, tests, lines: said, length }) {
    this.found.hidden = false;
    this.fill(tests, length);
    lines(this.list, said);
    await this.figure.draw(figure);
  }

  /** The rows are made anew only where there are others, so that none loses the focus. */
  fill(tests, length) {
    if (this.tests.childElementCount !== tests.length) this.tests.replaceChildren(...tests.map(rowOf));
    tests.forEach((test, i) => {
      const row = this.tests.children[i];
      const cells = row.querySelectorAll("[data-cell]");
      const texts = [test.what, test.who, test.chi2, test.p_value, test.distance];
      texts.forEach((text, j) => (cells[j].textContent = text));
      const choice = row.querySelector("input");
      if (choice) choice.checked = test.length === length;
    });
  }
}

/** A row of empty cells; the first one of each length chooses what the histogram shows. */
function rowOf({ length }, i, all) {
  const row = document.createElement("tr");
  const name = document.createElement("th");
  name.scope = "row";
  const label = document.createElement("label");
  if (all.findIndex((test) => test.length === length) === i) {
    const choice = { type: "radio", name: "sd-proof-length", value: length };
    label.append(Object.assign(document.createElement("input"), choice));
  }
  label.append(cell("span"));
  name.append(label);
  row.append(name, cell("td"), cell("td"), cell("td"), cell("td"));
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

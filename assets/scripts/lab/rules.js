// The rules: one of them is chosen; of each one knows what comes out and how soon it is found out.

import { make } from "../shared/make.js";
import { tell } from "../shared/words.js";

export class Rules {
  /** `names`: the first is the lossless one. `onChoose` is called after another one was chosen. */
  constructor(root, names, onChoose) {
    this.root = root;
    this.names = names;
    this.chosen = names[0];
    this.onChoose = onChoose;
    this.warning = root.querySelector(".sd-lab-warning");
    this.why = root.querySelector(".sd-lab-why");
    this.body = root.querySelector(".sd-lab-wrong tbody");
    this.radios = Object.fromEntries(names.map((name) => [name, this.radio(name)]));
    this.rows = Object.fromEntries(names.map((name) => [name, this.row(name)]));
    this.body.replaceChildren(...Object.values(this.rows).map((row) => row.element));
    this.choose(this.chosen);
  }

  isLossy(name) {
    return name !== this.names[0];
  }

  radio(name) {
    const label = make("label", "sd-lab-rule");
    label.classList.toggle("sd-lab-lossy", this.isLossy(name));
    const radio = make("input", "");
    Object.assign(radio, { type: "radio", name: "sd-lab-rule", value: name });
    radio.addEventListener("change", () => this.choose(name));
    const text = make("span", "");
    tell(text, `lab_rule_${name}`);
    label.append(radio, text);
    this.root.querySelector(".sd-lab-rules").append(label);
    return radio;
  }

  row(name) {
    const element = make("tr", "");
    const title = make("th", "");
    title.scope = "row";
    const text = make("span", "");
    tell(text, `lab_rule_${name}`);
    const why = make("small", "");
    tell(why, `lab_about_${name}`);
    title.append(text, why);
    const label = make("td", this.isLossy(name) ? "sd-lab-label sd-lab-lossy" : "sd-lab-label");
    tell(label, this.isLossy(name) ? "lab_lossy" : "lab_lossless");
    const [law, distance, draws, last] = ["sd-lab-laws", "", "", ""].map((part) => make("td", part));
    const button = make("button", "sd-button");
    button.type = "button";
    tell(button, "lab_try");
    button.addEventListener("click", () => {
      this.choose(name);
      this.radios[name].focus();
      this.root.scrollIntoView({ block: "start" });
    });
    last.append(button);
    element.append(title, label, law, distance, draws, last);
    return { element, law, distance, draws };
  }

  choose(name) {
    const before = this.chosen;
    this.chosen = name;
    this.radios[name].checked = true;
    this.root.dataset.state = this.isLossy(name) ? "lossy" : "lossless";
    this.warning.hidden = !this.isLossy(name);
    tell(this.why, `lab_about_${name}`);
    for (const [other, row] of Object.entries(this.rows)) row.element.classList.toggle("sd-chosen", other === name);
    if (name !== before) this.onChoose();
  }

  /** What the server found; `tokens` are the names of the law's entries. */
  fill({ rules }, tokens) {
    for (const [name, { law, distance, draws }] of Object.entries(rules)) {
      const row = this.rows[name];
      row.law.replaceChildren(
        ...law.map((share, i) => {
          const entry = make("span", "", `${tokens[i]} `);
          entry.append(make("b", "", share));
          return entry;
        }),
      );
      row.distance.textContent = distance;
      if (draws) tell(row.draws, () => draws);
      else tell(row.draws, distance !== "0" ? "lab_too_many" : this.isLossy(name) ? "lab_equal_here" : "lab_never");
    }
  }
}

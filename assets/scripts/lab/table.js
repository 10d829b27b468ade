// The table: a row a token, its two values to be typed or dragged, and behind them what the rule makes of them.

import { make } from "../shared/make.js";
import { tell } from "../shared/words.js";
import { SIDES } from "./values.js";

const LEAST = 2;
const MOST = 12;

// What the server computes of a token, column by column.
const PARTS = ["accept", "kept", "refused", "redrawn", "law"];

export class Table {
  /** `onChange` is called after each change of the values. */
  constructor(root, onChange) {
    this.body = root.querySelector("tbody");
    this.sums = Object.fromEntries([...root.querySelectorAll("[data-sum]")].map((cell) => [cell.dataset.sum, cell]));
    this.add = root.querySelector(".sd-lab-add");
    this.onChange = onChange;
    this.add.addEventListener("click", () => {
      this.values.add();
      this.show(this.values);
      this.onChange();
      this.rows.at(-1).q.field.focus();
    });
  }

  /** Other values, from now on changed in place. */
  show(values) {
    this.values = values;
    this.rows = values.tokens.map((_, i) => this.row(i));
    this.body.replaceChildren(...this.rows.map((row) => row.element));
    this.add.disabled = values.length >= MOST;
    this.write();
  }

  row(i) {
    const row = { element: make("tr", ""), cells: {} };
    row.element.append(this.nameCell(i));
    for (const side of SIDES) {
      row[side] = this.valueCell(side, i);
      row.element.append(row[side].cell);
    }
    for (const part of PARTS) {
      row.cells[part] = make("td", `sd-lab-${part}`);
      row.element.append(row.cells[part]);
    }
    row.element.append(this.removeCell(i));
    return row;
  }

  nameCell(i) {
    const cell = make("th", "");
    cell.scope = "row";
    const field = make("input", "sd-lab-name");
    field.value = this.values.tokens[i];
    field.maxLength = 40;
    tell(field, "lab_name_of", { place: i + 1 }, "aria-label");
    field.addEventListener("input", () => {
      this.values.tokens[i] = field.value;
      this.onChange();
    });
    cell.append(field);
    return cell;
  }

  valueCell(side, i) {
    const cell = make("td", `sd-lab-value sd-lab-${side}`);
    const bar = make("input", "sd-lab-bar");
    Object.assign(bar, { type: "range", min: 0, max: 1, step: 0.01 });
    const field = make("input", "sd-lab-number");
    Object.assign(field, { type: "text", inputMode: "decimal", autocomplete: "off" });
    for (const input of [bar, field])
      tell(input, "lab_value_of", { side, token: () => this.values.tokens[i] }, "aria-label");
    bar.addEventListener("input", () => {
      this.values.drag(side, i, +bar.value);
      this.write(bar);
      this.onChange();
    });
    field.addEventListener("input", () => {
      this.values.type(side, i, field.value);
      this.write(field);
      this.onChange();
    });
    field.addEventListener("change", () => this.write());
    cell.append(bar, field);
    return { cell, bar, field };
  }

  removeCell(i) {
    const cell = make("td", "");
    const button = make("button", "sd-lab-remove", "×");
    button.type = "button";
    button.disabled = this.values.length <= LEAST;
    tell(button, "lab_remove", { token: () => this.values.tokens[i] }, "aria-label");
    button.addEventListener("click", () => {
      this.values.remove(i);
      this.show(this.values);
      this.onChange();
      this.rows[Math.min(i, this.rows.length - 1)].q.field.focus();
    });
    cell.append(button);
    return cell;
  }

  /** The values into their fields and bars, but for the one that they come from. */
  write(source = null) {
    this.rows.forEach((row, i) => {
      for (const side of SIDES) {
        const { bar, field } = row[side];
        const value = this.values.number(side, i);
        if (field !== source) field.value = this.values.text(side, i);
        if (bar !== source) bar.value = value;
        bar.style.setProperty("--sd-share", Math.min(1, value));
        field.classList.toggle("sd-no-number", typeof this.values[side][i] !== "number");
      }
    });
    for (const side of SIDES) {
      const sum = this.values.sum(side);
      this.sums[side].textContent = sum === null ? "–" : String(+sum.toFixed(4));
    }
  }

  /** What the server made of the values; null while they are none. */
  fill(answer) {
    this.rows.forEach((row, i) => {
      const masses = answer?.rows[i];
      for (const part of PARTS) row.cells[part].textContent = masses?.[part] ?? "–";
      if (masses?.drawn === "0") row.cells.accept.textContent = "–";
      row.cells.law.classList.toggle("sd-lab-wrong-law", Boolean(answer?.wrong[i]));
    });
    this.sum("kept", "α = ", answer?.alpha);
    this.sum("refused", "1 − α = ", answer?.refused_mass);
    this.sums.law.textContent = answer ? "1" : "–";
  }

  sum(part, name, value) {
    this.sums[part].replaceChildren(make("small", "", name), value ?? "–");
  }
}

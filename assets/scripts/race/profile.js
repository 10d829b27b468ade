// What the parts of a round took: a table, with each share as a bar in its cell.

import { make } from "../shared/make.js";

export class Profile {
  constructor(root) {
    this.root = root;
  }

  /** `profile` is what the server's `view.profile` makes; null leaves nothing. */
  show(profile) {
    this.root.replaceChildren(...(profile ? [tableOf(profile)] : []));
  }
}

function tableOf({ caption, columns, rows }) {
  const head = make("tr", "");
  head.append(...columns.map((name) => headOf(make("th", "", name), "col")));
  const thead = make("thead", "");
  thead.append(head);
  const body = make("tbody", "");
  body.append(...rows.map(rowOf));
  const table = make("table", "sd-table");
  table.append(make("caption", "", caption), thead, body);
  return table;
}

function rowOf([part, name, meaning, cells]) {
  const row = make("tr", `sd-part-${part}`);
  const head = headOf(make("th", ""), "row");
  head.append(make("span", "sd-part-name", name), make("small", "", meaning));
  row.append(head, ...cells.map(cellOf));
  return row;
}

function cellOf([milliseconds, share, percent]) {
  const cell = make("td", "");
  const bar = make("i", "sd-share");
  bar.style.setProperty("--sd-share", share);
  cell.append(make("b", "", milliseconds), " ", make("span", "", percent), bar);
  return cell;
}

function headOf(cell, scope) {
  cell.scope = scope;
  return cell;
}

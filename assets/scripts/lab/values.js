// The values as the reader has them: a number, or as typed what is none.

export const SIDES = ["q", "p"];

const DIGITS = 4; // that a field shows, as the columns beside it do

export class Values {
  constructor({ tokens, q, p }) {
    this.tokens = [...tokens];
    this.q = [...q];
    this.p = [...p];
  }

  get length() {
    return this.tokens.length;
  }

  /** What a field shows: 0.2625, and 5e-5 where so few places would leave nothing. */
  text(side, i) {
    const value = this[side][i];
    if (typeof value !== "number") return value;
    const text = String(+value.toFixed(DIGITS));
    return +text === 0 && value > 0 ? value.toExponential(0) : text;
  }

  number(side, i) {
    const value = this[side][i];
    return typeof value === "number" && value > 0 ? value : 0;
  }

  /** 0.25, .25, 0,25 and 1/4 are numbers; whatever else is typed stays as it is, for the server to name. */
  type(side, i, text) {
    const [over, under, ...more] = text.trim().replace(",", ".").split("/");
    const value = over === "" || under === "" || more.length ? NaN : Number(over) / Number(under ?? 1);
    this[side][i] = Number.isFinite(value) ? value : text.trim();
  }

  /** A bar was dragged to `value`: the others of its side keep their proportions and share what is left. */
  drag(side, i, value) {
    const others = this.tokens.map((_, j) => (j === i ? 0 : this.number(side, j)));
    const sum = others.reduce((a, b) => a + b, 0);
    const left = 1 - value;
    this[side] = others.map((x, j) => (j === i ? value : sum ? (x / sum) * left : left / (this.length - 1)));
  }

  sum(side) {
    return this[side].every((value) => typeof value === "number") ? this[side].reduce((a, b) => a + b, 0) : null;
  }

  add() {
    const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
    this.tokens.push(letters.find((letter) => !this.tokens.includes(letter)));
    for (const side of SIDES) this[side].push(0);
  }

  remove(i) {
    for (const row of [this.tokens, this.q, this.p]) row.splice(i, 1);
  }
}

// Numbers and sentences as people read them.

const TINY = 1e-4; // below it a probability is written with a power of ten
const ALL = 17; // as many digits as a float can have
const SHORT = 60; // characters of a prompt

export function fill(sentence, values) {
  return sentence.replace(/\{(\w+)\}/g, (whole, key) => (key in values ? String(values[key]) : whole));
}

/** Three figures: 0.0123, 1.23, 12.3, 123. */
export function figures(x) {
  if (x === null || x === undefined) return "–";
  const digits = x >= 100 ? 0 : x >= 10 ? 1 : 2;
  return x.toFixed(digits);
}

export function seconds(x) {
  if (x === null || x === undefined) return "–";
  return x < 1 ? `${Math.round(x * 1000)} ms` : `${x.toFixed(x < 10 ? 2 : 1)} s`;
}

export function percent(x) {
  return x === null || x === undefined ? "–" : `${Math.round(100 * x)} %`;
}

/**
 * A probability with three figures, more where it would else read as 1 without being 1; small ones as a power of ten.
 * The same as `show` of specdemo/view/numbers.py, which writes into the figures beside it.
 */
export function probability(x, digits = 3) {
  if (x === null || x === undefined) return "–";
  if (x === 0 || x === 1) return String(x);
  if (x < TINY) {
    const [mantissa, exponent] = x.toExponential(digits - 1).split("e");
    return `${mantissa}×10${[...exponent].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("")}`;
  }
  const text = x.toPrecision(digits);
  return +text !== 1 || digits >= ALL ? text : probability(x, digits + 1);
}

export function bytes(x) {
  return x >= 1e9 ? `${(x / 1e9).toFixed(1)} GB` : `${Math.round(x / 1e6)} MB`;
}

export function parameters(x) {
  return x >= 1e9 ? `${(x / 1e9).toFixed(1)} B` : `${(x / 1e6).toFixed(x < 2e7 ? 1 : 0)} M`;
}

/** The beginning of a prompt. */
export function short(prompt) {
  return prompt.length > SHORT ? `${prompt.slice(0, SHORT)}…` : prompt;
}

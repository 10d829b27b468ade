// Numbers and sentences as people read them.

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

/** A probability: four figures, small ones as a power of ten. */
export function probability(x) {
  if (x === null || x === undefined) return "–";
  if (x === 0 || x === 1) return String(x);
  if (x >= 0.001) return x.toPrecision(x >= 0.9995 ? 6 : 3);
  const [mantissa, exponent] = x.toExponential(1).split("e");
  const raised = [...exponent.replace("+", "")].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("");
  return `${mantissa}×10${raised}`;
}

export function bytes(x) {
  return x >= 1e9 ? `${(x / 1e9).toFixed(1)} GB` : `${Math.round(x / 1e6)} MB`;
}

export function parameters(x) {
  return x >= 1e9 ? `${(x / 1e9).toFixed(1)} B` : `${(x / 1e6).toFixed(x < 2e7 ? 1 : 0)} M`;
}

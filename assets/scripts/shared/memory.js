// What the reader chose before, kept by the browser; it may forbid that, and then a choice holds for this page only.

const PREFIX = "specdemo-";

export function recall(name) {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

export function remember(name, value) {
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // not kept
  }
}

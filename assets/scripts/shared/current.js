// The run that the race shows, for the other tabs.

let run = null;
const listeners = [];

/** Its id, once it has come to its end; null before the first. */
export function current() {
  return run;
}

export function setCurrent(id) {
  if (id === run) return;
  run = id;
  for (const listener of listeners) listener();
}

export function onCurrent(listener) {
  listeners.push(listener);
}

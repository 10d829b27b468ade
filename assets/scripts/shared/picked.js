// The token that the reader picked last, for tabs other than the one where it was picked.

let address = null;

/** {run, lane, round, event}, or null. */
export function picked() {
  return address;
}

export function setPicked(token) {
  address = token;
}

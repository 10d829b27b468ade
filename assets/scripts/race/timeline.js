// A run as moments on its own clock: what comes into sight, one thing after another.

// What can be seen of a token: nothing, that it was drafted, what became of it.
export const UNWRITTEN = 0;
export const PENDING = 1;
export const SETTLED = 2;

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

/**
 * The moments of both lanes in the order of time, each lane on its own clock from the run's beginning:
 * {lane, round, event, time, before, after, others}: token `event` goes from one of the states above to the next, and
 * so do `others`, drafts that its verdict discards. A round's drafts come evenly in its drafting time, its verdicts
 * when the target's pass is done, evenly in the rest.
 */
export function timeline({ spec, plain }) {
  return [...lane("spec", spec, speculative), ...lane("plain", plain, alone)].sort((a, b) => a.time - b.time);
}

function lane(name, rounds, moments) {
  let clock = 0;
  return rounds.flatMap((round) => {
    const [draft, verify, other, prefill] = round.seconds;
    const begin = clock + prefill;
    clock = begin + draft + verify + other;
    return moments(round, begin).map((moment) => ({ lane: name, round: round.index, others: [], ...moment }));
  });
}

function alone(round, begin) {
  return [{ event: 0, time: begin + sum(round.seconds.slice(0, 3)), before: UNWRITTEN, after: SETTLED }];
}

function speculative({ events, k, seconds: [draft, verify, other] }, begin) {
  const places = events.map((_, place) => place);
  const judged = places.filter((place) => ["accepted", "rejected"].includes(events[place].outcome));
  const discarded = places.filter((place) => events[place].outcome === "discarded");
  const last = places.slice(k);
  const read = begin + draft + verify;
  const share = other / (judged.length + last.length || 1);
  return [
    ...places.slice(0, k).map((event, i) => ({
      event,
      time: begin + (draft * (i + 1)) / k,
      before: UNWRITTEN,
      after: PENDING,
    })),
    ...judged.map((event, i) => ({
      event,
      time: read + share * (i + 1),
      before: PENDING,
      after: SETTLED,
      others: event === judged.at(-1) ? discarded : [],
    })),
    ...last.map((event) => ({ event, time: read + other, before: UNWRITTEN, after: SETTLED })),
  ];
}

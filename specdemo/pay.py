"""Does it pay? The formulas of Leviathan et al. 2023 (arXiv 2211.17192), and what a run says of what they assume.

Costs are in units of what a token costs the target alone. The formulas assume that each draft is kept with the same
probability α, whatever its place and whatever became of the others; `by_position` shows how far that is from a run.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .metrics import measure, speedup
from .records import Outcome, Round, RunStats

#: Drafts a round up to which the formulas are drawn.
MOST_K = 12

_RARE = 0.1  # of a run's rounds: a K with fewer of them has no cost of its own, for it would be mostly noise


def expected_tokens(alpha: float, k: int) -> float:
    """Tokens a round, (1 − α^(K + 1)) / (1 − α): equation 1, as the sum that it is, so that α may be 1."""
    return sum(alpha**i for i in range(k + 1))


def expected_speedup(alpha: float, k: int, c: float, verify: float = 1.0) -> float:
    """Theorem 3.8, tokens a round / (K·c + 1), with `verify` in place of the 1.

    c       cost of one draft
    verify  cost of all else in a round; the theorem takes a pass over K + 1 tokens to cost what one over 1 does
    """
    spent = k * c + verify
    return expected_tokens(alpha, k) / spent if spent else float("inf")


class Position(NamedTuple):
    """The drafts at one place in their rounds: how many were judged, and how many of these were kept."""

    judged: int
    accepted: int


def by_position(rounds: Iterable[Round]) -> tuple[Position, ...]:
    """From the first place in a round to the last one that was ever judged."""
    judged, accepted = defaultdict(int), defaultdict(int)
    for round_ in rounds:
        for place, event in enumerate(round_.events[: round_.k]):
            judged[place] += event.outcome in (Outcome.ACCEPTED, Outcome.REJECTED)
            accepted[place] += event.outcome is Outcome.ACCEPTED
    return tuple(Position(judged[place], accepted[place]) for place in sorted(judged) if judged[place])


@dataclass(frozen=True, slots=True)
class Costs:
    """What a round costs.

    c       one draft
    verify  all else in a round, by K
    """

    c: float
    verify: Mapping[int, float]

    def at(self, k: int) -> float:
        """`verify` at any K: on the straight lines through the measured ones, and through 1 at K = 0.

        Beyond the last one it never falls, since no pass over more tokens is cheaper: the last step may be noise.
        """
        points = sorted({0: 1.0, **self.verify}.items())
        if len(points) == 1:
            return 1.0
        after = next((i for i, (measured, _) in enumerate(points) if i and measured >= k), len(points) - 1)
        (k0, v0), (k1, v1) = points[after - 1 : after + 1]
        there = v0 + (v1 - v0) * (k - k0) / (k1 - k0)
        return max(v1, there) if k > k1 else there

    def speedup(self, alpha: float, k: int, c: float | None = None) -> float:
        return expected_speedup(alpha, k, self.c if c is None else c, self.at(k))

    def best_k(self, alpha: float, c: float | None = None) -> int:
        """The K up to `MOST_K` that is expected to pay best, the smallest of equals; 0 where none pays."""
        return max(range(MOST_K + 1), key=lambda k: (self.speedup(alpha, k, c), -k))


@dataclass(frozen=True, slots=True)
class Economy:
    """What both lanes of a run say.

    k          drafts a round, the most there were
    alpha      share of the judged drafts that were kept
    per_round  tokens a round
    speedup    measured, against the target alone
    token_s    seconds of a token of the target alone
    """

    k: int
    alpha: float
    accepted: int
    judged: int
    per_round: float
    speedup: float
    token_s: float
    costs: Costs
    positions: tuple[Position, ...]


def economy(rounds: Sequence[Round], baseline: Sequence[Round]) -> Economy | None:
    """Of the rounds of both lanes; None where no draft was judged or a lane has no speed."""
    ours, alone = measure(rounds), measure(baseline)
    gain = speedup(ours, alone)
    if gain is None or ours.acceptance is None:
        return None
    token_s = alone.seconds / alone.emitted
    return Economy(
        k=max(round_.k for round_ in rounds),
        alpha=ours.acceptance,
        accepted=ours.accepted,
        judged=ours.accepted + ours.rejected,
        per_round=ours.tokens_per_pass,
        speedup=gain,
        token_s=token_s,
        costs=Costs(ours.draft_s / ours.drafted / token_s, _verify_costs(rounds, token_s)),
        positions=by_position(rounds),
    )


def _verify_costs(rounds: Sequence[Round], token_s: float) -> dict[int, float]:
    """By each K that is not rare: the mean time of a round without its drafts."""
    seconds: dict[int, list[float]] = defaultdict(list)
    for round_ in rounds:
        seconds[round_.k].append(round_.verify_s + round_.other_s)
    common = {k: times for k, times in seconds.items() if k and len(times) >= _RARE * len(rounds)}
    return {k: sum(times) / len(times) / token_s for k, times in common.items()}


class Swept(NamedTuple):
    """Runs at one K, each beside one of the target alone in the same turn.

    speedups   a turn each
    per_round  tokens a round in all of them
    c, verify  as in `Costs`
    """

    k: int
    speedups: tuple[float, ...]
    per_round: float
    accepted: int
    judged: int
    c: float
    verify: float

    @property
    def middle(self) -> float:
        """The median speed-up."""
        ordered, n = sorted(self.speedups), len(self.speedups)
        return (ordered[(n - 1) // 2] + ordered[n // 2]) / 2


def swept(turns: Sequence[Mapping[int, RunStats]]) -> tuple[Swept, ...]:
    """By K, from turns that each hold the statistics of runs by their K; K = 0 is the target alone.

    What a turn cut short lacks is left out.
    """
    found: dict[int, list[tuple[RunStats, RunStats]]] = defaultdict(list)
    for turn in turns:
        for k, stats in turn.items():
            if k and 0 in turn and speedup(stats, turn[0]) is not None:
                found[k].append((stats, turn[0]))
    return tuple(_swept(k, found[k]) for k in sorted(found))


def _swept(k: int, runs: Sequence[tuple[RunStats, RunStats]]) -> Swept:
    rounds, drafted = (sum(getattr(ours, name) for ours, _ in runs) for name in ("rounds", "drafted"))
    token_s = sum(alone.seconds for _, alone in runs) / sum(alone.emitted for _, alone in runs)
    return Swept(
        k=k,
        speedups=tuple(speedup(ours, alone) for ours, alone in runs),
        per_round=sum(ours.emitted for ours, _ in runs) / rounds,
        accepted=sum(ours.accepted for ours, _ in runs),
        judged=sum(ours.accepted + ours.rejected for ours, _ in runs),
        c=sum(ours.draft_s for ours, _ in runs) / drafted / token_s if drafted else 0.0,
        verify=sum(ours.verify_s + ours.other_s for ours, _ in runs) / rounds / token_s,
    )


def swept_costs(points: Sequence[Swept]) -> Costs:
    """What the runs of a sweep cost: one draft, on average, and all else at each K."""
    return Costs(sum(point.c for point in points) / len(points), {point.k: point.verify for point in points})

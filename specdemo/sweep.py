"""The same text length at each K and by the target alone, in turns."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from .lanes import plain, speculative
from .metrics import measure
from .models import Pair
from .records import Round, RunStats, SamplingParams

_WARM = 4  # tokens of a first run at each K that is not measured


class Point(NamedTuple):
    """A run of turn `turn`; K = 0 is the target alone."""

    turn: int
    k: int
    stats: RunStats


def sweep(
    pair: Pair, prompt_ids: Sequence[int], params: SamplingParams, ks: Sequence[int], turns: int
) -> Iterator[Point | None]:
    """Yields None after each round, so that it can be closed at any time, and a point after each run.

    ks  at least 1 each; the target alone is measured in each turn too. A stop token ends nothing: all runs have
        `params.max_new_tokens` tokens. The runs of a turn have one seed, and begin with another K in each turn, so that
        no K is favoured by a machine that gets warmer or slower.
    """
    endless = replace(pair, stop_ids=frozenset())
    order = [0, *ks]
    for k in order:
        yield from (None for _ in _rounds(endless, prompt_ids, replace(params, max_new_tokens=_WARM), k))
    for turn in range(turns):
        first = turn % len(order)
        for k in order[first:] + order[:first]:
            rounds = []
            for round_ in _rounds(endless, prompt_ids, replace(params, seed=params.seed + turn), k):
                rounds.append(round_)
                yield None
            yield Point(turn, k, measure(rounds))


def _rounds(pair: Pair, prompt_ids: Sequence[int], params: SamplingParams, k: int) -> Iterator[Round]:
    return speculative(pair, prompt_ids, params, k) if k else plain(pair, prompt_ids, params)

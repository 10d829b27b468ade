"""Engines take turns, so that a moment's disturbance, or a drift of the machine, meets all of them alike."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ..records import SamplingParams
from .engine import Engine
from .run import Miscount, Run, take

#: Tokens of a warm-up: enough for every kind of pass, a round with all its drafts too.
WARM_UP = 12


def warm_up(
    engines: Sequence[Engine],
    prompt_ids: Sequence[int],
    params: SamplingParams,
    stop_ids: frozenset[int],
    drop: Callable[[Engine, Exception], None],
) -> Iterator[Run]:
    """A short run of each. One of others' that fails is given to `drop`: the rest can be measured without it."""
    short = replace(params, max_new_tokens=min(WARM_UP, params.max_new_tokens))
    for engine in engines:
        try:
            yield take(engine, 0, prompt_ids, short, stop_ids)
        except Miscount:
            raise
        except Exception as error:
            if engine.ours:
                raise
            drop(engine, error)


def take_turn(
    engines: Sequence[Engine], turn: int, prompt_ids: Sequence[int], params: SamplingParams, stop_ids: frozenset[int]
) -> Iterator[Run]:
    """Each engine once, all on one prompt with the turn's seed; each turn begins with another of them."""
    if not engines:
        return
    own = replace(params, seed=params.seed + turn)
    first = turn % len(engines)
    for engine in [*engines[first:], *engines[:first]]:
        yield take(engine, turn, prompt_ids, own, stop_ids)

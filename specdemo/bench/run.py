"""One engine, one prompt, one clock."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from ..records import SamplingParams
from .engine import Engine


class Miscount(RuntimeError):
    """An engine's tokens are not as many as it says, or as it was asked for."""


@dataclass(frozen=True, slots=True)
class Run:
    """What the clock saw: a pass brings a burst of tokens, and the first comes after the prompt.

    turn     which round of turns it belongs to
    passes   bursts of tokens, the first one with them
    first_s  until the first burst was there; rest_s  from there to the last
    """

    engine: Engine
    turn: int
    tokens: int
    passes: int
    first_tokens: int
    first_s: float
    rest_s: float

    @property
    def tokens_per_second(self) -> float | None:
        """After the first burst, so that the reading of the prompt is apart; None where nothing followed it."""
        return (self.tokens - self.first_tokens) / self.rest_s if self.rest_s else None

    @property
    def tokens_per_pass(self) -> float | None:
        return (self.tokens - self.first_tokens) / (self.passes - 1) if self.passes > 1 else None


def take(engine: Engine, turn: int, prompt_ids: Sequence[int], params: SamplingParams, stop_ids: frozenset[int]) -> Run:
    """Let an engine write once. Raises Miscount, and whatever the engine does."""
    ids: list[int] = []
    bursts: list[tuple[float, int]] = []

    def tell(burst: Sequence[int]) -> None:
        bursts.append((time.perf_counter(), len(burst)))
        ids.extend(burst)

    start = time.perf_counter()
    said = engine.write(prompt_ids, params, stop_ids, tell)
    _check(engine, said, ids, params.max_new_tokens, stop_ids)
    (first, first_tokens), (last, _) = bursts[0], bursts[-1]
    return Run(engine, turn, len(ids), len(bursts), first_tokens, first - start, last - first)


def _check(engine: Engine, said: int, ids: Sequence[int], asked: int, stop_ids: frozenset[int]) -> None:
    """What was told is what the engine counted, and it ends where a text of that length has to."""
    if said != len(ids):
        raise Miscount(f"{engine.name} says that it wrote {said} tokens, and {len(ids)} came")
    early = [i for i in ids[:-1] if i in stop_ids]
    if early:
        raise Miscount(f"{engine.name} went on after the stop token {early[0]}")
    if len(ids) > asked or (len(ids) < asked and ids[-1:] != [i for i in ids[-1:] if i in stop_ids]) or not ids:
        raise Miscount(f"{engine.name} wrote {len(ids)} tokens, where {asked} were asked for, and no stop token")

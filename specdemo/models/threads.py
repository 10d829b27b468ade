"""How many threads a CPU's passes should use: found by trying, since cores that others use only make threads wait."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ..contract import Model
from ..words import Saying

_FEWEST, _MOST, _LONG = 2, 6, 0.5  # passes with a count: the fewest even where they take longer than so many seconds


@contextmanager
def one_thread() -> Iterator[None]:
    """For passes before the choice: on a busy machine several threads may take twenty times as long as one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def choose_threads(model: Model, most: int) -> Saying:
    """Set torch's threads to the count up to `most` with the quickest pass of `model`; a sentence on it.

    The model is fed a few tokens. A count is judged by its best pass: a moment's disturbance must not decide.
    """
    counts = sorted({1, most} | {2**i for i in range(1, most.bit_length()) if 2**i < most})
    seconds = {count: _best_pass(model, count) for count in counts}
    best = min(seconds, key=seconds.get)
    torch.set_num_threads(best)
    tried = ", ".join(f"{count}: {1e3 * seconds[count]:.0f} ms" for count in counts)
    return Saying("threads", best=best, most=most, tried=tried)


def _best_pass(model: Model, count: int) -> float:
    torch.set_num_threads(count)
    passes: list[float] = []
    while len(passes) < _FEWEST or (len(passes) < _MOST and sum(passes) < _LONG):
        passes.append(_pass(model))
    return min(passes)


def _pass(model: Model) -> float:
    ids = torch.zeros(1, dtype=torch.int64, device=model.device)
    start = time.perf_counter()
    model.feed(ids)
    return time.perf_counter() - start

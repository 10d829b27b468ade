"""How many threads a CPU's passes should use: found by trying, since cores that others use only make threads wait."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from ..words import Saying

_FEWEST, _MOST, _LONG = 2, 4, 0.5  # passes with a count: the fewest even where they take longer than so many seconds


@contextmanager
def one_thread() -> Iterator[None]:
    """For passes before the choice: on a busy machine several threads may take twenty times as long as one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def choose_threads(timed_pass: Callable[[], float], most: int) -> Saying:
    """Set torch's threads to the count up to `most` with the quickest pass; a sentence on it.

    A count is judged by its best pass: a moment's disturbance must not decide.
    """
    counts = sorted({1, most} | {2**i for i in range(1, most.bit_length()) if 2**i < most})
    seconds = {count: _best_pass(timed_pass, count) for count in counts}
    best = min(seconds, key=seconds.get)
    torch.set_num_threads(best)
    tried = ", ".join(f"{count}: {1e3 * seconds[count]:.0f} ms" for count in counts)
    return Saying("threads", best=best, most=most, tried=tried)


def _best_pass(timed_pass: Callable[[], float], count: int) -> float:
    torch.set_num_threads(count)
    passes: list[float] = []
    while len(passes) < _FEWEST or (len(passes) < _MOST and sum(passes) < _LONG):
        passes.append(timed_pass())
    return min(passes)

"""How many threads a CPU's passes should use: found by trying, since cores that others use only make threads wait."""

import time

import torch

from ..contract import Model

_PASSES = 6


def choose_threads(model: Model) -> str:
    """Set torch's threads to the count with the quickest pass of `model`, which is fed a few tokens; a sentence on it.

    A count is judged by its best pass: a moment's disturbance must not decide.
    """
    most = torch.get_num_threads()
    counts = sorted({1, most} | {2**i for i in range(1, most.bit_length()) if 2**i < most})
    seconds = {count: _best_pass(model, count) for count in counts}
    best = min(seconds, key=seconds.get)
    torch.set_num_threads(best)
    tried = ", ".join(f"{1e3 * seconds[count]:.0f} ms with {count}" for count in counts)
    return f"Threads: {best} of {most}, by the target's quickest pass ({tried})."


def _best_pass(model: Model, count: int) -> float:
    torch.set_num_threads(count)
    return min(_pass(model) for _ in range(_PASSES))


def _pass(model: Model) -> float:
    ids = torch.zeros(1, dtype=torch.int64, device=model.device)
    start = time.perf_counter()
    model.feed(ids)
    return time.perf_counter() - start

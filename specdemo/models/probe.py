"""With how many threads a pair's passes are quickest on this machine, and what they cost then, found by trying."""

import time
from collections.abc import Callable
from functools import partial

import torch

from ..contract import Model, prefill
from ..maths import to_probs
from ..pace import Costs
from ..records import SamplingParams
from ..words import Saying
from .threads import choose_threads, one_thread

_WIDTHS = (1, 2, 3, 5, 9)  # tokens in a pass; between them a cost is taken to lie on a straight line
_CONTEXT = 16  # tokens read before
_PASSES = 2  # of each; the quicker one counts, since a moment's disturbance must not


def measure_costs(target: Model, draft: Model, most_threads: int) -> tuple[Costs, list[Saying]]:
    """The costs, and what else was found out, to be said. On a CPU torch's threads are set, to at most so many.

    Both are fresh runs, and are used up. A pass counts with the distributions made of its logits.
    """
    with one_thread():
        for model in (target, draft):
            prefill(model, torch.arange(_CONTEXT, device=model.device) % model.vocab_size)
    over = {width: partial(_pass, target, target.feed, width) for width in _WIDTHS}
    told: list[Saying] = []
    if target.device.type == "cpu":
        told.append(choose_threads(over[1], most_threads))
    seconds = {width: _quickest(over[width]) for width in _WIDTHS}
    for narrow, wide in reversed(list(zip(_WIDTHS, _WIDTHS[1:]))):  # fewer tokens never cost more
        seconds[narrow] = min(seconds[narrow], seconds[wide])
    passes = [_between(seconds, width) for width in range(1, _WIDTHS[-1] + 1)]
    drafted = partial(_pass, draft, getattr(draft, "feed_narrow", draft.feed), 1)
    return Costs(tuple(passes), _quickest(drafted)), told


def note_on(costs: Costs, acceptance: float = 0.5) -> Saying:
    """What K = auto begins with, and why."""
    one, three, five = (f"{1e3 * costs.passes[i]:.0f}" for i in (0, 2, 4))
    k = costs.best_k(acceptance)
    key = "note_pace" if k else "note_pace_none"
    return Saying(key, k=k, one=one, three=three, five=five, draft=f"{1e3 * costs.draft:.1f}")


def _quickest(timed_pass: Callable[[], float]) -> float:
    return min(timed_pass() for _ in range(_PASSES))


def _pass(model: Model, feed: object, width: int) -> float:
    ids, held = torch.zeros(width, dtype=torch.int64, device=model.device), model.length
    start = time.perf_counter()
    to_probs(feed(ids), SamplingParams()).sum().item()  # the number comes over when the device is done
    taken = time.perf_counter() - start
    model.rewind(min(held, model.length))
    return taken


def _between(seconds: dict[int, float], width: int) -> float:
    above = next(w for w in _WIDTHS if w >= width)
    below = max(w for w in _WIDTHS if w <= width)
    share = (width - below) / (above - below) if above > below else 0.0
    return (1 - share) * seconds[below] + share * seconds[above]

"""What a pair's passes cost on this machine, found by trying."""

import time

import torch

from ..contract import Model, prefill
from ..maths import to_probs
from ..pace import Costs
from ..records import SamplingParams
from ..words import Saying

_WIDTHS = (1, 2, 3, 5, 9)  # tokens in a pass; between them a cost is taken to lie on a straight line
_CONTEXT = 48  # tokens read before
_PASSES = 2  # of each; the quicker one counts, since a moment's disturbance must not


def measure_costs(target: Model, draft: Model) -> Costs:
    """Both are fresh runs, and are used up. A pass counts with the distributions made of its logits."""
    ids = torch.arange(_CONTEXT, device=target.device) % target.vocab_size
    for model in (target, draft):
        prefill(model, ids.clamp(max=model.vocab_size - 1).to(model.device))
    feed = target.feed
    seconds = {width: _quickest(target, feed, width) for width in _WIDTHS}
    for narrow, wide in reversed(list(zip(_WIDTHS, _WIDTHS[1:]))):  # fewer tokens never cost more
        seconds[narrow] = min(seconds[narrow], seconds[wide])
    passes = [_between(seconds, width) for width in range(1, _WIDTHS[-1] + 1)]
    return Costs(tuple(passes), _quickest(draft, getattr(draft, "feed_narrow", draft.feed), 1))


def note_on(costs: Costs, acceptance: float = 0.5) -> Saying:
    """What K = auto begins with, and why."""
    one, three, five = (f"{1e3 * costs.passes[i]:.0f}" for i in (0, 2, 4))
    k = costs.best_k(acceptance)
    key = "note_pace" if k else "note_pace_none"
    return Saying(key, k=k, one=one, three=three, five=five, draft=f"{1e3 * costs.draft:.1f}")


def _quickest(model: Model, feed: object, width: int) -> float:
    return min(_pass(model, feed, width) for _ in range(_PASSES))


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

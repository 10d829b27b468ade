"""The rule, and wrong ones for contrast, on the p and q of the first position of a prompt."""

from typing import NamedTuple

import torch

from .. import maths
from ..fit import Fit, fit
from ..lab.draws import draws
from ..lab.laws import distance, laws
from ..lab.rules import LOSSLESS, RULES
from .lane import Lane
from .sampled import SHOWN


class Contrast(NamedTuple):
    """What draws by a wrong rule look like to the test.

    rule      its name in `lab.RULES`
    distance  how far its exact law is from p, in total variation
    ids       the likeliest tokens
    p         of these, and of all others as one, if there are any
    counts    how often these were drawn
    """

    rule: str
    distance: float
    ids: tuple[int, ...]
    p: tuple[float, ...]
    counts: tuple[int, ...]
    fit: Fit


def contrasts(lane: Lane, n: int, seed: int) -> tuple[Contrast, ...]:
    """n draws by each wrong rule. The others than the likeliest tokens count as one: a rule knows no vocabulary."""
    ids, p, q = _first_position(lane)
    return tuple(_contrast(name, ids, p, q, n, seed) for name in RULES if name != LOSSLESS)


def _contrast(name: str, ids: tuple[int, ...], p: torch.Tensor, q: torch.Tensor, n: int, seed: int) -> Contrast:
    counts = draws(RULES[name], p, q, n, seed).counts(len(p))
    exactly = distance(laws(RULES[name], p, q).law, p)
    return Contrast(name, exactly, ids, tuple(p.tolist()), tuple(counts.tolist()), fit(counts, p))


def _first_position(lane: Lane) -> tuple[tuple[int, ...], torch.Tensor, torch.Tensor]:
    """The n likeliest tokens, and p and q of them and of all others, if there are any: (n + 1,) each.

    A run must have drafted there.
    """
    q_row = next(row for place, row in lane.q.known() if place.ids == lane.p.prompt)
    p, q = (row[0] for row in maths.same_width(*lane.laws(lane.p.row(lane.p.prompt), q_row)))
    at = p.topk(min(SHOWN, len(p))).indices
    return tuple(at.tolist()), _folded(p, at), _folded(q, at)


def _folded(row: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    """(V,) -> (n + 1,): what stands at `at`, and the sum of all else; (n,) where nothing else is."""
    return torch.cat([row[at], row.index_fill(0, at, 0).sum(0, keepdim=True)]) if len(row) > len(at) else row[at]

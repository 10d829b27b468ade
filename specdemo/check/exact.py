"""Exactly: at positions of a real run, a draft of q that the real `verify` keeps or the real `last_law` replaces must
come out as p, for every token of the vocabulary at once."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from .. import maths
from .lane import Lane

POSITIONS = 32  # tokens of the run whose positions are checked exactly

#: What may be off by the rounding of float64, and of the engine's own float32: a sum over 50,000 tokens and more.
EXACT, ROUNDING = 1e-9, 1e-4


@dataclass(frozen=True, slots=True)
class Exact:
    """What was found at the positions checked so far.

    positions  how many they are
    error      the largest |probability of coming out − p| of any token at any of them, in float64
    rounding   the same with the rows as the engine has them, in float32
    miscast    coins that `verify` judged wrongly, of two for each token that the draft can propose: one just below
               min(1, p/q) and one just above
    """

    positions: int = 0
    error: float = 0.0
    rounding: float = 0.0
    miscast: int = 0

    @property
    def holds(self) -> bool:
        return self.error <= EXACT and self.rounding <= ROUNDING and self.miscast == 0


def positions(lane: Lane) -> Iterator[Exact]:
    """Check the positions at which both models had a say in a run of the engine; a yield a step of the work."""
    found = Exact()
    for _ in lane.rounds(max_new_tokens=POSITIONS):
        yield found
    p_rows = {place.ids: row for place, row in lane.p.known()}
    for place, q_row in lane.q.known():
        if place.ids in p_rows:
            found = _with(found, lane, p_rows[place.ids], q_row)
            yield found


def _with(found: Exact, lane: Lane, p_row: torch.Tensor, q_row: torch.Tensor) -> Exact:
    p, q = maths.same_width(*lane.laws(p_row, q_row))
    as_run = maths.same_width(*lane.laws(p_row, q_row, exact=False))
    return Exact(
        positions=found.positions + 1,
        error=_larger(found.error, _identity_error(p, q)),
        rounding=_larger(found.rounding, _identity_error(*as_run)),
        miscast=found.miscast + _miscast(p, q),
    )


def _larger(a: float, b: float) -> float:
    """The larger one; a NaN is larger than anything."""
    return a if a >= b or a != a else b


def _identity_error(p: torch.Tensor, q: torch.Tensor) -> float:
    """The largest |kept + replaced − p|: p, q (1, V).

    kept is q·min(1, p/q); replaced is what that leaves of 1, times the engine's law of the token after a rejection.
    """
    kept = q * maths.acceptance(p, q)
    law = maths.last_law(torch.tensor(0), p, maths.common(p, q))
    replaced = (1 - kept.sum()) * law / law.sum().clamp(min=torch.finfo(law.dtype).tiny)
    return (kept + replaced - p).abs().max().item()


def _miscast(p: torch.Tensor, q: torch.Tensor) -> int:
    """Coins that `verify` judges wrongly, of two a token: just below min(1, p/q), and just above: p, q (1, V)."""
    ids = q[0].nonzero().squeeze(1)
    edge = maths.acceptance(p, q)[0, ids]
    below, above = edge * (1 - EXACT), edge * (1 + EXACT)

    def kept(coins: torch.Tensor) -> torch.Tensor:
        return torch.vmap(lambda x, u: maths.verify(x[None], p, q, u[None]))(ids, coins) == 1

    return int(((edge > 0) & ~kept(below)).sum() + ((above < 1) & kept(above)).sum())

"""Exactly what a rule does with p and q: every mass on its way from the draft to the token that comes out."""

from typing import NamedTuple

import torch

from .. import maths
from .rules import Rule


class Laws(NamedTuple):
    """Rows (V,) of float64.

    drawn     how often the draft proposes x
    accept    how often x is kept if it is proposed
    kept      drawn · accept; of the right rule min(p, q), in sum α
    refused   drawn − kept
    redrawn   the law of the token after a refusal; of the right rule the residual p′
    refilled  how often x comes out after a refusal; in sum what was refused
    law       kept + refilled: how often x comes out; of the right rule p
    """

    drawn: torch.Tensor
    accept: torch.Tensor
    kept: torch.Tensor
    refused: torch.Tensor
    redrawn: torch.Tensor
    refilled: torch.Tensor
    law: torch.Tensor


def laws(rule: Rule, p: torch.Tensor, q: torch.Tensor) -> Laws:
    """p and q: distributions (V,) in float64."""
    drawn, accept = rule.drawn(p, q), maths.acceptance(*rule.judged(p, q))
    kept = drawn * accept
    refused = drawn - kept
    redrawn = rule.redrawn(p, q)
    refilled = _by_the_same_coin(drawn, accept, redrawn) if rule.one_coin else refused.sum() * redrawn
    return Laws(drawn, accept, kept, refused, redrawn, refilled, kept + refilled)


def _by_the_same_coin(drawn: torch.Tensor, accept: torch.Tensor, redrawn: torch.Tensor) -> torch.Tensor:
    """A coin that refused x lies above accept(x), so of the stretch of [0, 1) that draws y only that much is left."""
    ends = redrawn.cumsum(0)
    starts = torch.maximum((ends - redrawn)[None], accept[:, None])  # (refused x, redrawn y)
    return drawn @ (ends[None] - starts).clamp(min=0)


def distance(law: torch.Tensor, p: torch.Tensor) -> float:
    """Total variation, ½ Σ |law − p|."""
    return (law - p).abs().sum().item() / 2

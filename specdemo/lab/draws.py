"""The experiment: rounds of one draft each, by the functions of `maths` that the engine uses."""

from typing import NamedTuple

import torch

from .. import maths
from .rules import Rule


class Draws(NamedTuple):
    """n rounds, a row each: the uniforms (n, 3) that decided it, the draft, whether it was kept, what came out (n,)."""

    uniforms: torch.Tensor
    drafts: torch.Tensor
    kept: torch.Tensor
    tokens: torch.Tensor

    def counts(self, width: int) -> torch.Tensor:
        """How often each of so many tokens came out: (V,)."""
        return self.tokens.bincount(minlength=width)


def draws(rule: Rule, p: torch.Tensor, q: torch.Tensor, n: int, seed: int) -> Draws:
    """n rounds on distributions (V,); the same seed gives the same rounds."""
    chance = torch.Generator().manual_seed(seed)
    return play(rule, p, q, torch.rand(n, 3, generator=chance, dtype=torch.float64))


def play(rule: Rule, p: torch.Tensor, q: torch.Tensor, uniforms: torch.Tensor) -> Draws:
    """The rounds that these uniforms (n, 3) make: they draw the draft, judge it, and draw again after a refusal."""
    first, coin, second = uniforms.unbind(1)
    drafts = _draw(rule.drawn(p, q), first)
    better, worse = (row[None] for row in rule.judged(p, q))
    kept = torch.vmap(lambda x, u: maths.verify(x[None], better, worse, u[None]))(drafts, coin) == 1
    again = _draw(rule.redrawn(p, q), coin if rule.one_coin else second)
    return Draws(uniforms, drafts, kept, torch.where(kept, drafts, again))


def _draw(law: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """(V,), (n,) -> (n,)"""
    return maths.draw(law.expand(len(uniforms), -1), uniforms)

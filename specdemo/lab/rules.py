"""The rule, and the wrong ones that people mistake for it; all but the first are lossy and serve only to be found out.

A rule is a choice of rows. Whatever they are, the code that draws and judges is that of `maths`, so what goes wrong
here goes wrong as it would in an engine that hands `maths` the wrong row.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch

from .. import maths
from ..records import SamplingParams

Row = torch.Tensor  # (V,), or rows (n, V)


class Rule(NamedTuple):
    """How a draft of q becomes a token. Each row is made of p and q.

    drawn     what a draft is drawn from
    judged    the two rows that `maths.verify` compares: x is kept when u · second(x) < first(x)
    redrawn   what is drawn from after a refusal
    coin      whether the verdict hangs on u at all
    one_coin  whether that same u draws the token after a refusal as well
    """

    drawn: Callable[[Row, Row], Row] = lambda p, q: q
    judged: Callable[[Row, Row], tuple[Row, Row]] = lambda p, q: (p, q)
    redrawn: Callable[[Row, Row], Row] = maths.residual
    coin: bool = True
    one_coin: bool = False


def _filtered(q: Row, **params: float) -> Row:
    """As the engine filters: q's logarithms are logits that make q."""
    return maths.to_probs(q.log().reshape(-1, q.shape[-1]), SamplingParams(**params)).reshape(q.shape)


def _peak(p: Row, q: Row) -> Row:
    return _filtered(q, temperature=0)


def _upper_half(p: Row, q: Row) -> Row:
    return _filtered(q, top_k=(q.shape[-1] + 1) // 2)


def _soft_gap(p: Row, q: Row) -> Row:
    return (p - q).clamp(min=0).softmax(dim=-1)


LOSSLESS = "lossless"

RULES: dict[str, Rule] = {
    LOSSLESS: Rule(),
    "threshold": Rule(judged=lambda p, q: ((q <= p).to(p.dtype), torch.ones_like(q)), coin=False),
    "always": Rule(judged=lambda p, q: (torch.ones_like(p), torch.ones_like(q)), coin=False),
    "resample": Rule(redrawn=lambda p, q: p),
    "softmax": Rule(redrawn=_soft_gap),
    "argmax": Rule(drawn=_peak),
    "one_coin": Rule(one_coin=True),
    "top_k": Rule(drawn=_upper_half),
}

"""Does one forward say what another says of the same weights?"""

import torch

from ..contract import Model

_TOKENS = 12
_TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-4}  # in probability; below these, rounding alone moves a row
_LOW_PRECISION = 0.1
_FOUR_BIT = 0.5  # against weights that were not rounded to 16 steps: as much as a small model may be moved by it


def answers(model: Model) -> torch.Tensor:
    """The distributions that a fresh model gives after fixed ids, read in a block and one by one: (tokens, V)"""
    ids = torch.randint(model.vocab_size, (_TOKENS,), generator=torch.Generator().manual_seed(0)).to(model.device)
    rows = [model.feed(part) for part in ids.tensor_split([_TOKENS - 2, _TOKENS - 1])]
    return torch.cat(rows).float().softmax(-1)


def agree(one: torch.Tensor, other: torch.Tensor, dtype: torch.dtype, four_bit: bool = False) -> bool:
    """Whether two models gave the same `answers`, up to the rounding of `dtype`.

    The bound in low precision is wide on purpose: it must pass honest rounding and catch a wrong architecture, which is
    off by whole units.
    """
    distance = (one - other).abs().sum(-1).max() / 2
    return bool(distance <= (_FOUR_BIT if four_bit else _TOLERANCE.get(dtype, _LOW_PRECISION)))

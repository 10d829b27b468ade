"""Does one forward say what another says of the same weights?"""

import torch

from ..contract import Model

_TOKENS = 12
_TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-4}  # in probability; below these, rounding alone moves a row
_LOW_PRECISION = 0.1


def agree(one: Model, other: Model, dtype: torch.dtype) -> bool:
    """Feed both the same ids, in a block and one by one, from an empty cache; compare the distributions they give.

    The bound in low precision is wide on purpose: it must pass honest rounding and catch a wrong architecture, which is
    off by whole units.
    """
    ids = torch.randint(one.vocab_size, (_TOKENS,), generator=torch.Generator().manual_seed(0)).to(one.device)
    first, second = (
        torch.cat([model.feed(part) for part in ids.tensor_split([_TOKENS - 2, _TOKENS - 1])]).float().softmax(-1)
        for model in (one, other)
    )
    distance = (first - second).abs().sum(-1).max() / 2
    return bool(distance <= _TOLERANCE.get(dtype, _LOW_PRECISION))

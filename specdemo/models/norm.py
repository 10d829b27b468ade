"""Root-mean-square norm (Zhang and Sennrich 2019, arXiv 1910.07467), made for the processor that runs it.

On a CPU torch's rms_norm is made of ten small kernels, its layer_norm of one. The mean of the mirrored pair [x, −x] is
0 and its variance is the mean of x², so the first half of its layer norm is the norm that is wanted.
"""

from collections.abc import Callable

import torch
from torch.nn.functional import rms_norm

Norm = Callable[[torch.Tensor], torch.Tensor]


def norm_over(width: int, weight: torch.Tensor | None, eps: float, device: torch.device) -> Norm:
    """x (…, width) -> x / √(mean x² + eps) · weight (width,), computed in float32 and rounded once."""
    if device.type != "cpu":
        return lambda x: rms_norm(x, (width,), weight, eps)
    norm = norm_of_mirrored(width, weight, eps)
    return lambda x: norm(mirrored(x))


def norm_by(weight: torch.Tensor, eps: float) -> Norm:
    """The norm with a layer's own weight."""
    return norm_over(len(weight), weight.detach(), eps, weight.device)


def mirrored(x: torch.Tensor) -> torch.Tensor:
    """x (…, width) -> x and −x, (…, 2, width)"""
    return torch.stack([x, x.neg()], dim=-2)


def norm_of_mirrored(width: int, weight: torch.Tensor | None, eps: float) -> Norm:
    """What `norm_over` makes of x, from x as `mirrored` makes it: (…, 2, width) -> (…, width)"""
    both = None if weight is None else weight.detach().expand(2, width).contiguous()
    return lambda pair: torch.layer_norm(pair, (2, width), both, None, eps).select(-2, 0)

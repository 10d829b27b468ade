"""Root-mean-square norm (Zhang and Sennrich 2019, arXiv 1910.07467), made for the processor that runs it."""

from collections.abc import Callable

import torch
from torch.nn.functional import layer_norm, rms_norm

Norm = Callable[[torch.Tensor], torch.Tensor]


def norm_over(width: int, weight: torch.Tensor | None, eps: float, device: torch.device) -> Norm:
    """x (…, width) -> x / √(mean x² + eps) · weight (width,), computed in float32 and rounded once.

    On a CPU torch's rms_norm is made of ten small kernels, its layer_norm of one. The mean of [x, −x] is 0 and its
    variance is the mean of x², so the first half of its layer norm is the norm that is wanted.
    """
    if device.type != "cpu":
        return lambda x: rms_norm(x, (width,), weight, eps)
    both = None if weight is None else torch.cat([weight, weight]).detach()
    return lambda x: layer_norm(torch.cat([x, x.neg()], dim=-1), (2 * width,), both, None, eps)[..., :width]


def norm_by(weight: torch.Tensor, eps: float) -> Norm:
    """The norm with a layer's own weight."""
    return norm_over(len(weight), weight.detach(), eps, weight.device)

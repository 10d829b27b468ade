"""Matrix products with weights that oneDNN has packed once, which a decode step is mostly made of."""

import torch
import torch.nn.functional as F
from torch import Tensor


def packed(weight: Tensor) -> Tensor:
    """The weight (out, in) in oneDNN's own layout where that helps (bf16 on a CPU), else as it is."""
    if weight.device.type != "cpu" or weight.dtype != torch.bfloat16 or not torch.backends.mkldnn.is_available():
        return weight
    return torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), 1)


def product(x: Tensor, weight: Tensor) -> Tensor:
    """x (…, in) times a weight from `packed`, (…, out)"""
    if weight.is_mkldnn:
        return torch.ops.mkldnn._linear_pointwise(x, weight, None, "none", [], "")
    return F.linear(x, weight)


def plain(weight: Tensor) -> Tensor:
    """The weight (out, in) in the usual layout again."""
    return weight.to_dense() if weight.is_mkldnn else weight

"""Linear layers fused and packed once for the processor that runs them."""

from collections.abc import Callable

import torch
from torch.nn.functional import linear

Linear = Callable[[torch.Tensor], torch.Tensor]


def pack(*weights: torch.Tensor, biases: tuple[torch.Tensor | None, ...] = ()) -> Linear:
    """Weights (out, in) that read the same input, as one layer: x (n, in) -> (n, Σ out).

    On a CPU oneDNN's blocked order of the weights makes a pass over a few rows cost what a pass over one costs, and the
    one about half of what it costs unpacked. `weights` are not needed afterwards.
    """
    weight = torch.cat(weights).detach() if len(weights) > 1 else weights[0].detach()
    bias = None if not biases or biases[0] is None else torch.cat(biases).detach()
    if weight.device.type == "cpu" and torch.backends.mkldnn.is_available():
        packed = torch.ops.mkldnn._reorder_linear_weight(weight)
        return lambda x: torch.ops.mkldnn._linear_pointwise(x, packed, bias, "none", [], "")
    return lambda x: linear(x, weight, bias)


def pack_modules(*layers: torch.nn.Linear) -> Linear:
    """The same for a library's layers."""
    return pack(*(layer.weight for layer in layers), biases=tuple(layer.bias for layer in layers))

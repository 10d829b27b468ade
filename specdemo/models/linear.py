"""Linear layers fused and packed once for the processor that runs them."""

from collections.abc import Callable, Sequence

import torch
from torch.nn.functional import linear


def pack(layers: Sequence[torch.nn.Linear]) -> Callable[[torch.Tensor], torch.Tensor]:
    """Layers that read the same input, as one: x (n, in) -> (n, Σ out).

    On a CPU oneDNN's blocked order of the weights makes a pass over a few rows cost what a pass over one costs, and the
    one about half of what it costs unpacked. `layers` are not needed afterwards.
    """
    weight = torch.cat([layer.weight.detach() for layer in layers]) if len(layers) > 1 else layers[0].weight.detach()
    biases = [layer.bias for layer in layers]
    bias = None if biases[0] is None else torch.cat([b.detach() for b in biases])
    if weight.device.type == "cpu" and torch.backends.mkldnn.is_available():
        packed = torch.ops.mkldnn._reorder_linear_weight(weight)
        return lambda x: torch.ops.mkldnn._linear_pointwise(x, packed, bias, "none", [], "")
    return lambda x: linear(x, weight, bias)

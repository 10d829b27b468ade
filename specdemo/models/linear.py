"""Linear layers fused and packed once for the processor that runs them."""

from collections.abc import Callable

import torch
from torch.nn.functional import linear

Linear = Callable[[torch.Tensor], torch.Tensor]

#: Weights that share a scale in 4 bits.
GROUP = 32
_ROWS_AT_ONCE = 16  # of a weight, in the 4-bit kernel


def pack(*weights: torch.Tensor, biases: tuple[torch.Tensor | None, ...] = ()) -> Linear:
    """Weights (out, in) that read the same input, as one layer: x (n, in) -> (n, Σ out).

    On a CPU oneDNN's blocked order of the weights makes a pass over a few rows cost what a pass over one costs, and the
    one about half of what it costs unpacked. `weights` are not needed afterwards.
    """
    weight = torch.cat(weights).detach() if len(weights) > 1 else weights[0].detach()
    bias = None if not biases or biases[0] is None else torch.cat(biases).detach()
    if weight.device.type == "cpu" and torch.backends.mkldnn.is_available():
        packed = torch.ops.mkldnn._reorder_linear_weight(weight)
        product = torch.ops.mkldnn._linear_pointwise.default  # named, since a choice among overloads takes 1 µs a call
        return lambda x: product(x, packed, bias, "none", [], "")
    return lambda x: linear(x, weight, bias)


def pack_modules(*layers: torch.nn.Linear, dtype: torch.dtype) -> Linear:
    """The same for a library's layers, in numbers of `dtype`."""
    return pack(*(layer.weight.to(dtype) for layer in layers), biases=_biases(layers, dtype))


def pack_modules_in_four_bits(*layers: torch.nn.Linear, dtype: torch.dtype) -> Linear:
    """The same with 4 bits a weight; see `pack_in_four_bits`."""
    return pack_in_four_bits(*(layer.weight for layer in layers), biases=_biases(layers, dtype), dtype=dtype)


def pack_in_four_bits(
    *weights: torch.Tensor, biases: tuple[torch.Tensor | None, ...] = (), dtype: torch.dtype
) -> Linear:
    """Weights (out, in) as `pack` takes them, with 4 bits each: a quarter of bfloat16's traffic; activations in `dtype`.

    Along the input each group of 32 weights has 16 steps of its own from its least to its greatest weight. That is the
    law of GGUF's Q4_1, so weights from such a file fall on its own steps again, if they come in float32. The kernel takes
    the steps' sizes in bfloat16. Where a layer's shape does not suit the kernel it stays at `dtype`.
    """
    weight = torch.cat(weights).detach()
    if weight.shape[0] % _ROWS_AT_ONCE or weight.shape[1] % GROUP:
        return pack(weight.to(dtype), biases=biases)
    steps, size, middle = four_bits(weight)
    packed = torch._convert_weight_to_int4pack_for_cpu(steps, 1)
    scales = torch.stack([size, middle], dim=-1).transpose(0, 1).to(dtype).contiguous()
    product = torch._weight_int4pack_mm_for_cpu  # torch.ops has it too, and needs 2 µs longer to look it up
    if not biases or biases[0] is None:
        return lambda x: product(x.contiguous(), packed, GROUP, scales)
    bias = torch.cat(biases).detach()
    return lambda x: product(x.contiguous(), packed, GROUP, scales).add_(bias)


def bytes_in_four_bits(weights: int, dtype: torch.dtype) -> int:
    """Memory of so many weights with 4 bits each and a share of their group's two scales in `dtype`."""
    return round(weights * (1 / 2 + 2 * dtype.itemsize / GROUP))


def four_bits(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Weights (out, in) as (step − 8) · size + middle, step from 0 to 15 -> int32 (out, in), (out, in / 32) twice."""
    groups = weight.float().unflatten(1, (-1, GROUP))
    least, greatest = groups.aminmax(dim=-1, keepdim=True)
    size = (greatest - least) / 15
    steps = ((groups - least) / size.clamp(min=torch.finfo(size.dtype).tiny)).round_().to(torch.int32)
    return steps.flatten(1), size.squeeze(-1), (least + 8 * size).squeeze(-1)


def _biases(layers: tuple[torch.nn.Linear, ...], dtype: torch.dtype) -> tuple[torch.Tensor | None, ...]:
    return tuple(None if layer.bias is None else layer.bias.to(dtype) for layer in layers)

"""What a model takes of memory, worked out from its configuration: nothing is allocated, no weight is read."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors import safe_open

from .device import multiplies_four_bits
from .linear import bytes_in_four_bits
from .selfcheck import CANNOT_RUN

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel


@dataclass(frozen=True, slots=True)
class Need:
    """Bytes of a model's weights, and of what each token adds to a cache of its."""

    weights: int
    token: int


def need_of(config: "PreTrainedConfig", dtype: torch.dtype, four_bit: bool = False) -> Need:
    """With `four_bit` of a model that our own forward runs, see `llama.why_not`."""
    module = sketch(config, dtype)
    weights = weights_in_four_bits(module, dtype) if four_bit else weights_bytes(module)
    return Need(weights, sum(layers_of_a_token(module)))


def reader_need(folder: Path, shape: dict[str, int], dtype: torch.dtype, device: torch.device) -> Need:
    """The same of a draft that reads its target: from its own configuration and the header of its weights.

    Its products get 4 bits a weight where the processor can, whatever the target's have; see `eagle.load_eagle`.
    """
    with safe_open(folder / "model.safetensors", framework="pt") as weights:
        sizes = {name: math.prod(weights.get_slice(name).get_shape()) for name in weights.keys()}  # noqa: SIM118
    products = sum(size for name, size in sizes.items() if name.endswith(".weight"))
    four_bit = multiplies_four_bits(device, dtype)
    held = bytes_in_four_bits(products, dtype) if four_bit else products * dtype.itemsize
    keys_and_values = 2 * shape["layers"] * shape["kv_heads"] * shape["hidden"] // shape["heads"]
    others = (sum(sizes.values()) - products) * dtype.itemsize
    return Need(held + others, (keys_and_values + shape["hidden"]) * dtype.itemsize)


def sketch(config: "PreTrainedConfig", dtype: torch.dtype) -> "PreTrainedModel":
    """The library's module of a configuration with all its shapes and none of its numbers."""
    # Seconds to import, and a model that was checked once is known to be of this size.
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(config, dtype=dtype).eval()


def weights_bytes(module: "PreTrainedModel") -> int:
    return sum(p.numel() * p.element_size() for p in module.parameters())


def weights_in_four_bits(module: "PreTrainedModel", dtype: torch.dtype) -> int:
    """The same when those of the layers' products have 4 bits and a share of their group's two scales."""
    everything = sum(p.numel() for p in module.parameters())
    products = sum(p.numel() for p in module.model.layers.parameters() if p.dim() == 2)
    return (everything - products) * dtype.itemsize + bytes_in_four_bits(products, dtype)


def layers_of_a_token(module: "PreTrainedModel") -> list[int]:
    """Bytes that a token adds to each layer's cache: found by passing one through a `sketch`.

    Empty for what has no such cache, which is refused once it is loaded, with its reason.
    """
    # Imports the library.
    from .cached import CachedModel

    run = CachedModel(module)
    try:
        run.feed(torch.zeros(1, dtype=torch.int64, device="meta"))
        return [sum(part.numel() * part.element_size() for part in (at.keys, at.values)) for at in run.layers]
    except CANNOT_RUN:
        return []

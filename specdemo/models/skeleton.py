"""A checkpoint's weights in the places where the library's module has them, without the library.

`llama.Llama` packs the one like the other. The few numbers that a module works out of its configuration are kept from
the time when there was a module.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from safetensors import safe_open

_CONFIG = ("max_position_embeddings", "rms_norm_eps", "num_attention_heads", "num_key_value_heads")


class Part:
    """A part of a model: its weights and parts are its attributes; a bias that it has not is None."""

    bias = None


def numbers_of(module: torch.nn.Module) -> dict[str, Any]:
    """What `skeleton` needs to know of a module of the Llama family beside its weights; fit for JSON."""
    rotary = module.model.rotary_emb
    return {
        "config": {name: getattr(module.config, name) for name in _CONFIG},
        "layers": len(module.model.layers),
        "head_dim": module.model.layers[0].self_attn.head_dim,
        "inv_freq": rotary.inv_freq.float().tolist(),
        "attention_scaling": rotary.attention_scaling,
    }


def skeleton(file: Path, numbers: dict[str, Any], dtype: torch.dtype, device: torch.device) -> Part:
    """What stands in for the module of which `file` has the weights, which are read as they are used."""
    root = Part()
    with safe_open(file, framework="pt", device=str(device)) as weights:
        for name in weights.keys():  # noqa: SIM118, it is no dict
            _put(root, name.split("."), weights.get_tensor(name))
    body = root.model
    body.layers = [getattr(body.layers, str(i)) for i in range(numbers["layers"])]
    for layer in body.layers:
        layer.self_attn.head_dim = numbers["head_dim"]
    frequencies = torch.tensor(numbers["inv_freq"], device=device)
    body.rotary_emb = SimpleNamespace(inv_freq=frequencies, attention_scaling=numbers["attention_scaling"])
    root.lm_head = getattr(root, "lm_head", body.embed_tokens)
    root.config, root.dtype = SimpleNamespace(**numbers["config"]), dtype
    return root


def _put(part: Part, path: list[str], tensor: torch.Tensor) -> None:
    for name in path[:-1]:
        part.__dict__.setdefault(name, Part())
        part = getattr(part, name)
    setattr(part, path[-1], tensor)

"""The target as tensors: a batched Llama forward over preallocated KV buffers, with taps on its residual stream.

The library's cache grows by concatenation, which costs a sampler of long batches four fifths of its time; these buffers
are written by index. Only what the recipe needs: one dtype, no bias, rows of different lengths padded on the right.
"""

from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor
from transformers import AutoConfig, PreTrainedConfig

from .product import packed, product


@dataclass(frozen=True, slots=True)
class Layer:
    """Weights of one block; `qkv` and `gate_up` are fused, so that a block is four matrix products."""

    norm_in: Tensor  # (hidden,)
    qkv: Tensor  # ((heads + 2 kv_heads) * head_dim, hidden)
    out: Tensor  # (hidden, heads * head_dim)
    norm_mlp: Tensor  # (hidden,)
    gate_up: Tensor  # (2 * intermediate, hidden)
    down: Tensor  # (hidden, intermediate)


@dataclass(frozen=True, slots=True)
class Target:
    """A Llama: configuration, weights and the rotary tables."""

    config: PreTrainedConfig
    embedding: Tensor  # (vocab, hidden)
    head: Tensor  # the same weights, packed
    norm: Tensor  # (hidden,)
    layers: list[Layer]
    cos: Tensor  # (positions, head_dim)
    sin: Tensor  # (positions, head_dim)


@dataclass(slots=True)
class Cache:
    """Keys and values of every layer for a batch of rows."""

    keys: Tensor  # (layers, batch, kv_heads, positions, head_dim)
    values: Tensor  # (layers, batch, kv_heads, positions, head_dim)

    def keep(self, rows: Tensor, used: int) -> "Cache":
        """A cache of the chosen `rows` only; positions from `used` on hold nothing yet and are not copied.

        They are zeros, since a masked value counts 0 times, and that must not be 0 times NaN.
        """
        shape = (self.keys.shape[0], len(rows), *self.keys.shape[2:])
        kept = Cache(self.keys.new_zeros(shape), self.values.new_zeros(shape))
        kept.keys[:, :, :, :used] = self.keys[:, rows, :, :used]
        kept.values[:, :, :, :used] = self.values[:, rows, :, :used]
        return kept


def rotary_tables(config: PreTrainedConfig, positions: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """cos and sin of (positions, head_dim), each half of the head dimension the same."""
    theta = config.rope_parameters["rope_theta"]
    frequency = theta ** (-torch.arange(0, config.head_dim, 2).float() / config.head_dim)
    angle = torch.outer(torch.arange(positions).float(), frequency)
    angle = torch.cat((angle, angle), -1)
    return angle.cos().to(dtype), angle.sin().to(dtype)


def load_target(folder: Path, dtype: torch.dtype, positions: int) -> Target:
    """Read a Llama folder with tied embeddings into fused weights."""
    config = AutoConfig.from_pretrained(folder)
    weights = {name: tensor.to(dtype) for name, tensor in load_file(folder / "model.safetensors").items()}

    def layer(index: int) -> Layer:
        def get(name: str) -> Tensor:
            return weights[f"model.layers.{index}.{name}.weight"]

        return Layer(
            norm_in=get("input_layernorm"),
            qkv=packed(torch.cat([get(f"self_attn.{part}_proj") for part in "qkv"])),
            out=packed(get("self_attn.o_proj")),
            norm_mlp=get("post_attention_layernorm"),
            gate_up=packed(torch.cat([get("mlp.gate_proj"), get("mlp.up_proj")])),
            down=packed(get("mlp.down_proj")),
        )

    cos, sin = rotary_tables(config, positions, dtype)
    layers = [layer(index) for index in range(config.num_hidden_layers)]
    embedding = weights["model.embed_tokens.weight"]
    return Target(config, embedding, packed(embedding), weights["model.norm.weight"], layers, cos, sin)


def new_cache(target: Target, batch: int, positions: int) -> Cache:
    config = target.config
    shape = (config.num_hidden_layers, batch, config.num_key_value_heads, positions, config.head_dim)
    return Cache(*(target.embedding.new_zeros(shape) for _ in range(2)))


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn x (batch, time, heads, head_dim) by its position; cos and sin are (batch, time, 1, head_dim)."""
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


def forward(
    target: Target, ids: Tensor, start: Tensor, cache: Cache, part: slice, tap_after: tuple[int, ...]
) -> tuple[Tensor, Tensor]:
    """Read `ids` (batch, time) behind `start` (batch,) known positions, in the rows `part` of the cache.

    Returns the last residual stream before the final norm, (batch, time, hidden), and the taps: the stream after each
    layer named in `tap_after`, (batch, time, taps, hidden).
    """
    positions = start[:, None] + torch.arange(ids.shape[1], device=ids.device)  # (batch, time)
    rotary = target.cos[positions][:, :, None], target.sin[positions][:, :, None]
    # Row t of a sequence sees the keys up to its own position.
    seen = torch.arange(int(positions.max()) + 1, device=ids.device) <= positions[:, :, None]
    mask = torch.where(seen, 0.0, float("-inf")).to(target.embedding.dtype)[:, None]  # (batch, 1, time, length)

    x, taps = F.embedding(ids, target.embedding), []
    for index, layer in enumerate(target.layers):
        keys, values = cache.keys[index, part], cache.values[index, part]
        x = x + attention(target.config, layer, x, rotary, keys, values, positions, mask)
        x = x + feed_forward(target.config, layer, x)
        if index in tap_after:
            taps.append(x)
    return x, torch.stack(taps, 2) if taps else x.new_empty(*ids.shape, 0, x.shape[-1])


def attention(
    config: PreTrainedConfig,
    layer: Layer,
    x: Tensor,
    rotary: tuple[Tensor, Tensor],
    keys: Tensor,
    values: Tensor,
    positions: Tensor,
    mask: Tensor,
) -> Tensor:
    """What x (batch, time, hidden) draws from the past; its own keys and values are written at `positions` first."""
    batch, time, _ = x.shape
    heads, groups, size = config.num_attention_heads, config.num_key_value_heads, config.head_dim
    qkv = product(normed(config, x, layer.norm_in), layer.qkv).view(batch, time, heads + 2 * groups, size)
    q, k, v = qkv.split((heads, groups, groups), 2)
    rows = torch.arange(batch, device=x.device)[:, None]
    keys[rows, :, positions], values[rows, :, positions] = rotate(k, *rotary), v
    keys, values = keys[:, :, : mask.shape[-1]], values[:, :, : mask.shape[-1]]
    q = rotate(q, *rotary)
    if time == 1:
        # With one query a row, the heads of a group go into the query axis: each key is read once and not once a head.
        q = q.view(batch, groups, heads // groups, size)
    else:
        q = q.transpose(1, 2)
        keys, values = (y.repeat_interleave(heads // groups, 1) for y in (keys, values))
    mixed = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
    if time > 1:
        mixed = mixed.transpose(1, 2)
    return product(mixed.reshape(batch, time, heads * size), layer.out)


def feed_forward(config: PreTrainedConfig, layer: Layer, x: Tensor) -> Tensor:
    gate, up = product(normed(config, x, layer.norm_mlp), layer.gate_up).chunk(2, -1)
    return product(F.silu(gate) * up, layer.down)


def normed(config: PreTrainedConfig, x: Tensor, weight: Tensor) -> Tensor:
    return F.rms_norm(x, (x.shape[-1],), weight, config.rms_norm_eps)


def logits_of(target: Target, stream: Tensor) -> Tensor:
    """Logits (…, vocab) of residual streams (…, hidden)."""
    return product(normed(target.config, stream, target.norm), target.head)

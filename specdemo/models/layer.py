"""One layer of the Llama family: attention over a cache written by index, then the gated MLP.

Shapes: n new tokens, m tokens in the cache with them, H heads of which G share a key, d a head's width, D the model's.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch.nn.functional import scaled_dot_product_attention, silu

from .linear import Linear
from .norm import Norm
from .rope import Rope
from .stream import Stream, StreamNorm


class Place(NamedTuple):
    """Where the new tokens of a pass stand; the same for every layer.

    cos, sin  of their positions for each head of a projection, (n, H + 2 H / G, d); the first half of sin has its sign
              turned. Values are turned by nothing, so that one step writes them with the keys. An infinite one becomes
              NaN by it, as the next norm would have made everything: the pass is lost either way.
    mask      −∞ where a folded query may not look, (G·n, m); None where a lone token sees everything
    """

    cos: torch.Tensor
    sin: torch.Tensor
    mask: torch.Tensor | None


class Written(Protocol):
    """Where a pass's new keys and values go; a tensor (2 H / G, n, d) is one."""

    def copy_(self, new: torch.Tensor) -> object:
        """new (2 H / G, n, d): the keys, then the values"""


class Cache(NamedTuple):
    """One layer's keys and values in a pass.

    new           where those of the new tokens are written
    keys, values  (1, H / G, m, d), all that are in the cache then
    """

    new: Written
    keys: torch.Tensor
    values: torch.Tensor


def caches(kv: torch.Tensor, start: int, stop: int) -> Iterator[Cache]:
    """Each layer's, for tokens start … stop − 1: kv (layers, 2, H / G, at least stop, d)

    All layers' views are cut at once: at 30 layers the small steps of Python are what a pass can save.
    """
    new = kv.flatten(1, 2)[..., start:stop, :]
    keys, values = kv[..., :stop, :].chunk(2, dim=1)
    return map(Cache, new.unbind(), keys.unbind(), values.unbind())


@dataclass(frozen=True, slots=True)
class Layer:
    norm: StreamNorm
    qkv: Linear
    out: Linear
    mlp_norm: StreamNorm
    gate_up: Linear
    down: Linear
    heads: int
    kv_heads: int
    q_norm: Norm | None = None
    k_norm: Norm | None = None

    def run(self, stream: Stream, cache: Cache, place: Place) -> None:
        """Add what the layer makes of the stream to it."""
        stream.add(self._attend(self.norm(stream), cache, place))
        gate, up = self.gate_up(self.mlp_norm(stream)).chunk(2, dim=-1)
        stream.add(self.down(silu(gate).mul_(up)))

    def _attend(self, h: torch.Tensor, cache: Cache, place: Place) -> torch.Tensor:
        n, heads, kv_heads = len(h), self.heads, self.kv_heads
        qkv = self.qkv(h).view(n, heads + 2 * kv_heads, -1)
        if self.q_norm is not None:
            q, k, v = qkv.split([heads, kv_heads, kv_heads], dim=1)
            qkv = torch.cat([self.q_norm(q), self.k_norm(k), v], dim=1)
        qkv = torch.addcmul(qkv * place.cos, qkv.roll(qkv.shape[-1] // 2, dims=-1), place.sin).transpose(0, 1)
        cache.new.copy_(qkv[heads:])
        folded = qkv[:heads].reshape(1, kv_heads, heads // kv_heads * n, -1)
        mixed = scaled_dot_product_attention(folded, cache.keys, cache.values, place.mask)
        return self.out(mixed.view(heads, n, -1).transpose(0, 1).reshape(n, -1))

    def place(self, start: int, stop: int, rope: Rope) -> Place:
        """The place of tokens start … stop − 1 for layers such as this."""
        turns = rope.at(start, stop)
        if stop - start == 1:
            return self.placed(turns, None)
        hidden = torch.ones(stop - start, stop, dtype=torch.bool, device=turns.device).triu_(start + 1)
        return self.placed(turns, hidden)

    def placed(self, turns: torch.Tensor, hidden: torch.Tensor | None) -> Place:
        """The place of tokens with the turns (2, n, 2, d) of a `Rope`, from which `hidden` (n, m) is hidden."""
        cos, sin = turns.index_select(2, _turn_of_each(self.heads, self.kv_heads, turns.device)).unbind()
        if hidden is None:
            return Place(cos, sin, None)
        mask = torch.zeros(hidden.shape, dtype=cos.dtype, device=cos.device).masked_fill_(hidden, -torch.inf)
        return Place(cos, sin, mask.repeat(self.heads // self.kv_heads, 1))


@functools.cache
def _turn_of_each(heads: int, kv_heads: int, device: torch.device) -> torch.Tensor:
    """Which of a `Rope`'s two turns each head of a projection takes: queries and keys the first, values the second."""
    return torch.tensor([0] * (heads + kv_heads) + [1] * kv_heads, device=device)

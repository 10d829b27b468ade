"""One layer of the Llama family: attention over a cache written by index, then the gated MLP.

Shapes: n new tokens, m tokens in the cache with them, H heads of which G share a key, d a head's width, D the model's.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch.nn.functional import scaled_dot_product_attention, silu

from .linear import Linear
from .norm import Norm
from .rope import Rope


class Place(NamedTuple):
    """Where the new tokens of a pass stand; the same for every layer.

    cos, sin  of their positions, (n, 1, d); the first half of sin has its sign turned
    mask      −∞ where a folded query may not look, (G·n, m); None where a lone token sees everything
    """

    cos: torch.Tensor
    sin: torch.Tensor
    mask: torch.Tensor | None


def place(start: int, stop: int, rope: Rope, group: int, dtype: torch.dtype) -> Place:
    """The place of tokens start … stop − 1, where so many queries as `group` share a key."""
    cos, sin = rope.at(start, stop)
    if stop - start == 1:
        return Place(cos, sin, None)
    hidden = torch.ones(stop - start, stop, dtype=torch.bool, device=cos.device).triu_(start + 1)
    mask = torch.zeros(hidden.shape, dtype=dtype, device=cos.device).masked_fill_(hidden, -torch.inf)
    return Place(cos, sin, mask.repeat(group, 1))


@dataclass(frozen=True, slots=True)
class Layer:
    norm: Norm
    qkv: Linear
    out: Linear
    mlp_norm: Norm
    gate_up: Linear
    down: Linear
    heads: int
    kv_heads: int
    q_norm: Norm | None = None
    k_norm: Norm | None = None

    def run(self, x: torch.Tensor, new_kv: torch.Tensor, seen_kv: torch.Tensor, place: Place) -> torch.Tensor:
        """The residual stream after the layer: x (n, D) -> (n, D).

        new_kv   (2, H / G, n, d) where the new keys and values are written
        seen_kv  (2, H / G, m, d) all that are in the cache then
        """
        x = x + self._attend(self.norm(x), new_kv, seen_kv, place)
        gate, up = self.gate_up(self.mlp_norm(x)).chunk(2, dim=-1)
        return x + self.down(silu(gate) * up)

    def _attend(self, h: torch.Tensor, new_kv: torch.Tensor, seen_kv: torch.Tensor, place: Place) -> torch.Tensor:
        n, heads, kv_heads = len(h), self.heads, self.kv_heads
        qkv = self.qkv(h).view(n, heads + 2 * kv_heads, -1)
        qk = qkv[:, :-kv_heads]
        if self.q_norm is not None:
            qk = torch.cat([self.q_norm(qk[:, :heads]), self.k_norm(qk[:, heads:])], dim=1)
        qk = torch.addcmul(qk * place.cos, qk.roll(qk.shape[-1] // 2, dims=-1), place.sin).transpose(0, 1)
        new_kv[0] = qk[heads:]
        new_kv[1] = qkv[:, -kv_heads:].transpose(0, 1)
        folded = qk[:heads].reshape(1, kv_heads, heads // kv_heads * n, -1)
        mixed = scaled_dot_product_attention(folded, seen_kv[:1], seen_kv[1:], place.mask)
        return self.out(mixed.view(heads, n, -1).transpose(0, 1).reshape(n, -1))

"""One layer of the Llama family: attention over a cache written by index, then the gated MLP.

Shapes: n new tokens, m tokens in the cache with them, H heads of which G share a key, d a head's width, D the model's.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch.nn.functional import rms_norm, scaled_dot_product_attention, silu

from .linear import Linear


class Place(NamedTuple):
    """Where the new tokens of a pass stand; the same for every layer.

    cos, sin  of their positions, (n, 1, d); the first half of sin has its sign turned
    mask      −∞ where a folded query may not look, (G·n, m); None where a lone token sees everything
    """

    cos: torch.Tensor
    sin: torch.Tensor
    mask: torch.Tensor | None


def place(start: int, stop: int, frequencies: torch.Tensor, scaling: float, group: int, dtype: torch.dtype) -> Place:
    """The place of tokens start … stop − 1; frequencies (d / 2,) of the rotary embedding."""
    device = frequencies.device
    angles = torch.arange(start, stop, device=device).float()[:, None, None] * frequencies
    cos, sin = (angles.cos() * scaling).to(dtype), (angles.sin() * scaling).to(dtype)
    cos, sin = torch.cat([cos, cos], dim=-1), torch.cat([-sin, sin], dim=-1)
    if stop - start == 1:
        return Place(cos, sin, None)
    hidden = torch.arange(stop, device=device) > torch.arange(start, stop, device=device)[:, None]
    mask = torch.zeros(hidden.shape, dtype=dtype, device=device).masked_fill_(hidden, -torch.inf)
    return Place(cos, sin, mask.repeat(group, 1))


@dataclass(frozen=True, slots=True)
class Layer:
    norm: torch.Tensor
    qkv: Linear
    out: Linear
    mlp_norm: torch.Tensor
    gate_up: Linear
    down: Linear
    heads: int
    kv_heads: int
    eps: float
    q_norm: torch.Tensor | None = None
    k_norm: torch.Tensor | None = None

    def run(self, x: torch.Tensor, new_kv: torch.Tensor, seen_kv: torch.Tensor, place: Place) -> torch.Tensor:
        """The residual stream after the layer: x (n, D) -> (n, D).

        new_kv   (2, H / G, n, d) where the new keys and values are written
        seen_kv  (2, H / G, m, d) all that are in the cache then
        """
        x = x + self._attend(rms_norm(x, self.norm.shape, self.norm, self.eps), new_kv, seen_kv, place)
        h = rms_norm(x, self.mlp_norm.shape, self.mlp_norm, self.eps)
        gate, up = self.gate_up(h).chunk(2, dim=-1)
        return x + self.down(silu(gate) * up)

    def _attend(self, h: torch.Tensor, new_kv: torch.Tensor, seen_kv: torch.Tensor, place: Place) -> torch.Tensor:
        n, heads, kv_heads = len(h), self.heads, self.kv_heads
        qkv = self.qkv(h).view(n, heads + 2 * kv_heads, -1)
        qk = qkv[:, :-kv_heads]
        if self.q_norm is not None:
            q = rms_norm(qk[:, :heads], self.q_norm.shape, self.q_norm, self.eps)
            k = rms_norm(qk[:, heads:], self.k_norm.shape, self.k_norm, self.eps)
            qk = torch.cat([q, k], dim=1)
        # Rotary embedding (Su et al. 2021, arXiv 2104.09864), halves turned against each other.
        qk = torch.addcmul(qk * place.cos, qk.roll(qk.shape[-1] // 2, dims=-1), place.sin).transpose(0, 1)
        new_kv[0] = qk[heads:]
        new_kv[1] = qkv[:, -kv_heads:].transpose(0, 1)
        folded = qk[:heads].reshape(1, kv_heads, heads // kv_heads * n, -1)
        mixed = scaled_dot_product_attention(folded, seen_kv[:1], seen_kv[1:], place.mask)
        return self.out(mixed.view(heads, n, -1).transpose(0, 1).reshape(n, -1))

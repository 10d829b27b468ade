"""Our own forward for the Llama family: Llama, SmolLM2, Mistral without a window, Qwen2, Qwen2.5, Qwen3.

transformers loads the weights and is the reference that this is tested against. Its module spends more time on its
framework than a small model on its weights, so the loop runs this one: fused projections packed once for the processor,
keys and values written by index, grouped queries folded into the query axis (a CPU's attention kernel is four times
slower when it is left to repeat the keys itself).

Shapes: n new tokens, m tokens in the cache with them, H heads of which G share a key, d a head's width, D the model's.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.nn.functional import embedding, rms_norm, scaled_dot_product_attention, silu

from .linear import pack

_FAMILY = ("llama", "mistral", "qwen2", "qwen3")
_FIXED_ROPE = ("default", "linear", "llama3", "yarn")  # frequencies that do not change with the length of the text
_FIRST_ROWS = 256  # rows of a new cache; it doubles when full

Linear = Callable[[torch.Tensor], torch.Tensor]


def why_not(config: object) -> str | None:
    """Why this forward cannot run a transformers config; None when it can."""
    if config.model_type not in _FAMILY:
        return f"{config.model_type} is not of the Llama family"
    if getattr(config, "sliding_window", None) and getattr(config, "use_sliding_window", True):
        return "its attention has a sliding window"
    if config.hidden_act != "silu":
        return f"its activation is {config.hidden_act}"
    rope = (getattr(config, "rope_parameters", None) or {}).get("rope_type", "default")
    return None if rope in _FIXED_ROPE else f"its rotary embedding is {rope}"


@dataclass(frozen=True, slots=True)
class _Layer:
    norm: torch.Tensor
    qkv: Linear
    q_norm: torch.Tensor | None
    k_norm: torch.Tensor | None
    out: Linear
    mlp_norm: torch.Tensor
    gate_up: Linear
    down: Linear


class Llama:
    """Packed weights, shared by all runs and never written to again."""

    def __init__(self, module: torch.nn.Module) -> None:
        """Pack a transformers `…ForCausalLM`, which is not needed afterwards."""
        config, body = module.config, module.model
        self.context: int | None = config.max_position_embeddings
        self.eps = config.rms_norm_eps
        self.heads = config.num_attention_heads
        self.kv_heads = config.num_key_value_heads
        self.rope = body.rotary_emb.inv_freq.float(), body.rotary_emb.attention_scaling
        self.embedding = body.embed_tokens.weight.detach()
        self.norm = body.norm.weight.detach()
        self.layers = [_pack_layer(layer) for layer in body.layers]
        self.head = pack([module.lm_head])
        self.vocab_size = module.lm_head.out_features
        self.device, self.dtype = self.embedding.device, self.embedding.dtype

    def open(self) -> "LlamaRun":
        return LlamaRun(self)


def _pack_layer(layer: torch.nn.Module) -> _Layer:
    attention, mlp = layer.self_attn, layer.mlp
    q_norm, k_norm = (getattr(attention, name, None) for name in ("q_norm", "k_norm"))
    return _Layer(
        norm=layer.input_layernorm.weight.detach(),
        qkv=pack([attention.q_proj, attention.k_proj, attention.v_proj]),
        q_norm=None if q_norm is None else q_norm.weight.detach(),
        k_norm=None if k_norm is None else k_norm.weight.detach(),
        out=pack([attention.o_proj]),
        mlp_norm=layer.post_attention_layernorm.weight.detach(),
        gate_up=pack([mlp.gate_proj, mlp.up_proj]),
        down=pack([mlp.down_proj]),
    )


class LlamaRun:
    """One run's cache over shared weights; meets `contract.Model`."""

    def __init__(self, weights: Llama) -> None:
        self._w = weights
        self.vocab_size, self.device, self.context = weights.vocab_size, weights.device, weights.context
        self.length = 0
        self._cache: torch.Tensor | None = None  # (layers, keys and values, H / G, rows, d)

    def rewind(self, length: int) -> None:
        assert 0 <= length <= self.length, (length, self.length)
        self.length = length

    @torch.inference_mode()
    def feed(self, ids: torch.Tensor) -> torch.Tensor:
        """ids (n,) -> logits (n, V)"""
        return self._w.head(rms_norm(self._body(ids), self._w.norm.shape, self._w.norm, self._w.eps))

    @torch.inference_mode()
    def prefill(self, ids: torch.Tensor) -> None:
        self._body(ids)

    def _body(self, ids: torch.Tensor) -> torch.Tensor:
        """ids (n,) -> the residual stream after the last layer (n, D)"""
        w, start, stop = self._w, self.length, self.length + len(ids)
        x = embedding(ids, w.embedding)
        rotation, mask = self._rotation(start, stop), self._mask(start, stop)
        cache = self._room(stop, head_width=rotation[0].shape[-1])
        # Views of all layers are cut at once: at 30 layers the small steps of Python are what a pass can save.
        new, seen = cache[..., start:stop, :].unbind(), cache[..., :stop, :].unbind()
        for layer, new_kv, seen_kv in zip(w.layers, new, seen):
            h = rms_norm(x, layer.norm.shape, layer.norm, w.eps)
            x = x + self._attend(layer, h, new_kv, seen_kv, rotation, mask)
            h = rms_norm(x, layer.mlp_norm.shape, layer.mlp_norm, w.eps)
            gate, up = layer.gate_up(h).chunk(2, dim=-1)
            x = x + layer.down(silu(gate) * up)
        self.length = stop
        return x

    def _attend(
        self,
        layer: _Layer,
        h: torch.Tensor,  # (n, D)
        new_kv: torch.Tensor,  # (2, H / G, n, d): where the new keys and values go
        seen_kv: torch.Tensor,  # (2, H / G, m, d): all that are in the cache then
        rotation: tuple[torch.Tensor, torch.Tensor],
        mask: torch.Tensor | None,
    ) -> torch.Tensor:
        n, heads, kv_heads = len(h), self._w.heads, self._w.kv_heads
        qkv = layer.qkv(h).view(n, heads + 2 * kv_heads, -1)
        qk = qkv[:, :-kv_heads]
        if layer.q_norm is not None:
            q = rms_norm(qk[:, :heads], layer.q_norm.shape, layer.q_norm, self._w.eps)
            k = rms_norm(qk[:, heads:], layer.k_norm.shape, layer.k_norm, self._w.eps)
            qk = torch.cat([q, k], dim=1)
        qk = _rotate(qk, rotation).transpose(0, 1)
        new_kv[0] = qk[heads:]
        new_kv[1] = qkv[:, -kv_heads:].transpose(0, 1)
        folded = qk[:heads].reshape(1, kv_heads, heads // kv_heads * n, -1)
        mixed = scaled_dot_product_attention(folded, seen_kv[:1], seen_kv[1:], mask)
        return layer.out(mixed.view(heads, n, -1).transpose(0, 1).reshape(n, -1))

    def _rotation(self, start: int, stop: int) -> tuple[torch.Tensor, torch.Tensor]:
        """For the new positions cos and, with the sign of the first half turned, sin: each (n, 1, d)"""
        frequencies, scaling = self._w.rope
        angles = torch.arange(start, stop, device=self.device).float()[:, None, None] * frequencies
        cos, sin = (angles.cos() * scaling).to(self._w.dtype), (angles.sin() * scaling).to(self._w.dtype)
        return torch.cat([cos, cos], dim=-1), torch.cat([-sin, sin], dim=-1)

    def _mask(self, start: int, stop: int) -> torch.Tensor | None:
        """What each folded query may not see is −∞: (G·n, m); None where a lone token sees everything."""
        if stop - start == 1:
            return None
        hidden = torch.arange(stop, device=self.device) > torch.arange(start, stop, device=self.device)[:, None]
        mask = torch.zeros(hidden.shape, dtype=self._w.dtype, device=self.device).masked_fill_(hidden, -torch.inf)
        return mask.repeat(self._w.heads // self._w.kv_heads, 1)

    def _room(self, rows: int, head_width: int) -> torch.Tensor:
        """The cache, grown to hold at least `rows` tokens."""
        old = self._cache
        if old is None or old.shape[3] < rows:
            size = max(rows, _FIRST_ROWS if old is None else 2 * old.shape[3])
            shape = (len(self._w.layers), 2, self._w.kv_heads, size, head_width)
            self._cache = torch.empty(shape, dtype=self._w.dtype, device=self.device)
            if old is not None:
                self._cache[:, :, :, : self.length] = old[:, :, :, : self.length]
        return self._cache


def _rotate(x: torch.Tensor, rotation: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Rotary embedding (Su et al. 2021, arXiv 2104.09864), halves rotated against each other: (n, heads, d)"""
    cos, sin = rotation
    return torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, dims=-1), sin)

"""Our own forward for the Llama family: Llama, SmolLM2, Mistral without a window, Qwen2, Qwen2.5, Qwen3.

transformers loads the weights and is the reference that this is tested against. Its module spends more time on its
framework than a small model on its weights, so the loop runs this one: fused projections packed once for the processor,
keys and values written by index, grouped queries folded into the query axis (a CPU's attention kernel is four times
slower when it is left to repeat the keys itself).
"""

from collections.abc import Iterator
from functools import partial

import torch
from torch.nn.functional import embedding

from ..words import Saying
from .layer import Layer, caches
from .linear import pack_modules, pack_modules_in_four_bits
from .norm import norm_by
from .rope import Rope
from .rows import Rows
from .stream import Stream, StreamNorm, stream_from, stream_norm_by

_FAMILY = ("llama", "mistral", "qwen2", "qwen3")
_FIXED_ROPE = ("default", "linear", "llama3", "yarn")  # frequencies that do not change with the length of the text


def why_not(config: object) -> Saying | None:
    """Why this forward cannot run a transformers config; None when it can."""
    if config.model_type not in _FAMILY:
        return Saying("library_since_family", kind=config.model_type)
    if getattr(config, "sliding_window", None) and getattr(config, "use_sliding_window", True):
        return Saying("library_since_window")
    if config.hidden_act != "silu":
        return Saying("library_since_activation", name=config.hidden_act)
    rope = (getattr(config, "rope_parameters", None) or {}).get("rope_type", "default")
    return None if rope in _FIXED_ROPE else Saying("library_since_rope", name=rope)


class Llama:
    """Packed weights, shared by all runs and never written to again."""

    def __init__(self, module: torch.nn.Module, consume: bool = False, four_bit: bool = False) -> None:
        """Pack a transformers `…ForCausalLM`, or a `skeleton` of one, which is not needed afterwards.

        With `consume` it is taken apart on the way, so that the weights are never in memory twice. With `four_bit`,
        which wants a module in float32 on a CPU, its layers have 4 bits a weight and all else is bfloat16.
        """
        config, body = module.config, module.model
        self.dtype = torch.bfloat16 if four_bit else module.dtype
        self._pack_modules = partial(pack_modules_in_four_bits if four_bit else pack_modules, dtype=self.dtype)
        self.context: int | None = config.max_position_embeddings
        self.eps = config.rms_norm_eps
        self.heads = config.num_attention_heads
        self.kv_heads = config.num_key_value_heads
        self.head_width = body.layers[0].self_attn.head_dim
        self.embedding = body.embed_tokens.weight.detach().to(self.dtype)
        self.device = self.embedding.device
        self.rope = Rope(body.rotary_emb.inv_freq, body.rotary_emb.attention_scaling, self.dtype)
        self.norm = self._norm(body.norm)
        self.layers = [self._pack(layer) for layer in (_taken_from(body.layers) if consume else body.layers)]
        self.head = pack_modules(module.lm_head, dtype=self.dtype)
        self.vocab_size = len(module.lm_head.weight)

    def _pack(self, layer: torch.nn.Module) -> Layer:
        attention, mlp = layer.self_attn, layer.mlp
        q_norm, k_norm = (getattr(attention, name, None) for name in ("q_norm", "k_norm"))
        return Layer(
            norm=self._norm(layer.input_layernorm),
            qkv=self._pack_modules(attention.q_proj, attention.k_proj, attention.v_proj),
            out=self._pack_modules(attention.o_proj),
            mlp_norm=self._norm(layer.post_attention_layernorm),
            gate_up=self._pack_modules(mlp.gate_proj, mlp.up_proj),
            down=self._pack_modules(mlp.down_proj),
            heads=self.heads,
            kv_heads=self.kv_heads,
            q_norm=None if q_norm is None else norm_by(q_norm.weight.to(self.dtype), self.eps),
            k_norm=None if k_norm is None else norm_by(k_norm.weight.to(self.dtype), self.eps),
        )

    def _norm(self, norm: torch.nn.Module) -> StreamNorm:
        return stream_norm_by(norm.weight.to(self.dtype), self.eps)

    @property
    def token_bytes(self) -> int:
        """What a token adds to a run's cache."""
        return 2 * len(self.layers) * self.kv_heads * self.head_width * self.dtype.itemsize

    def open(self, tap_after: tuple[int, ...] = ()) -> "LlamaRun":
        """A run with an empty cache; it keeps the residual stream after the layers `tap_after` for a draft to read."""
        return LlamaRun(self, tap_after)


def _taken_from(layers: torch.nn.ModuleList | list) -> Iterator[torch.nn.Module]:
    while layers:
        yield layers.pop(0)


class LlamaRun:
    """One run's cache over shared weights; meets `contract.Model`."""

    def __init__(self, weights: Llama, tap_after: tuple[int, ...]) -> None:
        w = self._w = weights
        self.vocab_size, self.device, self.context = w.vocab_size, w.device, w.context
        self.length = 0
        self._kv = Rows((len(w.layers), 2, w.kv_heads), w.head_width, w.dtype, w.device)
        self._tap_after = tap_after
        self._taps = Rows((len(tap_after),), w.embedding.shape[1], w.dtype, w.device)

    def rewind(self, length: int) -> None:
        assert 0 <= length <= self.length, (length, self.length)
        self.length = length

    @torch.inference_mode()
    def feed(self, ids: torch.Tensor) -> torch.Tensor:
        """ids (n,) -> logits (n, V)"""
        return self._w.head(self._w.norm(self._read(ids)))

    @torch.inference_mode()
    def prefill(self, ids: torch.Tensor) -> None:
        self._read(ids)

    def taps(self, start: int, stop: int) -> torch.Tensor:
        """The residual streams of tokens start … stop − 1, which must be in the cache: (taps, n, D)"""
        assert 0 <= start <= stop <= self.length, (start, stop, self.length)
        return self._taps.room(stop)[:, start:stop]

    def _read(self, ids: torch.Tensor) -> Stream:
        """ids (n,) -> the residual stream after the last layer"""
        w, start, stop = self._w, self.length, self.length + len(ids)
        stream = stream_from(embedding(ids, w.embedding))
        here = w.layers[0].place(start, stop, w.rope)
        taps = self._taps.room(stop)
        for i, (layer, cache) in enumerate(zip(w.layers, caches(self._kv.room(stop), start, stop))):
            layer.run(stream, cache, here)
            if i in self._tap_after:
                taps[self._tap_after.index(i), start:stop] = stream.x
        self.length = stop
        return stream

"""A draft that reads the target's mind: one narrow layer over what the target held after its last committed token.

After EAGLE (Li et al. 2024, arXiv 2401.15077) and EAGLE-3 (Li et al. 2025, arXiv 2503.01840). Slot s reads token s
together with the feature of token s − 1 and predicts token s + 1. The feature is made of the target's residual streams
("taps") where the target has read token s − 1; for a token that is only drafted, the draft's own stream of the slot
before stands in. It proposes only the most frequent tokens; q is 0 elsewhere, which is lossless.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch.nn.functional import embedding

from .device import multiplies_four_bits
from .errors import LoadError
from .layer import Layer, caches
from .linear import Linear, bytes_in_four_bits, pack, pack_in_four_bits
from .llama import Llama, LlamaRun
from .norm import Norm, norm_over
from .rope import Rope
from .rows import Rows
from .stream import Stream, StreamNorm, stream_from, stream_norm_by

#: What config.json calls such a draft.
MODEL_TYPE = "specdemo_draft"

_PRODUCT = ".weight"  # how the names of matrices end


@dataclass(frozen=True, slots=True)
class Eagle:
    """Packed weights, shared by all runs. The embedding is the target's own, by reference.

    tap_after            the target's layers whose output it reads
    tap_mean, tap_scale  (taps, D) to standardise them
    unit                 the norm without a weight, for taps, embeddings and features
    kept                 (head,) int64: the ids that it can propose, in the head's order
    four_bit             whether its products have 4 bits a weight
    """

    target: Llama
    tap_after: tuple[int, ...]
    tap_mean: torch.Tensor
    tap_scale: torch.Tensor
    fuse: Linear
    join: Linear
    layers: tuple[Layer, ...]
    unit: Norm
    norm: StreamNorm
    head: Linear
    kept: torch.Tensor
    rope: Rope
    parameters: int
    bytes: int
    four_bit: bool

    def open(self, target: LlamaRun) -> "EagleRun":
        """A run with an empty cache beside a run of the target that keeps this draft's taps."""
        return EagleRun(self, target)


def load_eagle(folder: Path, target: Llama) -> Eagle:
    """Read the folder's config.json and model.safetensors. Raises LoadError if it was not made for this target.

    Where the processor can, its products get 4 bits a weight: a draft is read from memory anew for each token that it
    proposes, so a pass takes half as long, and what rounding takes from its agreement with the target is far less.
    The output's law does not depend on it: q is whatever it computes.
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    shape = config["shape"]
    width = target.embedding.shape[1]
    if shape["hidden"] != width or max(config["tap_after"]) >= len(target.layers):
        raise LoadError(
            "draft_other_target",
            taps=config["tap_after"],
            hidden=shape["hidden"],
            layers=len(target.layers),
            width=width,
        )
    w = load_file(folder / "model.safetensors")
    parameters = sum(tensor.numel() for tensor in w.values())
    products = sum(tensor.numel() for name, tensor in w.items() if name.endswith(_PRODUCT))
    four_bit = multiplies_four_bits(target.device, target.dtype)
    packing = partial(pack_in_four_bits, dtype=target.dtype) if four_bit else pack
    held = bytes_in_four_bits(products, target.dtype) if four_bit else products * target.dtype.itemsize
    w = {name: t.to(target.device) if name == "kept" else t.to(target.device, target.dtype) for name, t in w.items()}
    head_width, eps = shape["hidden"] // shape["heads"], config["rms_norm_eps"]
    steps = torch.arange(0, head_width, 2, device=target.device).float() / head_width
    return Eagle(
        target=target,
        tap_after=tuple(config["tap_after"]),
        tap_mean=w["tap_mean"],
        tap_scale=w["tap_scale"],
        fuse=packing(w["fuse.weight"]),
        join=packing(w["join.weight"]),
        layers=tuple(_layer(w, f"blocks.{i}", shape, eps, packing) for i in range(shape["layers"])),
        unit=norm_over(width, None, eps, target.device),
        norm=stream_norm_by(w["norm"], eps),
        head=packing(w["head.weight"]),
        kept=w["kept"].long(),
        rope=Rope(config["rope_theta"] ** -steps, 1.0, target.dtype),
        parameters=parameters,
        bytes=held + (parameters - products) * target.dtype.itemsize,
        four_bit=four_bit,
    )


def _layer(
    w: dict[str, torch.Tensor], name: str, shape: dict[str, int], eps: float, packing: Callable[[torch.Tensor], Linear]
) -> Layer:
    return Layer(
        norm=stream_norm_by(w[f"{name}.norm_in"], eps),
        qkv=packing(w[f"{name}.qkv.weight"]),
        out=packing(w[f"{name}.out.weight"]),
        mlp_norm=stream_norm_by(w[f"{name}.norm_mlp"], eps),
        gate_up=packing(w[f"{name}.gate_up.weight"]),
        down=packing(w[f"{name}.down.weight"]),
        heads=shape["heads"],
        kv_heads=shape["kv_heads"],
    )


class EagleRun:
    """One run's cache; meets `contract.Model`.

    Slots that were read before the target had read the token before them do not count any more once it has: `length` is
    then that of the slots before, so that whoever drafts with it reads them again, with the true features.
    """

    def __init__(self, weights: Eagle, target: LlamaRun) -> None:
        w, base = weights, weights.target
        self._w, self._target = w, target
        self.vocab_size, self.device, self.context = target.vocab_size, target.device, target.context
        self.support = w.kept
        layer = w.layers[0]
        lead = (len(w.layers), 2, layer.kv_heads)
        self._kv = Rows(lead, 2 * len(w.rope.frequencies), base.dtype, base.device)
        self._streams = Rows((), base.embedding.shape[1], base.dtype, base.device)
        self._read, self._true = 0, 0  # slots read, and how many of the first of them with true features

    @property
    def length(self) -> int:
        return self._read if self._target.length < self._true else self._true

    def rewind(self, length: int) -> None:
        assert 0 <= length <= self.length, (length, self.length)
        self._read, self._true = length, min(length, self._true)

    @torch.inference_mode()
    def feed(self, ids: torch.Tensor) -> torch.Tensor:
        """ids (n,) -> logits (n, V); −∞ where it never proposes"""
        logits = self.feed_narrow(ids)
        return logits.new_full((len(ids), self.vocab_size), -torch.inf).index_copy_(1, self.support, logits)

    @torch.inference_mode()
    def feed_narrow(self, ids: torch.Tensor) -> torch.Tensor:
        """ids (n,) -> logits (n, head), in the order of `support`"""
        w = self._w
        return w.head(torch.cat([w.norm(stream) for stream in self._run(ids)]))

    @torch.inference_mode()
    def prefill(self, ids: torch.Tensor) -> None:
        self._run(ids)

    def _run(self, ids: torch.Tensor) -> list[Stream]:
        """The streams of ids (n,): at once as far as the target has read, then one by one."""
        start = self.length
        ready = max(0, min(len(ids), self._target.length + 1 - start))
        streams = []
        if ready:
            streams.append(self._slots(ids[:ready], start, self._known(start, start + ready)))
            self._true = self._read
        for one in ids[ready:].split(1) if ready < len(ids) else ():
            streams.append(self._slots(one, self._read, self._streams.room(self._read)[self._read - 1 : self._read]))
        return streams

    def _known(self, start: int, stop: int) -> torch.Tensor:
        """The features that slots start … stop − 1 read, those of the tokens before them: (n, D)"""
        w = self._w
        taps = self._target.taps(max(0, start - 1), stop - 1).transpose(0, 1)  # (tokens, taps, D)
        features = taps.new_zeros(stop - start, taps.shape[-1])  # before the first token there is nothing
        if len(taps):
            standard = (w.unit(taps) - w.tap_mean) * w.tap_scale
            features[-len(taps) :] = w.fuse(standard.flatten(1))
        return features

    def _slots(self, ids: torch.Tensor, start: int, features: torch.Tensor) -> Stream:
        """Read ids (n,) into slots start … with the features before them, (n, D)"""
        w, stop = self._w, start + len(ids)
        pairs = torch.stack([embedding(ids, w.target.embedding), features], dim=1)
        stream = stream_from(w.join(w.unit(pairs).flatten(1)))
        here = w.layers[0].place(start, stop, w.rope)
        for layer, cache in zip(w.layers, caches(self._kv.room(stop), start, stop)):
            layer.run(stream, cache, here)
        self._streams.room(stop)[start:stop] = stream.x
        self._read = stop
        return stream

"""A run of our own forward in memory that stays where it is, so that a pass can be recorded once and run again.

Where the tokens of a pass go is a number on the device, not of the host: keys and values are written by index, and a
mask over all places hides those beyond. That costs the reading of places that are empty still, so `llama.LlamaRun` is
the better one where passes are not recorded.
"""

import torch
from torch.nn.functional import embedding

from .layer import Cache, Place
from .llama import Llama
from .stream import Stream, stream_from

_ALIGNED = 8  # places: a GPU's attention kernels want a mask's rows to begin at such addresses


class FixedRun:
    """One run's cache over shared weights; meets `steps.FixedModel`."""

    def __init__(self, weights: Llama, rows: int) -> None:
        w = self._w = weights
        self.vocab_size, self.device, self.context, self.dtype = w.vocab_size, w.device, w.context, w.dtype
        self.rows, self.length = rows, 0
        places = -(-(rows + 1) // _ALIGNED) * _ALIGNED
        self._places = torch.arange(places, device=w.device)
        self._nowhere = places - 1  # tokens that count for nothing are written there, beyond what any other may see
        self._turns = w.rope.at(0, places)
        # Zeros, since a masked value counts 0 times, and that must not be 0 times NaN.
        shape = (len(w.layers), 2, w.kv_heads, places, w.head_width)
        self._kv = torch.zeros(shape, dtype=w.dtype, device=w.device)

    def rewind(self, length: int) -> None:
        assert 0 <= length <= self.length, (length, self.length)
        self.length = length

    def hold(self, length: int) -> None:
        """Say that so many tokens were read, by passes of `feed_at`."""
        assert 0 <= length <= self.rows, (length, self.rows)
        self.length = length

    @torch.inference_mode()
    def feed(self, ids: torch.Tensor) -> torch.Tensor:
        """ids (n,) -> logits (n, V)"""
        return self._logits(self._read_on(ids))

    @torch.inference_mode()
    def prefill(self, ids: torch.Tensor) -> None:
        self._read_on(ids)

    def feed_at(self, ids: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        """ids (n,), start (scalar) -> logits (n, V). Reads them into places start, …, those below 0 nowhere."""
        return self._logits(self._read_at(ids, start))

    def _read_on(self, ids: torch.Tensor) -> Stream:
        stream = self._read_at(ids, torch.full((), self.length, device=self.device))
        self.hold(self.length + len(ids))
        return stream

    def _read_at(self, ids: torch.Tensor, start: torch.Tensor) -> Stream:
        """The residual stream after the last layer"""
        w, at = self._w, start + self._places[: len(ids)]
        at = torch.where(at < 0, self._nowhere, at)
        stream = stream_from(embedding(ids, w.embedding))
        here = self._place(at)
        for layer, kv in zip(w.layers, self._kv.unbind()):
            layer.run(stream, Cache(_Slots(kv.flatten(0, 1), at), kv[:1], kv[1:]), here)
        return stream

    def _place(self, at: torch.Tensor) -> Place:
        """The place of tokens at (n,) among all places."""
        return self._w.layers[0].placed(self._turns.index_select(1, at), self._places > at[:, None])

    def _logits(self, stream: Stream) -> torch.Tensor:
        return self._w.head(self._w.norm(stream))


class _Slots:
    """`layer.Written` where the new keys and values go to places on the device."""

    def __init__(self, kv: torch.Tensor, at: torch.Tensor) -> None:
        self._kv, self._at = kv, at

    def copy_(self, new: torch.Tensor) -> None:
        """new (2 H / G, n, d)"""
        self._kv.index_copy_(1, self._at, new)

"""A run of our own forward in memory that stays where it is, so that a pass can be recorded once and run again.

Where the tokens of a pass go is a number on the device, not of the host: keys and values are written by index, and a
mask over all places hides those beyond. That costs the reading of places that are empty still, so `llama.LlamaRun` is
the better one where passes are not recorded.
"""

import torch
from torch.nn.functional import embedding

from .layer import Place
from .llama import Llama

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
        self._cos, self._sin = w.rope.at(0, places)
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

    def _read_on(self, ids: torch.Tensor) -> torch.Tensor:
        x = self._read_at(ids, torch.full((), self.length, device=self.device))
        self.hold(self.length + len(ids))
        return x

    def _read_at(self, ids: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        """The residual stream after the last layer, (n, D)"""
        w, at = self._w, start + self._places[: len(ids)]
        at = torch.where(at < 0, self._nowhere, at)
        x = embedding(ids, w.embedding)
        here = self._place(at)
        for layer, kv in zip(w.layers, self._kv.unbind()):
            x = layer.run(x, _Slots(kv, at), kv, here)
        return x

    def _place(self, at: torch.Tensor) -> Place:
        """The place of tokens at (n,) among all places."""
        beyond = self._places > at[:, None]
        mask = torch.zeros(beyond.shape, dtype=self.dtype, device=self.device).masked_fill_(beyond, -torch.inf)
        cos, sin = (turns.index_select(0, at) for turns in (self._cos, self._sin))
        return Place(cos, sin, mask.repeat(self._w.heads // self._w.kv_heads, 1))

    def _logits(self, x: torch.Tensor) -> torch.Tensor:
        return self._w.head(self._w.norm(x))


class _Slots:
    """What `layer.Layer` takes for its view of the new keys and values, where they go to places on the device."""

    def __init__(self, kv: torch.Tensor, at: torch.Tensor) -> None:
        self._kv, self._at = kv, at

    def __setitem__(self, which: int, new: torch.Tensor) -> None:
        """new (heads, n, d): keys where `which` is 0, values where it is 1"""
        self._kv[which].index_copy_(1, self._at, new)

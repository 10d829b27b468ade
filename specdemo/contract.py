"""What the engine asks of a model and of a drafter, and the one source of chance that it gives them.

A model is an object with

    vocab_size: int
    device: torch.device
    length: int                      tokens now in its cache
    feed(ids)                        ids: int64 (n,) -> logits (n, V); row i predicts the token after ids[i]
    rewind(length)                   where to be, not how much to remove

and, if it can do better than the default,

    context: int | None              the most tokens it can hold; without it there is no limit
    prefill(ids)                     as `feed`, but without the logits, which cost much on a long prompt
    support, feed_narrow(ids)        ids (h,) in rising order outside of which every logit is −∞; as `feed`, but only
                                     their logits (n, h)
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import torch

from .narrow import Narrow
from .records import SamplingParams
from .words import Spoken

#: Tokens of a prompt read in one pass: bounds the memory of a pass without slowing it.
PREFILL_CHUNK = 512

_BLOCK = 256  # coins made at once


class NumericalFault(Spoken, RuntimeError):
    """A model gave logits that are no distribution (NaN, or nothing but −∞)."""


class Model(Protocol):
    vocab_size: int
    device: torch.device

    @property
    def length(self) -> int: ...

    def feed(self, ids: torch.Tensor) -> torch.Tensor: ...

    def rewind(self, length: int) -> None: ...


class Coins:
    """A run's own stream of uniforms on [0, 1); the global seed is never touched.

    `seed` None takes one from the system.
    """

    def __init__(self, seed: int | None, device: torch.device) -> None:
        self._generator = torch.Generator(device)
        self._dtype = torch.float32 if device.type == "mps" else torch.float64  # Metal has no float64
        if seed is None:
            self._generator.seed()
        else:
            self._generator.manual_seed(seed)
        self._block, self._used = self._more(0), 0

    def throw(self, n: int) -> torch.Tensor:
        """n uniforms -> (n,), nobody's to write to: many are made at once, since a few cost as much."""
        start, end = self._used, self._used + n
        if end > len(self._block):
            self._block = torch.cat([self._block[start:], self._more(max(n, _BLOCK))])
            start, end = 0, n
        self._used = end
        return self._block[start:end]

    def _more(self, n: int) -> torch.Tensor:
        return torch.rand(n, generator=self._generator, device=self._generator.device, dtype=self._dtype)


class Proposal(NamedTuple):
    """K drafted tokens and the very rows that they were drawn from."""

    ids: torch.Tensor  # (K,) int64
    q: torch.Tensor | Narrow  # (K, V) float32 or wider; or rows over the few ids that the draft can propose

    @classmethod
    def none(cls, vocab_size: int, device: torch.device) -> "Proposal":
        nothing = torch.empty(0, dtype=torch.int64, device=device)
        return cls(nothing, Narrow(torch.empty(1, 0, device=device), nothing, vocab_size))


class Drafter(Protocol):
    """What proposes. It may have `prefill(committed)` too, called once before the first round."""

    def propose(self, committed: Sequence[int], k: int, params: SamplingParams, coins: Coins) -> Proposal:
        """At most `k` tokens that may follow `committed`; fewer where it has no room or no idea."""


def room(model: Model, held: int) -> float:
    """Tokens that still fit into the model's context after `held` of them; infinite where there is no limit."""
    context = getattr(model, "context", None)
    return float("inf") if context is None else context - held


def prefill(model: Model, ids: torch.Tensor) -> None:
    """Read ids (n,) into the model's cache; nobody looks at the logits."""
    read = getattr(model, "prefill", model.feed)
    for chunk in ids.split(PREFILL_CHUNK):
        if len(chunk):
            read(chunk)

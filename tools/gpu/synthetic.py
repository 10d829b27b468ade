"""Models of real shape and random weights, whose laws are given: every pass costs what it costs, and says what we want.

The draft proposes from the first half of the vocabulary; the target writes so with probability a, and from the second half
else: p = a·q + (1 − a)·r with r apart from q. So each draft is accepted with probability a, whatever came before.
"""

import math

import torch
from transformers import AutoModelForCausalLM, PreTrainedConfig

from specdemo.contract import Model
from specdemo.models.cached import idle_bytes
from specdemo.models.fixed import FixedRun
from specdemo.models.llama import Llama
from specdemo.models.need import weights_bytes


class Random:
    """Random weights of a shape on a device; `streamed` are the bytes that a pass reads of them."""

    def __init__(self, config: PreTrainedConfig, dtype: torch.dtype, device: torch.device) -> None:
        with device:
            module = AutoModelForCausalLM.from_config(config, dtype=dtype).eval()
        self.streamed = weights_bytes(module) - idle_bytes(module)
        self.weights = Llama(module, consume=True)

    def fixed(self, law: torch.Tensor, rows: int) -> "Saying":
        return Saying(FixedRun(self.weights, rows), law)

    def growing(self, law: torch.Tensor) -> "Saying":
        return Saying(self.weights.open(), law)


class Saying:
    """A model that makes its passes and then says the logits of one `law` (V,) after everything."""

    def __init__(self, model: Model, law: torch.Tensor) -> None:
        self._model, self._law = model, law

    def __getattr__(self, name: str) -> object:
        return getattr(self._model, name)

    def feed(self, ids: torch.Tensor) -> torch.Tensor:
        return self._said(self._model.feed(ids))

    def feed_at(self, ids: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        return self._said(self._model.feed_at(ids, start))

    def _said(self, logits: torch.Tensor) -> torch.Tensor:
        return logits * 0 + self._law  # the product is needed, so that the pass is


def laws(acceptance: float, vocab_size: int, dtype: torch.dtype, device: torch.device) -> tuple[torch.Tensor, ...]:
    """The logits (V,) of the target and of the draft."""
    half = vocab_size // 2
    target, draft = torch.zeros(2, vocab_size, dtype=dtype, device=device)
    draft[half:] = -torch.inf
    target[half:] = math.log((1 - acceptance) / (vocab_size - half)) - math.log(acceptance / half)
    return target, draft

"""One run's own view of shared weights: `contract.Model` for any causal language model of the library."""

import inspect

import torch
from transformers import PreTrainedModel
from transformers.cache_utils import Cache

from .buffers import BufferLayer
from .pair import Weights


class CachedModel:
    """A cache over `model`'s weights; many may share the same weights.

    The forward is called with explicit positions and nothing else: neither the checkpoint's generation settings nor its
    logits processors ever play a part.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        config = model.config.get_text_config(decoder=True)
        self._model = model
        self._accepts = frozenset(inspect.signature(model.forward).parameters)
        self._cache = Cache(layer_class_to_replicate=BufferLayer)
        self._length = 0
        self.vocab_size: int = model.get_output_embeddings().weight.shape[0]
        self.context: int | None = context_of(config)
        self.device: torch.device = model.get_input_embeddings().weight.device

    @property
    def length(self) -> int:
        """Tokens in the cache."""
        return self._length

    def feed(self, ids: torch.Tensor) -> torch.Tensor:
        """ids (n,) -> logits (n, V) in the weights' own dtype; row i predicts the token after ids[i]."""
        return self._forward(ids, logits_to_keep=0)

    def prefill(self, ids: torch.Tensor) -> None:
        """Read ids (n,) without the logits, which cost much on a long prompt."""
        self._forward(ids, logits_to_keep=1)

    def rewind(self, length: int) -> None:
        """Be at `length` tokens; the tokens after it are forgotten."""
        assert 0 <= length <= self._length, f"rewind to {length} of {self._length} tokens"
        self._length = length
        for layer in self._cache.layers:
            layer.rewind(length)

    @torch.inference_mode()
    def _forward(self, ids: torch.Tensor, logits_to_keep: int) -> torch.Tensor:
        positions = torch.arange(self._length, self._length + len(ids), device=self.device)
        wanted = {"position_ids": positions[None], "logits_to_keep": logits_to_keep}
        logits = self._model(
            input_ids=ids[None],
            cache=self._cache,
            use_cache=True,
            return_dict=True,
            **{name: value for name, value in wanted.items() if name in self._accepts},
        ).logits
        self._length += len(ids)
        return logits[0]


def context_of(config: object) -> int | None:
    """The most tokens that the model can hold, as far as its configuration tells."""
    return getattr(config, "max_position_embeddings", None)


def weights_of(model: PreTrainedModel, title: str, path: str) -> Weights:
    """A loaded model as what a `Pair` is made of."""
    sizes = [(p.numel(), p.numel() * p.element_size()) for p in model.parameters()]
    return Weights(
        title=title,
        path=path,
        parameters=sum(count for count, _ in sizes),
        bytes=sum(size for _, size in sizes),
        dtype=model.dtype,
        device=model.device,
        context=context_of(model.config.get_text_config(decoder=True)),
        open=lambda: CachedModel(model),
    )

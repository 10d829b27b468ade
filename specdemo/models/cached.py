"""One run's own cache over shared weights: `contract.Model` for any causal language model of the library."""

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.cache_utils import Cache

from ..contract import Model
from .buffers import BufferLayer
from .pair import Weights

#: Rotary embeddings that turn to other frequencies when a text outgrows the original context: keys in a cache, which
#: were turned by the old ones, are wrong from there on.
_ROPE_THAT_CHANGES = ("dynamic", "longrope")


class CachedModel:
    """Meets `contract.Model`. Many may share one `module`, each with its own cache.

    The module is called with explicit positions and nothing else: neither the checkpoint's generation settings nor its
    logits processors ever play a part.
    """

    def __init__(
        self,
        module: PreTrainedModel,
        device: torch.device | None = None,
        alone: AbstractContextManager | None = None,
    ) -> None:
        """Of a module that is spread over several devices `device` is where its passes begin and end, and `alone` is
        held during one: parts of it come to that device and go again."""
        self._module, self._alone = module, alone or nullcontext()
        self._accepted = frozenset(inspect.signature(module.forward).parameters)
        self._cache = Cache(layer_class_to_replicate=BufferLayer)
        self._length = 0
        self.vocab_size: int = module.config.get_text_config(decoder=True).vocab_size
        self.context = context_of(module.config)
        self.device: torch.device = device or module.get_input_embeddings().weight.device

    @property
    def layers(self) -> list[BufferLayer]:
        """The cache's own, as far as a pass has made them."""
        return self._cache.layers

    @property
    def length(self) -> int:
        """Tokens in the cache."""
        return self._length

    def feed(self, ids: torch.Tensor) -> torch.Tensor:
        """ids (n,) -> logits (n, V); row i predicts the token after ids[i]."""
        return self._forward(ids, logits_to_keep=0)

    def prefill(self, ids: torch.Tensor) -> None:
        """Read ids (n,) with logits for no more than the last, since they cost much on a long prompt."""
        self._forward(ids, logits_to_keep=1)

    def rewind(self, length: int) -> None:
        """Be at `length` tokens; those after it are forgotten."""
        assert 0 <= length <= self._length, (length, self._length)
        self._length = length
        for layer in self.layers:
            layer.rewind(length)

    @torch.inference_mode()
    def _forward(self, ids: torch.Tensor, logits_to_keep: int) -> torch.Tensor:
        positions = torch.arange(self._length, self._length + len(ids), device=self.device)
        optional = {"position_ids": positions[None], "logits_to_keep": logits_to_keep}
        with self._alone:
            output = self._module(
                input_ids=ids[None],
                cache=self._cache,
                use_cache=True,
                return_dict=True,
                **{name: value for name, value in optional.items() if name in self._accepted},
            )
        self._length += len(ids)
        return output.logits[0]


def context_of(config: PreTrainedConfig) -> int | None:
    """The most tokens that a cache may hold; None where the configuration does not tell."""
    config = config.get_text_config(decoder=True)
    limits = [getattr(config, "max_position_embeddings", None), getattr(config, "max_seq_len", None)]
    ropes = getattr(config, "rope_parameters", None) or {}
    for rope in (ropes, *(nested for nested in ropes.values() if isinstance(nested, dict))):
        if rope.get("rope_type") in _ROPE_THAT_CHANGES:
            limits.append(rope.get("original_max_position_embeddings"))
    return min((limit for limit in limits if isinstance(limit, int) and limit > 0), default=None)


def declared_ends(module: PreTrainedModel) -> frozenset[int]:
    """The ids that a checkpoint declares to end a text, in either of the two places where it may."""
    declared = [module.config.get_text_config(decoder=True).eos_token_id, module.generation_config.eos_token_id]
    ids = (i for ends in declared for i in (ends if isinstance(ends, list) else [ends]))
    return frozenset(i for i in ids if i is not None)


def weights_of(module: PreTrainedModel, title: str, path: str, open_model: Callable[[], Model]) -> Weights:
    """A module as what a `Pair` is made of; `open_model` makes a run of it."""
    sizes = [(p.numel(), p.element_size()) for p in module.parameters()]
    return Weights(
        title=title,
        path=path,
        parameters=sum(count for count, _ in sizes),
        bytes=sum(count * size for count, size in sizes),
        idle_bytes=idle_bytes(module),
        dtype=module.dtype,
        device=module.device,
        context=context_of(module.config),
        open=open_model,
    )


def idle_bytes(module: PreTrainedModel) -> int:
    """The bytes of weights that a pass does not stream through: the input embedding, unless the output shares it."""
    embedding, head = module.get_input_embeddings(), module.get_output_embeddings()
    if head is None or embedding.weight is head.weight:
        return 0
    return embedding.weight.numel() * embedding.weight.element_size()

"""Our draft that reads its target, before the library's assisted generation."""

from collections.abc import Callable

import torch
from transformers import PreTrainedModel
from transformers.generation.candidate_generator import CandidateGenerator

from ..contract import Coins, Model
from ..drafters import ModelDrafter
from ..models.cached import context_of
from ..models.rows import Rows
from ..narrow import Narrow
from ..records import SamplingParams


class Watched:
    """A library's module as a draft reads it: what its layers put out for the tokens in its cache.

    `length`, the tokens in the cache, is for the owner to set before each pass.
    """

    def __init__(self, module: PreTrainedModel, layers: tuple[int, ...]) -> None:
        config = module.config.get_text_config(decoder=True)
        self.vocab_size, self.device, self.context = config.vocab_size, module.device, context_of(module.config)
        self.length = 0
        self._taps = Rows((len(layers),), config.hidden_size, module.dtype, module.device)
        self._watched = [module.get_decoder().layers[i] for i in layers]

    def __enter__(self) -> "Watched":
        self._hooks = [layer.register_forward_hook(self._keeper(i)) for i, layer in enumerate(self._watched)]
        return self

    def __exit__(self, *_: object) -> None:
        for hook in self._hooks:
            hook.remove()

    def taps(self, start: int, stop: int) -> torch.Tensor:
        """The residual streams of tokens start … stop − 1: (layers, n, D)"""
        assert 0 <= start <= stop <= self.length, (start, stop, self.length)
        return self._taps.room(stop)[:, start:stop]

    def _keeper(self, i: int) -> Callable[..., None]:
        def keep(layer: torch.nn.Module, given: tuple, streams: torch.Tensor) -> None:
            stop = self.length + streams.shape[1]
            self._taps.room(stop)[i, self.length : stop] = streams[0]

        return keep


class Candidates(CandidateGenerator):
    """K drafts a round, and the rows that they were drawn from, by the same drafter as in our own loop."""

    def __init__(self, target: Watched, draft: Model, params: SamplingParams, k: int, prompt_length: int) -> None:
        self._target, self._drafter, self._params, self._k = target, ModelDrafter(draft), params, k
        self._prompt_length = prompt_length
        self._coins = Coins(params.seed, target.device)

    @torch.inference_mode()
    def get_candidates(self, input_ids: torch.Tensor, **_: object) -> tuple[torch.Tensor, torch.Tensor | None]:
        """input_ids (1, n), the last of them not read by the target yet -> (1, n + K) and log q (1, K, V).

        Before the prompt has been read there is nothing to draft from.
        """
        committed = input_ids[0].tolist()
        written = len(committed) - self._prompt_length
        self._target.length = len(committed) - 1 if written else 0
        k = min(self._k, self._params.max_new_tokens - written - 1)
        if k < 1 or not written:
            return input_ids, None
        drafts, q = self._drafter.propose(committed, k, self._params, self._coins)
        return torch.cat([input_ids, drafts[None]], dim=1), Narrow.of(q).wide().log()[None]

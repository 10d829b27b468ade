"""transformers' own generation: its defaults throughout, but for what is drawn and when a text ends."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from transformers import GenerationConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.generation.streamers import BaseStreamer

from ..models import Pair
from ..records import SamplingParams
from .reader import Candidates, Watched
from .writer import Tell, Write


def generate(module: PreTrainedModel, **settings: object) -> Write:
    """`generate` of a module; `settings` go into its generation config, which else says what `params` say."""

    def write(prompt_ids: Sequence[int], params: SamplingParams, stop_ids: frozenset[int], tell: Tell) -> int:
        _forget_settings(module)
        config = _config(params, stop_ids, settings)
        return _generate(module, prompt_ids, params, config, streamer=_Listener(tell, passed_over=1))

    return write


def look_up(module: PreTrainedModel, tokens: int) -> Write:
    """Assisted generation whose drafts, up to `tokens` of them, are looked up in the text: no draft model."""
    return generate(module, prompt_lookup_num_tokens=tokens)


def assist(
    module: PreTrainedModel, draft: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, k: int | None = None
) -> Write:
    """Assisted generation with a draft that the library has loaded; `k` None leaves it its own schedule."""
    # Where one of the two pads its vocabulary wider, the library takes their tokenizers for different ones.
    widths = {each.config.get_text_config(decoder=True).vocab_size for each in (module, draft)}
    help_ = {"tokenizer": tokenizer, "assistant_tokenizer": tokenizer} if len(widths) > 1 else {}
    schedule = {} if k is None else {"num_assistant_tokens": k, "assistant_confidence_threshold": 0.0}

    def write(prompt_ids: Sequence[int], params: SamplingParams, stop_ids: frozenset[int], tell: Tell) -> int:
        _forget_settings(module)
        _forget_settings(draft, **schedule)
        config, listener = _config(params, stop_ids), _Listener(tell, passed_over=1)
        return _generate(module, prompt_ids, params, config, streamer=listener, assistant_model=draft, **help_)

    return write


def assist_by_reader(module: PreTrainedModel, pair: Pair, k: int) -> Write:
    """Assisted generation with the pair's own draft, which reads the target and which the library cannot load.

    The library's loop, cache, verification and sampling, with `k` drafts a round that come through its interface for
    candidates, `CandidateGenerator`.
    """

    def write(prompt_ids: Sequence[int], params: SamplingParams, stop_ids: frozenset[int], tell: Tell) -> int:
        _forget_settings(module)
        with Watched(module, pair.draft.reads) as target:
            candidates = Candidates(target, pair.open_draft(target), params, k, len(prompt_ids))
            loop = _assisted(candidates, _Listener(tell))
            return _generate(module, prompt_ids, params, _config(params, stop_ids), custom_generate=loop)

    return write


def _generate(
    module: PreTrainedModel, prompt_ids: Sequence[int], params: SamplingParams, config: GenerationConfig, **how: object
) -> int:
    """Run; the tokens that the library returns after the prompt."""
    ids = torch.tensor([prompt_ids], device=module.device)
    with _own_chance(params.seed, ids.device):
        written = module.generate(ids, attention_mask=torch.ones_like(ids), generation_config=config, **how)
    return written.shape[1] - len(prompt_ids)


def _forget_settings(module: PreTrainedModel, **settings: object) -> None:
    """What a checkpoint brings for its generation plays no part, as it does not in our lanes.

    Before each run, since engines share their modules.
    """
    module.generation_config = GenerationConfig(**settings)


def _config(
    params: SamplingParams, stop_ids: frozenset[int], settings: dict[str, object] | None = None
) -> GenerationConfig:
    """0, 1 and 0 switch the filters off here as there, but min-p, which would cost time."""
    chance = {"temperature": params.temperature, "top_k": params.top_k, "top_p": params.top_p}
    if params.min_p:
        chance["min_p"] = params.min_p
    ends = sorted(stop_ids)
    return GenerationConfig(
        max_new_tokens=params.max_new_tokens,
        do_sample=not params.greedy,
        eos_token_id=ends or None,
        pad_token_id=ends[0] if ends else 0,
        **({} if params.greedy else chance),
        **(settings or {}),
    )


@contextmanager
def _own_chance(seed: int | None, device: torch.device) -> Iterator[None]:
    """The library draws by the global random state, which is seeded here and put back."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        if seed is not None:
            torch.manual_seed(seed)
        yield


def _assisted(candidates: Candidates, listener: BaseStreamer) -> Callable[..., torch.Tensor]:
    """The library's loop of assisted generation over these candidates, for `custom_generate`.

    It makes the candidates by a method of the module, for which there is no argument.
    """

    def loop(module: PreTrainedModel, input_ids: torch.Tensor, **rest: object) -> torch.Tensor:
        module._get_candidate_generator = lambda **_: candidates
        try:
            return type(module)._assisted_decoding(module, input_ids, streamer=listener, **rest)
        finally:
            del module._get_candidate_generator

    return loop


class _Listener(BaseStreamer):
    """Tells the ids of each pass; the first `passed_over` of what comes are the prompt."""

    def __init__(self, tell: Tell, passed_over: int = 0) -> None:
        self._tell, self._passed_over = tell, passed_over

    def put(self, value: torch.Tensor) -> None:
        if self._passed_over:
            self._passed_over -= 1
        else:
            self._tell(value.flatten().tolist())

    def end(self) -> None:
        """Nothing is held back."""

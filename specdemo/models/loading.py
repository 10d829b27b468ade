"""From the names of two models to a loaded pair."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from ..words import Saying
from .catalogue import PairSpec
from .device import FOUR_BIT, choose_device, choose_dtype
from .errors import LoadError
from .failures import as_load_error
from .known import Checkpoint, load_known
from .memory import free_bytes, gigabytes, weights_bytes
from .pair import Pair
from .probe import measure_costs, note_on
from .progress import Progress
from .quiet import quiet
from .reader import load_reader
from .scribe import Scribe
from .sources import Source, locate
from .stamp import Stamp, stamp_for
from .threads import one_thread
from .vocabulary import disagreement

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_MOST_THREADS = torch.get_num_threads()  # as torch starts: the choice for one pair must not bound that for the next


def load(spec: PairSpec, device: str, dtype: str, progress: Progress) -> Pair:
    """See `models.load_pair`."""
    place = choose_device(device)
    numbers, why = choose_dtype(dtype, place)
    four_bit = dtype == FOUR_BIT
    with quiet(), one_thread():
        # 1. Find both, and refuse what can be refused before gigabytes are moved.
        target, draft = _locate(spec, progress)
        tokenizer = _shared_tokenizer(target, draft)
        alone = target == draft or draft.reads_target
        _refuse_what_cannot_run([target] if alone else [target, draft], numbers, place, four_bit)
        # 2. Load; a model that plays both parts is loaded once, and each part has caches of its own.
        loaded = _load(target, numbers, place, four_bit, _within(progress, 0.1, 0.6 if target != draft else 1.0))
        if target == draft:
            other = loaded
        elif draft.reads_target:
            loaded, other = _load_reader(draft, loaded, four_bit, _within(progress, 0.6, 1.0))
        else:
            other = _load(draft, numbers, place, four_bit, _within(progress, 0.6, 1.0))
    pair = Pair(spec.name, spec.title, loaded.weights, other.weights, tokenizer, _stop_ids(tokenizer, loaded))
    progress(1.0, Saying("costs_trying"))
    run = pair.open_target()
    costs, tried = measure_costs(run, pair.open_draft(run), _MOST_THREADS)
    progress(1.0, Saying("pair_ready"))
    notes = (Saying("note_numbers", why=why), *_notes(loaded, other), *tried, note_on(costs))
    return replace(pair, notes=notes, costs=costs)


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Whatever goes wrong inside becomes one sentence about the model `name`."""
    try:
        yield
    except AssertionError:
        raise  # our own mistake is no news about the model
    except Exception as error:
        raise as_load_error(error, name) from error


def _locate(spec: PairSpec, progress: Progress) -> tuple[Source, Source]:
    with explained(spec.target):
        target = locate(spec.target, "target", progress)
    with explained(spec.draft):
        return target, locate(spec.draft, "draft", progress)


def _shared_tokenizer(target: Source, draft: Source) -> "PreTrainedTokenizerBase":
    with explained(target.name):
        tokenizer = target.read_tokenizer()
    if draft.reads_target or draft.tokenizer == target.tokenizer:
        return tokenizer
    with explained(draft.name):
        reason = disagreement(tokenizer, draft.read_tokenizer())
    if reason:
        raise LoadError("tokenizers_differ", target=target.name, draft=draft.name, reason=reason)
    return tokenizer


def _refuse_what_cannot_run(sources: list[Source], dtype: torch.dtype, device: torch.device, four_bit: bool) -> None:
    need = 0
    for source in sources:
        with explained(source.name):
            found = _stamp(source, dtype, device, four_bit).read()
            need += found["weights"]["bytes"] if found else _bytes_of(source, dtype)
    free = free_bytes(device)
    if free is not None and need > free:
        raise LoadError(
            "memory_short",
            names=" + ".join(source.name for source in sources),
            need=gigabytes(need),
            dtype=str(dtype).removeprefix("torch."),
            free=gigabytes(free),
            device=device.type,
        )


def _bytes_of(source: Source, dtype: torch.dtype) -> int:
    """Memory that the weights will take. Raises LoadError for what is no decoder."""
    config = source.read_config()
    if config.is_encoder_decoder:
        raise LoadError("encoder_decoder", name=source.name)
    if not isinstance(getattr(config.get_text_config(decoder=True), "vocab_size", None), int):
        raise LoadError("config_no_vocabulary", name=source.name)
    return weights_bytes(config, dtype)


def _stamp(source: Source, dtype: torch.dtype, device: torch.device, four_bit: bool) -> Stamp:
    return stamp_for(source.own, source.folder, dtype, device, four_bit)


def _load(source: Source, dtype: torch.dtype, device: torch.device, four_bit: bool, progress: Progress) -> Checkpoint:
    with explained(source.name):
        stamp = _stamp(source, dtype, device, four_bit)
        if found := stamp.read():
            return load_known(source, found, dtype, device, progress)
        # The library's models take seconds to import.
        from .checkpoint import load_checkpoint

        return load_checkpoint(source, dtype, device, four_bit, stamp, progress)


def _load_reader(
    source: Source, target: Checkpoint, four_bit: bool, progress: Progress
) -> tuple[Checkpoint, Checkpoint]:
    with explained(source.name):
        stamp = _stamp(source, target.weights.dtype, target.weights.device, four_bit)
        return load_reader(source, target, stamp, progress)


def _within(progress: Progress, start: float, end: float) -> Progress:
    """A progress whose 0 to 1 is a stretch of the whole."""
    return lambda fraction, sentence: progress(start + (end - start) * fraction, sentence)


def _stop_ids(tokenizer: "PreTrainedTokenizerBase", target: Checkpoint) -> frozenset[int]:
    """What ends a text: what the target and its tokenizer declare, and what ends a turn of its chat."""
    return target.ends | {i for i in (tokenizer.eos_token_id, Scribe(tokenizer).turn_end()) if i is not None}


def _notes(target: Checkpoint, draft: Checkpoint) -> Iterator[Saying]:
    yield Saying("note_target", forward=target.forward)
    yield Saying("note_draft", forward=draft.forward)
    if target is draft:
        yield Saying("note_one_model")
    elif draft.weights.parameters >= target.weights.parameters:
        yield Saying("note_draft_large")

"""From the names of two models to a loaded pair."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from ..words import Saying
from .catalogue import PairSpec
from .device import FOUR_BIT, choose_device, choose_dtype
from .errors import LoadError
from .estimate import CONTEXT, Estimate
from .failures import explained
from .known import Checkpoint, load_known
from .pair import Pair
from .planning import estimated
from .probe import measure_costs, note_on
from .progress import Progress
from .quiet import quiet
from .reader import load_reader
from .scribe import Scribe
from .sources import Source, locate
from .spread import Spread, listed, read_map
from .stamp import stamp_of
from .threads import one_thread
from .vocabulary import disagreement

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_MOST_THREADS = torch.get_num_threads()  # as torch starts: the choice for one pair must not bound that for the next


def estimate(
    spec: PairSpec, device: str, dtype: str, device_map: str | None, tokens: int, progress: Progress
) -> Estimate:
    """See `models.estimate`."""
    place, asked = choose_device(device), read_map(device_map)
    numbers, _ = choose_dtype(dtype, place)
    with quiet():
        target, draft = _locate(spec, progress)
        return estimated(target, draft, asked, place, numbers, dtype == FOUR_BIT, tokens)


def load(spec: PairSpec, device: str, dtype: str, device_map: str | None, progress: Progress) -> Pair:
    """See `models.load_pair`."""
    place, asked = choose_device(device), read_map(device_map)
    numbers, why = choose_dtype(dtype, place)
    four_bit = dtype == FOUR_BIT
    with quiet(), one_thread():
        # 1. Find both, and refuse what can be refused before gigabytes are moved.
        target, draft = _locate(spec, progress)
        tokenizer = _shared_tokenizer(target, draft)
        room = estimated(target, draft, asked, place, numbers, four_bit, CONTEXT)
        room.refuse_what_does_not_fit()
        progress(0.1, room.said())
        # 2. Load; a model that plays both parts is loaded once, and each part has caches of its own.
        loaded = _load(target, numbers, room.target, four_bit, _within(progress, 0.1, 0.6 if target != draft else 1.0))
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


def _load(
    source: Source, dtype: torch.dtype, place: torch.device | Spread, four_bit: bool, progress: Progress
) -> Checkpoint:
    with explained(source.name):
        if isinstance(place, Spread):
            # The library's models take seconds to import.
            from .checkpoint import load_spread

            return load_spread(source, dtype, place, progress)
        stamp = stamp_of(source, dtype, place, four_bit)
        if found := stamp.read():
            return load_known(source, found, dtype, place, progress)
        # The library's models take seconds to import.
        from .checkpoint import load_checkpoint

        return load_checkpoint(source, dtype, place, four_bit, stamp, progress)


def _load_reader(
    source: Source, target: Checkpoint, four_bit: bool, progress: Progress
) -> tuple[Checkpoint, Checkpoint]:
    with explained(source.name):
        stamp = stamp_of(source, target.weights.dtype, target.weights.device, four_bit)
        return load_reader(source, target, stamp, progress)


def _within(progress: Progress, start: float, end: float) -> Progress:
    """A progress whose 0 to 1 is a stretch of the whole."""
    return lambda fraction, sentence: progress(start + (end - start) * fraction, sentence)


def _stop_ids(tokenizer: "PreTrainedTokenizerBase", target: Checkpoint) -> frozenset[int]:
    """What ends a text: what the target and its tokenizer declare, and what ends a turn of its chat."""
    return target.ends | {i for i in (tokenizer.eos_token_id, Scribe(tokenizer).turn_end()) if i is not None}


def _notes(target: Checkpoint, draft: Checkpoint) -> Iterator[Saying]:
    yield Saying("note_target", forward=target.forward)
    if target.weights.shelves:
        yield Saying("note_spread", shelves=listed(target.weights.shelves))
    yield Saying("note_draft", forward=draft.forward)
    if target is draft:
        yield Saying("note_one_model")
    elif draft.weights.parameters >= target.weights.parameters:
        yield Saying("note_draft_large")

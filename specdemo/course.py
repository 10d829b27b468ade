"""From round to round: how many tokens to draft, and when a text ends."""

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from .contract import Model, room
from .records import Outcome, Round, SamplingParams, TokenEvent, is_whole
from .words import Refusal, Saying

#: K, or what chooses it before each round from the round before (None before the first).
DraftLength = int | Callable[[Round | None], int]

#: Works one round: its index, the ids committed so far, the tokens to draft at most.
Worker = Callable[[int, list[int], int], Round]


def rounds_of(
    work: Worker, committed: list[int], end: int, k: DraftLength, stop_ids: frozenset[int]
) -> Iterator[Round]:
    """Have rounds worked until `end` ids are committed or one of `stop_ids` is."""
    round_ = None
    while len(committed) < end:
        wanted = k(round_) if callable(k) else k
        check_count("k", wanted)
        # Drafts beyond the cap could never be emitted, so none are made and nothing has to be cut.
        drafts = min(operator.index(wanted), end - len(committed) - 1)
        round_ = work(0 if round_ is None else round_.index + 1, committed, drafts)
        committed += [event.token_id for event in round_.emitted]
        yield round_
        if committed[-1] in stop_ids:
            return


def end_of(committed: Sequence[int], params: SamplingParams, target: Model) -> int:
    """How many ids there may be when a text ends for want of length."""
    return len(committed) + int(min(params.max_new_tokens, room(target, len(committed))))


def check_count(name: str, value: object) -> None:
    if not is_whole(value) or value < 0:
        raise Refusal("out_of_range", name=name, value=repr(value), legal=Saying("legal_count"))


def checked_prompt(prompt_ids: Sequence[int], target: Model) -> list[int]:
    """The ids themselves. Raises Refusal for a prompt that is empty, out of the vocabulary or too long."""
    try:
        committed = [operator.index(i) for i in prompt_ids]
    except TypeError as error:
        raise Refusal("prompt_ids_not_whole", error=str(error)) from error
    if not committed:
        raise Refusal("prompt_no_tokens")
    for i in committed:
        if not 0 <= i < target.vocab_size:
            raise Refusal("prompt_id_unknown", id=i, last=target.vocab_size - 1)
    if room(target, len(committed)) < 1:
        raise Refusal("prompt_too_long", tokens=len(committed), context=target.context, most=target.context - 1)
    return committed


def cut_at_stop(events: tuple[TokenEvent, ...], stop_ids: frozenset[int]) -> tuple[TokenEvent, ...]:
    """An accepted draft that ends the text ends the round: the drafts after it count for nothing, no token follows."""
    for i, event in enumerate(events):
        if event.outcome is Outcome.ACCEPTED and event.token_id in stop_ids:
            return (*events[: i + 1], *(_discarded(later) for later in events[i + 1 : -1]))
    return events


def _discarded(event: TokenEvent) -> TokenEvent:
    return replace(event, outcome=Outcome.DISCARDED, u=None)

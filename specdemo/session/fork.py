"""Leaving a run at one of its tokens: had its coin been another one, or with another token in its place."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..records import Fork, Outcome, Round, TokenEvent, is_real, is_whole
from ..text import Decode, continuation
from ..words import Refusal
from .log import Lane, Log
from .request import Request


def forked(log: Log, question: Mapping[str, object]) -> Request:
    """The run that leaves `log` at the token of `question`, with its `u` or else its `token` put in place.

    Raises Refusal where there is no such token, or nothing could follow it.
    """
    round_, event = _place(log, question)
    lane, place = question["lane"], question["event"]
    u, token_id = question.get("u"), question.get("token")
    if u is not None:
        token_id = _led_to(round_, event, u)
    elif not is_whole(token_id) or token_id < 0:
        raise Refusal("fork_wrong_token", token=repr(token_id)[:60])
    ids = (*_emitted(log, lane, round_, place), token_id)
    return replace(_same(log), prompt_ids=tuple(log.prompt_ids), fork=Fork(lane, round_.index, place, ids, "", "", u))


def spelled(fork: Fork, prompt_ids: Sequence[int], decode: Decode) -> Fork:
    """The fork with the texts of its ids."""
    *before, given = fork.ids
    return replace(
        fork,
        before=continuation(decode, prompt_ids, before),
        given=continuation(decode, [*prompt_ids, *before], [given]),
    )


def _same(log: Log) -> Request:
    """What the run was asked for, checked as if a form had asked: a file may claim anything."""
    if log.spec is None:
        raise Refusal("fork_pair", title=repr(log.pair.get("title", ""))[:80])
    params = log.params
    request = Request.of(
        prompt=log.prompt,
        chat=log.chat,
        k=log.k,
        temperature=params.temperature,
        top_k=params.top_k,
        top_p=params.top_p,
        min_p=params.min_p,
        seed=params.seed,
        length=params.max_new_tokens,
    )
    return replace(request, pair=log.spec)


def _place(log: Log, question: Mapping[str, object]) -> tuple[Round, TokenEvent]:
    round_, place = log.round(question.get("lane"), question.get("round")), question.get("event")
    if round_ is None or not is_whole(place) or not 0 <= place < len(round_.events):
        raise Refusal("no_such_token")
    if round_.events[place].outcome is Outcome.DISCARDED:
        raise Refusal("fork_unjudged")
    return round_, round_.events[place]


def _led_to(round_: Round, event: TokenEvent, u: object) -> int:
    """The token that the coin u leads to: the draft, or the one that the round drew from the residual in its place.

    The coin only refuses: what is drawn then has a uniform of its own, which another coin does not change. Where none was
    drawn, since the draft was kept, one is now, from what is known of the residual by name.
    """
    if event.u is None:
        raise Refusal("fork_no_coin")
    if not is_real(u) or not 0 <= u <= 1:
        raise Refusal("fork_wrong_u", u=repr(u)[:60])
    if u * event.q < event.p:
        return event.token_id
    if event.outcome is Outcome.REJECTED and (drawn := _resampled(round_)):
        return drawn.token_id
    gaps = {row.token_id: max(0.0, row.p - (row.q or 0.0)) for row in event.top}
    if not any(gaps.values()):
        raise Refusal("fork_unnamed")
    return random.choices(list(gaps), list(gaps.values()))[0]


def _resampled(round_: Round) -> TokenEvent | None:
    return next((event for event in round_.events if event.outcome is Outcome.RESAMPLED), None)


def _emitted(log: Log, lane: Lane, round_: Round, place: int) -> list[int]:
    """The ids of the text before a token; a fork's own begins with what the run that it left had written."""
    earlier = [event for round_ in log.rounds[lane][: round_.index] for event in round_.emitted]
    here = [event for event in round_.events[:place] if event.outcome.emitted]
    return [*(log.fork.ids if log.fork else ()), *(event.token_id for event in (*earlier, *here))]

"""Records to the JSON that the page is fed with: small, rounded, safe to repeat, since all of it carries its index.

A delta is an object with any of

    run      id of the run that it belongs to; another one clears the page
    head     what stays the same in a run: prompt, settings, names (see `head`)
    spec     rounds of the speculative lane, from some index on
    plain    rounds of the target alone
    stats    the numbers under the lanes
    phase    what is going on: name, sentence, fraction of it that is done
    tail     what an unfinished last character of a lane came to

    round    [index, drafted, [event, …], [draft_s, verify_s, other_s, prefill_s]]
    event    [outcome's place in `CODES`, text, token id, p, q, u, α]
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from ..records import Fork, Outcome, Round, RunStats, SamplingParams, TokenEvent
from ..words import Saying, everywhere

#: The order in which the page counts the outcomes.
CODES: tuple[Outcome, ...] = tuple(Outcome)

#: Significant digits of what is only read.
_DIGITS = 5

#: All the digits of a float32. The page shows three of them, and the figures beside it three of the number itself: were
#: it rounded before, the two would differ now and then; and a coin comes back when a run goes on from it.
_EXACT = 9


def to_text(delta: Mapping[str, object]) -> str:
    """The delta as one line of JSON."""
    return json.dumps(delta, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def round_row(round_: Round) -> list[object]:
    seconds = [round_.draft_s, round_.verify_s, round_.other_s, round_.prefill_s]
    return [round_.index, round_.k, [event_row(event) for event in round_.events], [_short(s) for s in seconds]]


def event_row(event: TokenEvent) -> list[object]:
    numbers = [_short(x, _EXACT) for x in (event.p, event.q, event.u, event.alpha)]
    return [CODES.index(event.outcome), event.text, event.token_id, *numbers]


def stats_row(stats: RunStats) -> dict[str, object]:
    """The counts, times and rates of a lane."""
    return {
        "rounds": stats.rounds,
        "drafted": stats.drafted,
        "accepted": stats.accepted,
        "judged": stats.accepted + stats.rejected,
        "emitted": stats.emitted,
        "acceptance": _short(stats.acceptance),
        "per_pass": _short(stats.tokens_per_pass),
        "per_second": _short(stats.tokens_per_second),
        "seconds": [_short(s) for s in (stats.draft_s, stats.verify_s, stats.other_s)],
        "prefill_s": _short(stats.prefill_s),
        "first_token_s": _short(stats.first_token_s),
    }


def head(
    prompt: str,
    params: SamplingParams,
    k: int | None,
    pair: Mapping[str, object],
    notes: Sequence[Saying | str],
    *,
    chat: bool | None,
    recorded: bool,
    recording: str | None = None,
    fork: Fork | None = None,
) -> dict[str, object]:
    """What a run was asked for and what runs it.

    chat       None where a trace does not tell
    recorded   whether it was read from a file
    recording  what a run that ships with the page is called there
    """
    return {
        "prompt": prompt,
        "k": k,
        **asdict(params),
        "pair": dict(pair),
        "notes": [everywhere(note) for note in notes],
        "chat": chat,
        "recorded": recorded,
        "recording": recording,
        "fork": fork and _fork_row(fork),
    }


def _fork_row(fork: Fork) -> dict[str, object]:
    """All of it but the ids, which only the engine needs."""
    return {name: value for name, value in asdict(fork).items() if name != "ids"}


def instructive(rounds: Sequence[Round]) -> tuple[int, int] | None:
    """(round, event) of the rejection that teaches most: a clear excess of q at a place where the residual is wide."""
    rejections = [
        (min(event.q - event.p, 1 - event.alpha, max(event.p, 0.02) * 5), round_.index, place)
        for round_ in rounds
        for place, event in enumerate(round_.events)
        if event.outcome is Outcome.REJECTED
    ]
    return max(rejections)[1:] if rejections else None


def _short(x: float | None, digits: int = _DIGITS) -> float | None:
    return None if x is None else float(f"{x:.{digits}g}")

"""A run as JSON: it replays with no model and no GPU. What is read is checked before anything uses it.

Schema 1:

    {"schema": 1, "pair": {…}, "params": {…}, "k": 4, "prompt": "…", "prompt_ids": […],
     "rounds": [{"index": 0, "k": 4, "draft_s": …, "verify_s": …, "other_s": …, "prefill_s": …,
                 "judge_s": …, "look_s": …,
                 "events": [{"token_id": 5, "text": " sky", "outcome": "accepted", "p": .41, "q": .52, "u": .13,
                             "alpha": .7, "top": [[id, text, p, q], …], "rest": [p, q]}, …]}, …],
     "baseline": {"rounds": […]}}

q, u and alpha are null where there is none. Numbers read back exactly; the text is ASCII, so that no encoding can harm
it. Keys that the schema does not know are passed over.
"""

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict

from .files import write_whole
from .records import Outcome, Round, SamplingParams, TokenEvent, TopRow, Trace
from .spot import Spot, shorten

SCHEMA = 1

#: A run of 30,000 tokens takes about this much; a larger file is nothing that a page could show.
MAX_BYTES = 64 * 2**20
MAX_EVENTS = 200_000

_MAX_ID = 2**31 - 1
_MAX_WHOLE = 2**63 - 1
_MAX_SECONDS = 1e9
_ROUNDING = 1e-3  # the mass of the rest is left of a sum of up to 150,000 float32 terms, which may exceed 1 a little

_DRAFTED = (Outcome.ACCEPTED, Outcome.REJECTED, Outcome.DISCARDED)
_JUDGED = (Outcome.ACCEPTED, Outcome.REJECTED)
_WITHOUT_DRAFT = (Outcome.BONUS, Outcome.PLAIN)  # drawn where nothing was proposed: no q, no α


def to_json(trace: Trace) -> str:
    """The trace as one line of JSON."""
    data = {
        "schema": SCHEMA,
        "pair": trace.pair,
        "params": asdict(trace.params),
        "k": trace.k,
        "prompt": trace.prompt,
        "prompt_ids": trace.prompt_ids,
        "rounds": [round_to_dict(round_) for round_ in trace.rounds],
        "baseline": {"rounds": [round_to_dict(round_) for round_ in trace.baseline]},
    }
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


def round_to_dict(round_: Round) -> dict[str, object]:
    """A round as it stands in a trace."""
    return {
        "index": round_.index,
        "k": round_.k,
        "draft_s": round_.draft_s,
        "verify_s": round_.verify_s,
        "other_s": round_.other_s,
        "prefill_s": round_.prefill_s,
        "judge_s": round_.judge_s,
        "look_s": round_.look_s,
        "events": [_event_to_dict(event) for event in round_.events],
    }


def _event_to_dict(event: TokenEvent) -> dict[str, object]:
    return {
        "token_id": event.token_id,
        "text": event.text,
        "outcome": event.outcome,
        "p": event.p,
        "q": event.q,
        "u": event.u,
        "alpha": event.alpha,
        "top": event.top,
        "rest": event.rest,
    }


def save(path: str | os.PathLike, trace: Trace) -> None:
    """Write a trace to a file, all of it or nothing. Raises OSError."""
    write_whole(path, to_json(trace) + "\n")


def load(path: str | os.PathLike) -> Trace:
    """Read a trace from a file. Raises OSError for a file that cannot be read, else as `from_json`."""
    with open(path, "rb") as file:
        raw = file.read(MAX_BYTES + 1)
    _check_size(len(raw))
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"this is no trace: byte {error.start} is not UTF-8") from error
    return from_json(text)


def from_json(text: str) -> Trace:
    """Read a trace; every value is checked first.

    Raises ValueError with one sentence that names the place, the value and what is legal there.
    """
    data = Spot(_parse(text), "")
    schema = data.at("schema")
    if schema.whole(_MAX_ID) != SCHEMA:
        raise schema.fault(f"{SCHEMA}, the one schema that this version reads")
    return Trace(
        pair=_pair(data.at("pair")),
        params=_params(data.at("params")),
        k=data.at("k").whole(_MAX_ID) if data.at("k").value is not None else None,
        prompt=data.at("prompt").text(),
        prompt_ids=tuple(spot.whole(_MAX_ID) for spot in data.at("prompt_ids").items("token ids")),
        rounds=_rounds(data.at("rounds"), _round_fault),
        baseline=_rounds(data.at("baseline").at("rounds"), _plain_fault) if data.has("baseline") else (),
    )


def _parse(text: str) -> object:
    _check_size(len(text))
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"this is no trace: it is not JSON from line {error.lineno}, column {error.colno} on ({error.msg})"
        ) from error
    except ValueError:
        raise ValueError("this is no trace: it has a number of thousands of digits") from None
    except RecursionError:
        raise ValueError("this is no trace: its brackets are nested too deeply") from None


def _check_size(size: int) -> None:
    if size > MAX_BYTES:
        raise ValueError(f"this is no trace: it is larger than {MAX_BYTES // 2**20} MiB")


def _pair(spot: Spot) -> dict[str, object]:
    for key, value in spot.fields().items():
        entry = Spot(value, f"pair.{Spot(key, 'a key of pair').text()[:40]}")
        if isinstance(value, str):
            entry.text()
        else:
            entry.number(-(2**63), 2**63, "a string or a number of at most 2^63")
    return spot.fields()


def _params(spot: Spot) -> SamplingParams:
    values = {
        "temperature": _number(spot.at("temperature")),
        "top_k": spot.at("top_k").whole(_MAX_WHOLE),
        "top_p": _number(spot.at("top_p")),
        "min_p": _number(spot.at("min_p")),
        "seed": spot.at("seed").whole(_MAX_WHOLE) if spot.has("seed") else None,
        "max_new_tokens": spot.at("max_new_tokens").whole(_MAX_WHOLE),
    }
    try:
        return SamplingParams(**values)
    except ValueError as error:
        raise ValueError(f"{spot.place}.{error}") from error


def _number(spot: Spot) -> float:
    return spot.number(0, sys.float_info.max, "a finite number, at least 0")


def _rounds(spot: Spot, fault: Callable[[Sequence[Outcome], bool], str | None]) -> tuple[Round, ...]:
    """The rounds of a lane; `fault` says what is wrong with a round's outcomes, if anything."""
    spots = list(spot.items("rounds"))
    rounds: list[Round] = []
    events = 0
    for at in spots:
        rounds.append(_round(at, len(rounds)))
        events += len(rounds[-1].events)
        if events > MAX_EVENTS:
            raise ValueError(f"{spot.place} has more than {MAX_EVENTS} events, the most that a trace may have")
        wrong = fault([event.outcome for event in rounds[-1].events], at is spots[-1])
        if wrong:
            raise ValueError(f"{at.place}.events is no round: {wrong}")
    return tuple(rounds)


def _round(spot: Spot, index: int) -> Round:
    events = tuple(_event(at) for at in spot.at("events").items("events"))
    drafted = sum(event.outcome in _DRAFTED for event in events)
    if spot.at("index").whole(_MAX_ID) != index:
        raise spot.at("index").fault(f"{index}, its place in the run")
    if spot.at("k").whole(_MAX_ID) != drafted:
        raise spot.at("k").fault(f"{drafted}, the number of its drafted events")
    draft_s, verify_s, other_s = (_seconds(spot.at(name)) for name in ("draft_s", "verify_s", "other_s"))
    finer = (_seconds(spot.at(name)) if spot.has(name) else 0.0 for name in ("prefill_s", "judge_s", "look_s"))
    return Round(index, drafted, events, draft_s, verify_s, other_s, *finer)


def _seconds(spot: Spot) -> float:
    return spot.number(0, _MAX_SECONDS, "a number of seconds, at least 0")


def _event(spot: Spot) -> TokenEvent:
    outcome = Outcome(spot.at("outcome").one_of(Outcome))
    q_mass = _no_mass(f"a {outcome} token has no draft") if outcome in _WITHOUT_DRAFT else _mass
    u_mass = _mass if outcome in _JUDGED else _no_mass(f"no coin is thrown for a {outcome} token")
    rest_p, rest_q = spot.at("rest").tuple_of("p", "q")
    return TokenEvent(
        token_id=spot.at("token_id").whole(_MAX_ID),
        outcome=outcome,
        p=_mass(spot.at("p")),
        q=q_mass(spot.at("q")),
        u=u_mass(spot.at("u")),
        alpha=q_mass(spot.at("alpha")),
        top=tuple(_top_row(row, q_mass) for row in spot.at("top").items("rows")),
        rest=(_mass(rest_p, 1 + _ROUNDING), q_mass(rest_q, 1 + _ROUNDING)),
        text=spot.at("text").text(),
    )


def _top_row(spot: Spot, q_mass: Callable[[Spot], float | None]) -> TopRow:
    token_id, text, p, q = spot.tuple_of("id", "text", "p", "q")
    return TopRow(token_id.whole(_MAX_ID), text.text(), _mass(p), q_mass(q))


def _mass(spot: Spot, most: float = 1.0) -> float:
    return spot.number(0, most, "a number from 0 to 1")


def _no_mass(why: str) -> Callable[..., None]:
    return lambda spot, most=1.0: spot.null(why)


def _round_fault(outcomes: Sequence[Outcome], is_last: bool) -> str | None:
    """What is wrong with the outcomes of a round of the speculative lane."""
    drafts = [outcome for outcome in outcomes if outcome in _DRAFTED]
    kept = drafts.count(Outcome.ACCEPTED)
    accepted, rest = [Outcome.ACCEPTED] * kept, len(drafts) - kept
    rejected = [Outcome.REJECTED, *[Outcome.DISCARDED] * (rest - 1), Outcome.RESAMPLED]
    whole = [*accepted, *(rejected if rest else [Outcome.BONUS])]
    stopped = [*accepted, *[Outcome.DISCARDED] * rest]
    if outcomes == whole or (is_last and kept and outcomes == stopped):
        return None
    return (
        f"its outcomes are {shorten([str(outcome) for outcome in outcomes])}; they must be accepted ones and a bonus,"
        " or accepted ones, a rejected one, discarded ones and a resampled one; only the last round may stop early"
    )


def _plain_fault(outcomes: Sequence[Outcome], is_last: bool) -> str | None:
    """What is wrong with the outcomes of a round of the baseline."""
    if outcomes == [Outcome.PLAIN]:
        return None
    return f"its outcomes are {shorten([str(outcome) for outcome in outcomes])}; the baseline has one plain token each"

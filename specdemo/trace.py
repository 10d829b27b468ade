"""A run as JSON: it replays with no model and no GPU. What is read is checked before anything uses it.

Schema 1:

    {"schema": 1, "pair": {…}, "params": {…}, "k": 4, "prompt": "…", "prompt_ids": […],
     "rounds": [{"index": 0, "k": 4, "draft_s": …, "verify_s": …, "other_s": …, "prefill_s": …,
                 "judge_s": …, "look_s": …,
                 "events": [{"token_id": 5, "text": " sky", "outcome": "accepted", "p": .41, "q": .52, "u": .13,
                             "alpha": .7, "top": [[id, text, p, q], …], "rest": [p, q]}, …]}, …],
     "baseline": {"rounds": […]},
     "fork": {"lane": "spec", "round": 3, "event": 1, "ids": […], "before": "…", "given": " sea", "u": .3}}

q, u and alpha are null where there is none, and so is the fork of a run that left no other one. judge_s and look_s are
parts of other_s, and missing in older traces. Numbers read back exactly; the text is ASCII, so that no encoding can
harm it. Keys that the schema does not know are passed over.
"""

import gzip
import io
import json
import os
import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict

from .files import write_whole
from .records import Fork, Outcome, Round, SamplingParams, TokenEvent, TopRow, Trace
from .spot import Spot, shorten
from .words import Refusal, Saying

SCHEMA = 1

#: A run of 30,000 tokens takes about this much; a larger file is nothing that a page could show.
MAX_BYTES = 64 * 2**20
MAX_EVENTS = 200_000

_GZIP = b"\x1f\x8b"
_MAX_ID = 2**31 - 1
_MAX_WHOLE = 2**63 - 1
_MAX_SECONDS = 1e9
_CLOCK_S = 1e-6  # by which parts that were added up may exceed their whole
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
        "fork": trace.fork and asdict(trace.fork),
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
    """Write a trace to a file, compressed if its name ends in .gz, all of it or nothing. Raises OSError."""
    raw = f"{to_json(trace)}\n".encode("ascii")
    write_whole(path, gzip.compress(raw, mtime=0) if os.fspath(path).endswith(".gz") else raw)


def load(path: str | os.PathLike) -> Trace:
    """Read a trace from a file, compressed or not. Raises OSError for one that cannot be read, else as `from_json`."""
    with open(path, "rb") as file:
        raw = file.read(MAX_BYTES + 1)
    return from_bytes(_unpacked(raw) if raw.startswith(_GZIP) else raw)


def _unpacked(raw: bytes) -> bytes:
    """Never more than a little above the limit: a small file may hold a mountain of zeros."""
    try:
        return gzip.GzipFile(fileobj=io.BytesIO(raw)).read(MAX_BYTES + 1)
    except (EOFError, zlib.error, OSError) as error:
        raise Refusal("trace_packed", reason=str(error)) from error


def from_bytes(raw: bytes) -> Trace:
    """Read a trace from the bytes of an uncompressed file; raises as `from_json`."""
    check_size(len(raw), MAX_BYTES)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refusal("trace_utf8", byte=error.start) from error
    return from_json(text)


def from_json(text: str, most: int | None = None) -> Trace:
    """Read a trace, of at most `most` characters; every value is checked first.

    Raises Refusal with one sentence that names the place, the value and what is legal there.
    """
    check_size(len(text), most or MAX_BYTES)
    data = Spot(_parse(text), "")
    schema = data.at("schema")
    if schema.whole(_MAX_ID) != SCHEMA:
        raise schema.fault("trace_schema", schema=SCHEMA)
    return Trace(
        pair=_pair(data.at("pair")),
        params=_params(data.at("params")),
        k=data.at("k").whole(_MAX_ID) if data.at("k").value is not None else None,
        prompt=data.at("prompt").text(),
        prompt_ids=tuple(spot.whole(_MAX_ID) for spot in data.at("prompt_ids").items()),
        rounds=_rounds(data.at("rounds"), _round_fault),
        baseline=_rounds(data.at("baseline").at("rounds"), _plain_fault) if data.has("baseline") else (),
        fork=_fork(data.at("fork")) if data.has("fork") else None,
    )


def _parse(text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise Refusal("trace_not_json", line=error.lineno, column=error.colno, reason=error.msg) from error
    except ValueError:
        raise Refusal("trace_digits") from None
    except RecursionError:
        raise Refusal("trace_deep") from None


def check_size(size: int, most: int) -> None:
    """Raises Refusal for more bytes or characters than may be read."""
    if size > most:
        raise Refusal("trace_large", size=most // 2**20)


def _pair(spot: Spot) -> dict[str, object]:
    for key, value in spot.fields().items():
        entry = Spot(value, f"pair.{Spot(key, 'a key of pair').text()[:40]}")
        if isinstance(value, str):
            entry.text()
        else:
            entry.number(-(2**63), 2**63, "trace_pair_value")
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
    except Refusal as error:
        raise Refusal("trace_params", place=spot.place, reason=error.saying) from error


def _fork(spot: Spot) -> Fork:
    ids = tuple(at.whole(_MAX_ID) for at in spot.at("ids").items())
    if not ids:
        raise spot.at("ids").fault("trace_some_ids")
    return Fork(
        lane=spot.at("lane").one_of(("spec", "plain")),
        round=spot.at("round").whole(_MAX_ID),
        event=spot.at("event").whole(_MAX_ID),
        ids=ids,
        before=spot.at("before").text(),
        given=spot.at("given").text(),
        u=_mass(spot.at("u")) if spot.has("u") else None,
    )


def _number(spot: Spot) -> float:
    return spot.number(0, sys.float_info.max, "trace_finite")


def _rounds(spot: Spot, fault: Callable[[Sequence[Outcome], bool], str | None]) -> tuple[Round, ...]:
    """The rounds of a lane; `fault` has words for what is wrong with a round's outcomes, if anything."""
    spots = list(spot.items())
    rounds: list[Round] = []
    events = 0
    for at in spots:
        rounds.append(_round(at, len(rounds)))
        events += len(rounds[-1].events)
        if events > MAX_EVENTS:
            raise Refusal("trace_events", place=spot.place, most=MAX_EVENTS)
        wrong = fault([event.outcome for event in rounds[-1].events], at is spots[-1])
        if wrong:
            raise Refusal(wrong, place=f"{at.place}.events", outcomes=_listed(rounds[-1]))
    return tuple(rounds)


def _round(spot: Spot, index: int) -> Round:
    events = tuple(_event(at) for at in spot.at("events").items())
    drafted = sum(event.outcome in _DRAFTED for event in events)
    if spot.at("index").whole(_MAX_ID) != index:
        raise spot.at("index").fault("trace_index", index=index)
    if spot.at("k").whole(_MAX_ID) != drafted:
        raise spot.at("k").fault("trace_k", k=drafted)
    draft_s, verify_s, other_s = (_seconds(spot.at(name)) for name in ("draft_s", "verify_s", "other_s"))
    prefill_s = _seconds(spot.at("prefill_s")) if spot.has("prefill_s") else 0.0
    judge_s = _part(spot, "judge_s", other_s)
    look_s = _part(spot, "look_s", other_s - judge_s)
    return Round(index, drafted, events, draft_s, verify_s, other_s, prefill_s, judge_s, look_s)


def _seconds(spot: Spot) -> float:
    return spot.number(0, _MAX_SECONDS, "trace_seconds")


def _part(spot: Spot, name: str, most_s: float) -> float:
    """Seconds out of so many; 0 where older traces do not tell."""
    if not spot.has(name):
        return 0.0
    seconds = _seconds(spot.at(name))
    if seconds > most_s + _CLOCK_S:
        raise spot.at(name).fault("trace_finer", most=max(0.0, most_s))
    return seconds


def _event(spot: Spot) -> TokenEvent:
    outcome = Outcome(spot.at("outcome").one_of(Outcome))
    q_mass = _no_mass("trace_no_draft", outcome) if outcome in _WITHOUT_DRAFT else _mass
    u_mass = _mass if outcome in _JUDGED else _no_mass("trace_no_coin", outcome)
    rest_p, rest_q = spot.at("rest").tuple_of("p", "q")
    return TokenEvent(
        token_id=spot.at("token_id").whole(_MAX_ID),
        outcome=outcome,
        p=_mass(spot.at("p")),
        q=q_mass(spot.at("q")),
        u=u_mass(spot.at("u")),
        alpha=q_mass(spot.at("alpha")),
        top=tuple(_top_row(row, q_mass) for row in spot.at("top").items()),
        rest=(_mass(rest_p, 1 + _ROUNDING), q_mass(rest_q, 1 + _ROUNDING)),
        text=spot.at("text").text(),
    )


def _top_row(spot: Spot, q_mass: Callable[[Spot], float | None]) -> TopRow:
    token_id, text, p, q = spot.tuple_of("id", "text", "p", "q")
    return TopRow(token_id.whole(_MAX_ID), text.text(), _mass(p), q_mass(q))


def _mass(spot: Spot, most: float = 1.0) -> float:
    return spot.number(0, most, "trace_mass")


def _no_mass(why: str, outcome: Outcome) -> Callable[..., None]:
    return lambda spot, most=1.0: spot.null(why, outcome=Saying(outcome))


def _round_fault(outcomes: Sequence[Outcome], is_last: bool) -> str | None:
    """The words for what is wrong with the outcomes of a round of the speculative lane."""
    drafts = [outcome for outcome in outcomes if outcome in _DRAFTED]
    kept = drafts.count(Outcome.ACCEPTED)
    accepted, rest = [Outcome.ACCEPTED] * kept, len(drafts) - kept
    rejected = [Outcome.REJECTED, *[Outcome.DISCARDED] * (rest - 1), Outcome.RESAMPLED]
    whole = [*accepted, *(rejected if rest else [Outcome.BONUS])]
    stopped = [*accepted, *[Outcome.DISCARDED] * rest]
    right = outcomes == whole or (is_last and kept and outcomes == stopped)
    return None if right else "trace_no_round"


def _plain_fault(outcomes: Sequence[Outcome], is_last: bool) -> str | None:
    """The words for what is wrong with the outcomes of a round of the baseline."""
    return None if outcomes == [Outcome.PLAIN] else "trace_no_plain_round"


def _listed(round_: Round) -> str:
    return shorten([str(event.outcome) for event in round_.events])

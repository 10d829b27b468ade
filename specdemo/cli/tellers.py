"""What a run prints as it goes: text for a person, or JSON for a program."""

import json
from dataclasses import asdict

from ..metrics import speedup, why_slower
from ..records import Round, RunStats
from ..trace import round_to_dict
from .numbers import layout, report
from .paint import Painter
from .writing import PLAIN, SPECULATIVE, Writing

_ENDINGS = {
    "stop": "a stop token",
    "length": "the length that was asked for",
    "context": "the end of the target's context",
    "interrupted": "an interruption",
    "fault": "a fault",
}


class TextTeller:
    """The speculative lane's text as it comes, then the numbers."""

    def __init__(self, writing: Writing, painter: Painter) -> None:
        self._writing, self._painter = writing, painter

    def begin(self) -> None:
        if self._painter.marks:
            print(self._painter.legend(), end="\n\n", flush=True)

    def round(self, lane: str, round_: Round) -> None:
        if lane == SPECULATIVE:
            print(self._painter.round(round_), end="", flush=True)

    def end(self, ending: str, trace: str | None) -> None:
        """`ending` is a key of the endings above, `trace` the file that was written."""
        facts = [("ended by", _ENDINGS[ending]), *([("trace", trace)] if trace is not None else [])]
        print(self._writing.tails.get(SPECULATIVE, ""), layout([*report(self._writing.trace()), *facts]), sep="\n\n")


class JsonTeller:
    """One object a round, {"lane": …} and the round as in a trace, then one with the numbers, {"stats": …}."""

    def __init__(self, writing: Writing) -> None:
        self._writing = writing

    def begin(self) -> None:
        pass

    def round(self, lane: str, round_: Round) -> None:
        _print({"lane": lane, **round_to_dict(round_)})

    def end(self, ending: str, trace: str | None) -> None:
        writing = self._writing
        stats, plain = writing.stats(SPECULATIVE), writing.stats(PLAIN) if writing.baseline else None
        _print(
            {
                "stats": _stats(stats),
                "baseline": plain and _stats(plain),
                "speedup": plain and speedup(stats, plain),
                "why_slower": plain and why_slower(stats, plain),
                "ended_by": ending,
                "text": writing.text(SPECULATIVE),
                "pair": writing.pair.describe(),
                "params": asdict(writing.params),
                "k": writing.k,
                "trace": trace,
            }
        )


def _stats(stats: RunStats) -> dict[str, object]:
    derived = ("seconds", "acceptance", "tokens_per_pass", "tokens_per_second")
    return asdict(stats) | {name: getattr(stats, name) for name in derived}


def _print(data: dict[str, object]) -> None:
    print(json.dumps(data, separators=(",", ":"), allow_nan=False), flush=True)

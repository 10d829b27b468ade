"""What is kept of a run once it is over, to be logged and counted."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from ..metrics import measure
from ..records import RunStats
from ..words import Refusal, Saying
from .log import Log

REFUSED = "refused"

#: Of an id: enough to find a run again in a log, too little to ask about it.
_SHORT = 6


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that is over, or a request that never became one.

    run      the first characters of its id; None for a request that was refused
    pair     the name of the pair, "own" for models of one's own; None where that is not known
    end      the name of the last phase: done, stopped or failed; else "refused"
    reason   why: of a run that is done, how the speculative lane ended; else the key of the sentence that was told
    seconds  from the request to the end, waiting included
    spec     counts and times of the speculative lane
    plain    of the target alone
    prompt   never logged unless it is asked for
    """

    run: str | None
    pair: str | None
    end: str
    reason: str | None
    seconds: float
    spec: RunStats
    plain: RunStats
    prompt: str


Listener = Callable[[Ended], None]


class Stopwatch:
    """Made when a run is asked for; `over` and `refused` say what became of it."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def over(self, log: Log) -> Ended:
        phase, spec, plain = log.phase, log.rounds["spec"], log.rounds["plain"]
        reason = phase.values.get("spec") if phase.name == "done" else _key(phase.values.get("sentence"))
        pair = log.spec and log.spec.name
        return self._ended(log.run_id[:_SHORT], pair, phase.name, reason, measure(spec), measure(plain), log.prompt)

    def refused(self, refusal: Refusal) -> Ended:
        nothing = measure([])
        return self._ended(None, None, REFUSED, refusal.saying.key, nothing, nothing, "")

    def _ended(self, run: str | None, pair: str | None, end: str, reason: object, *rest: object) -> Ended:
        return Ended(run, pair, end, reason and str(reason), time.monotonic() - self._began, *rest)


def _key(sentence: object) -> str | None:
    return sentence.key if isinstance(sentence, Saying) else None

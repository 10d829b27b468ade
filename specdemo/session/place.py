"""Where work on a pair is done: in this process, or wherever else a pair can be.

What crosses is a `Work` on the way there and its news on the way back, and both pickle: the page's own process needs
neither the weights nor the tokenizer. What a place must do is `Place`; `Here` does it in this process.
"""

import logging
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from typing import NamedTuple, Protocol

import torch

from ..models import LoadError, Pair, PairSpec, load_pair
from ..words import Saying, Spoken
from .hands import Hands
from .pairs import KEEP, Pairs
from .phase import Phase
from .turns import SLICE_S, Turns

_LOOK_S, _LINE_S = 0.05, 0.25  # between two looks at how far the pair is, and the line
_SILENCE_S = 0.1  # the longest between two news of a work that goes on

_log = logging.getLogger(__name__)


class Work(NamedTuple):
    """What is to be done.

    spec     the pair
    begin    does it, given the pair: a function of a module or a `partial` of one, so that it pickles. What it yields
             is news for who asked, or None after a step that found nothing
    tokens   that it may write at most, from which follows how long it may take
    patient  whether it lets others go first after a slice of time; what does not has an end by time instead
    """

    spec: PairSpec
    begin: Callable[[Pair], Iterator[object]]
    tokens: int
    patient: bool = False


class About(NamedTuple):
    """What a page tells of a pair that is ready."""

    pair: Mapping[str, object]
    notes: Sequence[Saying]

    @classmethod
    def of(cls, pair: Pair) -> "About":
        return cls(pair.describe(), pair.notes)


class Place(Protocol):
    """Where work is done."""

    def work(self, work: Work) -> Iterator[object]:
        """The news of a work, as they come, on the caller's thread.

        A `Phase` that is not final says what goes on before the first result; a final one comes last and says how it
        ended: an error is told by it, not raised. None is no news. Closing the generator ends the work, wherever it is.
        """

    def prepare(self, spec: PairSpec) -> None:
        """Begin to load a pair that will be asked for, unless that has begun."""

    def readiness(self, spec: PairSpec) -> About | Phase | None:
        """A pair that is ready, or its phase: loading or failed; None where nobody asked for it."""


class Here:
    """This process. What runs on the machine takes `turns`, a pair's loading among them, and is done by its `Hands`."""

    def __init__(
        self, load: Callable[..., Pair] = load_pair, keep: int = KEEP, turns: Turns | None = None
    ) -> None:
        self.turns = turns or Turns()
        self._hands = Hands(self.turns.at_once)
        self.pairs = Pairs(self.turns, load, keep)

    def work(self, work: Work) -> Iterator[object]:
        return settled(self._steps(work))

    def prepare(self, spec: PairSpec) -> None:
        if self.pairs.peek(spec) is None:
            self.pairs.get(spec)

    def readiness(self, spec: PairSpec) -> About | Phase | None:
        loading = self.pairs.peek(spec)
        if loading is None:
            return None
        if loading.pair is not None:
            return About.of(loading.pair)
        return Phase("failed", {"sentence": loading.error}) if loading.error else loading.phase

    def _steps(self, work: Work) -> "Steps":
        """After each wait a None: who asked may have given up meanwhile."""
        # 1. The pair.
        loading = self.pairs.get(work.spec)
        while not loading.done.wait(_LOOK_S):
            yield loading.phase
        yield None
        if loading.pair is None:
            raise LoadError(loading.error)
        # 2. The work itself, turn by turn.
        with closing(work.begin(loading.pair)) as news:
            ended = None
            while ended is None:
                with self.turns.queued(news, self._expected(work)) as came:
                    yield from waiting(self.turns, news, came)
                    yield None
                    steps = self._slice(news) if work.patient else self._whole(work, news)
                    ended = yield from self._hands.take(steps)
        return ended

    def _expected(self, work: Work) -> float | None:
        """Seconds that its next turn will take, about."""
        return SLICE_S if work.patient else self.turns.expected(work.spec, work.tokens)

    def _slice(self, news: Iterator[object]) -> "Steps":
        """As many steps as one does who lets others go first."""
        end = time.monotonic() + SLICE_S
        for one in news:
            yield one
            if time.monotonic() > end and self.turns.wanted:
                return None
        return {}

    def _whole(self, work: Work, news: Iterator[object]) -> "Steps":
        """All steps, or as many as there is time for."""
        began = time.monotonic()
        cut = yield from within(news, self.turns.most_s)
        self.turns.forecast.learn(work.spec, work.tokens, time.monotonic() - began)
        return cut


#: Returns what is to be said of the end, None where it is none yet.
Steps = Generator[object, None, Mapping[str, object] | None]


def waiting(turns: Turns, ticket: object, came: Callable[[float | None], bool]) -> Iterator[Phase]:
    """Until the turn has come: how many come before, and about how long that takes. `came` as `Turns.queued` has it."""
    while not came(0):
        yield Phase("waiting", {"ahead": turns.ahead(ticket), "seconds": turns.wait(ticket)})
        came(_LINE_S)


def within(news: Iterator[object], most_s: float) -> "Steps":
    """The news of so many seconds, after which it is said that there was no time for more."""
    end = time.monotonic() + most_s
    for one in news:
        yield one
        if time.monotonic() > end:
            return {"most": most_s}
    return {}


def settled(news: "Steps") -> Iterator[object]:
    """The news, and last how it ended; an error is told, since not every one would survive a way to another process."""
    try:
        with closing(news):
            said = yield from news
    except Exception as error:
        yield Phase("failed", {"sentence": _saying(error)})
    else:
        yield Phase("done", said or {})


def sparse(news: Iterator[object]) -> Iterator[object]:
    """The news with no more Nones than are needed for whoever waits to give up in time: each costs a way."""
    due = time.monotonic() + _SILENCE_S
    with closing(news):
        for one in news:
            if one is not None or time.monotonic() >= due:
                due = time.monotonic() + _SILENCE_S
                yield one


def _saying(error: Exception) -> Saying:
    """What went wrong, for the reader; what we did not foresee goes to the log of where it happened as well."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return Saying("device_memory")
    if isinstance(error, Spoken):
        return error.saying
    _log.error("a run failed", exc_info=error)
    first_line = (str(error).splitlines() or [""])[0]
    return Saying("engine_failed", error=f"{type(error).__name__}: {first_line[:200]}")

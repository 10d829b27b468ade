"""What is measured on a pair for the page: what is found takes the place of what was found before."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from ..models import Pair, PairSpec
from .job import Job, new_id
from .pairs import Pairs
from .phase import Phase
from .turns import Turns

#: Seconds after which a measurement that nobody looks at ends: its tab is closed.
LEASE_S = 10.0


class Found(Protocol):
    @property
    def progress(self) -> Mapping[str, object]:
        """How far it is, for the page's sentence."""


@dataclass(slots=True)
class Sheet:
    """What is known of a measurement.

    head    what was asked for, for the page
    found   the last result; None before the first
    news    how many results there were
    tokens  as of a `Log`: none are kept
    """

    run_id: str
    phase: Phase
    head: Mapping[str, object]
    found: Found | None = None
    news: int = 0
    tokens: int = 0


class Measurement(Job[Sheet]):
    """`begin(pair)` does the work: it yields None after each short step, and what it has found now and then."""

    def __init__(
        self,
        head: Mapping[str, object],
        spec: PairSpec,
        begin: Callable[[Pair], Iterator[Found | None]],
        pairs: Pairs,
        turns: Turns,
    ) -> None:
        loading = Phase("loading", {"fraction": 0.0, "sentence": ""})
        super().__init__(Sheet(new_id(), loading, head), spec, pairs, turns)
        self._begin, self._looked = begin, time.monotonic()

    def look(self) -> Sheet:
        self._looked = time.monotonic()
        return super().look()

    def _steps(self, pair: Pair) -> Iterator[Found | None]:
        for found in self._begin(pair):
            if time.monotonic() - self._looked > LEASE_S:
                self.stop()
            yield found

    def _take(self, news: Found) -> None:
        self._log.found, self._log.news = news, self._log.news + 1
        self._log.phase = Phase("running", news.progress)

"""What is measured on a pair for the page: what is found takes the place of what was found before."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from .job import Job, new_id
from .phase import Phase
from .place import Place, Work

#: Seconds after which a measurement that nobody looks at ends: its tab is closed. A browser lets one that is only hidden
#: look once a minute.
LEASE_S = 75.0


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
    """Work that gives way, yields None after each short step, and what it has found now and then."""

    def __init__(self, head: Mapping[str, object], work: Work, place: Place) -> None:
        super().__init__(Sheet(new_id(), Phase("loading", {"fraction": 0.0, "sentence": ""}), head), work, place)
        self.renew()

    def renew(self) -> None:
        """Somebody looks."""
        self._looked = time.monotonic()

    def _all_news(self) -> Iterator[object]:
        for news in super()._all_news():
            if time.monotonic() - self._looked > LEASE_S:
                self.stop()
            yield news

    def _take(self, news: Found) -> Phase:
        self._log.found, self._log.news = news, self._log.news + 1
        return Phase("running", news.progress)

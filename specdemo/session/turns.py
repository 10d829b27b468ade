"""Whose turn it is on the machine: first come, first served."""

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from .forecast import Forecast

#: Seconds that a run may have the machine for, unless the server is told otherwise.
MOST_S = 120.0

#: Seconds of a turn after which a work that gives way does so.
SLICE_S = 1.0


@dataclass(eq=False, slots=True)
class _Place:
    """A place in the line: `seconds` that the turn will take, None where nobody knows, and when it began."""

    ticket: object
    seconds: float | None
    since: float | None = None

    def left(self, now: float) -> float | None:
        if self.seconds is None or self.since is None:
            return self.seconds
        return max(0.0, self.seconds - (now - self.since))


class Turns:
    """A line that serves in order, and knows how long a wait will be.

    Runs and loading take turns: two at once on one machine would spoil each other's clocks. A run has its turn to its
    end, but no longer than `most_s`. What is measured goes to the end of the line again after `SLICE_S`, if others
    wait: a class never waits for one who measures, who still goes on, a slice each time that the line has passed.

    at_once   turns at a time, where a device allows more than one and nobody cares for the clocks
    forecast  learns how long turns take
    """

    def __init__(
        self, at_once: int = 1, most_s: float = MOST_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.at_once, self.most_s, self.forecast = at_once, most_s, Forecast()
        self._clock = clock
        self._line: list[_Place] = []
        self._changed = threading.Condition()

    @property
    def wanted(self) -> bool:
        """Whether anybody waits."""
        with self._changed:
            return len(self._line) > self.at_once

    def expected(self, pair: Hashable, length: int) -> float | None:
        """Seconds that the turn of a run of the pair will take for which `length` tokens are asked, about; None where
        nobody knows."""
        seconds = self.forecast.seconds(pair, length)
        return seconds and min(seconds, self.most_s)

    def ahead(self, ticket: object) -> int:
        """How many come before `ticket`; 0 when it is served or not in line."""
        with self._changed:
            return len(self._before(ticket))

    def wait(self, ticket: object) -> float | None:
        """Seconds until `ticket` is served, about; None where nobody knows how long one before it will take."""
        with self._changed:
            now = self._clock()
            left = [place.left(now) for place in self._before(ticket)]
        return None if None in left else sum(left) / self.at_once

    @contextmanager
    def queued(self, ticket: object, seconds: float | None = None) -> Iterator[Callable[[float | None], bool]]:
        """Stand in line for a turn of about so many seconds, None where nobody knows; yields a function that waits for
        the turn so many seconds, None for ever, and says whether it came."""
        place = _Place(ticket, seconds)
        with self._changed:
            self._line.append(place)
        try:
            yield lambda timeout: self._came(place, timeout)
        finally:
            with self._changed:
                self._line.remove(place)
                self._changed.notify_all()

    def _came(self, place: _Place, timeout: float | None) -> bool:
        with self._changed:
            came = self._changed.wait_for(lambda: self._line.index(place) < self.at_once, timeout)
            if came and place.since is None:
                place.since = self._clock()
            return came

    def _before(self, ticket: object) -> list[_Place]:
        tickets = [place.ticket for place in self._line]
        here = tickets.index(ticket) if ticket in tickets else 0
        return self._line[:here] if here >= self.at_once else []

"""Runs that can still be asked about, by their ids."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Protocol

from ..records import Trace
from .log import Lane, Log

#: Runs kept, tokens kept in all of them (some 4 kB each), and seconds after which a run is forgotten.
CAPACITY, TOKENS, LIFETIME_S = 64, 100_000, 3600.0


class Kept(Protocol):
    """A run, or the log of one that was read from a file."""

    def look(self) -> Log: ...

    def trace(self) -> Trace: ...

    def snapshot(self, since: Mapping[Lane, int] | None = None) -> dict[str, object]: ...


class Store:
    """The last runs of all tabs. An id is the only key to a run, so ids must not be guessable."""

    def __init__(
        self,
        capacity: int = CAPACITY,
        lifetime_s: float = LIFETIME_S,
        clock: Callable[[], float] = time.monotonic,
        tokens: int = TOKENS,
    ) -> None:
        self._capacity, self._lifetime_s, self._clock, self._tokens = capacity, lifetime_s, clock, tokens
        self._kept: OrderedDict[str, tuple[float, Kept]] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, run_id: str, run: Kept) -> None:
        with self._lock:
            self._kept[run_id] = (self._clock(), run)
            self._forget_old()

    def get(self, run_id: object) -> Kept | None:
        """The run; None where it is unknown or forgotten."""
        with self._lock:
            self._forget_old()
            return self._kept.get(run_id, (0.0, None))[1] if isinstance(run_id, str) else None

    def _forget_old(self) -> None:
        """Forget the oldest runs, but not the newest one for its size alone."""
        now = self._clock()
        tokens = sum(run.look().tokens for _, run in self._kept.values())
        while self._kept:
            oldest, (since, run) = next(iter(self._kept.items()))
            many = len(self._kept) > self._capacity or (tokens > self._tokens and len(self._kept) > 1)
            if not many and now - since <= self._lifetime_s:
                return
            tokens -= run.look().tokens
            del self._kept[oldest]

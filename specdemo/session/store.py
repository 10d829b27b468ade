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
            since, run = self._kept.get(run_id, (0.0, None)) if isinstance(run_id, str) else (0.0, None)
            return run if self._clock() - since <= self._lifetime_s else None

    def _forget_old(self) -> None:
        """Forget what is older than its time, and of what is over the oldest, while there is too much of all; but never
        the newest. What still goes on has somebody who reads it, and there is never much of it."""
        now = self._clock()
        logs = {run_id: run.look() for run_id, (_, run) in self._kept.items()}
        tokens = sum(log.tokens for log in logs.values())
        for run_id, (since, _) in list(self._kept.items())[:-1]:
            many = len(self._kept) > self._capacity or tokens > self._tokens
            if now - since > self._lifetime_s or (many and logs[run_id].phase.final):
                tokens -= logs[run_id].tokens
                del self._kept[run_id]

"""Whose turn it is on the machine: first come, first served."""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Seconds between two looks at whether a waiting one has given up.
_LOOK = 0.05


class Turns:
    """A lock that serves in order and knows its queue.

    Runs and loading take turns: two at once on one machine would spoil each other's clocks.
    """

    def __init__(self) -> None:
        self._line: deque[object] = deque()
        self._changed = threading.Condition()

    def ahead(self, ticket: object) -> int:
        """How many come before `ticket`; 0 when it is served or not in line."""
        with self._changed:
            return self._line.index(ticket) if ticket in self._line else 0

    @contextmanager
    def queued(self, ticket: object) -> Iterator[Callable[[float], bool]]:
        """Stand in line; yields a function that waits for the turn so many seconds and says whether it came."""
        with self._changed:
            self._line.append(ticket)
        try:
            yield lambda seconds: self._came(ticket, seconds)
        finally:
            with self._changed:
                self._line.remove(ticket)
                self._changed.notify_all()

    @contextmanager
    def take(self, ticket: object, given_up: threading.Event) -> Iterator[bool]:
        """Wait for the turn; yields whether it came, which it does not once `given_up` is set."""
        with self.queued(ticket) as came:
            while not (mine := came(_LOOK)) and not given_up.is_set():
                pass
            yield mine

    def _came(self, ticket: object, seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._line[0] is ticket, seconds)

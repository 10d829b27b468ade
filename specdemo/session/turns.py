"""Whose turn it is on the machine: first come, first served."""

import threading
from collections import deque
from collections.abc import Iterator
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
    def take(self, ticket: object, given_up: threading.Event) -> Iterator[bool]:
        """Wait for the turn; yields whether it came, which it does not once `given_up` is set."""
        with self._changed:
            self._line.append(ticket)
            while self._line[0] is not ticket and not given_up.is_set():
                self._changed.wait(_LOOK)
            served = self._line[0] is ticket
        try:
            yield served
        finally:
            with self._changed:
                self._line.remove(ticket)
                self._changed.notify_all()

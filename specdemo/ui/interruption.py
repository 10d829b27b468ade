"""Being asked to stop: by Ctrl-C, or by what runs services."""

import signal
import threading
from types import FrameType

STOPPED, INTERRUPTED = 0, 130


class Interruption:
    """From its making, on the main thread, the first of the two signals is kept; the next one ends the process."""

    def __init__(self) -> None:
        self._asked, self._status = threading.Event(), STOPPED
        self._before = {number: signal.signal(number, self._take) for number in (signal.SIGINT, signal.SIGTERM)}

    def wait(self) -> int:
        """Return once there was one: the exit status that it asks for."""
        # In short steps, since on Windows a wait without end is not interrupted.
        while not self._asked.wait(0.5):
            pass
        return self._status

    def _take(self, number: int, frame: FrameType | None) -> None:
        self._status = INTERRUPTED if number == signal.SIGINT else STOPPED
        for other, handler in self._before.items():
            signal.signal(other, handler)
        self._asked.set()

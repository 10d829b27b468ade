"""A page that rests by turns."""

import os
import random
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from signal import SIGCONT, SIGSTOP

from .held import HOLD, LET_GO

#: Seconds of a turn. The shorter, the less of the machine's drift is between a turn and its neighbours; but it holds
#: several rounds.
TURN_S = 0.1


class Rests:
    """From entering to leaving it the page goes on and rests by turns, in an order that is drawn for each two of them.

    While it rests, the server tells nothing and the browser's processes are stopped, so the engine has the machine for
    itself. What is then to be told and drawn waits for the next turn: none of the page's work is left out, it falls
    into half of the time. The browser must not be asked anything meanwhile, or who asks waits for its turn.

    awake  from when to when it went on, by the monotonic clock
    """

    def __init__(self, server: int, browser: Sequence[int]) -> None:
        self._server, self._browser = server, browser
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._take_turns)
        self.awake: list[tuple[float, float]] = []

    def __enter__(self) -> "Rests":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._wake()

    def _take_turns(self) -> None:
        while not self._over.is_set():
            for turn in random.sample((self._go_on, self._rest), 2):
                turn()

    def _go_on(self) -> None:
        began = time.monotonic()
        self._wake()
        time.sleep(TURN_S)
        self.awake.append((began, time.monotonic()))

    def _rest(self) -> None:
        self._send(HOLD, SIGSTOP)
        time.sleep(TURN_S)

    def _wake(self) -> None:
        self._send(LET_GO, SIGCONT)

    def _send(self, to_server: int, to_browser: int) -> None:
        os.kill(self._server, to_server)
        for process in self._browser:
            with suppress(ProcessLookupError):  # it has ended
                os.kill(process, to_browser)

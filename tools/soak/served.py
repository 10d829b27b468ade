"""The page as its own process, which can be killed and started again at the same address."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import httpx
import psutil

from .client import Client

_LIMIT_S = 180
_LOOK_S = 0.05  # between two looks at whether it is there


class Served:
    """`python -m specdemo serve`, with more `words`, on a free port; unless `loaded` is False with the pair in memory.

    `program` is what stands for specdemo in that. `up` is the time at which it first answered.
    """

    def __init__(self, *words: str, loaded: bool = True, program: Sequence[str] = ("specdemo",)) -> None:
        self._program, self._words, self._loaded = program, words, loaded
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}/"

    def __enter__(self) -> "Served":
        try:
            self.start()
        except BaseException:
            self.__exit__()  # else one that does not get ready would stay
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def start(self) -> None:
        command = [sys.executable, "-m", *self._program, "serve", "--port", str(self._port), *self._words]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._await(self._answers)
        self.up = time.monotonic()
        if self._loaded:
            with Client(self.url) as client:
                self._await(lambda: client.ask("status", {})["state"] == "ready")

    def _answers(self) -> bool:
        return httpx.get(self.url).is_success

    def _await(self, there: Callable[[], bool]) -> None:
        end = time.monotonic() + _LIMIT_S
        while not _now(there):
            if time.monotonic() > end or self._process.poll() is not None:
                raise TimeoutError(f"the page was not ready in {_LIMIT_S} s")
            time.sleep(_LOOK_S)

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    @property
    def pid(self) -> int:
        return self._process.pid

    def memory(self) -> int:
        """Bytes of memory that the process holds: itself alone, as it is, with nothing collected before."""
        return psutil.Process(self.pid).memory_info().rss

    def processes(self) -> list[psutil.Process]:
        """Those that it has started, and theirs."""
        return psutil.Process(self.pid).children(recursive=True)


def _now(there: Callable[[], bool]) -> bool:
    try:
        return there()
    except httpx.HTTPError:
        return False

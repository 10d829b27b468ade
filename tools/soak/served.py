"""The page as its own process, which can be killed and started again at the same address."""

import signal
import socket
import subprocess
import sys
import time

import httpx
import psutil

from .client import Client

_LIMIT_S = 180


class Served:
    """`python -m specdemo serve`, with more `words`, on a free port, with the pair in memory."""

    def __init__(self, *words: str) -> None:
        self._words = words
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}/"

    def __enter__(self) -> "Served":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def start(self) -> None:
        command = [sys.executable, "-m", "specdemo", "serve", "--port", str(self._port), *self._words]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + _LIMIT_S
        with Client(self.url) as client:
            while not _ready(client):
                if time.monotonic() > end or self._process.poll() is not None:
                    raise TimeoutError(f"the page was not ready in {_LIMIT_S} s")
                time.sleep(0.2)

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def memory(self) -> int:
        """Bytes of memory that the process holds: itself alone, as it is, with nothing collected before."""
        return psutil.Process(self._process.pid).memory_info().rss

    def processes(self) -> list[psutil.Process]:
        """Those that it has started, and theirs."""
        return psutil.Process(self._process.pid).children(recursive=True)


def _ready(client: Client) -> bool:
    try:
        return client.ask("status", {})["state"] == "ready"
    except httpx.HTTPError:
        return False

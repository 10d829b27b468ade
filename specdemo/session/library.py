"""Recorded runs that come with the page, each read when it is first asked for."""

import threading
from pathlib import Path

from ..trace import load
from .log import Log

#: In the order of the menu; the first one is what a fresh page shows. `tools.record` makes them.
RECORDINGS = ("english", "chinese", "code", "poor")

_ID = "recorded-"


class Library:
    """The recordings in a folder."""

    def __init__(self, folder: Path) -> None:
        self._paths = {name: path for name in RECORDINGS if (path := recording(folder, name)).exists()}
        self._logs: dict[str, Log] = {}
        self._reading = threading.Lock()  # a class that opens one together waits for one reading, not thirty

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._paths)

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(_ID + name for name in self._paths)

    @property
    def first(self) -> Log | None:
        return self.get(self.ids[0]) if self.ids else None

    def get(self, run_id: object) -> Log | None:
        """The run with the id "recorded-" and the recording's name; None for any other."""
        name = run_id.removeprefix(_ID) if isinstance(run_id, str) and run_id.startswith(_ID) else None
        if name not in self._paths:
            return None
        with self._reading:
            if name not in self._logs:
                self._logs[name] = Log.of(run_id, load(self._paths[name]), recording=name)
            return self._logs[name]


def recording(folder: Path, name: str) -> Path:
    """Where a recording lies."""
    return folder / f"{name}.json.gz"

"""Somebody who asks the server by HTTP, as the page's scripts do."""

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import httpx

#: Seconds without a word after which a run hangs: one that waits is told so every second.
SILENCE_S = 30

Ids = dict[str, list[int]]


class Ending(NamedTuple):
    """How a run ended: the name of its last phase, "refused" where it never was one; and what it wrote."""

    name: str
    ids: Ids


class Client:
    """Known to the server as a page of its own."""

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=url, timeout=httpx.Timeout(SILENCE_S))
        self._page = secrets.token_hex(16)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def ask(self, name: str, question: dict[str, object]) -> object:
        return self._http.post(f"specdemo/ask/{name}", json=question).raise_for_status().json()

    @contextmanager
    def run(self, **fields: object) -> Iterator[Iterator[dict]]:
        """The deltas of a new run; leaving the context before its end leaves the run."""
        with self._http.stream("POST", "specdemo/run", json={"page": self._page, **fields}) as response:
            response.raise_for_status()
            yield (json.loads(line) for line in response.iter_lines())

    def whole(self, **fields: object) -> Ending:
        """A run to its end. Raises httpx.HTTPError where it hangs or breaks off."""
        with self.run(**fields) as deltas:
            return ending(deltas)


def ending(deltas: Iterator[dict]) -> Ending:
    """Read a run to its end."""
    name, ids = "none", {"spec": [], "plain": []}
    for delta in deltas:
        name = delta["phase"]["name"] if "run" in delta else "refused"
        for lane, seen in ids.items():
            seen += [event[2] for _, _, events, _ in delta.get(lane, []) for event in events]
    return Ending(name, ids)

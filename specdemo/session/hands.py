"""The threads that compute.

OpenMP keeps threads ready beside each thread that has ever computed in parallel. Once all of these are more than there
are cores, those that wait for each other at the end of a step go to sleep instead of looking (libgomp, `team.c` and
`wait.h`), and every pass of a model takes twice as long. So all that is done on a pair is done by the same few threads,
and what else computes leaves none behind.
"""

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import wraps
from queue import SimpleQueue
from threading import Event
from typing import ParamSpec, TypeVar

OneT, EndT, Asked = TypeVar("OneT"), TypeVar("EndT"), ParamSpec("Asked")

_END = object()


class Hands:
    """As many threads as there are turns at a time."""

    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(count, "engine")

    def take(self, steps: Generator[OneT, None, EndT]) -> Generator[OneT, None, EndT]:
        """The same steps, taken by one of these threads. Closing it waits for the step that is being taken."""
        news: SimpleQueue[object] = SimpleQueue()
        given_up = Event()
        end = self._pool.submit(_take, steps, news, given_up)
        try:
            while (one := news.get()) is not _END:
                yield one
            return end.result()
        finally:
            given_up.set()
            wait([end])


def _take(steps: Generator[OneT, None, EndT], news: SimpleQueue, given_up: Event) -> EndT | None:
    try:
        while not given_up.is_set():
            news.put(next(steps))
    except StopIteration as end:
        return end.value
    finally:
        news.put(_END)
    return None


def apart(function: Callable[Asked, EndT]) -> Callable[Asked, EndT]:
    """The function, computed by a thread that ends with it."""

    @wraps(function)
    def asked(*args: Asked.args, **kwargs: Asked.kwargs) -> EndT:
        with ThreadPoolExecutor(1, "apart") as hand:
            return hand.submit(function, *args, **kwargs).result()

    return asked

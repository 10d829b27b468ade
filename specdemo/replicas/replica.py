"""One replica: a process with pairs of its own, somewhere."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor

from ..models import Pair, PairSpec
from ..session.place import Here, Work, sparse
from ..session.turns import Turns

_END = object()


class Replica:
    """What Ray Serve runs; it begins to load `spec` at once. A run has `most_s` seconds."""

    def __init__(self, spec: PairSpec, load: Callable[..., Pair], most_s: float) -> None:
        self._here = Here(load, turns=Turns(most_s=most_s))
        self._here.prepare(spec)
        self._hand = ThreadPoolExecutor(1, "work")  # the event loop stays free to say that this replica is alive

    async def work(self, work: Work) -> AsyncIterator[object]:
        """The news of a work. It ends with its reader: then the step that it is in is the last one."""
        loop, news = asyncio.get_running_loop(), sparse(self._here.work(work))
        try:
            while (one := await loop.run_in_executor(self._hand, next, news, _END)) is not _END:
                yield one
        finally:
            await loop.run_in_executor(self._hand, news.close)

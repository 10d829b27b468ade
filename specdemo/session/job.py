"""Work on a pair behind the page: begun somewhere, followed from here, and stopped at any time."""

import queue
import secrets
import threading
from collections.abc import Iterator
from contextlib import closing
from contextvars import copy_context
from functools import partial
from typing import Generic, TypeVar

from .phase import Phase, Told
from .place import Place, Work

LogT = TypeVar("LogT", bound=Told)


def new_id() -> str:
    """An id that nobody guesses: it is all that it takes to ask about a job."""
    return secrets.token_urlsafe(16)


class Job(Generic[LogT]):
    """What was asked for, to its end; `look` and `stop` may be called at any time from any thread.

    A thread of its own follows the work, which is done at `place`, and only puts what comes out into a queue. Whoever
    looks takes it into the log (`_take`), so that the page never enters the engine's clock; and nobody waits for the
    work, so that a stop takes effect at once even while a long prompt is being read.
    """

    def __init__(self, log: LogT, work: Work, place: Place) -> None:
        self.id = log.run_id
        self._log, self._work, self._place = log, work, place
        self._inbox: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._news, self._stop = threading.Event(), threading.Event()
        self._reading = threading.RLock()  # held while the log is read or written
        follow = partial(copy_context().run, self._follow)  # a place may want to know on whose behalf
        self._worker = threading.Thread(target=follow, name=f"job {self.id[:6]}", daemon=True)
        self._result: Phase | None = None  # what goes on, by the last result

    # -- what each kind of work says of itself ------------------------------------------------------------------------

    def _take(self, news: object) -> Phase | None:
        """Take news into the log; what goes on by them, None where they do not say."""
        raise NotImplementedError

    def _end(self, phase: Phase) -> None:
        """It is over. What is over is kept for a while."""
        self._log.phase = phase
        self._inbox = queue.SimpleQueue()

    # -- the reader's side --------------------------------------------------------------------------------------------

    def start(self) -> None:
        self._worker.start()

    @property
    def working(self) -> bool:
        return self._worker.is_alive()

    @property
    def over(self) -> bool:
        """Whether it was started and neither waits nor works any longer."""
        return self._stop.is_set() or (self._worker.ident is not None and not self.working)

    def look(self) -> LogT:
        """What is known now."""
        with self._reading:
            while not self._log.phase.final:
                try:
                    news = self._inbox.get_nowait()
                except queue.Empty:
                    break
                self._read(news)
            return self._log

    def _read(self, news: object) -> None:
        """News in the order in which they came; None: it goes on after a wait."""
        if isinstance(news, Phase) and news.final:
            self._end(news)
        elif isinstance(news, Phase):
            self._log.phase = news
        else:
            self._result = (news and self._take(news)) or self._result
            self._log.phase = self._result or self._log.phase

    def stop(self) -> None:
        """End it: for its readers now, for the worker after the step that it is in."""
        self._stop.set()
        with self._reading:
            if not self.look().phase.final:
                self._end(Phase("stopped"))
        self._news.set()

    # -- the worker's side --------------------------------------------------------------------------------------------

    def _follow(self) -> None:
        with closing(self._all_news()) as all_news:
            waits = False
            for news in all_news:
                if news is not None or waits:
                    self._put(news)
                waits = isinstance(news, Phase)
                if self._stop.is_set():
                    return

    def _all_news(self) -> Iterator[object]:
        return self._place.work(self._work)

    def _put(self, news: object) -> None:
        inbox = self._inbox  # before the look at the phase: one that was put away meanwhile takes no harm
        if not self._log.phase.final:
            inbox.put(news)
        if not isinstance(news, Phase) or news.final:  # how a wait goes on is no news that anybody waits for
            self._news.set()

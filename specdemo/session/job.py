"""Work on a pair behind the page: it waits for the pair, then for its turn, and can be stopped at any time."""

import logging
import queue
import secrets
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Generic, TypeVar

import torch

from ..models import LoadError, Pair, PairSpec
from ..words import Saying, Spoken
from .pairs import Pairs
from .phase import Phase, Told
from .turns import Turns

_LOOK_S = 0.05

_log = logging.getLogger(__name__)

LogT = TypeVar("LogT", bound=Told)


def new_id() -> str:
    """An id that nobody guesses: it is all that it takes to ask about a job."""
    return secrets.token_urlsafe(16)


class Job(Generic[LogT]):
    """What was asked for, to its end; `look` and `stop` may be called at any time from any thread.

    A thread of its own does the work (`_steps`) and only puts what comes out into a queue. Whoever looks takes it into
    the log (`_take`), so that the page never enters the engine's clock; and nobody waits for the work, so that a stop
    takes effect at once even while a long prompt is being read.
    """

    def __init__(self, log: LogT, spec: PairSpec, pairs: Pairs, turns: Turns) -> None:
        self.id = log.run_id
        self._log, self._spec, self._pairs, self._turns = log, spec, pairs, turns
        self._inbox: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._news, self._stop = threading.Event(), threading.Event()
        self._reading = threading.RLock()  # held while the log is read or written
        self._worker = threading.Thread(target=self._work, name=f"job {self.id[:6]}", daemon=True)
        self._phase = lambda: log.phase  # what goes on before the first result

    # -- what each kind of work says of itself ------------------------------------------------------------------------

    def _steps(self, pair: Pair) -> Iterator[object]:
        """Do the work, on the worker's thread; yields what `_take` is given, or None where nothing was found."""
        raise NotImplementedError

    def _take(self, news: object) -> None:
        """Take news into the log; the first result has the phase become "running"."""
        raise NotImplementedError

    def _end(self, phase: Phase) -> None:
        """It is over. What is over is kept for a while, and must not keep a pair with it."""
        self._log.phase = phase
        self._phase, self._inbox = lambda: phase, queue.SimpleQueue()

    # -- the reader's side --------------------------------------------------------------------------------------------

    def start(self) -> None:
        self._worker.start()

    def look(self) -> LogT:
        """What is known now."""
        with self._reading:
            while not self._log.phase.final:
                try:
                    news = self._inbox.get_nowait()
                except queue.Empty:
                    break
                if isinstance(news, Phase):
                    self._end(news)
                else:
                    self._take(news)
            if not self._log.phase.final and self._log.phase.name != "running":
                self._log.phase = self._phase()
            return self._log

    def stop(self) -> None:
        """End it: for its readers now, for the worker after the step that it is in."""
        self._stop.set()
        with self._reading:
            if not self.look().phase.final:
                self._end(Phase("stopped"))
        self._news.set()

    # -- the worker's side --------------------------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            pair = self._loaded()
            if pair is not None:
                self._phase = lambda: Phase("waiting", {"ahead": self._turns.ahead(self)})
                with self._turns.take(self, self._stop) as mine:
                    if mine:
                        self._run(pair)
        except Exception as error:
            self._put(Phase("failed", {"sentence": _saying(error)}))

    def _loaded(self) -> Pair | None:
        """The pair, when it is there; None once the job was stopped. Raises LoadError."""
        loading = self._pairs.get(self._spec)
        self._phase = lambda: Phase("loading", {"fraction": loading.fraction, "sentence": loading.sentence})
        while not loading.done.wait(_LOOK_S) and not self._stop.is_set():
            pass
        if self._stop.is_set():
            return None
        if loading.pair is None:
            raise LoadError(loading.error)
        return loading.pair

    def _run(self, pair: Pair) -> None:
        with closing(self._steps(pair)) as steps:
            for news in steps:
                if news is not None:
                    self._put(news)
                if self._stop.is_set():
                    return
        self._put(Phase("done"))

    def _put(self, news: object) -> None:
        if not self._log.phase.final:
            self._inbox.put(news)
        self._news.set()


def _saying(error: Exception) -> Saying:
    """What went wrong, for the reader; what we did not foresee goes to the server's log as well."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return Saying("device_memory")
    if isinstance(error, Spoken):
        return error.saying
    _log.error("a run failed", exc_info=error)
    first_line = (str(error).splitlines() or [""])[0]
    return Saying("engine_failed", error=f"{type(error).__name__}: {first_line[:200]}")

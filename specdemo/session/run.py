"""One request being carried out: a thread of its own runs the engine, whoever reads spells and tells."""

import logging
import queue
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import NamedTuple

import torch

from ..contract import NumericalFault
from ..lanes import plain, speculative
from ..metrics import why_ended
from ..models import LoadError, Pair
from ..race import race
from ..records import Round, Trace
from ..text import Speller
from ..view.deltas import to_text
from .log import LANES, Lane, Log, Phase
from .pairs import Pairs
from .request import Request
from .turns import Turns

#: Seconds: between two updates of the page, between two updates of its numbers, and the longest silence.
UPDATE_S, STATS_S, SILENCE_S = 0.05, 0.25, 0.25

_LOOK_S = 0.05

_log = logging.getLogger(__name__)


class _Begun(NamedTuple):
    """What the engine's thread found out before the first round."""

    pair: Pair
    prompt_ids: list[int]
    chat: bool


class Run:
    """A run from its request to its end. `deltas` may be closed, and `stop` called, at any time from any thread.

    The engine's thread only puts rounds into a queue. Spelling and JSON are made by whoever reads, so that the page
    never enters the engine's clock; and a reader never waits for the engine longer than `SILENCE_S`, so that a stop
    takes effect at once even while a long prompt is being read.
    """

    def __init__(self, request: Request, pairs: Pairs, turns: Turns) -> None:
        self.id = secrets.token_urlsafe(16)
        self._request, self._pairs, self._turns = request, pairs, turns
        self._inbox: queue.SimpleQueue[_Begun | Phase | tuple[Lane, Round]] = queue.SimpleQueue()
        self._news, self._stop = threading.Event(), threading.Event()
        self._reading = threading.RLock()  # held while the log is read or written
        self._stop_ids: frozenset[int] = frozenset()
        self._spellers: dict[Lane, Speller] = {}
        self._worker = threading.Thread(target=self._work, name=f"run {self.id[:6]}", daemon=True)
        self._phase = lambda: Phase("loading", {"fraction": 0.0, "sentence": ""})  # until the first round
        self._log = Log(
            self.id,
            prompt=request.prompt,
            params=request.params,
            k=request.k,
            chat=request.chat,
            phase=self._phase(),
        )

    # -- the reader's side --------------------------------------------------------------------------------------------

    def deltas(self) -> Iterator[str]:
        """Start, and tell all that happens as JSON: the first thing at once, then at most one update in `UPDATE_S`.

        The last delta has the final phase. Closing the generator stops the run.
        """
        self._worker.start()
        given, told_pair = dict.fromkeys(LANES, 0), None
        updated = told_stats = float("-inf")
        try:
            while True:
                now = time.monotonic()
                with self._reading:
                    log = self.look()
                    final = log.phase.final
                    with_head, with_stats = log.pair is not told_pair, final or now - told_stats >= STATS_S
                    delta = log.delta(given, with_head=with_head, with_stats=with_stats)
                    given, told_pair = {lane: len(log.rounds[lane]) for lane in LANES}, log.pair
                yield to_text(delta)
                if final:
                    return
                updated, told_stats = now, now if with_stats else told_stats
                self._await_news(updated)
        finally:
            self.stop()

    def look(self) -> Log:
        """What is known now."""
        with self._reading:
            while not self._log.phase.final:
                try:
                    self._take(self._inbox.get_nowait())
                except queue.Empty:
                    break
            if not self._log.phase.final and not any(self._log.rounds.values()):
                self._log.phase = self._phase()
            return self._log

    def trace(self) -> Trace:
        with self._reading:
            return self.look().trace()

    def snapshot(self, since: Mapping[Lane, int] | None = None) -> dict[str, object]:
        with self._reading:
            return self.look().snapshot(since)

    def stop(self) -> None:
        """End the run: for its readers now, for the engine after the round that it is in."""
        self._stop.set()
        with self._reading:
            if not self.look().phase.final:
                self._end(Phase("stopped"))
        self._news.set()

    def _await_news(self, updated: float) -> None:
        """Return once there is news and the last update is `UPDATE_S` ago, or after `SILENCE_S`."""
        self._news.wait(SILENCE_S)
        self._news.clear()
        self._stop.wait(max(0.0, updated + UPDATE_S - time.monotonic()))

    def _take(self, news: "_Begun | Phase | tuple[Lane, Round]") -> None:
        if isinstance(news, Phase):
            self._end(news)
        elif isinstance(news, _Begun):
            self._log.pair, self._log.notes = news.pair.describe(), news.pair.notes
            self._log.prompt_ids, self._log.chat = news.prompt_ids, news.chat
            self._stop_ids = news.pair.stop_ids
            self._spellers = {lane: Speller(news.pair.decode, news.prompt_ids) for lane in LANES}
        else:
            lane, round_ = news
            self._log.rounds[lane].append(self._spellers[lane].spell(round_))
            self._log.phase = Phase("running")

    def _end(self, phase: Phase) -> None:
        for lane, speller in self._spellers.items():
            self._log.finish_text(lane, speller.flush())
        if phase.name == "done":
            rounds, params = self._log.rounds, self._request.params
            phase = Phase("done", {lane: why_ended(rounds[lane], params, self._stop_ids) for lane in LANES})
        self._log.phase = phase
        # What is over is kept for a while, and must not keep a pair with it.
        self._spellers, self._phase, self._inbox = {}, lambda: phase, queue.SimpleQueue()

    # -- the engine's side --------------------------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            pair = self._loaded()
            if pair is not None:
                self._phase = lambda: Phase("waiting", {"ahead": self._turns.ahead(self)})
                with self._turns.take(self, self._stop) as mine:
                    if mine:
                        self._race(pair)
        except Exception as error:
            self._put(Phase("failed", {"sentence": _sentence(error)}))

    def _loaded(self) -> Pair | None:
        """The pair, when it is there; None once the run was stopped. Raises LoadError."""
        loading = self._pairs.get(self._request.pair)
        self._phase = lambda: Phase("loading", {"fraction": loading.fraction, "sentence": loading.sentence})
        while not loading.done.wait(_LOOK_S) and not self._stop.is_set():
            pass
        if self._stop.is_set():
            return None
        if loading.pair is None:
            raise LoadError(loading.error)
        return loading.pair

    def _race(self, pair: Pair) -> None:
        params, k = self._request.params, self._request.k
        chat = self._request.chat and pair.has_chat
        ids = pair.encode(self._request.prompt, chat)
        self._phase = lambda: Phase("prompt", {"tokens": len(ids)})
        self._put(_Begun(pair, ids, chat))
        lanes = {"spec": speculative(pair, ids, params, k), "plain": plain(pair, ids, params)}
        with closing(race(lanes)) as rounds:
            for news in rounds:
                self._put(news)
                if self._stop.is_set():
                    return
        self._put(Phase("done"))

    def _put(self, news: "_Begun | Phase | tuple[Lane, Round]") -> None:
        if not self._log.phase.final:
            self._inbox.put(news)
        self._news.set()


def _sentence(error: Exception) -> str:
    """What went wrong, for the reader; what we did not foresee goes to the server's log as well."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return "The device ran out of memory: choose a shorter prompt, a shorter length or a smaller pair."
    if isinstance(error, ValueError | LoadError | NumericalFault):
        text = str(error)
        return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
    _log.error("a run failed", exc_info=error)
    first_line = (str(error).splitlines() or [""])[0]
    return f"The run failed inside the engine ({type(error).__name__}: {first_line[:200]})."

"""A race of both lanes after a prompt, told to the page as it goes on."""

import time
from collections.abc import Iterator, Mapping
from functools import partial

from ..metrics import Ending, why_ended
from ..records import Trace
from ..view.deltas import to_text
from .job import Job, new_id
from .log import LANES, Lane, Log
from .phase import Phase
from .place import Place, Work
from .raced import Begun, Spelled, raced
from .request import Request
from .rhythm import update_s

#: Seconds between two updates of the numbers, and the longest silence; longer for who waits in line, as a class may.
STATS_S, SILENCE_S, WAITING_S = 0.3, 0.25, 1.0


class Run(Job[Log]):
    """A run from its request to its end. `deltas` may be closed at any time from any thread."""

    def __init__(self, request: Request, place: Place) -> None:
        log = Log(
            new_id(),
            prompt=request.prompt,
            params=request.params,
            k=request.k,
            chat=request.chat,
            phase=Phase("loading", {"fraction": 0.0, "sentence": ""}),
            spec=request.pair,
            fork=request.fork,
        )
        most = len(LANES) * request.params.max_new_tokens
        super().__init__(log, Work(request.pair, partial(raced, request), most), place)
        self._params = request.params
        self._stop_ids: frozenset[int] = frozenset()
        self._rests: dict[Lane, str] = {}

    def deltas(self, near: bool = False) -> Iterator[str]:
        """Start, and tell all that happens as JSON: the first thing at once, then in the rhythm for a reader who is on
        this machine (`near`) or is not.

        The last delta has the final phase. Closing the generator stops the work.
        """
        self.start()
        tellings = self._tellings()
        try:
            while True:
                now = time.monotonic()
                with self._reading:
                    final = self.look().phase.final
                    delta = next(tellings)
                yield to_text(delta)
                if final:
                    return
                self._await_news(now + update_s(self._log.pair, near))
        finally:
            self.stop()

    def trace(self) -> Trace:
        with self._reading:
            return self.look().trace()

    def snapshot(self, since: Mapping[Lane, int] | None = None) -> dict[str, object]:
        with self._reading:
            return self.look().snapshot(since)

    def _tellings(self) -> Iterator[dict[str, object]]:
        """What one reader is told, a delta at a time, for ever."""
        given, told_pair, told_stats = dict.fromkeys(LANES, 0), None, float("-inf")
        while True:
            log, now = self._log, time.monotonic()
            with_head, with_stats = log.pair is not told_pair, log.phase.final or now - told_stats >= STATS_S
            told_stats = now if with_stats else told_stats
            delta = log.delta(given, with_head=with_head, with_stats=with_stats)
            given, told_pair = {lane: len(log.rounds[lane]) for lane in LANES}, log.pair
            yield delta

    def _await_news(self, due: float) -> None:
        """Return once there is news and the next update is due, or after the longest silence."""
        self._news.wait(WAITING_S if self._log.phase.name == "waiting" else SILENCE_S)
        self._news.clear()
        self._stop.wait(max(0.0, due - time.monotonic()))

    def _take(self, news: Begun | Spelled) -> Phase | None:
        if isinstance(news, Begun):
            self._log.pair, self._log.notes = news.pair, news.notes
            self._log.prompt_ids, self._log.chat, self._log.fork = news.prompt_ids, news.chat, news.fork
            self._stop_ids = news.stop_ids
            return None
        self._log.rounds[news.lane].append(news.round)
        self._rests[news.lane] = news.rest
        return Phase("running")

    def _end(self, phase: Phase) -> None:
        for lane, rest in self._rests.items():
            self._log.finish_text(lane, rest)
        super()._end(self._done(phase.values.get("most")) if phase.name == "done" else phase)

    def _done(self, most_s: float | None) -> Phase:
        """Why each lane ended; with `most` and what was `asked` where one was cut after so many seconds."""
        rounds, params = self._log.rounds, self._params
        why = {lane: why_ended(rounds[lane], params, self._stop_ids, cut=most_s is not None) for lane in LANES}
        if Ending.TIME in why.values():
            why |= {"most": f"{most_s:g}", "asked": params.max_new_tokens}
        return Phase("done", why)

"""A race of both lanes after a prompt, spelled for the page as it goes on."""

import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import NamedTuple

from ..lanes import plain, speculative
from ..metrics import why_ended
from ..models import Pair
from ..race import race
from ..records import Fork, Round, Trace
from ..text import Speller
from ..view.deltas import to_text
from ..words import Refusal
from .fork import spelled
from .job import Job, new_id
from .log import LANES, Lane, Log
from .pairs import Pairs
from .phase import Phase
from .request import Request
from .turns import Turns

#: Seconds: between two updates of the page, between two updates of its numbers, and the longest silence.
UPDATE_S, STATS_S, SILENCE_S = 0.1, 0.3, 0.25


class _Begun(NamedTuple):
    """What the engine's thread found out before the first round."""

    pair: Pair
    prompt_ids: list[int]
    chat: bool
    fork: Fork | None


class Run(Job[Log]):
    """A run from its request to its end. `deltas` may be closed at any time from any thread."""

    def __init__(self, request: Request, pairs: Pairs, turns: Turns) -> None:
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
        super().__init__(log, request.pair, pairs, turns)
        self._request = request
        self._stop_ids: frozenset[int] = frozenset()
        self._spellers: dict[Lane, Speller] = {}

    def deltas(self) -> Iterator[str]:
        """Start, and tell all that happens as JSON: the first thing at once, then at most one update in `UPDATE_S`.

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
                self._await_news(now)
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

    def _await_news(self, updated: float) -> None:
        """Return once there is news and the last update is `UPDATE_S` ago, or after `SILENCE_S`."""
        self._news.wait(SILENCE_S)
        self._news.clear()
        self._stop.wait(max(0.0, updated + UPDATE_S - time.monotonic()))

    def _take(self, news: "_Begun | tuple[Lane, Round]") -> None:
        if isinstance(news, _Begun):
            self._log.pair, self._log.notes = news.pair.describe(), news.pair.notes
            self._log.prompt_ids, self._log.chat, self._log.fork = news.prompt_ids, news.chat, news.fork
            self._stop_ids = news.pair.stop_ids
            before = [*news.prompt_ids, *_given(news.fork)]
            self._spellers = {lane: Speller(news.pair.decode, before) for lane in LANES}
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
        self._spellers = {}
        super()._end(phase)

    def _steps(self, pair: Pair) -> "Iterator[_Begun | tuple[Lane, Round]]":
        request, params = self._request, self._request.params
        chat = request.chat and pair.has_chat
        prompt_ids = pair.encode(request.prompt, chat) if request.prompt_ids is None else list(request.prompt_ids)
        before = [*prompt_ids, *_given(request.fork)]
        if request.fork and before[-1] in pair.stop_ids:
            raise Refusal("fork_ends")
        self._phase = lambda: Phase("prompt", {"tokens": len(before)})
        # First the lanes: they know which ids there are, and only such can be spelled.
        lanes = {"spec": speculative(pair, before, params, request.k), "plain": plain(pair, before, params)}
        yield _Begun(pair, prompt_ids, chat, request.fork and spelled(request.fork, prompt_ids, pair.decode))
        with closing(race(lanes)) as rounds:
            yield from rounds


def _given(fork: Fork | None) -> tuple[int, ...]:
    return fork.ids if fork else ()

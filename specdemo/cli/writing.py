"""A run of the engine on a pair, spelled, and what it has written so far."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

from ..lanes import plain, speculative
from ..metrics import Ending, measure, why_ended
from ..models import Pair
from ..race import race
from ..records import Round, RunStats, SamplingParams, Trace
from ..text import Speller, append

SPECULATIVE, PLAIN = "speculative", "plain"


@dataclass(slots=True)
class Writing:
    """What was asked for, and the rounds of each lane up to now."""

    pair: Pair
    prompt: str
    prompt_ids: list[int]
    params: SamplingParams
    k: int | None  # None: a pace chooses it before each round
    baseline: bool
    lanes: dict[str, list[Round]] = field(default_factory=dict)
    tails: dict[str, str] = field(default_factory=dict)  # what an unfinished last character added to a lane's text

    def rounds(self) -> Iterator[tuple[str, Round]]:
        """Run: (lane, round) as they come. It may be closed or interrupted; what was written stays."""
        pair, ids = self.pair, self.prompt_ids
        lanes = {SPECULATIVE: speculative(pair, ids, self.params, self.k)}
        if self.baseline:
            lanes[PLAIN] = plain(pair, ids, self.params)
        self.lanes = {lane: [] for lane in lanes}
        spellers = {lane: Speller(pair.decode, ids) for lane in lanes}
        try:
            with closing(race(lanes)) as rounds:
                for lane, round_ in rounds:
                    self.lanes[lane].append(spellers[lane].spell(round_))
                    yield lane, self.lanes[lane][-1]
        finally:
            self._finish(spellers)

    def _finish(self, spellers: dict[str, Speller]) -> None:
        for lane, speller in spellers.items():
            tail = speller.flush()
            if tail and self.lanes[lane]:
                self.tails[lane] = tail
                self.lanes[lane][-1] = append(self.lanes[lane][-1], tail)

    def trace(self) -> Trace:
        return Trace(
            pair=self.pair.describe(),
            params=self.params,
            k=self.k,
            prompt=self.prompt,
            prompt_ids=tuple(self.prompt_ids),
            rounds=tuple(self.lanes.get(SPECULATIVE, ())),
            baseline=tuple(self.lanes.get(PLAIN, ())),
        )

    def stats(self, lane: str) -> RunStats:
        return measure(self.lanes.get(lane, ()))

    def text(self, lane: str) -> str:
        return "".join(event.text for round_ in self.lanes.get(lane, ()) for event in round_.emitted)

    def why_ended(self) -> str:
        """stop: by a stop token; length: as long as was asked for; context: no room is left."""
        ending = why_ended(self.lanes[SPECULATIVE], self.params, self.pair.stop_ids)
        return "length" if ending is Ending.CAP else ending

"""A whole run of the bench: load, warm up, take turns, report."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..models import Pair
from ..models.progress import Progress
from ..records import SamplingParams
from .bandwidth import read_speed
from .engine import Engine
from .engines import Wanted, numbers_of, open_engines
from .profile import Profile, middle, profile
from .ratios import ratios
from .report import Report, machine, rows
from .run import Run
from .turns import take_turn, warm_up


@dataclass(frozen=True, slots=True)
class Bench:
    """What is to be measured, and what has been.

    pairs    the same two models, each in other numbers
    prompts  ids; the turns take them one after another
    params   its seed, which must be given, is the first turn's
    say      is told a sentence when something begins or ends
    """

    pairs: Sequence[Pair]
    prompts: Sequence[Sequence[int]]
    params: SamplingParams
    wanted: Wanted
    turns: int
    say: Callable[[str], None]
    _runs: list[Run] = field(default_factory=list)
    _speeds: list[float] = field(default_factory=list)
    _profiles: dict[str, list[Profile]] = field(default_factory=lambda: defaultdict(list))
    _notes: list[str] = field(default_factory=list)

    def measure(self, settings: Mapping[str, object], progress: Progress) -> Report:
        """Raises LoadError, `run.Miscount`, ValueError where no engine is left, and what our own engine raises.

        An interrupt ends it early: then the report has what was measured up to there, unless there is nothing.
        """
        complete = False
        try:
            with open_engines(self.pairs, self.wanted, progress) as (engines, notes):
                self._notes.extend(notes)
                self._take_turns(self._warmed_up(engines))
            complete = True
        except KeyboardInterrupt:
            if not self._runs and not self._profiles:
                raise
        return self._report(settings, complete)

    def _warmed_up(self, engines: Sequence[Engine]) -> list[Engine]:
        """Those that can run; how long it will take is told."""
        self.say(f"Warming up {len(engines)} engines …")
        runs = list(warm_up(engines, self.prompts[0], self.params, self._stop_ids, self._drop))
        if not runs and not self._profiling:
            raise ValueError("no engine is left to be measured")
        length = self.params.max_new_tokens
        seconds = sum(run.first_s + run.rest_s / max(1, run.tokens - 1) * length for run in runs)
        self.say(f"{self.turns} turn{'' if self.turns == 1 else 's'}, about {self.turns * seconds:.0f} s.")
        return [run.engine for run in runs]

    def _drop(self, engine: Engine, error: Exception) -> None:
        words = (str(error).splitlines() or ["no words"])[0].rstrip(".")
        self._notes.append(f"{engine.name} is not measured: {type(error).__name__}: {words}.")

    def _take_turns(self, engines: Sequence[Engine]) -> None:
        for turn in range(self.turns):
            prompt = self.prompts[turn % len(self.prompts)]
            self._speeds.append(read_speed(self.pairs[0].target.device))
            for run in take_turn(engines, turn, prompt, self.params, self._stop_ids):
                self._runs.append(run)
                self.say(f"{turn + 1}/{self.turns}  {_told(run)}")
            for pair in self.pairs if self._profiling else ():
                found = profile(pair, prompt, self.params, self.wanted.shown_k)
                self._profiles[numbers_of(pair)].append(found)

    def _report(self, settings: Mapping[str, object], complete: bool) -> Report:
        speed = max(self._speeds)
        return Report(
            machine=machine(self.pairs[0].target.device),
            settings=settings,
            read_speed=speed,
            rows=rows(self._runs, speed),
            ratios=ratios(self._runs, self._profiles),
            profiles={numbers: middle(found) for numbers, found in self._profiles.items()},
            notes=self._notes,
            complete=complete,
        )

    @property
    def _stop_ids(self) -> frozenset[int]:
        return self.pairs[0].stop_ids

    @property
    def _profiling(self) -> bool:
        return "profile" in self.wanted.families


def _told(run: Run) -> str:
    speed = "no rate" if run.tokens_per_second is None else f"{run.tokens_per_second:.1f} tokens/s"
    return f"{run.engine.name}: {speed}"

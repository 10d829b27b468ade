"""The comparisons that matter, turn by turn, so that a machine that drifts does not decide them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from .engine import Engine
from .profile import Profile
from .run import Run
from .spread import Spread


@dataclass(frozen=True, slots=True)
class Ratio:
    """
    spread    of the quotients, one a turn
    bar       what we ask of ourselves; None where nothing
    at_least  whether the bar is a least or a most
    """

    title: str
    spread: Spread
    bar: float | None = None
    at_least: bool = True

    @property
    def met(self) -> bool | None:
        """Whether the median keeps to the bar."""
        return None if self.bar is None else self.keeps(self.spread.median)

    def keeps(self, value: float) -> bool:
        """Whether a value keeps to the bar, which there must be."""
        return value >= self.bar if self.at_least else value <= self.bar


def ratios(runs: Sequence[Run], profiles: Mapping[str, Sequence[Profile]]) -> list[Ratio]:
    """All that these runs allow; `profiles` by the numbers of their pairs."""
    return [*_Ratios(runs).all(), *map(_outside, profiles, profiles.values())]


def _outside(numbers: str, profiles: Sequence[Profile]) -> Ratio:
    spread = Spread.of([profile.outside for profile in profiles])
    return Ratio(f"outside both models' passes, of a round: K = {profiles[0].k}, {numbers}", spread, 0.06, False)


class _Ratios:
    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs: dict[Engine, dict[int, Run]] = {}
        for run in runs:
            self._runs.setdefault(run.engine, {})[run.turn] = run

    def all(self) -> Iterator[Ratio]:
        llama = self._best("llama.cpp")
        for numbers in dict.fromkeys(engine.numbers for engine in self._runs if engine.ours):
            bf16, int4 = numbers == "bfloat16", numbers == "int4"
            target, speculative = self._best("target", numbers), self._best("speculative", numbers)
            library, assisted = self._best("transformers", numbers), self._best("assisted", numbers)
            yield from self._speed(target, library, 1.8 if bf16 else None)
            yield from self._speed(target, llama, 0.9 if int4 else None)
            yield from self._speed(speculative, target, 1.5 if bf16 else None)
            yield from self._speed(self._best("auto", numbers), target, 1.0)
            yield from self._speed(speculative, assisted, 2.0 if bf16 else None)
            yield from self._speed(speculative, llama, 1.0 if int4 else None)
            yield from self._first_token(target, library)
            yield from self._looking(numbers)

    def _best(self, family: str, numbers: str | None = None) -> Engine | None:
        """The quickest of a family by its median."""
        speeds = {
            engine: median(speeds)
            for engine, turns in self._runs.items()
            if engine.family == family and numbers in (None, engine.numbers)
            if (speeds := [run.tokens_per_second for run in turns.values() if run.tokens_per_second])
        }
        return max(speeds, key=speeds.get, default=None)

    def _looking(self, numbers: str) -> Iterator[Ratio]:
        """Each lane with its candidates shown against the same lane without."""
        for unseen in [e for e in self._runs if (e.family, e.numbers) == ("unseen", numbers)]:
            family = "target" if unseen.k is None else "speculative"
            seen = [e for e in self._runs if (e.family, e.numbers, e.k) == (family, numbers, unseen.k)]
            yield from self._speed(seen[0] if seen else None, unseen, 0.97)

    def _speed(self, one: Engine | None, other: Engine | None, bar: float | None) -> Iterator[Ratio]:
        yield from self._quotients("tokens/s", one, other, lambda run: run.tokens_per_second, bar, True)

    def _first_token(self, one: Engine | None, other: Engine | None) -> Iterator[Ratio]:
        yield from self._quotients("first token", one, other, lambda run: run.first_s, 1.1, False)

    def _quotients(
        self,
        what: str,
        one: Engine | None,
        other: Engine | None,
        value: Callable[[Run], float | None],
        bar: float | None,
        at_least: bool,
    ) -> Iterator[Ratio]:
        if one is None or other is None:
            return
        pairs = [
            (value(run), value(self._runs[other][turn]))
            for turn, run in self._runs[one].items()
            if turn in self._runs[other]
        ]
        spread = Spread.of([a / b for a, b in pairs if a and b])
        if spread:
            yield Ratio(f"{what}: {one.name} / {other.name}", spread, bar, at_least)

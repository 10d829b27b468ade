"""What the parts of a round took, in words and numbers: of the mean round of a run, and of a single one."""

from collections.abc import Sequence

from ..metrics import measure
from ..records import Round, RunStats
from ..words import ENGLISH, Words
from .numbers import show

_WHOLE = ("draft", "verify", "other")
_FINER = ("draft", "verify", "judge", "look", "python")


def parts_of(rounds: Sequence[Round]) -> tuple[str, ...]:
    """The parts that are told of these rounds, in the order of time: a recorded CUDA graph tells no finer ones."""
    return _FINER if any(round_.judge_s or round_.look_s for round_ in rounds) else _WHOLE


def profile(rounds: Sequence[Round], words: Words = ENGLISH, current: int | None = None) -> dict[str, object] | None:
    """A table for the page, None without rounds; a column of the mean round, one of the round of index `current`.

    "rows" are [part, name, meaning, [cell, …]], the last of them the whole round's; a cell is [milliseconds, share of
    the round from 0 to 1, the same as a text]. The prompt is not in it.
    """
    if not rounds:
        return None
    columns: list[tuple[str, Round | RunStats, int]] = [
        (words["mean_round"].format(rounds=len(rounds)), measure(rounds), len(rounds))
    ]
    if current is not None and 0 <= current < len(rounds):
        columns.append((words["one_round"].format(number=current + 1), rounds[current], 1))
    rows = [
        [part, words[part], words[f"{part}_meaning"], [_cell(part, spent, n) for _, spent, n in columns]]
        for part in parts_of(rounds)
    ]
    whole = [[_milliseconds(spent.seconds / n), 1, "100 %"] for _, spent, n in columns]
    return {
        "caption": words["profile"],
        "columns": [words["part_of_round"], *(name for name, _, _ in columns)],
        "rows": [*rows, ["whole", words["whole_round"], "", whole]],
    }


def _cell(part: str, spent: Round | RunStats, n: int) -> list[object]:
    """The mean of the `n` rounds that it was spent in."""
    seconds: float = getattr(spent, f"{part}_s")
    share = seconds / spent.seconds if spent.seconds else 0.0
    return [_milliseconds(seconds / n), share, f"{100 * share:.1f} %"]


def _milliseconds(seconds: float) -> str:
    return f"{show(1000 * seconds, 3)} ms"

"""The figures of a run's time."""

from collections.abc import Sequence
from typing import Any

from ..palette import THEMES, ThemeName
from ..records import Outcome, Round
from ..words import ENGLISH, Words
from .figure import CLEAR, Figure, layout
from .numbers import show
from .profile import parts_of
from .spelling import literal

#: Pixels.
_HEIGHT, _LEGEND = 260, 40


def rounds_figure(
    rounds: Sequence[Round], theme: ThemeName = "light", words: Words = ENGLISH, current: int | None = None
) -> Figure:
    """A bar a round: draft, verify and other time on top of one another; the round of index `current` is marked."""
    at = [round_.index + 1 for round_ in rounds]
    traces = [
        {
            "type": "bar",
            "name": literal(words[part]),
            "x": at,
            "y": [1000 * getattr(round_, f"{part}_s") for round_ in rounds],
            "marker": {"color": colour, "line": {"width": 0}},
            "hoverinfo": "skip",
            "showlegend": True,
        }
        for part, colour in _parts(theme).items()
    ]
    highest = max((1000 * round_.seconds for round_ in rounds), default=0.0) or 1.0
    look = layout((words["time_of_rounds"],), theme, _HEIGHT) | {
        "barmode": "stack",
        "margin": {"l": 8, "r": 8, "t": 52, "b": 32 + _LEGEND},
        "xaxis": {
            "range": [0.4, max(at, default=1) + 0.6],
            "showgrid": False,
            "tick0": 0,
            "dtick": _whole_step(len(at)),
        },
        "yaxis": {"range": [0, highest], "nticks": 4, "ticksuffix": " ms", "tickfont": {"size": 15}, "showgrid": True},
        "bargap": 0.15,
        "legend": {"y": _LEGEND / _HEIGHT},
        "shapes": [_column(current + 1, theme)] if current is not None else [],
    }
    return {"data": [*traces, _round_hover(rounds, at, highest, words)], "layout": look}


def _whole_step(n: int) -> int:
    """A round whole number that fits at most eight times into n."""
    return next(step * 10**power for power in range(n + 1) for step in (1, 2, 5) if n <= 8 * step * 10**power)


def _parts(theme: ThemeName) -> dict[str, str]:
    """The parts of time in their order, the draft's in the colours of q and the target's in those of p."""
    colours = THEMES[theme]
    return {"draft": colours.over, "verify": colours.gap, "other": colours.muted}


def _round_hover(rounds: Sequence[Round], at: Sequence[int], highest: float, words: Words) -> dict[str, Any]:
    """Nothing to be seen: over the whole column of a round, what happened in it."""
    return {
        "type": "bar",
        "x": list(at),
        "y": [highest] * len(at),
        "base": 0,
        "marker": {"color": CLEAR, "line": {"width": 0}},
        "showlegend": False,
        "hoverinfo": "text",
        "hovertext": ["<br>".join(map(literal, _round_told(round_, words))) for round_ in rounds],
    }


def _round_told(round_: Round, words: Words) -> list[str]:
    accepted = sum(event.outcome is Outcome.ACCEPTED for event in round_.events)
    times = ((words[part], getattr(round_, f"{part}_s")) for part in parts_of([round_]))
    return [
        words["round_told"].format(
            number=round_.index + 1, accepted=accepted, drafted=round_.k, emitted=len(round_.emitted)
        ),
        *(f"{part} {show(1000 * seconds, 3)} ms" for part, seconds in times),
    ]


def _column(x: int, theme: ThemeName) -> dict[str, Any]:
    """Around the round x, from the top of the figure to the bottom."""
    ink = THEMES[theme].text
    return {
        "type": "rect",
        "x0": x - 0.5,
        "x1": x + 0.5,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"color": ink, "width": 2},
    }

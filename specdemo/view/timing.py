"""The figures of a run's time."""

from collections.abc import Sequence
from typing import Any

from ..palette import THEMES, ThemeName
from ..records import Outcome, Round, RunStats
from ..words import ENGLISH, Words
from .figure import CLEAR, HEAD, Figure, bars, layout, stripes
from .numbers import show
from .spelling import literal


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
        }
        for part, colour in _parts(theme).items()
        if part != "prefill"
    ]
    highest = max((1000 * round_.seconds for round_ in rounds), default=0.0) or 1.0
    look = layout((words["time_of_rounds"],), theme, 220) | {
        "barmode": "stack",
        "margin": {"l": 8, "r": 8, "t": 72, "b": 32},
        "xaxis": {
            "range": [0.4, max(at, default=1) + 0.6],
            "showgrid": False,
            "tick0": 0,
            "dtick": _whole_step(len(at)),
        },
        "yaxis": {"range": [0, highest], "nticks": 4, "ticksuffix": " ms", "tickfont": {"size": 15}, "showgrid": True},
        "bargap": 0.15,
        "legend": {"y": 1 - 40 / 220},
        "shapes": [_column(current + 1, theme)] if current is not None else [],
    }
    return {"data": [*traces, _round_hover(rounds, at, highest, words)], "layout": look}


def run_figure(stats: RunStats, theme: ThemeName = "light", words: Words = ENGLISH) -> Figure:
    """One bar: how the seconds of a run divide into reading the prompt, drafting, verifying and the rest."""
    seconds = {part: getattr(stats, f"{part}_s") for part in _parts(theme)}
    whole = sum(seconds.values())
    traces = []
    for part, colour in _parts(theme).items():
        share = seconds[part] / whole if whole else 0.0
        label = words["share_of_time"].format(part=words[part], s=show(seconds[part], 3), percent=f"{100 * share:.0f}")
        pattern = stripes(THEMES[theme]) if part == "draft" else None
        start = sum(trace["x"][0] for trace in traces)
        traces.append(bars([seconds[part]], colour, label, base=[start], pattern=pattern))
    look = layout((words["time_of_run"], words["seconds"].format(s=show(whole))), theme, 232) | {
        "margin": {"l": 16, "r": 16, "t": HEAD, "b": 118},
        "xaxis": {"range": [0, whole or 1.0], "visible": False},
        "yaxis": {"visible": False},
        "legend": {"y": 106 / 232},
    }
    return {"data": traces, "layout": look}


def _whole_step(n: int) -> int:
    """A round whole number that fits at most eight times into n."""
    return next(step * 10**power for power in range(n + 1) for step in (1, 2, 5) if n <= 8 * step * 10**power)


def _parts(theme: ThemeName) -> dict[str, str]:
    """The parts of time in their order, the draft's in the colours of q and the target's in those of p."""
    colours = THEMES[theme]
    return {"prefill": colours.line, "draft": colours.over, "verify": colours.gap, "other": colours.muted}


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
    times = ((words[part], getattr(round_, f"{part}_s")) for part in ("draft", "verify", "other"))
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

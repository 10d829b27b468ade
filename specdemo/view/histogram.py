"""Draws of the lab against p, and against what a wrong rule gives exactly."""

from collections.abc import Sequence
from typing import Any

from ..palette import THEMES, Theme, ThemeName
from ..words import Words
from .figure import Figure
from .shares import Sample, shares_figure
from .spelling import literal, name


def histogram_figure(
    tokens: Sequence[str],
    counts: Sequence[int],
    p: Sequence[float],
    law: Sequence[float] | None,
    seed: int,
    theme: ThemeName,
    words: Words,
) -> Figure:
    """`law`: what a wrong rule gives, marked in red beside p; None for the right one."""
    n = sum(counts)
    heading = words.say("lab_histogram", n=f"{n:,}", seed=seed), words["lab_histogram_how"]
    rows = [literal(name(token, i)) for i, token in enumerate(tokens)]
    figure = shares_figure(heading, rows, p, words["lab_key_p"], [Sample(words["lab_key_share"], counts, n)], theme)
    if law is None:
        return figure
    look = figure["layout"]["xaxis"]
    look["range"] = [0, max(look["range"][1], 1.04 * max(law))]
    return {**figure, "data": [*figure["data"], _strokes(law, THEMES[theme], words["lab_key_law"])]}


def _strokes(law: Sequence[float], colours: Theme, label: str) -> dict[str, Any]:
    """A stroke across each row."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": list(law),
        "y": list(range(len(law))),
        "marker": {
            "symbol": "line-ns",
            "size": 28,
            "color": colours.lossy,
            "line": {"color": colours.lossy, "width": 4},
        },
        "cliponaxis": False,
        "hoverinfo": "skip",
        "name": literal(label),
        "showlegend": True,
    }

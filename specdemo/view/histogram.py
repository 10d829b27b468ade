"""Draws against the law: what came out, how sure one can be of it, and p behind it."""

import math
from collections.abc import Sequence
from typing import Any

from ..palette import THEMES, Theme, ThemeName
from ..words import Words
from .figure import HEAD, THICK, Figure, bars, layout
from .numbers import brief
from .spelling import literal, name

#: Pixels: a row of tokens, the axis below, the legend, the numbers behind the bars.
_ROW, _AXIS, _LEGEND, _END = 40, 56, 74, 92

#: Standard errors that the error bars reach to each side: 95 of 100 such bars hold what they estimate.
_REACH = 1.96


def histogram_figure(
    tokens: Sequence[str],
    counts: Sequence[int],
    p: Sequence[float],
    law: Sequence[float] | None,
    seed: int,
    theme: ThemeName,
    words: Words,
) -> Figure:
    """`law`: what a wrong rule gives exactly, marked beside p; None for the right one."""
    colours, n = THEMES[theme], sum(counts)
    shares = [count / n for count in counts]
    errors = [_REACH * math.sqrt(share * (1 - share) / n) for share in shares]
    ends = [max(both) for both in zip((share + error for share, error in zip(shares, errors)), p)]
    reach = max(ends)
    heading = words["lab_histogram"].format(n=f"{n:,}", seed=seed), words["lab_histogram_how"]
    height = HEAD + _ROW * len(tokens) + _AXIS + _LEGEND
    traces = [
        bars(p, colours.gap, words["lab_key_p"], edge=colours.p),
        _shares(shares, errors, colours, words["lab_key_share"]),
        *([_marks(law, colours, words["lab_key_law"])] if law else []),
        _numbers(ends, shares, colours),
    ]
    look = layout(heading, theme, height) | {
        "legend": {"y": _LEGEND / height},
        "margin": {"l": 8, "r": _END, "t": HEAD, "b": _AXIS + _LEGEND},
        "xaxis": {"range": [0, reach or 1], "nticks": 5, "title": {"text": literal(words["lab_share_axis"])}},
        "yaxis": {
            "tickvals": list(range(len(tokens))),
            "ticktext": [literal(name(token, i)) for i, token in enumerate(tokens)],
            "range": [len(tokens) - 0.5, -0.5],
        },
    }
    return {"data": traces, "layout": look}


def _shares(shares: Sequence[float], errors: Sequence[float], colours: Theme, label: str) -> dict[str, Any]:
    trace = bars(shares, colours.muted, label)
    error = {"type": "data", "array": list(errors), "color": colours.text, "thickness": 2.5, "width": 6}
    return trace | {"width": THICK / 3, "error_x": error}


def _marks(law: Sequence[float], colours: Theme, label: str) -> dict[str, Any]:
    """A stroke across each row."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": list(law),
        "y": list(range(len(law))),
        "marker": {
            "symbol": "line-ns",
            "size": _ROW * THICK,
            "color": colours.lossy,
            "line": {"color": colours.lossy, "width": 4},
        },
        "hoverinfo": "skip",
        "name": literal(label),
        "showlegend": True,
    }


def _numbers(ends: Sequence[float], shares: Sequence[float], colours: Theme) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "text",
        "x": list(ends),
        "y": list(range(len(ends))),
        "text": [f" {brief(share)}" for share in shares],
        "textposition": "middle right",
        "textfont": {"color": colours.text, "size": 16},
        "cliponaxis": False,
        "showlegend": False,
        "hoverinfo": "skip",
    }

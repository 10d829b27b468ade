"""The figures of the bench: engines beside one another, speed over K, where a round's time goes."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..palette import THEMES, Theme, ThemeName
from .figure import HEAD, Figure, bars, layout
from .spelling import literal

_ROW, _AXIS, _LEGEND = 34, 60, 56


class Bar(NamedTuple):
    """One engine: the median, its quartiles, and the mark that it cannot get beyond, if there is one."""

    name: str
    median: float
    low: float
    high: float
    ours: bool
    limit: float | None = None


class Line(NamedTuple):
    """One engine over K: (K, median, low, high), K = 0 without a draft."""

    name: str
    points: Sequence[tuple[int, float, float, float]]
    ours: bool


def bars_figure(rows: Sequence[Bar], heading: tuple[str, ...], axis: str, theme: ThemeName = "light") -> Figure:
    """A bar a row from the top: ours in the colour of q, the others in that of p, their limits as lines across."""
    colours = THEMES[theme]
    height = HEAD + _ROW * max(len(rows), 2) + _AXIS
    traces = [
        bars([row.median for row in rows], colours.over)
        | {
            "marker": {"color": [colours.over if row.ours else colours.gap for row in rows]},
            "error_x": _errors(rows, colours),
        }
    ]
    reach = 1.12 * max((max(row.high, row.median, row.limit or 0) for row in rows), default=1.0)
    limits = [(i, row.limit) for i, row in enumerate(rows) if row.limit is not None]
    look = layout(heading, theme, height) | {
        "margin": {"l": 8, "r": 72, "t": HEAD, "b": _AXIS},
        "xaxis": {"range": [0, reach], "title": {"text": axis}, "nticks": 6},
        "yaxis": {
            "tickvals": list(range(len(rows))),
            "ticktext": [literal(row.name) for row in rows],
            "range": [len(rows) - 0.5, -0.5],
        },
        "shapes": [_limit(x, i, colours) for i, x in limits],
        "annotations": [_value(row, i, colours) for i, row in enumerate(rows)],
    }
    return {"data": traces, "layout": look}


def lines_figure(lines: Sequence[Line], heading: tuple[str, ...], axis: str, theme: ThemeName = "light") -> Figure:
    """Speed over K; ours solid, the others dashed."""
    colours = THEMES[theme]
    height, most = 380, max((k for line in lines for k, *_ in line.points), default=1)
    traces = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": literal(line.name),
            "x": [k for k, *_ in line.points],
            "y": [middle for _, middle, _, _ in line.points],
            "error_y": {
                "type": "data",
                "symmetric": False,
                "array": [high - middle for _, middle, _, high in line.points],
                "arrayminus": [middle - low for _, middle, low, _ in line.points],
                "color": colours.muted,
            },
            "line": {"color": colours.q if line.ours else colours.p, "dash": "solid" if line.ours else "dash"},
            "marker": {"size": 9, "symbol": i},
        }
        for i, line in enumerate(lines)
    ]
    look = layout(heading, theme, height) | {
        "margin": {"l": 8, "r": 16, "t": HEAD, "b": _AXIS + _LEGEND},
        "xaxis": {"title": {"text": "K, tokens drafted a round (0: none)"}, "dtick": 1, "range": [-0.2, most + 0.2]},
        "yaxis": {
            "rangemode": "tozero",
            "title": {"text": axis, "standoff": 12},
            "showgrid": True,
            "tickfont": {"size": 15},
        },
        "legend": {"y": _LEGEND / height},
    }
    return {"data": traces, "layout": look}


def parts_figure(
    rows: Mapping[str, Mapping[str, float]], heading: tuple[str, ...], axis: str, theme: ThemeName = "light"
) -> Figure:
    """A bar a row, made of its parts in their order: {row: {part: length}}; the same parts in every row."""
    colours = THEMES[theme]
    height = HEAD + 46 * max(len(rows), 1) + _AXIS + 2 * _LEGEND
    tones = (colours.over, colours.q, colours.gap, colours.shared, colours.muted, colours.line)
    parts = list(next(iter(rows.values()), {}))
    starts = [0.0] * len(rows)
    traces = []
    for part, tone in zip(parts, tones, strict=True):
        lengths = [row[part] for row in rows.values()]
        label = part if len(rows) > 1 else f"{part} {lengths[0]:.2f}"
        hover = {"hoverinfo": "text", "hovertext": [literal(f"{part} {x:.2f}") for x in lengths]}
        traces.append(bars(lengths, tone, label, base=list(starts)) | hover)
        starts = [start + length for start, length in zip(starts, lengths)]
    look = layout(heading, theme, height) | {
        "margin": {"l": 8, "r": 16, "t": HEAD, "b": _AXIS + 2 * _LEGEND},
        "xaxis": {"range": [0, 1.02 * max(starts, default=1.0)], "title": {"text": axis}, "nticks": 6},
        "yaxis": {"tickvals": list(range(len(rows))), "ticktext": [literal(name) for name in rows]},
        "legend": {"y": 2 * _LEGEND / height},
    }
    return {"data": traces, "layout": look}


def _errors(rows: Sequence[Bar], colours: Theme) -> dict[str, Any]:
    return {
        "type": "data",
        "symmetric": False,
        "array": [row.high - row.median for row in rows],
        "arrayminus": [row.median - row.low for row in rows],
        "color": colours.text,
        "thickness": 2,
    }


def _limit(x: float, i: int, colours: Theme) -> dict[str, Any]:
    line = {"color": colours.text, "width": 3, "dash": "dot"}
    return {"type": "line", "x0": x, "x1": x, "y0": i - 0.5, "y1": i + 0.5, "line": line}


def _value(row: Bar, i: int, colours: Theme) -> dict[str, Any]:
    """The median as a number, behind the upper quartile."""
    return {
        "x": max(row.high, row.median),
        "y": i,
        "text": f"{row.median:.1f}",
        "xanchor": "left",
        "xshift": 6,
        "showarrow": False,
        "font": {"size": 16, "color": colours.text},
    }

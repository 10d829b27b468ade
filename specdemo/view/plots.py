"""The figures of a position: p and q, the coin, the residual. Dicts in Plotly's format; the browser draws them.

Bars lie on their sides, so that token texts stay upright on every screen, and stand at numbers, not at categories, so
that two tokens of one spelling stay two bars. A text that came from a model passes through `spelling`, since Plotly
takes <b> and its like for commands. `layout.meta` has the heading in plain words.
"""

import math
from collections.abc import Sequence
from typing import Any

from ..palette import PALETTE, THEMES, Theme, ThemeName, Tone
from ..records import Outcome, TokenEvent
from ..words import ENGLISH, Words
from .figure import CLEAR, HEAD, SANS, Figure, bars, layout, stripes
from .numbers import comparable, show
from .position import Row, residual, rows
from .spelling import literal, name, shorten, visible, width

#: For `Plotly.react`: no button, no link and no upload to anyone, and no TeX in what a model wrote.
CONFIG = {
    "displayModeBar": False,
    "responsive": True,
    "showSendToCloud": False,
    "plotlyServerURL": "",
    "displaylogo": False,
    "typesetMath": False,
}

#: Pixels: a row of tokens, the axis below, a legend of up to three lines, the numbers behind the ends of bars.
_ROW, _AXIS, _LEGEND, _END = 38, 56, 74, 88

#: Pixels of a column of the names before the rows, at most: of tokens, and of everything else.
_COLUMN, _SMALL_COLUMN = 10.5, 8.5

#: A figure of tokens is at least so many rows high: where only a few are possible nothing should jump at each click.
_LEAST_ROWS = 4

#: Everything else may be so many times as long as the longest token's bar; a longer one is broken, and says so.
_LONGEST_REST, _BROKEN_REST = 2.0, 1.4


# -- p and q ----------------------------------------------------------------------------------------------------------


def position_figure(event: TokenEvent, theme: ThemeName = "light", words: Words = ENGLISH) -> Figure:
    """p above q for each of the likeliest tokens: what both share, what q has too much and too little. Or p alone."""
    colours, here = THEMES[theme], rows(event)
    scale = _rest_scale([max(row.p, row.q or 0) for row in here], here)
    drawn = [row if row.token_id is not None else _shrunk(row, scale) for row in here]
    if event.q is None:
        second = words["p_alone"].format(meaning=words[f"{event.outcome}_meaning"])
        traces = [bars([row.p for row in drawn], colours.gap, edge=colours.p)]
    else:
        key = "alpha_unjudged" if event.outcome is Outcome.DISCARDED else "alpha"
        second = words[key].format(alpha=show(event.alpha))
        traces = [*_masses(drawn, _sums(here), colours, words), *_outlines(drawn, colours)]
    ends = [max(row.p, row.q or 0) for row in drawn]
    traces += [_numbers(ends, "p", [row.p for row in here], 0 if event.q is None else -0.22, colours.p)]
    if event.q is not None:
        traces += [_numbers(ends, "q", [row.q for row in here], 0.22, colours.q)]
    first = f"{name(event.text, event.token_id)} {PALETTE[event.outcome].glyph} {words[event.outcome]}"
    axis = words["p_axis"] if event.q is None else words["pq_axis"]
    return _token_figure(traces, here, event.outcome, (first, second), axis, scale, theme, words)


def _masses(drawn: Sequence[Row], sums: dict[str, float], colours: Theme, words: Words) -> list[dict[str, Any]]:
    """What is shared over the full height of a row; beyond it p − q in p's half above, q − p in q's half below."""
    start = [row.shared for row in drawn]
    label = {mass: words[mass].format(mass=show(total, 3)) for mass, total in sums.items()}
    return [
        bars(start, colours.shared, label["shared"]),
        bars([row.over for row in drawn], colours.over, label["over"], half=1, base=start, pattern=stripes(colours)),
        bars([row.gap for row in drawn], colours.gap, label["gap"], half=-1, base=start),
    ]


def _outlines(drawn: Sequence[Row], colours: Theme) -> list[dict[str, Any]]:
    return [
        bars([row.p for row in drawn], CLEAR, half=-1, edge=colours.p),
        bars([row.q for row in drawn], CLEAR, half=1, edge=colours.q),
    ]


def _sums(here: Sequence[Row]) -> dict[str, float]:
    return {mass: sum(getattr(row, mass) for row in here) for mass in ("shared", "over", "gap")}


# -- the residual -----------------------------------------------------------------------------------------------------


def residual_figure(
    event: TokenEvent, theme: ThemeName = "light", words: Words = ENGLISH, *, drawn: bool = True
) -> Figure | None:
    """What a resampled token was drawn from, over the rows of its `position_figure`; None for any other token.

    Without `drawn` nothing was, and nothing is marked: it is what a token would be drawn from.
    """
    if event.outcome is not Outcome.RESAMPLED:
        return None
    colours, here = THEMES[theme], [row._replace(mine=row.mine and drawn) for row in rows(event)]
    values = residual(event, here)
    scale = _rest_scale(values, here)
    lengths = [value if row.token_id is not None else scale * value for row, value in zip(here, values)]
    traces = [bars(lengths, colours.gap, edge=colours.p), _numbers(lengths, "", values, 0, colours.p)]
    heading = words["residual" if drawn else "residual_would"], words["residual_formula"]
    return _token_figure(traces, here, event.outcome, heading, words["residual_axis"], scale, theme, words)


# -- the coin ---------------------------------------------------------------------------------------------------------


def coin_figure(event: TokenEvent, theme: ThemeName = "light", words: Words = ENGLISH) -> Figure | None:
    """Where u fell on the line from 0 to 1: below p/q is kept, above refused. None for a token without a coin."""
    if event.u is None or not event.q:
        return None
    colours, ratio = THEMES[theme], event.p / event.q
    edge = min(1.0, ratio)
    u, threshold = comparable(event.u, ratio)
    verdict = "kept_surely" if ratio >= 1 else "kept" if event.outcome is Outcome.ACCEPTED else "refused"
    first = words["coin"].format(token=name(event.text, event.token_id))
    heading = first, words[verdict].format(u=u, ratio=threshold)
    look = layout(heading, theme, 204) | {
        "margin": {"l": 16, "r": 16, "t": HEAD + 36, "b": 36},
        "xaxis": {"range": [0, 1], "visible": False},
        "yaxis": {"range": [-0.5, 0.5], "visible": False},
        "shapes": [_mark(event.u, colours)],
        "annotations": [
            _flag(event.u, f"u = {u}", "above", colours),
            *(_flag(end, f"{end}", "below", colours) for end in (0, 1) if abs(end - edge) > 0.3),
            _flag(edge, f"p/q = {threshold}" if ratio < 1 else f"1 ≤ p/q = {threshold}", "below", colours),
            *_zone_names(event.u, edge, colours, words),
        ],
    }
    return {"data": [_zone(0, edge, colours.shared), _zone(edge, 1, colours.over, stripes(colours))], "layout": look}


def _zone(start: float, end: float, colour: str, pattern: dict[str, Any] | None = None) -> dict[str, Any]:
    return bars([end - start], colour, base=[start], pattern=pattern) | {"width": 1}


def _mark(u: float, colours: Theme) -> dict[str, Any]:
    line = {"color": colours.text, "width": 6}
    return {"type": "line", "x0": u, "x1": u, "y0": 0, "y1": 1.08, "yref": "paper", "line": line}


def _flag(x: float, text: str, side: str, colours: Theme) -> dict[str, Any]:
    """A text above or below the bar at x; at either end it leans inwards."""
    return {
        "x": x,
        "xanchor": "left" if x < 0.2 else "right" if x > 0.8 else "center",
        "xshift": -6 if x < 0.2 else 6 if x > 0.8 else 0,
        "y": 1.08 if side == "above" else 0,
        "yref": "paper",
        "yanchor": "bottom" if side == "above" else "top",
        "text": f"<b>{text}</b>" if side == "above" else text,
        "font": {"size": 18 if side == "above" else 16, "color": colours.text},
        "showarrow": False,
    }


def _zone_names(u: float, edge: float, colours: Theme, words: Words) -> list[dict[str, Any]]:
    """Each in the widest stretch of its zone that the mark leaves free; none where it would not fit."""
    named = []
    for zone, start, end in (("keep", 0.0, edge), ("refuse", edge, 1.0)):
        cuts = [start, min(max(u, start), end), end]
        left, right = max(zip(cuts, cuts[1:]), key=lambda stretch: stretch[1] - stretch[0])
        if right - left > 0.2:
            named.append(
                _plate((left + right) / 2, words[zone], getattr(colours, "shared" if zone == "keep" else "over"))
            )
    return named


def _plate(x: float, text: str, colour: str) -> dict[str, Any]:
    font = {"size": 18}
    return {"x": x, "y": 0, "text": text, "font": font, "bgcolor": colour, "borderpad": 4, "showarrow": False}


# -- what the figures of tokens share ---------------------------------------------------------------------------------


def _token_figure(
    traces: list[dict[str, Any]],
    here: Sequence[Row],
    outcome: Outcome,
    heading: tuple[str, str],
    axis: str,
    scale: float,
    theme: ThemeName,
    words: Words,
) -> Figure:
    """Traces over the rows `here`, with the event's own row marked."""
    tone = _tone(outcome, theme)
    reach = max(x for trace in traces for x in trace["x"]) or 1.0
    slots = max(len(here), _LEAST_ROWS)
    height = HEAD + _ROW * slots + _AXIS + _LEGEND
    names, rest = _names(here, outcome), _rest_lines(scale, words) if here[-1].token_id is None else []
    look = layout(heading, theme, height, tone.ink) | {
        "legend": {"y": _LEGEND / height},
        "margin": {"l": _names_room(names, rest), "r": _END, "t": HEAD, "b": _AXIS + _LEGEND},
        "xaxis": {"range": [0, reach], "dtick": _step(reach), "title": {"text": axis}},
        "yaxis": {
            "tickvals": list(range(len(here))),
            "ticktext": _ticks(here, names, rest),
            "automargin": False,  # it has plotly.js lay all out two or three times
            "range": [slots - 0.5, -0.5],
        },
        "shapes": [_band(i, tone) for i, row in enumerate(here) if row.mine],
    }
    if scale < 1:
        look["shapes"] += [_break(reach * at, len(here) - 1, theme) for at in (0.88, 0.91)]
    return {"data": [*traces, _hover(here, reach, words)], "layout": look}


def _numbers(ends: Sequence[float], symbol: str, values: Sequence[float], offset: float, ink: str) -> dict[str, Any]:
    """The values, written behind the ends of their rows' bars."""
    return {
        "type": "scatter",
        "mode": "text",
        "x": list(ends),
        "y": [i + offset for i in range(len(ends))],
        "text": [f" {symbol} {show(value, 3)}" for value in values],
        "textposition": "middle right",
        "textfont": {"color": ink, "size": 16},
        "cliponaxis": False,
        "showlegend": False,
        "hoverinfo": "skip",
    }


def _hover(here: Sequence[Row], reach: float, words: Words) -> dict[str, Any]:
    """Nothing to be seen: over each row, what can be read there to six digits."""
    return bars([reach] * len(here), CLEAR) | {
        "width": 1,
        "hoverinfo": "text",
        "hovertext": ["<br>".join(map(literal, _exactly(row, words))) for row in here],
    }


def _exactly(row: Row, words: Words) -> list[str]:
    lines = [words["everything_else"]]
    if row.token_id is not None:
        lines = [shorten(visible(row.text), 60), words["token"].format(id=row.token_id)]
    lines.append(f"p = {show(row.p, 6)}")
    if row.q is not None:
        lines.append(f"q = {show(row.q, 6)}")
        if row.q and row.token_id is not None:
            lines.append(f"p/q = {show(row.p / row.q, 6)}")
        lines.append(f"min(p, q) = {show(row.shared, 6)}")
        lines += [f"q − p = {show(row.over, 6)}"] * bool(row.over) + [f"p − q = {show(row.gap, 6)}"] * bool(row.gap)
    return lines


def _names(here: Sequence[Row], outcome: Outcome) -> list[str]:
    """What the tokens among the rows are called; with their ids where two are spelled alike."""
    names = [name(row.text, row.token_id) for row in here if row.token_id is not None]
    names = [one if names.count(one) == 1 else f"{one} #{row.token_id}" for one, row in zip(names, here)]
    return [f"{PALETTE[outcome].glyph} {one}" if row.mine else one for one, row in zip(names, here)]


def _rest_lines(scale: float, words: Words) -> list[str]:
    """What everything else is called."""
    whole = words["everything_else"]
    return whole.split(" ", 1) if scale == 1 else [whole, words["not_to_scale"]]


def _ticks(here: Sequence[Row], names: Sequence[str], rest: Sequence[str]) -> list[str]:
    """What stands before each row."""
    ticks = [f"<b>{literal(one)}</b>" if row.mine else literal(one) for one, row in zip(names, here)]
    lines = "<br>".join(map(literal, rest))
    return [*ticks, *([f'<span style="font-family:{SANS};font-size:15px">{lines}</span>'] if rest else [])]


def _names_room(names: Sequence[str], rest: Sequence[str]) -> float:
    """Pixels that the names before the rows take."""
    long, small = (max((sum(map(width, text)) for text in texts), default=0) for texts in (names, rest))
    return 12 + max(_COLUMN * long, _SMALL_COLUMN * small)


def _band(i: int, tone: Tone) -> dict[str, Any]:
    """Behind the row i, from the left edge of the figure on."""
    return {
        "type": "rect",
        "layer": "below",
        "xref": "paper",
        "x0": -2,
        "x1": 2,
        "y0": i - 0.5,
        "y1": i + 0.5,
        "fillcolor": tone.fill,
        "line": {"width": 0},
    }


def _break(x: float, i: int, theme: ThemeName) -> dict[str, Any]:
    """A cut across the bars of row i."""
    line = {"color": THEMES[theme].page, "width": 4}
    return {"type": "line", "x0": x, "x1": x, "y0": i - 0.45, "y1": i + 0.45, "line": line}


def _rest_scale(lengths: Sequence[float], here: Sequence[Row]) -> float:
    """By what the bars of everything else are shortened where those of the tokens could not be told apart else."""
    if here[-1].token_id is not None:
        return 1.0
    longest, rest = max(lengths[:-1]), lengths[-1]
    return _BROKEN_REST * longest / rest if 0 < _LONGEST_REST * longest < rest else 1.0


def _shrunk(row: Row, scale: float) -> Row:
    p, q, shared, over, gap = (None if x is None else scale * x for x in row[2:7])
    return row._replace(p=p, q=q, shared=shared, over=over, gap=gap)


def _step(reach: float) -> float:
    """A round number that fits once or twice into `reach`: more ticks would run into one another on a telephone."""
    power = 10 ** math.floor(math.log10(0.7 * reach))
    return next(n * power for n in (5, 4, 2, 1) if n * power <= 0.7 * reach)


def _tone(outcome: Outcome, theme: ThemeName) -> Tone:
    return getattr(PALETTE[outcome], theme)

"""The figures of a position and of a run, as plain dicts in Plotly's format; the browser draws them.

Bars lie on their sides, so that token texts stay upright on every screen, and stand at numbers, not at categories, so
that two tokens of one spelling stay two bars. A text that came from a model passes through `spelling`, since Plotly
takes <b> and its like for commands. `layout.meta.alt` says in words what a figure shows.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

from plotly import graph_objects as go

from ..palette import PALETTE, THEMES, Theme, ThemeName, Tone
from ..records import Outcome, Round, RunStats, TokenEvent
from .numbers import comparable, show
from .position import SHOWN, Row, residual, rows
from .spelling import literal, name, shorten, visible
from .words import ENGLISH, Words

Figure = dict[str, Any]

#: For `Plotly.react`: no button, no link and no upload to anyone, and no TeX in what a model wrote.
CONFIG = {
    "displayModeBar": False,
    "responsive": True,
    "showSendToCloud": False,
    "plotlyServerURL": "",
    "displaylogo": False,
    "typesetMath": False,
}

_SANS = "system-ui, 'Segoe UI', 'Noto Sans', 'Noto Sans SC', 'PingFang SC', 'Microsoft YaHei', sans-serif"
_MONO = "ui-monospace, 'Cascadia Mono', Menlo, Consolas, 'DejaVu Sans Mono', 'Noto Sans Mono CJK SC', monospace"
_CLEAR = "rgba(0,0,0,0)"

#: Pixels: a row of tokens, the heading above them, the axis and the legend below, the numbers at the ends of bars.
_ROW, _HEAD, _FOOT, _END = 38, 76, 126, 88

#: Of a figure of tokens; all are as high, so that nothing jumps from one token to the next.
_HEIGHT = _HEAD + _FOOT + _ROW * (SHOWN + 1)

#: Of a row's height: what its bars take.
_THICK = 0.78

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
        traces = [_bars([row.p for row in drawn], colours.gap, edge=colours.p)]
    else:
        second = words["alpha"].format(alpha=show(event.alpha))
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
        _bars(start, colours.shared, label["shared"]),
        _bars([row.over for row in drawn], colours.over, label["over"], half=1, base=start, pattern=_stripes(colours)),
        _bars([row.gap for row in drawn], colours.gap, label["gap"], half=-1, base=start),
    ]


def _outlines(drawn: Sequence[Row], colours: Theme) -> list[dict[str, Any]]:
    return [
        _bars([row.p for row in drawn], _CLEAR, half=-1, edge=colours.p),
        _bars([row.q for row in drawn], _CLEAR, half=1, edge=colours.q),
    ]


def _sums(here: Sequence[Row]) -> dict[str, float]:
    return {mass: sum(getattr(row, mass) for row in here) for mass in ("shared", "over", "gap")}


# -- the residual -----------------------------------------------------------------------------------------------------


def residual_figure(event: TokenEvent, theme: ThemeName = "light", words: Words = ENGLISH) -> Figure | None:
    """What a resampled token was drawn from, over the rows of its `position_figure`; None for any other token."""
    if event.outcome is not Outcome.RESAMPLED:
        return None
    colours, here = THEMES[theme], rows(event)
    values = residual(event, here)
    scale = _rest_scale(values, here)
    drawn = [value if row.token_id is not None else scale * value for row, value in zip(here, values)]
    traces = [_bars(drawn, colours.gap, edge=colours.p), _numbers(drawn, "", values, 0, colours.p)]
    heading = words["residual"], words["residual_formula"]
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
    layout = _layout(heading, theme, 204)
    layout |= {
        "margin": {"l": 16, "r": 16, "t": _HEAD + 36, "b": 36},
        "xaxis": {"range": [0, 1], "visible": False},
        "yaxis": {"range": [-0.5, 0.5], "visible": False},
        "shapes": [_mark(event.u, colours)],
        "annotations": [
            _flag(event.u, f"u = {u}", "above", colours),
            *(_flag(end, f"{end}", "below", colours) for end in (0, 1) if abs(end - edge) > 0.3),
            _flag(edge, f"p/q = {threshold}", "below", colours),
            *_zone_names(event.u, edge, colours, words),
        ],
    }
    return {"data": [_zone(0, edge, colours.shared), _zone(edge, 1, colours.over, _stripes(colours))], "layout": layout}


def _zone(start: float, end: float, colour: str, pattern: dict[str, Any] | None = None) -> dict[str, Any]:
    return _bars([end - start], colour, base=[start], pattern=pattern) | {"width": 1}


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


# -- time -------------------------------------------------------------------------------------------------------------


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
    layout = _layout((words["rounds"],), theme, 220)
    layout |= {
        "barmode": "stack",
        "margin": {"l": 8, "r": 8, "t": 72, "b": 32},
        "xaxis": {"range": [0.4, max(at, default=1) + 0.6], "showgrid": False, "tickformat": "d", "nticks": 12},
        "yaxis": {"range": [0, highest], "nticks": 4, "ticksuffix": " ms", "tickfont": {"size": 15}, "showgrid": True},
        "bargap": 0.15,
        "legend": {"y": 1 - 40 / 220},
        "shapes": [_column(current + 1, theme)] if current is not None else [],
    }
    return {"data": [*traces, _round_hover(rounds, at, highest, words)], "layout": layout}


def run_figure(stats: RunStats, theme: ThemeName = "light", words: Words = ENGLISH) -> Figure:
    """One bar: how the seconds of a run divide into reading the prompt, drafting, verifying and the rest."""
    seconds = {part: getattr(stats, f"{part}_s") for part in _parts(theme)}
    whole = sum(seconds.values())
    traces = []
    for part, colour in _parts(theme).items():
        share = seconds[part] / whole if whole else 0.0
        label = words["share_of_time"].format(part=words[part], s=show(seconds[part], 3), percent=f"{100 * share:.0f}")
        pattern = _stripes(THEMES[theme]) if part == "draft" else None
        start = sum(trace["x"][0] for trace in traces)
        traces.append(_bars([seconds[part]], colour, label, base=[start], pattern=pattern))
    layout = _layout((words["run"], words["seconds"].format(s=show(whole))), theme, 210)
    layout |= {
        "margin": {"l": 16, "r": 16, "t": _HEAD, "b": 96},
        "xaxis": {"range": [0, whole or 1.0], "visible": False},
        "yaxis": {"visible": False},
        "legend": {"y": 84 / 210},
    }
    return {"data": traces, "layout": layout}


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
        "marker": {"color": _CLEAR, "line": {"width": 0}},
        "showlegend": False,
        "hoverinfo": "text",
        "hovertext": ["<br>".join(map(literal, _round_told(round_, words))) for round_ in rounds],
    }


def _round_told(round_: Round, words: Words) -> list[str]:
    accepted = sum(event.outcome is Outcome.ACCEPTED for event in round_.events)
    times = ((words[part], getattr(round_, f"{part}_s")) for part in ("draft", "verify", "other"))
    return [
        words["round"].format(
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
    reach = max(trace_end for trace in traces for trace_end in trace["x"]) or 1.0
    layout = _layout(heading, theme, _HEIGHT, tone.ink)
    layout["xaxis"] = {"range": [0, reach], "dtick": _step(reach), "title": {"text": axis}}
    layout["yaxis"] = {
        "tickvals": list(range(len(here))),
        "ticktext": [_tick(row, outcome, scale, words) for row in here],
        "range": [SHOWN + 0.5, -0.5],
    }
    layout["shapes"] = [_band(i, tone) for i, row in enumerate(here) if row.mine]
    if scale < 1:
        layout["shapes"] += [_break(reach * at, len(here) - 1, theme) for at in (0.88, 0.91)]
    return {"data": [*traces, _hover(here, reach, words)], "layout": layout}


def _bars(
    x: Sequence[float],
    colour: str,
    label: str = "",
    *,
    half: int = 0,
    base: Sequence[float] | None = None,
    edge: str | None = None,
    pattern: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A bar a row: over its full height, or in its upper (half = −1) or lower (half = 1) half."""
    trace = {
        "type": "bar",
        "orientation": "h",
        "x": list(x),
        "y": [i + half * _THICK / 4 for i in range(len(x))],
        "width": _THICK / (2 if half else 1),
        "marker": {"color": colour, "line": {"color": edge, "width": 2} if edge else {"width": 0}},
        "hoverinfo": "skip",
        "showlegend": bool(label),
        "name": literal(label),
    }
    if base is not None:
        trace["base"] = list(base)
    if pattern is not None:
        trace["marker"]["pattern"] = pattern
    return trace


def _stripes(colours: Theme) -> dict[str, Any]:
    """What tells q − p from p − q without colour."""
    return {"shape": "/", "bgcolor": colours.over, "fgcolor": colours.q, "size": 8, "solidity": 0.35}


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
    return _bars([reach] * len(here), _CLEAR) | {
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


def _tick(row: Row, outcome: Outcome, scale: float, words: Words) -> str:
    if row.token_id is None:
        first, _, second = words["everything_else"].partition(" ")
        lines = [first, second] if scale == 1 else [words["everything_else"], words["not_to_scale"]]
        return f'<span style="font-family:{_SANS};font-size:15px">{"<br>".join(map(literal, lines))}</span>'
    text = literal(name(row.text, row.token_id))
    return f"<b>{PALETTE[outcome].glyph} {text}</b>" if row.mine else text


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


def _layout(heading: tuple[str, ...], theme: ThemeName, height: int, ink: str | None = None) -> dict[str, Any]:
    """The first line of a heading is large, in `ink` if given; the second explains it."""
    first, *more = map(literal, heading)
    colour = f"color:{ink}" if ink else ""
    second = "".join(f'<br><span style="font-size:18px">{line}</span>' for line in more)
    return {
        "template": _template(theme),
        "height": height,
        "title": {"text": f'<b style="{colour}">{first}</b>{second}', "pad": {"t": 30 if more else 12, "l": 8}},
        "meta": {"alt": ": ".join(heading)},
    }


@cache
def _template(theme: ThemeName) -> dict[str, Any]:
    """What the figures of a theme share. Plotly checks it; the first time that takes it a quarter of a second."""
    c = THEMES[theme]
    axis = {"fixedrange": True, "zeroline": False}
    layout = {
        "paper_bgcolor": _CLEAR,
        "plot_bgcolor": _CLEAR,
        "font": {"family": _SANS, "size": 16, "color": c.text},
        "title": {
            "x": 0,
            "xref": "container",
            "xanchor": "left",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "font": {"size": 22},
        },
        "margin": {"l": 8, "r": _END, "t": _HEAD, "b": _FOOT},
        "barmode": "overlay",
        "bargap": 0,
        "legend": {
            "orientation": "h",
            "font": {"size": 15},
            "traceorder": "normal",
            "indentation": -8,
            "x": 0,
            "xref": "container",
            "y": (_FOOT - 54) / _HEIGHT,
            "yref": "container",
            "yanchor": "top",
            "itemclick": False,
            "itemdoubleclick": False,
        },
        "hoverlabel": {
            "align": "left",
            "font": {"family": _MONO, "size": 16, "color": c.text},
            "bgcolor": c.page,
            "bordercolor": c.muted,
        },
        "hovermode": "closest",
        "dragmode": False,
        "xaxis": axis
        | {
            "gridcolor": c.line,
            "tickfont": {"size": 15},
            "tickangle": 0,
            "title": {"font": {"size": 16}, "standoff": 4},
        },
        "yaxis": axis
        | {
            "showgrid": False,
            "automargin": True,
            "ticks": "outside",
            "ticklen": 6,
            "tickcolor": _CLEAR,
            "tickfont": {"family": _MONO, "size": 17},
        },
    }
    return go.layout.Template(layout=layout).to_plotly_json()

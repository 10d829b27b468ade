"""Does it pay? Figures over K and by position, a table of a sweep, and sentences."""

from collections.abc import Sequence
from typing import Any, Literal

from ..fit import interval
from ..palette import THEMES, ThemeName
from ..pay import MOST_K, Costs, Economy, Position, Swept, expected_speedup, expected_tokens
from ..words import ENGLISH, Words
from .figure import HEAD, Figure, layout
from .numbers import show
from .spelling import literal

#: Where numbers come from: a run, a sweep, or nowhere but from what is set by hand.
Source = Literal["run", "sweep", "set"]

_KS = range(MOST_K + 1)

_HEIGHT, _LEGEND, _AXIS = 470, 96, 52


# -- over K -----------------------------------------------------------------------------------------------------------


def speedup_figure(
    found: Economy | None,
    points: Sequence[Swept],
    source: Source,
    own: float,
    costs: Costs,
    alpha: float,
    c: float,
    theme: ThemeName = "light",
    words: Words = ENGLISH,
) -> Figure:
    """The speed-up over K that the formulas foretell, and what was measured.

    found       the run that is shown; None where it says nothing
    points      what a sweep measured
    source      whose acceptance `own` and whose `costs` are drawn
    alpha, c    as the reader sets them; a curve of their own where they differ from those
    """
    colours = THEMES[theme]
    theorem = [expected_speedup(own, k, costs.c) for k in _KS]
    costed = [costs.speedup(own, k) for k in _KS]
    best = costs.best_k(own)
    traces = [
        _curve(theorem, words["pay_theorem"], colours.muted, "dash"),
        _curve(costed, words["pay_costed"], colours.p, "solid"),
        _best(best, costed[best], colours.p),
    ]
    if (alpha, c) != (own, costs.c):
        other = [costs.speedup(alpha, k, c) for k in _KS]
        at = costs.best_k(alpha, c)
        traces += [_curve(other, words["pay_if"], colours.q, "dot"), _best(at, other[at], colours.q)]
    if found:
        traces.append(_measured([found.k], [found.speedup], words["pay_this_run"], colours.text, "circle"))
    if points:
        middles = [point.middle for point in points]
        trace = _measured([p.k for p in points], middles, words["pay_swept"], colours.text, "diamond")
        traces.append(trace | {"error_y": _spread(points, colours.text)})
    highest = max(y for trace in traces for y in trace["y"] if y < float("inf"))
    heading = words["pay_speedup"], words.say(f"pay_speedup_{source}", alpha=show(own, 3), c=show(costs.c, 3))
    look = layout(heading, theme, _HEIGHT) | {
        "legend": {"y": _LEGEND / _HEIGHT},
        "margin": {"l": 8, "r": 20, "t": HEAD, "b": _AXIS + _LEGEND},
        "xaxis": {"range": [-0.3, MOST_K + 0.3], "dtick": 1, "title": {"text": words["pay_k_axis"]}, "showgrid": False},
        "yaxis": {
            "range": [0, 1.2 * max(highest, 1.0)],
            "nticks": 6,
            "ticksuffix": "×",
            "tickfont": {"size": 15},
            "showgrid": True,
        },
        "shapes": [_even(colours.text)],
        "annotations": [
            {
                "x": MOST_K + 0.3,
                "xanchor": "right",
                "y": 1,
                "yanchor": "bottom",
                "text": literal(words["pay_even"]),
                "font": {"size": 14, "color": colours.muted},
                "bgcolor": colours.page,  # a curve may pass behind it
                "showarrow": False,
            }
        ],
    }
    return {"data": traces, "layout": look}


def _curve(ys: Sequence[float], label: str, ink: str, dash: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": list(_KS),
        "y": list(ys),
        "name": literal(label),
        "line": {"color": ink, "width": 3, "dash": dash},
        "marker": {"color": ink},
        "showlegend": True,
        "hovertemplate": "K = %{x}: %{y:.2f}×<extra></extra>",
    }


def _best(k: int, gain: float, ink: str) -> dict[str, Any]:
    """A ring around the best K, with its name."""
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": [k],
        "y": [gain],
        "text": [f"<b>K = {k}</b>"],
        "textposition": "bottom left" if k == MOST_K else "bottom center",  # the axis ends there; above is the theorem
        "textfont": {"color": ink, "size": 16},
        "marker": {"symbol": "circle-open", "size": 20, "color": ink, "line": {"width": 3, "color": ink}},
        "showlegend": False,
        "hoverinfo": "skip",
    }


def _measured(ks: Sequence[int], gains: Sequence[float], label: str, ink: str, symbol: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": list(ks),
        "y": list(gains),
        "name": literal(label),
        "marker": {"symbol": symbol, "size": 12, "color": ink},
        "showlegend": True,
        "hovertemplate": "K = %{x}: %{y:.2f}×<extra></extra>",
    }


def _spread(points: Sequence[Swept], ink: str) -> dict[str, Any]:
    """From the slowest of the turns to the fastest."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [max(point.speedups) - point.middle for point in points],
        "arrayminus": [point.middle - min(point.speedups) for point in points],
        "color": ink,
        "thickness": 2,
        "width": 6,
    }


def _even(ink: str) -> dict[str, Any]:
    """As fast as the target alone."""
    line = {"color": ink, "width": 1.5}
    return {"type": "line", "layer": "below", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1, "line": line}


# -- by position ------------------------------------------------------------------------------------------------------


def positions_figure(found: Economy, theme: ThemeName = "light", words: Words = ENGLISH) -> Figure:
    """How often the first draft of a round was kept, the second if it was judged, …, and α, which is one for all."""
    colours, places = THEMES[theme], found.positions
    at = list(range(1, len(places) + 1))
    shares = [place.accepted / place.judged for place in places]
    spans = [interval(place.accepted, place.judged) for place in places]
    bars = {
        "type": "bar",
        "x": at,
        "y": shares,
        "width": 0.6,
        "marker": {"color": colours.shared, "line": {"width": 0}},
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [high - share for share, (_, high) in zip(shares, spans)],
            "arrayminus": [share - low for share, (low, _) in zip(shares, spans)],
            "color": colours.text,
            "thickness": 2,
            "width": 6,
        },
        "name": literal(words["pay_kept"]),
        "showlegend": True,
        "hoverinfo": "text",
        "hovertext": [f"{place.accepted} / {place.judged} = {show(share, 3)}" for place, share in zip(places, shares)],
    }
    alpha = {
        "type": "scatter",
        "mode": "lines",
        "x": [0.4, len(at) + 0.6],
        "y": [found.alpha] * 2,
        "name": literal(words.say("pay_alpha_line", alpha=show(found.alpha, 3))),
        "line": {"color": colours.p, "width": 3, "dash": "dash"},
        "marker": {"color": colours.p},
        "showlegend": True,
        "hoverinfo": "skip",
    }
    height = 380
    look = layout((words["pay_positions"], words["pay_positions_how"]), theme, height) | {
        "legend": {"y": 56 / height},
        "margin": {"l": 8, "r": 20, "t": HEAD, "b": _AXIS + 56},
        "xaxis": {
            "range": [0.4, len(at) + 0.6],
            "tickvals": at,
            "title": {"text": words["pay_place_axis"]},
            "showgrid": False,
        },
        "yaxis": {"range": [0, 1.03], "dtick": 0.25, "tickfont": {"size": 15}, "showgrid": True},
    }
    return {"data": [bars, alpha], "layout": look}


# -- words ------------------------------------------------------------------------------------------------------------


def account(found: Economy, words: Words = ENGLISH) -> list[dict[str, str]]:
    """Lines {"label", "text"}: what the run says, what the formulas make of it, and what they assume."""
    costs = found.costs
    best = costs.best_k(found.alpha)
    return [
        _line(
            words,
            "pay_run",
            k=found.k,
            accepted=found.accepted,
            judged=found.judged,
            alpha=show(found.alpha, 3),
            draft_ms=f"{1000 * found.costs.c * found.token_s:.1f}",
            token_ms=f"{1000 * found.token_s:.1f}",
            c=show(found.costs.c, 3),
        ),
        _line(
            words,
            "pay_tokens",
            expected=f"{expected_tokens(found.alpha, found.k):.2f}",
            measured=f"{found.per_round:.2f}",
        ),
        _line(
            words,
            "pay_gain",
            theorem=f"{expected_speedup(found.alpha, found.k, costs.c):.2f}",
            verify=f"{costs.at(found.k):.2f}",
            costed=f"{costs.speedup(found.alpha, found.k):.2f}",
            measured=f"{found.speedup:.2f}",
        ),
        _line(words, "pay_best", k=best, gain=f"{costs.speedup(found.alpha, best):.2f}")
        if best
        else _line(words, "pay_never"),
        _line(words, "pay_assumed", places=_places(found.positions)),
    ]


def _line(words: Words, key: str, **values: object) -> dict[str, str]:
    return {"label": words[f"{key}_label"], "text": words.say(key, **values)}


def _places(places: Sequence[Position]) -> str:
    return ", ".join(show(place.accepted / place.judged, 2) for place in places)


def sweep_rows(points: Sequence[Swept]) -> list[list[str]]:
    """Of each K: the median speed-up, its range, acceptance, tokens a round, and the cost of verification."""
    return [
        [
            str(point.k),
            f"{point.middle:.2f}×",
            f"{min(point.speedups):.2f}–{max(point.speedups):.2f} ({len(point.speedups)})",
            f"{100 * point.accepted / point.judged:.0f} %" if point.judged else "–",
            f"{point.per_round:.2f}",
            f"{point.verify:.2f}",
        ]
        for point in points
    ]

"""What all figures share: a plain dict in Plotly's format, its style in both themes, and bars."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from plotly import graph_objects as go

from ..palette import THEMES, Theme, ThemeName
from .spelling import literal

Figure = dict[str, Any]

SANS = "system-ui, 'Segoe UI', 'Noto Sans', 'Noto Sans SC', 'PingFang SC', 'Microsoft YaHei', sans-serif"
_MONO = "ui-monospace, 'Cascadia Mono', Menlo, Consolas, 'DejaVu Sans Mono', 'Noto Sans Mono CJK SC', monospace"
CLEAR = "rgba(0,0,0,0)"

#: Of a row's height: what its bars take.
THICK = 0.78

#: Pixels of a heading of two lines.
HEAD = 76


def layout(heading: tuple[str, ...], theme: ThemeName, height: int, ink: str | None = None) -> dict[str, Any]:
    """The first line of a heading is large, in `ink` if given; the second explains it.

    `meta` has both as plain texts, for pages that set them in HTML, and `alt` for those who cannot see the figure.
    """
    first, *more = map(literal, heading)
    colour = f"color:{ink}" if ink else ""
    second = "".join(f'<br><span style="font-size:18px">{line}</span>' for line in more)
    return {
        "template": _template(theme),
        "height": height,
        "title": {"text": f'<b style="{colour}">{first}</b>{second}', "pad": {"t": 30 if more else 12, "l": 8}},
        "meta": {"alt": ": ".join(heading), "heading": list(heading)},
    }


@cache
def _template(theme: ThemeName) -> dict[str, Any]:
    """What the figures of a theme share. Plotly checks it; the first time that takes it a quarter of a second."""
    c = THEMES[theme]
    axis = {"fixedrange": True, "zeroline": False, "gridcolor": c.line}
    style = {
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "font": {"family": SANS, "size": 16, "color": c.text},
        "title": {
            "x": 0,
            "xref": "container",
            "xanchor": "left",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "font": {"size": 22},
        },
        "barmode": "overlay",
        "bargap": 0,
        "legend": {
            "orientation": "h",
            "font": {"size": 15},
            "traceorder": "normal",
            "indentation": -8,
            "x": 0,
            "xref": "container",
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
            "tickcolor": CLEAR,
            "tickfont": {"family": _MONO, "size": 17},
        },
    }
    return go.layout.Template(layout=style).to_plotly_json()


def bars(
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
        "y": [i + half * THICK / 4 for i in range(len(x))],
        "width": THICK / (2 if half else 1),
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


def stripes(colours: Theme) -> dict[str, Any]:
    """What tells q − p from p − q without colour."""
    return {"shape": "/", "bgcolor": colours.over, "fgcolor": colours.q, "size": 8, "solidity": 0.35}

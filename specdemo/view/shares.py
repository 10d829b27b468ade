"""How often something came out, over how often it should have: bars of an exact law, and on them what was counted."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..fit import interval
from ..palette import THEMES, Theme, ThemeName
from .figure import HEAD, Figure, bars, layout
from .numbers import show
from .spelling import literal

#: Pixels: a row, the axis below, a legend of up to two lines.
_ROW, _AXIS, _LEGEND = 38, 56, 56

#: Where in its row a sample stands, and how: the samples differ without colour, too.
_PLACES = ((-0.18, "circle"), (0.2, "diamond-open"))


class Sample(NamedTuple):
    """What was counted in each row, of `n` in all."""

    label: str
    counts: Sequence[int]
    n: int


def shares_figure(
    heading: tuple[str, str],
    rows: Sequence[str],
    law: Sequence[float],
    law_label: str,
    samples: Sequence[Sample],
    theme: ThemeName,
) -> Figure:
    """A row for each of `rows`, texts for Plotly: the law as a bar, each sample as a mark with its 95 % interval."""
    colours = THEMES[theme]
    spans = [[interval(count, sample.n) for count in sample.counts] for sample in samples]
    reach = max([*law, *(high for span in spans for _, high in span)], default=0.0) or 1.0
    height = HEAD + _ROW * len(rows) + _AXIS + _LEGEND
    traces = [bars(law, colours.gap, law_label, edge=colours.p)]
    inks = (colours.text, colours.muted)
    traces += [_marks(*each, colours) for each in zip(samples, spans, _PLACES, inks)]
    look = layout(heading, theme, height) | {
        "legend": {"y": _LEGEND / height},
        "margin": {"l": 8, "r": 24, "t": HEAD, "b": _AXIS + _LEGEND},
        "xaxis": {"range": [0, 1.04 * reach], "nticks": 6, "title": {"text": ""}},
        "yaxis": {"tickvals": list(range(len(rows))), "ticktext": list(rows), "range": [len(rows) - 0.5, -0.5]},
    }
    return {"data": [*traces, _hover(rows, law, samples, spans, reach)], "layout": look}


def _marks(
    sample: Sample, span: Sequence[tuple[float, float]], place: tuple[float, str], ink: str, colours: Theme
) -> dict[str, Any]:
    offset, symbol = place
    shares = [count / sample.n for count in sample.counts]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": literal(sample.label),
        "showlegend": True,
        "hoverinfo": "skip",
        "cliponaxis": False,
        "x": shares,
        "y": [i + offset for i in range(len(shares))],
        "marker": {"symbol": symbol, "size": 10, "color": ink, "line": {"color": colours.page, "width": 1}}
        if not symbol.endswith("open")
        else {"symbol": symbol, "size": 10, "color": ink, "line": {"color": ink, "width": 2}},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [high - share for share, (_, high) in zip(shares, span)],
            "arrayminus": [share - low for share, (low, _) in zip(shares, span)],
            "color": ink,
            "thickness": 2,
            "width": 6,
        },
    }


def _hover(
    rows: Sequence[str],
    law: Sequence[float],
    samples: Sequence[Sample],
    spans: Sequence[Sequence[tuple[float, float]]],
    reach: float,
) -> dict[str, Any]:
    """Nothing to be seen: over each row, its numbers."""
    texts = []
    for i, row in enumerate(rows):
        lines = [row, f"p = {show(law[i], 6)}"]
        for sample, span in zip(samples, spans):
            count, (low, high) = sample.counts[i], span[i]
            share = f"{count:,} / {sample.n:,} = {show(count / sample.n)}"
            lines.append(f"{literal(sample.label)}: {share} ({show(low, 3)} … {show(high, 3)})")
        texts.append("<br>".join(lines))
    return bars([1.04 * reach] * len(rows), "rgba(0,0,0,0)") | {"width": 1, "hoverinfo": "text", "hovertext": texts}

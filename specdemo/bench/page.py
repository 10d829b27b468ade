"""A report as one HTML file that opens anywhere: figures, tables, and plotly.js within it."""

import html
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..palette import THEMES, ThemeName
from ..view.plotly_js import PLOTLY_JS
from ..view.plots import CONFIG
from ..view.speeds import Bar, Line, bars_figure, lines_figure, parts_figure
from . import table
from .report import Report, Row

_TEMPLATE = Path(__file__).resolve().parents[2] / "assets" / "bench.html"


def page(report: Report) -> str:
    filled = {
        "style": "\n".join(_variables()),
        "state": "" if report.complete else "Interrupted: what had been measured until then.",
        "facts": _table((), table.facts(report)),
        "engines": _table(table.COLUMNS, table.engines(report)),
        "comparisons": _table(("compared", "median", "quartiles", "asked for"), table.comparisons(report)),
        "notes": "".join(f"<p>{html.escape(note)}</p>" for note in report.notes),
        "figures": _data({theme: figures(report, theme) for theme in THEMES}),
        "config": _data(CONFIG),
        "plotly": PLOTLY_JS.read_text("utf-8"),
    }
    # Split first: what is filled in may contain anything.
    before, *pieces = _TEMPLATE.read_text("utf-8").split("[[")
    return before + "".join(filled[name] + rest for name, _, rest in (piece.partition("]]") for piece in pieces))


def figures(report: Report, theme: ThemeName) -> list[dict[str, object]]:
    """The figures from the top of the page to the bottom; those that would be empty are left out."""
    first = [Bar(r.engine.name, *(1000 * x for x in r.first_s[:3]), r.engine.ours) for r in report.rows]
    speeds = [
        Bar(r.engine.name, *r.per_second[:3], r.engine.ours, r.limit) for r in report.rows if r.per_second is not None
    ]
    lines, parts = list(_lines(report.rows)), table.parts(report)
    found = [
        (
            speeds,
            bars_figure,
            ("Tokens a second", "after the first token; dotted: the memory limit without speculation"),
        ),
        (lines, lines_figure, ("Tokens a second over K", "medians and quartiles")),
        (first, bars_figure, ("Time to the first token", "the reading of the prompt included")),
        (parts, parts_figure, ("Where the time of a round goes", "medians")),
    ]
    axes = ("tokens/s", "tokens/s", "ms", "ms a round")
    return [draw(what, heading, axis, theme) for (what, draw, heading), axis in zip(found, axes) if what]


def _lines(rows: Sequence[Row]) -> Iterable[Line]:
    """Our lanes over K, and the library's assisted generation."""
    for family, alone in (("speculative", "target"), ("assisted", "transformers")):
        for numbers in dict.fromkeys(row.engine.numbers for row in rows if row.engine.family == family):
            own = [
                r for r in rows if r.engine.numbers == numbers and r.engine.family in (family, alone) and r.per_second
            ]
            points = sorted((r.engine.k or 0, *r.per_second[:3]) for r in own if r.engine.k or r.engine.family == alone)
            name = f"{'specdemo' if family == 'speculative' else 'transformers assisted'}, {numbers}"
            yield Line(name, points, family == "speculative")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    cells = [f"<tr>{''.join(f'<th>{html.escape(name)}</th>' for name in head)}</tr>"] if head else []
    cells += [f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows]
    return f"<table>{''.join(cells)}</table>"


def _data(value: object) -> str:
    """JSON that may stand in a script: no tag can begin or end in it."""
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c")


def _variables() -> Iterable[str]:
    """The palette's colours in CSS."""
    rules = {
        theme: "".join(f"--{name}: {colour}; " for name, colour in THEMES[theme]._asdict().items()) for theme in THEMES
    }
    yield f":root {{ {rules['light']}}}"
    yield f"@media (prefers-color-scheme: dark) {{ :root {{ {rules['dark']}}} }}"

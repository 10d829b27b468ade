"""A report as rows of text, for a terminal and for a page."""

from collections.abc import Iterator

from .ratios import Ratio
from .report import Report, Row
from .spread import Spread

#: The heading of each column; the first one is of words, the others are of numbers.
COLUMNS = ("engine", "tokens/s", "quartiles", "first token, ms", "tokens a pass", "of the limit")

#: Places of a quotient behind its point: as a rule, and at most.
_PLACES, _MOST = 2, 17


def engines(report: Report) -> list[tuple[str, ...]]:
    """A row an engine, below `COLUMNS`."""
    return [_cells(row) for row in report.rows]


def comparisons(report: Report) -> list[tuple[str, str, str, str]]:
    """What is compared, the quotient, its quartiles, and what it was to be."""
    return [
        (ratio.title, f"{ratio.spread.median:.{digits}f}", _range(ratio.spread, digits), _bar(ratio))
        for ratio in report.ratios
        for digits in [_digits(ratio)]
    ]


def parts(report: Report) -> dict[str, dict[str, float]]:
    """Milliseconds of each part of a round, by the pair's numbers."""
    return {
        f"K = {profile.k}, {numbers}": {
            "draft's passes": profile.draft,
            "drawing of drafts": profile.drawing,
            "target's pass": profile.verify,
            "judging": profile.judge,
            "candidates to show": profile.look,
            "Python": profile.python,
        }
        for numbers, profile in report.profiles.items()
    }


def facts(report: Report) -> Iterator[tuple[str, str]]:
    """What ran, on what, with what."""
    machine, asked = report.machine, report.settings
    yield "machine", f"{machine['processor']}, {machine['threads']} of {machine['cores']} threads, {machine['device']}"
    packages = ("torch", "transformers", "llama-cpp-python")
    yield "software", ", ".join(f"{name} {machine[name]}" for name in packages if machine[name])
    for name in ("pair", "sampling", "length", "prompts", "turns"):
        yield name, str(asked[name])
    limits = {row.engine.numbers: (row.engine.bytes, row.limit) for row in reversed(report.rows)}
    yield "memory", f"{report.read_speed / 1e9:.1f} GB/s read, quickest of a probe each turn"
    for numbers, (size, limit) in reversed(limits.items()):
        yield "", f"{numbers}: {size / 1e6:.0f} MB a token, at most {limit:.0f} tokens/s without speculation"


def _cells(row: Row) -> tuple[str, ...]:
    speed = row.per_second
    return (
        row.engine.name,
        f"{speed.median:.1f}" if speed else "n/a",
        _range(speed, 1) if speed else "",
        f"{1000 * row.first_s.median:.0f}",
        f"{row.per_pass.median:.2f}" if row.per_pass else "n/a",
        f"{100 * row.of_limit:.0f} %" if row.of_limit is not None else "n/a",
    )


def _range(spread: Spread, digits: int) -> str:
    return f"{spread.low:.{digits}f} to {spread.high:.{digits}f}"


def _digits(ratio: Ratio) -> int:
    """Two places, or as many more as it takes to see on which side of its bar the median is."""
    if ratio.bar is None:
        return _PLACES
    shown = (n for n in range(_PLACES, _MOST) if ratio.keeps(round(ratio.spread.median, n)) == ratio.met)
    return next(shown, _MOST)


def _bar(ratio: Ratio) -> str:
    if ratio.bar is None:
        return ""
    return f"{'met' if ratio.met else 'missed'}: at {'least' if ratio.at_least else 'most'} {ratio.bar:g}"

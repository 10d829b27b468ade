"""What streaming through the page costs the engine, and how soon the page answers."""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

from specdemo.bench.prompts import PROMPTS
from tools.browser import Page
from tools.soak.served import Served

from .lost import Noted, Span, lost, spent, work
from .rests import Rests
from .show import show, show_sure

TOKENS = 128

#: Seconds of rounds that count as a run's start, when the page is cleared and built up anew.
START_S = 1.0


class Cost(NamedTuple):
    """Of one run: its tokens/s over those that it would have had with no page; and the milliseconds that it lost in its
    first second, and in each second later."""

    ratio: float
    start: float
    later: float

    @classmethod
    def of(cls, rounds: Sequence[Noted], awake: Sequence[Span]) -> "Cost":
        parts, usual = spent(rounds, awake), work(rounds)
        first = parts.sum(axis=1).cumsum() < START_S
        start, later = (1000 * lost(parts[some], usual[some]) for some in (first, ~first))
        return cls(1 - lost(parts, usual) / parts.sum(), start, later / parts[~first].sum())


def page(arguments: argparse.Namespace) -> None:
    """Runs through a page that rests by turns of a tenth of a second, so that the engine is compared with itself."""
    costs = []
    # The browser is open before the server is, as a reader's would be.
    with tempfile.TemporaryDirectory() as folder, Page() as opened:
        notes = Path(folder) / "rounds"
        with Served(program=("tools.measure.held", str(notes)), loaded=False) as served:
            print(f"recorded run on screen {opened.open(served.url) - served.up:.2f} s after the server was up")
            show("click to figure, ms", opened.clicks(40))
            for seed in range(arguments.runs):
                settings = {"k": arguments.k, "temperature": arguments.temperature, "seed": seed}
                opened.fill(prompt=PROMPTS[0], length=TOKENS, **settings)
                costs.append(run(opened, served, notes))
    ratios, starts, laters = zip(*costs)
    show_sure("with the page / without, tokens/s", ratios, 3)
    show_sure("lost in the first second, ms", starts, 0)
    show_sure("lost in a second later, ms", laters, 0)


def run(opened: Page, served: Served, notes: Path) -> Cost:
    """A run through the page, which rests by turns."""
    before = len(notes.read_text().splitlines())
    with Rests(served.pid, browser(served)) as rests:
        opened.run()
    return Cost.of([Noted.of(line) for line in notes.read_text().splitlines()[before:]], rests.awake)


def browser(served: Served) -> list[int]:
    """The processes of the browser: all that were started here but the server's."""
    server = {served.pid, *(process.pid for process in served.processes())}
    return [process.pid for process in psutil.Process().children(recursive=True) if process.pid not in server]

"""Show a saved run."""

import argparse
import sys
import textwrap

from ..trace import load
from .numbers import layout, report, verdicts
from .paint import Painter
from .plain import plain

_WIDE = 200  # characters of a prompt


def run(args: argparse.Namespace) -> int:
    trace = load(args.file)
    painter = Painter.for_stream(sys.stdout, args.color)
    if painter.marks:
        print(painter.legend(), end="\n\n")
    if trace.fork:
        print(plain(trace.fork.before + trace.fork.given, but="\n\t"), end="")
    print(*(painter.round(round_) for round_ in trace.rounds), sep="", end="\n\n")
    asked = plain(textwrap.shorten(trace.prompt, _WIDE, placeholder=" …"))
    print(layout([("asked", asked), *report(trace), ("coins", verdicts(trace.rounds))]))
    return 0

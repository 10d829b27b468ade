"""Whether the page stands a class, for as long as you like, on the embedded pair; exits with 1 where a bar is missed.

    python -m tools.soak class    clients and browser tabs that all want something at once, some of it nonsense: each
                                  request ends, memory stays, and a recorded run is still shown at once
    python -m tools.soak cancel   runs that are stopped or left at a random moment: the next one is as ever
    python -m tools.soak kill     the server is killed in the middle of a run: its page tells, waits, and goes on

`class` and `kill` need Playwright and a Chromium (see the README).
"""

import argparse
import sys

from .bars import Bars


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    modes = parser.add_subparsers(dest="mode", required=True)
    several = modes.add_parser("class")
    several.add_argument("--clients", type=int, default=30, help="(default: 30)")
    several.add_argument("--tabs", type=int, default=5, help="browser tabs besides (default: 5)")
    several.add_argument("--minutes", type=float, default=10, help="more than 1 (default: 10)")
    modes.add_parser("cancel").add_argument("--runs", type=int, default=200, help="(default: 200)")
    modes.add_parser("kill").add_argument("--runs", type=int, default=3, help="(default: 3)")
    arguments = parser.parse_args()
    bars = Bars()
    _soak(arguments, bars)
    return 1 if bars.missed else 0


def _soak(arguments: argparse.Namespace, bars: Bars) -> None:
    """Each mode is imported by itself: Playwright is no requirement of the program, nor of `cancel`."""
    if arguments.mode == "class":
        from .together import together

        together(arguments.clients, arguments.tabs, 60 * arguments.minutes, bars)
    elif arguments.mode == "cancel":
        from .cancel import cancel

        cancel(arguments.runs, bars)
    else:
        from .kill import kill

        kill(arguments.runs, bars)


if __name__ == "__main__":
    sys.exit(main())

"""Whether the page stands a class, for as long as you like, on the embedded pair; exits with 1 where a bar is missed.

    python -m tools.soak class    clients and browser tabs that all want something at once, some of it nonsense: each
                                  request ends, memory stays, and a recorded run is still shown at once
    python -m tools.soak cancel   runs that are stopped or left at a random moment: the next one is as ever
    python -m tools.soak kill     the server is killed in the middle of a run: its page tells, waits, and goes on
    python -m tools.soak replica  of two replicas on Ray Serve one is killed in the middle of a run: the other goes on

`class` and `kill` need Playwright and a Chromium (see the README), `replica` needs Ray.
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
    several.add_argument("--gradio", type=int, default=10, help="of them, those by gradio's own client (default: 10)")
    several.add_argument("--tabs", type=int, default=5, help="browser tabs besides (default: 5)")
    several.add_argument("--minutes", type=float, default=10, help="more than 1 (default: 10)")
    modes.add_parser("cancel").add_argument("--runs", type=int, default=200, help="(default: 200)")
    modes.add_parser("kill").add_argument("--runs", type=int, default=3, help="(default: 3)")
    modes.add_parser("replica").add_argument("--runs", type=int, default=3, help="(default: 3)")
    arguments = parser.parse_args()
    if arguments.mode == "class" and not 0 <= arguments.gradio <= arguments.clients:
        parser.error(f"--gradio is {arguments.gradio}; it must be a whole number from 0 to --clients")
    if arguments.mode == "class" and arguments.minutes <= 1:
        parser.error(f"--minutes is {arguments.minutes:g}; it must be more than 1")
    bars = Bars()
    _soak(arguments, bars)
    return 1 if bars.missed else 0


def _soak(arguments: argparse.Namespace, bars: Bars) -> None:
    """Each mode is imported by itself: Playwright is no requirement of the program, nor of `cancel`."""
    if arguments.mode == "class":
        from .together import together

        together(arguments.clients, arguments.gradio, arguments.tabs, 60 * arguments.minutes, bars)
    elif arguments.mode == "cancel":
        from .cancel import cancel

        cancel(arguments.runs, bars)
    elif arguments.mode == "kill":
        from .kill import kill

        kill(arguments.runs, bars)
    else:
        from .replica import replica

        replica(arguments.runs, bars)


if __name__ == "__main__":
    sys.exit(main())

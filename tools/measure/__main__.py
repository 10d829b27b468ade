"""Measure what the README claims of the embedded pair, on a machine that does nothing else:

    python -m tools.measure kinds       acceptance and speed-up by kind of prompt, on prompts the draft never saw
    python -m tools.measure page        first paint, click to figure, and what streaming through the page costs

`page` needs Playwright and a Chromium (see the README). Speed beside other engines is measured by
`python -m specdemo bench`.
"""

import argparse
from pathlib import Path

from specdemo.pace import USUAL_K
from specdemo.records import USUAL_TEMPERATURE

from .kinds import KINDS, kinds

RUNS = {"kinds": 5, "page": 9}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.measure", description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=RUNS)
    parser.add_argument("--runs", type=int, help="prompts of each kind (default: 5), or runs (default: 9)")
    parser.add_argument("--k", type=drafts, default=USUAL_K, help=f"(default: {USUAL_K}); kinds: or auto")
    parser.add_argument("--temperature", type=float, default=USUAL_TEMPERATURE, help=f"(default: {USUAL_TEMPERATURE})")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS, help="kinds: these only")
    parser.add_argument("--store", type=Path, help="kinds: a file of runs to go on from, so that slices make a whole")
    arguments = parser.parse_args()
    arguments.runs = arguments.runs or RUNS[arguments.what]
    if arguments.what == "kinds":
        kinds(arguments)
        return
    if arguments.k is None:
        parser.error("page measures a fixed --k")
    from .page import page  # Playwright and psutil are no requirements of the program

    page(arguments)


def drafts(text: str) -> int | None:
    """K, or None for "auto"."""
    return None if text == "auto" else int(text)


if __name__ == "__main__":
    main()

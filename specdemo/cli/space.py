"""Is this clone fit for a Space?"""

import argparse
from functools import partial

from ..models import CATALOGUE, load_pair
from ..space.check import findings
from ..words import FOLDER

FIT, UNFIT = 0, 1

#: The clone that this program runs from.
ROOT = FOLDER.parents[1]


def run(args: argparse.Namespace) -> int:
    """`args.what` is "check", the only thing to be done yet."""
    sound = True
    for finding in findings(ROOT, partial(load_pair, CATALOGUE["embedded"])):
        print(f"{'ok' if finding.sound else 'WRONG':5}  {finding.name:13}  {finding.words}", flush=True)
        sound = sound and finding.sound
    return FIT if sound else UNFIT

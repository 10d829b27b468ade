"""Will a pair fit, and on what? Asked before anything is loaded."""

import argparse
import sys

from ..models import Estimate, LoadError, estimate
from ..models.memory import told_size
from .faults import Fault
from .load import ProgressLine, spec_of
from .numbers import columns, layout

FITS, DOES_NOT = 0, 1


def run(args: argparse.Namespace) -> int:
    if args.context < 1:
        raise Fault(f"--context is {args.context}; it must be a whole number, at least 1")
    spec = spec_of(args)
    try:
        with ProgressLine(sys.stderr) as line:
            found = estimate(
                spec,
                device=args.device,
                dtype=args.dtype,
                device_map=args.device_map,
                tokens=args.context,
                progress=line.tell,
            )
    except LoadError as error:
        raise Fault(str(error)) from error
    caches = f"{found.tokens:,} tokens for each of two lanes of the target, and for the draft"
    print(layout([("models", f"{found.names} in {found.dtype}"), ("caches", caches)]))
    print(f"\n{_table(found)}\n\n{_sentence(found)}")
    return FITS if found.fits else DOES_NOT


def _table(found: Estimate) -> str:
    sizes = [[share.weights, share.cache, share.need, share.free] for share in found.shares]
    rows = [[share.device, *map(_size, row)] for share, row in zip(found.shares, sizes)]
    return columns([["device", "weights", "caches", "need", "free"], *rows])


def _size(size: int | None) -> str:
    return "?" if size is None else told_size(size)


def _sentence(found: Estimate) -> str:
    if found.fits:
        return f"It fits on {' + '.join(share.device for share in found.shares)}."
    short = [share.device for share in found.shares if not share.fits]
    return f"It does not fit on {' + '.join(short)}."

"""Open the page."""

import argparse

from ..ui.serve import serve
from .faults import Fault
from .load import checked_map, named


def run(args: argparse.Namespace) -> int:
    if args.port is not None and not 1 <= args.port <= 65535:
        raise Fault(f"--port is {args.port}; it must be a whole number from 1 to 65535")
    serve(
        host="0.0.0.0" if args.lan else args.host,
        port=args.port,
        pair=named(args.pair),
        device_map=checked_map(args.device_map),
        inbrowser=args.open,
    )
    return 0

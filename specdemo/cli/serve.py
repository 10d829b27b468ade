"""Open the page."""

import argparse

from ..ui.serve import serve
from .load import named


def run(args: argparse.Namespace) -> int:
    serve(
        host="0.0.0.0" if args.lan else args.host,
        port=args.port,
        pair=named(args.pair),
        inbrowser=args.open,
    )
    return 0

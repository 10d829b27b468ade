"""Write a text in the terminal."""

import argparse
import secrets
import sys
from contextlib import closing

import torch

from ..contract import NumericalFault
from ..records import SamplingParams
from ..trace import save
from ..trial import with_graphs
from .faults import Fault
from .load import drafts_of, encoded, loaded, prompt_of
from .output import check_output
from .paint import Painter
from .tellers import JsonTeller, TextTeller
from .writing import Writing

_SEEDS = 2**31


def run(args: argparse.Namespace) -> int:
    # 1. What can be refused is refused before seconds of loading.
    if args.max_new_tokens < 1:
        raise Fault(f"--max-new-tokens is {args.max_new_tokens}; it must be a whole number, at least 1")
    k, params, prompt = drafts_of(args, least=0), _params(args), prompt_of(args)
    check_output("--trace", args.trace)
    # 2. Load, and turn the prompt into ids.
    pair = loaded(args)
    if args.graphs:
        pair = with_graphs(pair)
        print(pair.notes[-1], file=sys.stderr)
    writing = Writing(pair, prompt, encoded(pair, prompt, args.raw), params, k, args.baseline)
    painter = Painter.for_stream(sys.stdout, args.color, hidden=pair.stop_ids)
    teller = JsonTeller(writing) if args.json else TextTeller(writing, painter)
    # 3. Write, telling each round as it comes.
    cut = _tell(writing, teller)
    # 4. Keep what there is, however it ended; then the numbers.
    if args.trace is not None:
        save(args.trace, writing.trace())
    teller.end(_ending(cut) or writing.why_ended(), args.trace)
    if cut is not None:
        raise cut
    return 0


def _params(args: argparse.Namespace) -> SamplingParams:
    """Raises ValueError. A seed is chosen here if none was given, so that the run can be repeated."""
    return SamplingParams(
        temperature=args.temperature,
        top_k=args.top_k,
        top_p=args.top_p,
        min_p=args.min_p,
        seed=secrets.randbelow(_SEEDS) if args.seed is None else args.seed,
        max_new_tokens=args.max_new_tokens,
    )


def _tell(writing: Writing, teller: TextTeller | JsonTeller) -> BaseException | None:
    """Run to the end and tell each round; what cut it short, if anything did."""
    try:
        teller.begin()
        with closing(writing.rounds()) as rounds:
            for lane, round_ in rounds:
                teller.round(lane, round_)
    except (KeyboardInterrupt, OSError) as cut:  # of what is printed: its reader is gone, its disk is full
        return cut
    except NumericalFault as fault:
        return Fault(str(fault))
    except torch.OutOfMemoryError:
        return Fault("the device ran out of memory; try a shorter prompt, fewer tokens or a smaller pair")
    return None


def _ending(cut: BaseException | None) -> str | None:
    if cut is None:
        return None
    return "interrupted" if isinstance(cut, KeyboardInterrupt) else "fault"

"""How fast is it?"""

import argparse
import json
import sys
from collections.abc import Collection, Sequence
from itertools import chain

import torch

from ..bench import table
from ..bench.engines import Wanted
from ..bench.families import FAMILIES
from ..bench.measure import Bench
from ..bench.page import page
from ..bench.prompts import PROMPTS
from ..bench.report import Report
from ..bench.run import Miscount
from ..contract import NumericalFault, room
from ..files import write_whole
from ..models import LoadError, Pair
from ..records import SamplingParams
from .arguments import DTYPES
from .faults import Fault
from .load import ProgressLine, encoded, loaded, sound
from .numbers import columns, layout
from .output import check_output

DONE, INTERRUPTED = 0, 130

_MOST_K = 64


def run(args: argparse.Namespace) -> int:
    # 1. What can be refused is refused before seconds of loading.
    params, prompts, dtypes = _params(args), [sound(text) for text in args.prompt or PROMPTS], _dtypes(args.dtype)
    families, ks, assisted_ks = _families(args), _ks("--k", args.k), _ks("--assisted-k", args.assisted_k)
    _refuse(args)
    say = ProgressLine(sys.stderr).say  # so that a pipe gets the table alone
    # 2. Load the pair in each of the numbers that were asked for.
    say("Loading …")
    pairs = [loaded(argparse.Namespace(**vars(args) | {"dtype": dtype, "device_map": None})) for dtype in dtypes]
    ids = [encoded(pairs[0], prompt, args.raw) for prompt in prompts]
    context = _room_for(pairs[0], ids, params)
    # 3. Measure, and keep what there is, however it ended.
    wanted = Wanted(families, ks, assisted_ks, context)
    report = _measured(Bench(pairs, ids, params, wanted, args.runs, say), _settings(args, pairs[0], prompts))
    _print(report)
    if args.json is not None:
        text = json.dumps(report.to_dict(), indent=1, allow_nan=False)
        write_whole(args.json, f"{text}\n".encode())
    if args.html is not None:
        write_whole(args.html, page(report).encode())
    return DONE if report.complete else INTERRUPTED


def _measured(bench: Bench, settings: dict[str, object]) -> Report:
    try:
        with ProgressLine(sys.stderr) as line:
            return bench.measure(settings, line.tell)
    except (LoadError, Miscount, NumericalFault) as fault:
        raise Fault(str(fault)) from fault
    except torch.OutOfMemoryError as error:
        raise Fault(
            "the device ran out of memory; measure fewer engines at a time (--only) or a smaller pair"
        ) from error


def _print(report: Report) -> None:
    if not report.complete:
        print("Interrupted: what had been measured until then.\n")
    print(layout(list(table.facts(report))))
    print(f"\n{columns([table.COLUMNS, *table.engines(report)])}")
    for name, parts in table.parts(report).items():
        print(f"\nA round of {name}, ms: " + ", ".join(f"{part} {x:.2f}" for part, x in parts.items()))
    if report.ratios:
        print(f"\n{columns([('compared turn by turn', 'median', 'quartiles', ''), *table.comparisons(report)])}")
    for note in report.notes:
        print(f"\n{note}")


# -- what was asked for -----------------------------------------------------------------------------------------------


def _params(args: argparse.Namespace) -> SamplingParams:
    if args.max_new_tokens < 2:
        raise Fault(f"--max-new-tokens is {args.max_new_tokens}; it must be a whole number, at least 2")
    return SamplingParams(args.temperature, args.top_k, args.top_p, args.min_p, args.seed, args.max_new_tokens)


def _refuse(args: argparse.Namespace) -> None:
    if args.runs < 1:
        raise Fault(f"--runs is {args.runs}; it must be a whole number, at least 1")
    check_output("--json", args.json)
    check_output("--html", args.html)


def _words(option: str, text: str | None, legal: Collection[str]) -> list[str]:
    """The words of a list with commas. Raises Fault for one that is none of `legal`."""
    words = [word.strip() for word in (text or "").split(",") if word.strip()]
    for word in words:
        if word not in legal:
            raise Fault(f"{option} has {word!r}; it may have {', '.join(legal)}")
    return list(dict.fromkeys(words))


def _dtypes(text: str) -> list[str]:
    return _words("--dtype", text, DTYPES) or ["auto"]


def _families(args: argparse.Namespace) -> frozenset[str]:
    only, skip = _words("--only", args.only, FAMILIES), _words("--skip", args.skip, FAMILIES)
    families = frozenset(only or FAMILIES) - frozenset(skip)
    if not families:
        raise Fault("--only and --skip leave nothing to be measured")
    return families


def _ks(option: str, text: str) -> list[int]:
    """1,2,4 or 1-8 or both. Raises Fault."""
    try:
        ks = sorted(set(chain.from_iterable(map(_span, text.split(",")))))
    except ValueError:
        ks = []
    if not ks or ks[0] < 1 or ks[-1] > _MOST_K:
        raise Fault(f"{option} is {text!r}; it must be whole numbers from 1 to {_MOST_K}, such as 2 or 1,2,4 or 1-8")
    return ks


def _span(text: str) -> Sequence[int]:
    """ "3" -> 3; "2-4" -> 2, 3, 4. Raises ValueError."""
    first, _, last = text.partition("-")
    return range(int(first), min(int(last or first), _MOST_K + 1) + 1)


def _room_for(pair: Pair, prompts: Sequence[Sequence[int]], params: SamplingParams) -> int:
    """Tokens of the longest run. Raises Fault where the target has no room for it."""
    longest = max(map(len, prompts)) + params.max_new_tokens
    if room(pair.target, longest) < 0:
        raise Fault(
            f"the longest prompt and --max-new-tokens come to {longest} tokens, and the target holds"
            f" {pair.target.context}"
        )
    return longest


def _settings(args: argparse.Namespace, pair: Pair, prompts: Sequence[str]) -> dict[str, object]:
    filters = [("top-k", args.top_k, 0), ("top-p", args.top_p, 1), ("min-p", args.min_p, 0)]
    shown = [f"{name} {value:g}" for name, value, off in filters if value != off]
    return {
        "pair": f"{pair.target.title} with {pair.draft.title}",
        "sampling": ", ".join([f"temperature {args.temperature:g}", *shown, f"seed {args.seed}"]),
        "length": f"at most {args.max_new_tokens} tokens a run",
        "prompts": " · ".join(prompts),
        "turns": args.runs,
    }

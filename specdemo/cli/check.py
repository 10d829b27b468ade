"""Is it lossless?"""

import argparse
import sys

import torch

from ..check import EXACT, FALSE_ALARM, ROUNDING, Check, Verdict
from ..contract import NumericalFault
from ..fit import Fit
from ..records import SamplingParams
from .faults import Fault
from .load import ProgressLine, drafts_of, encoded, loaded, prompt_of
from .numbers import layout, settings

LOSSLESS, NOT_LOSSLESS = 0, 1

#: Fewer runs could call an engine lossless whose texts are far from the target's.
LEAST_SAMPLES = 200


def run(args: argparse.Namespace) -> int:
    k, prompt = drafts_of(args, least=1), prompt_of(args)
    params = SamplingParams(args.temperature, args.top_k, args.top_p, args.min_p, args.seed)
    if args.samples < LEAST_SAMPLES:
        raise Fault(f"--samples is {args.samples}; it must be a whole number, at least {LEAST_SAMPLES}")
    pair = loaded(args)
    ids = encoded(pair, prompt, args.raw)
    # At once, also into a file: the runs take minutes.
    print(layout([*settings(pair.describe(), params, k), ("prompt", f"{len(ids)} tokens")]), flush=True)
    try:
        with ProgressLine(sys.stderr) as line:
            target = pair.open_target()
            check = Check(
                target,
                pair.open_draft(target),
                ids,
                params,
                k=k,
                samples=args.samples,
                reads_target=pair.draft.reads_target,
            )
            for _ in check.steps():
                line.tell(check.runs / check.samples, f"Run {check.runs} of {check.samples} …")
            verdict = check.verdict()
    except NumericalFault as fault:
        raise Fault(str(fault)) from fault
    except torch.OutOfMemoryError as error:
        raise Fault("the device ran out of memory; try a shorter prompt or a smaller pair") from error
    print(layout(_lines(verdict)))
    print(f"\n{_sentence(verdict)}")
    return LOSSLESS if verdict.lossless else NOT_LOSSLESS


def _lines(verdict: Verdict) -> list[tuple[str, str]]:
    exact = verdict.exact
    return [
        ("", ""),
        (
            "exact",
            f"at {exact.positions} positions, for every token: kept or drawn after a refusal, it comes out with p",
        ),
        ("", f"to within {exact.error:.1e} (allowed {EXACT:.0e}); coins judged wrongly: {exact.miscast}"),
        ("", f"in the engine's own float32 to within {exact.rounding:.1e} (allowed {ROUNDING:.0e})"),
        ("", ""),
        ("sampled", f"{verdict.runs} runs of the engine against the target's own probabilities"),
        *(("", _compared(one.length, one.engine)) for one in verdict.comparisons),
        ("", f"first drafts kept: {100 * verdict.kept:.1f} %, foretold by α: {100 * verdict.alpha:.1f} %"),
        ("beside", "as many runs of the target alone: what chance does"),
        *(("", _compared(one.length, one.alone)) for one in verdict.comparisons if one.alone),
    ]


def _compared(length: int, fit: Fit) -> str:
    what = "first token   " if length == 1 else f"first {length} tokens"
    chi2 = "too few runs for χ²"
    if fit.tested:
        chi2 = f"χ² {fit.chi2:.1f} over {fit.cells} cells, p-value {fit.p_value:.2g}"
    distance = f"total variation {fit.distance:.4f}, by chance alone {fit.expected_distance:.4f}"
    return f"{what}  {chi2}; {distance}" + (f"; impossible tokens: {fit.impossible}" if fit.impossible else "")


def _sentence(verdict: Verdict) -> str:
    if verdict.lossless:
        return (
            "Lossless: each position's law is exactly the target's, and the runs look as the target's own would."
            f" A sampled line fails a right engine about once in {1 / FALSE_ALARM:,.0f} times."
        )
    parts = [] if verdict.exact.holds else ["the exact law of a position is not the target's"]
    if any(one.engine.p_value < FALSE_ALARM for one in verdict.comparisons):
        parts.append("the target's own texts would look like these runs less than once in a million times")
    return f"NOT lossless: {'; '.join(parts)}."

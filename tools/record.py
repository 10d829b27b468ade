"""Makes the run that a fresh page shows: python -m tools.record. Run it on a machine that does nothing else.

What is kept is a real run of the embedded pair, the clock's numbers included.
"""

import argparse

from specdemo.metrics import measure, speedup
from specdemo.records import Trace
from specdemo.session import Pairs, Request, Run, Turns
from specdemo.trace import save
from specdemo.ui.serve import RECORDING

PROMPT = "Explain why the sky is blue."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prompt", nargs="?", default=PROMPT)
    parser.add_argument("--pair", default="embedded")
    parser.add_argument("--k", type=int, default=2)
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--out", default=RECORDING)
    options = vars(parser.parse_args())
    out = options.pop("out")
    trace = record(**options)
    save(out, trace)
    spec, plain = measure(trace.rounds), measure(trace.baseline)
    print("".join(event.text for round_ in trace.rounds for event in round_.emitted))
    print(f"\n{out}: {spec.emitted} tokens in {spec.rounds} passes, {speedup(spec, plain):.2f}x the target alone")


def record(**fields: object) -> Trace:
    """A run of the page, without a page: the second of two, so that everything is warm."""
    turns = Turns()
    pairs = Pairs(turns)
    for length in (16, fields["length"]):
        run = Run(Request.of(**{**fields, "length": length}), pairs, turns)
        for _ in run.deltas():
            pass
        phase = run.look().phase
        if phase.name != "done":
            raise SystemExit(f"there is no run to keep: {phase.values.get('sentence', phase.name)}")
    return run.trace()


if __name__ == "__main__":
    main()

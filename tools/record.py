"""Makes the recorded runs that come with the page: python -m tools.record [NAME …], all of them without a name.

Run it on a machine that does nothing else: what is kept are real runs of the embedded pair, the clock's numbers
included. For "poor" the draft is made worse on purpose, and the record says so.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace

import torch

from specdemo.metrics import measure, speedup
from specdemo.models import Pair, load_pair
from specdemo.pace import USUAL_K
from specdemo.records import USUAL_TEMPERATURE, Trace
from specdemo.session import Here, Request, Run, recording
from specdemo.session.library import RECORDINGS
from specdemo.trace import save
from specdemo.ui.serve import TRACES

#: What each recording asks for; all else is as a fresh page has it.
ASKED: dict[str, dict[str, object]] = {
    "english": {"prompt": "Explain why the sky is blue.", "seed": 2},  # of seeds 1 to 9 the median acceptance
    "chinese": {"prompt": "请用中文写一首关于春天的短诗。", "seed": 2},  # with others it answers in English
    "code": {"prompt": "Write a Python function that returns the first n prime numbers."},
    "poor": {"prompt": "Explain why the sky is blue.", "k": 4, "length": 64},
}
USUAL = {"k": USUAL_K, "temperature": USUAL_TEMPERATURE, "seed": 1, "length": 128}

#: By what the logits of a poor draft are divided: it then spreads its guesses over far too many tokens.
BLUR = 2.5


class Blurred:
    """A model whose distribution is flatter than it would be."""

    def __init__(self, model: object) -> None:
        self._model = model

    def __getattr__(self, name: str) -> object:
        return getattr(self._model, name)

    def feed(self, ids: torch.Tensor) -> torch.Tensor:
        return self._model.feed(ids) / BLUR

    def feed_narrow(self, ids: torch.Tensor) -> torch.Tensor:
        return self._model.feed_narrow(ids) / BLUR


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(RECORDINGS))
    names = parser.parse_args().names or RECORDINGS
    if unknown := set(names) - set(RECORDINGS):
        parser.error(f"there is no recording called {', '.join(sorted(unknown))}; choose of {', '.join(RECORDINGS)}")
    pair = load_pair(Request.of(prompt="-").pair)
    for name in names:
        trace = record(poor(pair) if name == "poor" else pair, **(USUAL | ASKED[name]))
        path = recording(TRACES, name)
        save(path, trace)
        print(report(trace), f"{path}: {path.stat().st_size:,} bytes", sep="\n", end="\n\n")


def poor(pair: Pair) -> Pair:
    """The pair with its draft made worse."""
    draft = replace(
        pair.draft, title=f"{pair.draft.title}, blurred", open=lambda *target: Blurred(pair.draft.open(*target))
    )
    return replace(pair, name="poor", title=f"{pair.title}, with a poor draft", draft=draft)


def record(pair: Pair, **fields: object) -> Trace:
    """A run of the page, without a page: the second of two, so that everything is warm."""
    place = Here(load=_loaded(pair))
    for length in (16, fields["length"]):
        run = Run(Request.of(**{**fields, "length": length}), place)
        for _ in run.deltas():
            pass
        phase = run.look().phase
        if phase.name != "done":
            raise SystemExit(f"there is no run to keep: {phase.values.get('sentence', phase.name)}")
    return run.trace()


def _loaded(pair: Pair) -> Callable[..., Pair]:
    return lambda spec, progress: pair


def report(trace: Trace) -> str:
    """The text, and what it came to."""
    spec, plain = measure(trace.rounds), measure(trace.baseline)
    text = "".join(event.text for round_ in trace.rounds for event in round_.emitted)
    gain = speedup(spec, plain)
    return (
        f"{text}\n{spec.emitted} tokens in {spec.rounds} passes, acceptance {spec.acceptance:.2f},"
        f" {gain:.2f}x the target alone"
    )


if __name__ == "__main__":
    main()

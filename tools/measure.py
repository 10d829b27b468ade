"""Measure what the README claims of the embedded pair, on a machine that does nothing else:

    python -m tools.measure engine      speed of both lanes, and the engine's own time beside the two models' passes
    python -m tools.measure kinds       acceptance and speed-up by kind of prompt, on prompts the draft never saw
    python -m tools.measure page        first paint, click to figure, and what streaming through the page costs

Medians and ranges of runs that take turns. `page` needs Playwright and a Chromium (see the README).
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch

from specdemo.contract import Model, prefill
from specdemo.drafters import ModelDrafter
from specdemo.engine import decode, speculate
from specdemo.metrics import measure
from specdemo.models import CATALOGUE, Pair, load_pair
from specdemo.records import RunStats, SamplingParams
from tools.draft.prompts import held_out_prompts

PROMPTS = (
    "Explain why the sky is blue.",
    "Write a short story about a lighthouse keeper.",
    "List ten things to pack for a week in the mountains.",
    "Write a Python function that reverses a linked list.",
    "Write a dialogue between a doctor and a worried patient.",
)
KINDS = ("explain", "story", "list", "code", "dialogue")
TOKENS = 128
K = 4
TEMPERATURE = 0.8


class Timed:
    """A model that adds up the seconds of its own passes."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.seconds = 0.0

    def __getattr__(self, name: str) -> object:
        return getattr(self._model, name)

    def feed(self, ids: torch.Tensor) -> torch.Tensor:
        with self._clock():
            return self._model.feed(ids)

    def feed_narrow(self, ids: torch.Tensor) -> torch.Tensor:
        with self._clock():
            return self._model.feed_narrow(ids)

    def prefill(self, ids: torch.Tensor) -> None:
        with self._clock():
            prefill(self._model, ids)

    @contextmanager
    def _clock(self) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("engine", "kinds", "page"))
    parser.add_argument("--runs", type=int, default=5, help="runs, or prompts of each kind (default: 5)")
    parser.add_argument("--k", type=int, default=K, help=f"tokens drafted a round (default: {K})")
    parser.add_argument("--temperature", type=float, default=TEMPERATURE, help=f"(default: {TEMPERATURE})")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS, help="kinds: these only")
    parser.add_argument("--store", type=Path, help="kinds: a file of runs to go on from, so that slices make a whole")
    arguments = parser.parse_args()
    {"engine": engine, "kinds": kinds, "page": page}[arguments.what](arguments)


# ---------------------------------------------------------------- the engine


def engine(arguments: argparse.Namespace) -> None:
    start = time.perf_counter()
    pair = load_pair(CATALOGUE["embedded"])
    print(f"loaded in {time.perf_counter() - start:.2f} s on {torch.get_num_threads()} threads")
    for note in pair.notes:
        print(" ", note)
    ids = [pair.encode(prompt, True) for prompt in PROMPTS]
    one_run(pair, ids[0], arguments, 0)  # warm-up
    runs = [one_run(pair, ids[i % len(ids)], arguments, i) for i in range(arguments.runs)]
    spec, plain, share = zip(*runs)
    show("speculative, tokens/s", [s.tokens_per_second for s in spec])
    show("target only, tokens/s", [s.tokens_per_second for s in plain])
    show("speed-up", [s.tokens_per_second / p.tokens_per_second for s, p in zip(spec, plain)])
    show("acceptance", [s.acceptance for s in spec])
    show("tokens per target pass", [s.tokens_per_pass for s in spec])
    for name in ("draft_s", "verify_s", "other_s"):
        show(f"{name[:-2]}, ms a round", [1e3 * getattr(s, name) / s.rounds for s in spec])
    show("target only, ms a token", [1e3 * p.seconds / p.rounds for p in plain])
    show("first token, speculative, ms", [1e3 * s.first_token_s for s in spec])
    show("first token, target only, ms", [1e3 * p.first_token_s for p in plain])
    show("outside both models' passes, % of a run", [100 * x for x in share])


def one_run(
    pair: Pair, ids: Sequence[int], arguments: argparse.Namespace, seed: int
) -> tuple[RunStats, RunStats, float]:
    """Both lanes after one another: their statistics, and the share of the speculative one outside any pass."""
    params = SamplingParams(temperature=arguments.temperature, seed=seed, max_new_tokens=TOKENS)
    run = pair.open_target()
    target, draft = Timed(run), Timed(pair.open_draft(run))
    start = time.perf_counter()
    spec = list(speculate(target, ModelDrafter(draft), ids, params, k=arguments.k))
    total = time.perf_counter() - start
    plain = list(decode(pair.open_target(), ids, params))
    return measure(spec), measure(plain), 1 - (target.seconds + draft.seconds) / total


# ---------------------------------------------------------------- kinds of prompts


def kinds(arguments: argparse.Namespace) -> None:
    rows = read_rows(arguments.store)
    done = {row["prompt"] for row in rows}
    pair = load_pair(CATALOGUE["embedded"])
    one_run(pair, pair.encode(PROMPTS[0], True), arguments, 0)  # warm-up
    for kind in arguments.kinds:
        texts = [prompt.text for prompt in held_out_prompts() if prompt.kind == kind][: arguments.runs]
        for seed, text in enumerate(texts):
            if text in done:
                continue
            spec, plain, _ = one_run(pair, pair.encode(text, True), arguments, seed)
            row = {"kind": kind, "prompt": text, "accepted": spec.accepted, "judged": spec.accepted + spec.rejected,
                   "speed_up": spec.tokens_per_second / plain.tokens_per_second}  # fmt: skip
            rows.append(row)
            if arguments.store:
                with arguments.store.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    for kind in KINDS:
        if own := [row for row in rows if row["kind"] == kind]:
            show_kind(kind, own)
    show_kind("all", rows)


def read_rows(store: Path | None) -> list[dict]:
    return [json.loads(line) for line in store.read_text().splitlines()] if store and store.exists() else []


def show_kind(kind: str, rows: Sequence[dict]) -> None:
    show(f"{kind}: speed-up", [row["speed_up"] for row in rows])
    accepted, judged = (sum(row[name] for row in rows) for name in ("accepted", "judged"))
    print(f"{kind + ': acceptance':42}{accepted / judged:10.2f}   ({accepted} of {judged})")


# ---------------------------------------------------------------- the page


def page(arguments: argparse.Namespace) -> None:
    from tools.browser import Page, serving  # Playwright is no requirement of the program

    with serving() as (url, started), Page(url) as opened:
        print(f"recorded run on screen {opened.first_paint - started:.2f} s after the server was up")
        show("click to figure, ms", opened.clicks(40))
        shown, alone = [], []
        for seed in range(arguments.runs):
            shown.append(opened.run(PROMPTS[0], arguments.k, arguments.temperature, seed, TOKENS))
            alone.append(generate(arguments, seed))
        show("through the page, tokens/s", shown)
        show("generate, tokens/s", alone)
        show("page / generate", [a / b for a, b in zip(shown, alone)])


def generate(arguments: argparse.Namespace, seed: int) -> float:
    """Tokens/s that the command line tells for the same run."""
    command = [sys.executable, "-m", "specdemo", "generate", PROMPTS[0], "--json", "--baseline", "--seed", str(seed)]
    command += ["--k", str(arguments.k), "--temperature", str(arguments.temperature), "--max-new-tokens", str(TOKENS)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return json.loads(lines[-1])["stats"]["tokens_per_second"]


def show(name: str, values: Sequence[float]) -> None:
    print(f"{name:42}{statistics.median(values):10.2f}   ({min(values):.2f} to {max(values):.2f}, n = {len(values)})")


if __name__ == "__main__":
    main()

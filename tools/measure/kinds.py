"""Acceptance and speed-up by kind of prompt."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from specdemo.bench.prompts import PROMPTS
from specdemo.lanes import plain, speculative
from specdemo.metrics import measure
from specdemo.models import CATALOGUE, Pair, load_pair
from specdemo.records import RunStats, SamplingParams
from tools.draft.prompts import held_out_prompts

from .show import show

KINDS = ("explain", "story", "list", "code", "dialogue")
TOKENS = 128


def kinds(arguments: argparse.Namespace) -> None:
    rows = read_rows(arguments.store)
    done = {row["prompt"] for row in rows}
    pair = load_pair(CATALOGUE["embedded"])
    both_lanes(pair, PROMPTS[0], arguments, 0)  # warm-up
    for kind in arguments.kinds:
        texts = [prompt.text for prompt in held_out_prompts() if prompt.kind == kind][: arguments.runs]
        for seed, text in enumerate(texts):
            if text in done:
                continue
            spec, alone = both_lanes(pair, text, arguments, seed)
            row = {"kind": kind, "prompt": text, "accepted": spec.accepted, "judged": spec.accepted + spec.rejected,
                   "speed_up": spec.tokens_per_second / alone.tokens_per_second}  # fmt: skip
            rows.append(row)
            if arguments.store:
                with arguments.store.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    for kind in KINDS:
        if own := [row for row in rows if row["kind"] == kind]:
            show_kind(kind, own)
    show_kind("all", rows)


def both_lanes(pair: Pair, prompt: str, arguments: argparse.Namespace, seed: int) -> tuple[RunStats, RunStats]:
    """After one another: speculative, target only."""
    params = SamplingParams(temperature=arguments.temperature, seed=seed, max_new_tokens=TOKENS)
    ids = pair.encode(prompt, True)
    return measure(speculative(pair, ids, params, arguments.k)), measure(plain(pair, ids, params))


def read_rows(store: Path | None) -> list[dict]:
    return [json.loads(line) for line in store.read_text().splitlines()] if store and store.exists() else []


def show_kind(kind: str, rows: Sequence[dict]) -> None:
    show(f"{kind}: speed-up", [row["speed_up"] for row in rows])
    accepted, judged = (sum(row[name] for row in rows) for name in ("accepted", "judged"))
    print(f"{kind + ': acceptance':42}{accepted / judged:10.2f}   ({accepted} of {judged})")

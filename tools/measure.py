"""Measure what the README claims of the embedded pair, on a machine that does nothing else:

    python -m tools.measure kinds       acceptance and speed-up by kind of prompt, on prompts the draft never saw
    python -m tools.measure page        first paint, click to figure; what streaming costs, the page's share and the server's

Medians and ranges of runs that take turns. `page` needs Playwright and a Chromium (see the README). Speed beside other
engines is measured by `python -m specdemo bench`.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from specdemo.bench.prompts import PROMPTS
from specdemo.lanes import plain, speculative
from specdemo.metrics import measure
from specdemo.models import CATALOGUE, Pair, load_pair
from specdemo.pace import USUAL_K
from specdemo.records import USUAL_TEMPERATURE, Round, RunStats, SamplingParams, Trace
from specdemo.trace import from_json
from tools.draft.prompts import held_out_prompts
from tools.soak.client import Client

KINDS = ("explain", "story", "list", "code", "dialogue")
TOKENS = 128

#: Ways of streaming: all of its cost, the server's, the browser's, and whether that is the same for both lanes.
RATIOS = (("page", "generate"), ("reader", "generate"), ("page", "reader"), ("page, plain", "reader, plain"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("kinds", "page"))
    parser.add_argument("--runs", type=int, default=5, help="runs, or prompts of each kind (default: 5)")
    parser.add_argument("--k", type=drafts, default=USUAL_K, help=f"tokens drafted a round; kinds: or auto (default: {USUAL_K})")
    parser.add_argument("--temperature", type=float, default=USUAL_TEMPERATURE, help=f"(default: {USUAL_TEMPERATURE})")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS, help="kinds: these only")
    parser.add_argument("--store", type=Path, help="kinds: a file of runs to go on from, so that slices make a whole")
    arguments = parser.parse_args()
    if arguments.what == "page" and arguments.k is None:
        parser.error("page measures a fixed --k")
    {"kinds": kinds, "page": page}[arguments.what](arguments)


def drafts(text: str) -> int | None:
    """K, or None for "auto"."""
    return None if text == "auto" else int(text)


# ---------------------------------------------------------------- kinds of prompts


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


# ---------------------------------------------------------------- the page


def page(arguments: argparse.Namespace) -> None:
    """The same runs by turns through the page, by a reader of HTTP without a browser, and from the command line."""
    # Playwright and psutil are no requirements of the program.
    from tools.browser import Page
    from tools.soak.served import Served

    # The browser is open before the server is, as a reader's would be.
    with Page() as opened, Served(loaded=False) as served:
        print(f"recorded run on screen {opened.open(served.url) - served.up:.2f} s after the server was up")
        show("click to figure, ms", opened.clicks(40))
        ways: dict[str, list[float]] = defaultdict(list)
        for seed in range(arguments.runs):
            fields = {"prompt": PROMPTS[0], "k": arguments.k, "temperature": arguments.temperature, "seed": seed}
            fields["length"] = TOKENS
            for way, trace in (("page", opened.run(**fields)), ("reader", read(served.url, fields))):
                ways[way].append(rate(trace.rounds))
                ways[f"{way}, plain"].append(rate(trace.baseline))
            ways["generate"].append(generate(arguments, seed))
    for way, rates in ways.items():
        show(f"{way}, tokens/s", rates)
    for one, other in RATIOS:
        show(f"{one} / {other}", [a / b for a, b in zip(ways[one], ways[other])])


def read(url: str, fields: dict[str, object]) -> Trace:
    """The run, asked for and read as the page's scripts do, but drawn by nobody."""
    with Client(url) as client:
        with client.run(**fields) as deltas:
            *_, last = deltas
        return from_json(client.ask("trace", {"run": last["run"]}))


def rate(rounds: Sequence[Round]) -> float:
    """Tokens/s by the engine's own clock."""
    return measure(rounds).tokens_per_second


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

"""Runs that are stopped or left at a random moment."""

import random
from itertools import chain, islice

from .bars import Bars
from .client import Client, ending
from .served import Served

_SAME = {"prompt": "Explain why the sky is blue.", "length": 8, "k": 3, "seed": 7}


def cancel(runs: int, bars: Bars) -> None:
    chance, wrong, unclean = random.Random(1), 0, 0
    with Served() as served, Client(served.url) as client, Client(served.url) as next_one:
        fresh = next_one.whole(**_SAME)
        for seed in range(runs):
            unclean += not _left(client, chance, seed)
            wrong += next_one.whole(**_SAME) != fresh
    bars.hold(f"of {runs} runs stopped by a button, those that were not told so", unclean, not unclean)
    bars.hold(f"runs after them that did not start or differ from a fresh one, of {runs}", wrong, not wrong)


def _left(client: Client, chance: random.Random, seed: int) -> bool:
    """Begin a run and end it somewhere, half the time by leaving it; whether a stop was told, to who asked for it and to
    the run's reader. A run may have come to its own end just before."""
    with client.run(prompt="Count to a hundred.", length=400, seed=seed) as deltas:
        some = list(islice(deltas, chance.randrange(1, 12)))
        if chance.random() < 0.5:
            return True
        told = client.ask("stop", {"run": some[0]["run"]})["phase"]["name"]
        return told in ("stopped", "done") and ending(chain(some, deltas)).name == told

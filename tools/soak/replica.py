"""A replica of the engine is killed in the middle of a run, while another one goes on."""

import random
import threading

import psutil

from .bars import Bars
from .client import SILENCE_S, Client, Ending, ending
from .served import Served

_REPLICAS = 2
_LONG = {"prompt": "Count to a hundred.", "length": 120, "k": 3}
_SEEDS = (3, 4)
_SAME = {"prompt": "Explain why the sky is blue.", "length": 12, "k": 3, "seed": 7}


def replica(runs: int, bars: Bars) -> None:
    chance, alone, right = random.Random(1), 0, 0
    with Served("--replicas", str(_REPLICAS)) as served, Client(served.url) as client:
        fresh = client.whole(**_SAME)
        whole = {seed: client.whole(**_LONG, seed=seed) for seed in _SEEDS}
        for _ in range(runs):
            ends = _with_a_death(served, chance)
            lived = [seed for seed in _SEEDS if ends[seed] == whole[seed]]
            died = [seed for seed in _SEEDS if ends[seed].name == "failed" and _begins(ends[seed], whole[seed])]
            alone += len(lived) == len(died) == 1
            right += all(client.whole(**_SAME) == fresh for _ in range(_REPLICAS))
    bars.hold("a killed replica ends its run alone, and the text so far is right", f"{alone} of {runs}", alone == runs)
    bars.hold("runs afterwards equal a fresh one", f"{right} of {runs}", right == runs)


def _with_a_death(served: Served, chance: random.Random) -> dict[int, Ending]:
    """How runs ended that were going on, one on each replica, when a replica was killed."""
    ends: dict[int, Ending] = {}
    writing = threading.Barrier(len(_SEEDS) + 1, timeout=SILENCE_S)
    threads = [threading.Thread(target=_run, args=(served.url, seed, writing, ends)) for seed in _SEEDS]
    for thread in threads:
        thread.start()
    writing.wait()
    chance.choice([one for one in served.processes() if _is_replica(one)]).kill()
    for thread in threads:
        thread.join()
    return ends


def _run(url: str, seed: int, writing: threading.Barrier, ends: dict[int, Ending]) -> None:
    def deltas():
        waits = True
        for delta in given:
            if waits and delta.get("plain"):
                writing.wait()
                waits = False
            yield delta

    with Client(url) as client, client.run(**_LONG, seed=seed) as given:
        ends[seed] = ending(deltas())


def _is_replica(process: psutil.Process) -> bool:
    return "ServeReplica" in " ".join(process.cmdline())


def _begins(one: Ending, other: Ending) -> bool:
    return all(other.ids[lane][: len(ids)] == ids for lane, ids in one.ids.items())

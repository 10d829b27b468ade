"""What ZeroGPU does with a work, done here: pickled, and worked on by a forked process that a pipe leads to."""

import multiprocessing
import pickle
import sys
from collections.abc import Iterator
from functools import partial
from multiprocessing.connection import Connection

import torch

from ..models import Pair
from ..session import LANES
from ..session.phase import Phase
from ..session.place import Work, settled
from ..session.raced import Spelled, raced
from ..session.request import Request
from .zero import seconds

_SILENCE_S = 120.0  # until a worker that says nothing is given up

#: What a seed decides of a round, not what a clock does.
Written = dict[str, list[tuple]]


def work() -> Work:
    """A short run of both lanes, sampled."""
    request = Request.of(prompt="Why is the sky blue?", k=3, temperature=0.9, seed=7, length=16)
    return Work(request.pair, partial(raced, request), len(LANES) * request.params.max_new_tokens)


def here(pair: Pair, asked: Work) -> list[object]:
    """The news of a work, on one thread, as the worker has one. Raises ValueError where it fails."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _sound(list(settled(asked.begin(pair))))
    finally:
        torch.set_num_threads(threads)


def forked(pair: Pair, asked: Work) -> list[object]:
    """The news of a work from a forked process, which gets the pair by the fork. Raises ValueError where it fails."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    worker = context.Process(target=_far, args=(theirs, pair, asked), daemon=True)
    worker.start()
    theirs.close()
    try:
        return _sound(list(_received(ours)))
    finally:
        worker.kill()
        worker.join()
        ours.close()


def written(news: list[object]) -> Written:
    """What the lanes wrote."""
    rounds = [one for one in news if isinstance(one, Spelled)]
    return {lane: [(one.round.k, one.round.events) for one in rounds if one.lane == lane] for lane in LANES}


def pickled(asked: Work, news: list[object]) -> str:
    """How much crosses. Raises ValueError where something does not come out as it went in."""
    sizes = []
    for thing in (asked, *news):
        try:
            data = pickle.dumps(thing)
            same = repr(pickle.loads(data)) == repr(thing)
        except Exception as error:
            raise ValueError(f"a {type(thing).__name__} does not pickle: {type(error).__name__}: {error}") from error
        if not same:
            raise ValueError(f"a {type(thing).__name__} comes out of a pickle as another one")
        sizes.append(len(data))
    return f"{len(news)} news, the largest {max(sizes):,} bytes; {seconds(asked)} s of a GPU would be asked for"


def can_fork() -> bool:
    return "fork" in multiprocessing.get_all_start_methods() and sys.platform != "darwin"


def _far(pipe: Connection, pair: Pair, asked: Work) -> None:
    torch.set_num_threads(1)  # a process's threads do not come along with a fork
    for one in settled(asked.begin(pair)):
        pipe.send(one)
    pipe.close()


def _received(pipe: Connection) -> Iterator[object]:
    while True:
        if not pipe.poll(_SILENCE_S):
            raise ValueError(f"the worker has said nothing for {_SILENCE_S:.0f} s")
        try:
            yield pipe.recv()
        except EOFError:
            return


def _sound(news: list[object]) -> list[object]:
    last = news[-1] if news else Phase("failed", {"sentence": "the worker died"})
    if last != Phase("done"):
        raise ValueError(str(last.values.get("sentence", last.name)))
    return news

"""Work on ZeroGPU: the pairs stand in the page's process, their work is done by a worker that borrows a GPU.

The package `spaces` (0.51.3 was read) forks that worker off the page's process, so that the pairs come along; a work
and its news cross by a pipe, pickled. In the page's process there is no GPU: what is put on "cuda" there lies in memory
until a worker has one. It goes by thread, so the pairs are loaded by the main thread, before the page is opened.
"""

import math
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace

from ..models import CATALOGUE, LoadError, Pair, PairSpec, load_pair
from ..pace import UNMEASURED
from ..session.phase import Phase
from ..session.place import About, Steps, Work, settled, sparse, within
from ..words import Saying

#: Seconds of a GPU to ask for: for the fork and the weights, for a token, and at most. A visitor's quota is minutes a
#: day, and `spaces` asks for half as much again on the half of a card that is its default.
START_S, TOKEN_S, MOST_S = 8, 0.03, 60

#: In the environment of a Space: which pairs of the catalogue it has, with commas between them.
PAIRS = "SPECDEMO_PAIRS"

_OF_THE_PROCESS = ("note_pace", "note_pace_none")  # notes on costs that were measured where there was no GPU

Decorator = Callable[..., Callable[[Callable[[Work], Iterator[object]]], Callable[[Work], Iterator[object]]]]


def on_zero() -> bool:
    """Whether this is a Space on ZeroGPU, by the sign that `spaces` goes by."""
    return os.environ.get("SPACES_ZERO_GPU", "").lower() in ("1", "t", "true")


def chosen() -> list[PairSpec]:
    """The pairs that the environment names, the page's own first. Raises ValueError for an unknown one."""
    names = [name.strip() for name in os.environ.get(PAIRS, "").split(",") if name.strip()]
    for name in names:
        if name not in CATALOGUE:
            raise ValueError(f"{PAIRS} has {name!r}; it may have {', '.join(CATALOGUE)}")
    return [CATALOGUE[name] for name in names] or [next(iter(CATALOGUE.values()))]


def seconds(work: Work) -> int:
    """Of a GPU that a work may take."""
    return min(MOST_S, math.ceil(START_S + TOKEN_S * work.tokens))


def gpu() -> Decorator:
    """The decorator of `spaces`. To be asked for by the main thread and before CUDA is used."""
    # Only Spaces have this package, and importing it on ZeroGPU changes torch.
    import spaces

    return spaces.GPU


class ZeroGPU:
    """The `Place` of a Space on ZeroGPU; who comes first is its own scheduler's affair."""

    def __init__(
        self,
        specs: Iterable[PairSpec],
        decorator: Decorator,
        load: Callable[..., Pair] = load_pair,
        device: str = "cuda",
    ) -> None:
        self._held = {spec: _loaded(spec, load, device) for spec in specs}
        self._on_gpu = decorator(duration=seconds)(self._far)

    def work(self, work: Work) -> Iterator[object]:
        held = self._look(work.spec)
        if isinstance(held, Phase):
            yield held
            return
        yield Phase("loading", {"fraction": 1.0, "sentence": Saying("zero_waiting")})
        try:
            with closing(self._on_gpu(work)) as news:
                yield from news
        except Exception as error:  # the worker tells its own errors: this is a quota, or a worker that died
            yield Phase("failed", {"sentence": Saying("zero_refused", error=_words(error))})

    def prepare(self, spec: PairSpec) -> None:
        """All there can be is there."""

    def readiness(self, spec: PairSpec) -> About | Phase:
        held = self._look(spec)
        return held if isinstance(held, Phase) else About.of(held)

    def _look(self, spec: PairSpec) -> Pair | Phase:
        there = ", ".join(spec.name for spec in self._held)
        return self._held.get(spec) or _failed(Saying("zero_pair", name=spec.title, names=there))

    def _far(self, work: Work) -> Iterator[object]:
        """In the worker."""
        yield from sparse(settled(self._timed(work)))

    def _timed(self, work: Work) -> Steps:
        """It ends by itself before ZeroGPU would end it."""
        with closing(work.begin(self._held[work.spec])) as news:
            return (yield from within(news, seconds(work)))


def _loaded(spec: PairSpec, load: Callable[..., Pair], device: str) -> Pair | Phase:
    """The pair, or the phase that says why not: the page opens all the same, with its recorded runs."""
    try:
        pair = load(spec, device=device)
    except LoadError as error:
        return _failed(error.saying)
    notes = tuple(note for note in pair.notes if note.key not in _OF_THE_PROCESS)
    return replace(pair, costs=UNMEASURED, notes=notes)


def _failed(sentence: Saying) -> Phase:
    return Phase("failed", {"sentence": sentence})


def _words(error: Exception) -> str:
    """What `spaces` says by gradio's errors; of others the type, too."""
    message = str(getattr(error, "message", "") or "")
    return message or f"{type(error).__name__}: {error}"

"""Do recorded rounds say what the engine's say? Found out on the machine itself, before any run relies on it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain

import torch

from .graphs import Capture, cuda_graph
from .lanes import speculative
from .models import Pair, PairSpec
from .records import Round, SamplingParams, TokenEvent
from .words import Saying

_PROMPT, _TOKENS, _K = 8, 24, 3
_TOLERANCE = 1e-3  # in probability, in float32
_LOW_PRECISION = 0.1  # passes over other numbers of tokens round otherwise; a wrong token in a cache moves p by more


def load_recorded(load: Callable[..., Pair], spec: PairSpec, **how: object) -> Pair:
    """What `load` loads, `with_graphs`."""
    return with_graphs(load(spec, **how))


def with_graphs(pair: Pair, capture: Capture | None = None) -> Pair:
    """The pair with its rounds recorded, if that can be and a short text comes out alike; a note says which it is.

    capture  None: CUDA graphs, for which there must be a GPU
    """
    reason = None if capture else _no_gpu(pair.target.device)
    tried = replace(pair, record=capture or cuda_graph)
    reason = reason or _no_fixed_run(pair) or _difference(tried, pair)
    if reason:
        return replace(pair, notes=(*pair.notes, Saying("note_graphs_none", reason=reason)))
    return replace(tried, notes=(*pair.notes, Saying("note_graphs")))


def _no_gpu(device: torch.device) -> Saying | None:
    return None if device.type == "cuda" else Saying("graphs_need_gpu", device=device)


def _no_fixed_run(pair: Pair) -> Saying | None:
    for weights in (pair.target, pair.draft):
        if weights.open_fixed is None:
            return Saying("graphs_need_own", name=weights.title)
    return None


def _difference(recorded: Pair, plain: Pair) -> Saying | None:
    try:
        one, other = ([*_short(pair)] for pair in (recorded, plain))
    except RuntimeError as error:  # an operation that cannot be recorded, or no memory for it
        return Saying("graphs_failed", error=(str(error).splitlines() or [type(error).__name__])[0][:120].rstrip("."))
    tolerance = _TOLERANCE if plain.target.dtype == torch.float32 else _LOW_PRECISION
    return None if _alike(_events(one), _events(other), tolerance) else Saying("graphs_differ")


def _short(pair: Pair) -> list[Round]:
    prompt = [i % pair.open_target().vocab_size for i in range(1, _PROMPT + 1)]
    return list(speculative(pair, prompt, SamplingParams(seed=0, max_new_tokens=_TOKENS), _K))


def _events(rounds: Sequence[Round]) -> list[TokenEvent]:
    return list(chain.from_iterable(round_.events for round_ in rounds))


def _alike(one: Sequence[TokenEvent], other: Sequence[TokenEvent], tolerance: float) -> bool:
    """Up to rounding, to where they part: at a near-tie two right texts may, but the laws are alike there too."""
    for a, b in zip(one, other):
        if not _near(_laws(a), _laws(b), tolerance):
            return False
        if (a.token_id, a.outcome) != (b.token_id, b.outcome):
            return True
    return len(one) == len(other)


def _laws(event: TokenEvent) -> dict[int, tuple[float, float]]:
    """p and q of the likeliest tokens."""
    return {row.token_id: (row.p, row.q or 0.0) for row in event.top}


def _near(one: dict[int, tuple[float, float]], other: dict[int, tuple[float, float]], tolerance: float) -> bool:
    """What only one of them knows is too unlikely to be told by the other."""
    both = one.keys() & other.keys()
    return bool(both) and all(abs(x - y) <= tolerance for i in both for x, y in zip(one[i], other[i]))

"""The two lanes of a pair, each a run of the engine over caches of its own."""

from collections.abc import Iterator, Sequence

from .block import TOP
from .drafters import ModelDrafter
from .engine import decode, speculate
from .models import Pair
from .pace import Pace
from .records import Round, SamplingParams


def speculative(
    pair: Pair, prompt_ids: Sequence[int], params: SamplingParams, k: int | None, *, top: int = TOP
) -> Iterator[Round]:
    """The target with the help of its draft; `k` None lets a `Pace` choose. Raises as `engine.speculate`."""
    target = pair.open_target()
    drafter = ModelDrafter(pair.open_draft(target))
    length = Pace(pair.costs) if k is None else k
    return speculate(target, drafter, prompt_ids, params, k=length, stop_ids=pair.stop_ids, top=top)


def plain(pair: Pair, prompt_ids: Sequence[int], params: SamplingParams, *, top: int = TOP) -> Iterator[Round]:
    """The target alone; raises as `engine.decode`."""
    return decode(pair.open_target(), prompt_ids, params, stop_ids=pair.stop_ids, top=top)

"""The two lanes of a pair, each a run of the engine over caches of its own."""

from collections.abc import Iterator, Sequence

from . import captured
from .block import TOP
from .contract import room
from .drafters import ModelDrafter
from .engine import decode, speculate
from .models import Pair
from .pace import Pace
from .records import Round, SamplingParams


def speculative(
    pair: Pair, prompt_ids: Sequence[int], params: SamplingParams, k: int | None, *, top: int = TOP
) -> Iterator[Round]:
    """The target with the help of its draft; `k` None lets a `Pace` choose. Raises as `engine.speculate`."""
    length = Pace(pair.costs) if k is None else k
    if pair.record:
        stage = _stage(pair, prompt_ids, params, top, drafts=True)
        return captured.speculate(stage, prompt_ids, params, k=length, stop_ids=pair.stop_ids)
    target = pair.open_target()
    drafter = ModelDrafter(pair.open_draft(target))
    return speculate(target, drafter, prompt_ids, params, k=length, stop_ids=pair.stop_ids, top=top)


def plain(pair: Pair, prompt_ids: Sequence[int], params: SamplingParams, *, top: int = TOP) -> Iterator[Round]:
    """The target alone; raises as `engine.decode`."""
    if pair.record:
        stage = _stage(pair, prompt_ids, params, top, drafts=False)
        return captured.decode(stage, prompt_ids, params, stop_ids=pair.stop_ids)
    return decode(pair.open_target(), prompt_ids, params, stop_ids=pair.stop_ids, top=top)


def _stage(
    pair: Pair, prompt_ids: Sequence[int], params: SamplingParams, top: int, drafts: bool
) -> captured.Stage:
    """A stage for one run, in memory for its whole length."""
    rows = int(min(len(prompt_ids) + params.max_new_tokens, room(pair.target, 0)))
    draft = pair.draft.open_fixed(rows) if drafts else None
    return captured.Stage(pair.target.open_fixed(rows), draft, params, top, pair.record)

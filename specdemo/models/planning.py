"""Where a pair would go, and what each device would hold then; no weight is fetched or read."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch

from ..words import Saying
from .device import FOUR_BIT
from .errors import LoadError
from .estimate import Estimate, Share
from .failures import explained
from .llama import why_not
from .memory import free_bytes
from .need import Need, need_of, reader_need, sketch
from .sources import Source
from .spread import AUTO, DISK, RAM, Shelf, Space, Spread, device_of, name_of, shelf_of, spread_by, spread_over
from .stamp import stamp_of

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

_USABLE = 0.9  # of a GPU's free memory, where a target is to fill it: passes need some to work in
_LANES = 2  # caches of the target: the page races it alone beside the pair


def estimated(
    target: Source,
    draft: Source,
    asked: Mapping[str, Shelf] | torch.device | str | None,
    device: torch.device,
    dtype: torch.dtype,
    four_bit: bool,
    tokens: int,
) -> Estimate:
    """The estimate for a target by the map `asked` (see `spread.read_map`) and a draft on `device`.

    Raises LoadError for what cannot run whatever the room.
    """
    # 1. The draft, which lies on one device; a model that plays both parts has only a cache more.
    whole = asked if isinstance(asked, torch.device) else device
    once = _need(target, dtype, whole, four_bit)
    other = Need(0, once.token) if draft == target else _need(draft, dtype, device, four_bit)
    held = _Held()
    held.put(shelf_of(device), other.weights, tokens * other.token)
    # 2. The target: on one device where that is asked for or does, else in parts.
    place: torch.device | Spread | None = whole
    if isinstance(asked, Mapping) or (asked == AUTO and not held.fits(shelf_of(device), once, _LANES * tokens)):
        place = _spread(target, draft, asked, held, device, dtype, four_bit, _LANES * tokens)
    if isinstance(place, Spread):
        for shelf in place.shelves:
            held.put(shelf, place.weights[shelf], _LANES * tokens * place.token[shelf])
    else:
        held.put(shelf_of(whole), once.weights, _LANES * tokens * once.token)
    # 3. Both beside what is free.
    names = target.name if draft == target or draft.reads_target else f"{target.name} + {draft.name}"
    numbers = FOUR_BIT if four_bit else str(dtype).removeprefix("torch.")
    return Estimate(names, numbers, tokens, held.shares(), place)


class _Held:
    """What each shelf is to hold."""

    def __init__(self) -> None:
        self._weights: Counter[Shelf] = Counter()
        self._cache: Counter[Shelf] = Counter()

    def put(self, shelf: Shelf, weights: int, cache: int) -> None:
        self._weights[shelf] += weights
        self._cache[shelf] += cache

    def left(self, shelf: Shelf) -> float:
        free = free_on(shelf)
        return float("inf") if free is None else free - self._weights[shelf] - self._cache[shelf]

    def fits(self, shelf: Shelf, need: Need, tokens: int) -> bool:
        return need.weights + tokens * need.token <= self.left(shelf)

    def shares(self) -> tuple[Share, ...]:
        return tuple(
            Share(name_of(shelf), weights, self._cache[shelf], free_on(shelf))
            for shelf, weights in self._weights.items()
        )


def free_on(shelf: Shelf) -> int | None:
    """Bytes that are free on a shelf; None where the system does not tell, and of a disk, where nothing is written."""
    return None if shelf == DISK else free_bytes(device_of(shelf))


def gpus_from(device: torch.device) -> list[Shelf]:
    """All GPUs of a machine, the one of `device` first; none where `device` is none of them."""
    if device.type != "cuda":
        return []
    first = shelf_of(device)
    return [first, *(i for i in range(torch.cuda.device_count()) if i != first)]


def _spread(
    target: Source,
    draft: Source,
    asked: Mapping[str, Shelf] | str,
    held: _Held,
    device: torch.device,
    dtype: torch.dtype,
    four_bit: bool,
    cache_tokens: int,
) -> Spread | None:
    _refuse_what_cannot_be_spread(target, draft, four_bit)
    with explained(target.name):
        module = sketch(_decoder(target), dtype)
        if asked != AUTO:
            return spread_by(asked, module, target.name)
        gpus = [Space(shelf, int(_USABLE * max(0, held.left(shelf)))) for shelf in gpus_from(device)]
        return spread_over([*gpus, Space(RAM, int(held.left(RAM)))], cache_tokens, module) if gpus else None


def _refuse_what_cannot_be_spread(target: Source, draft: Source, four_bit: bool) -> None:
    reason = Saying("library_since_spread")
    if target.gguf:
        raise LoadError("map_gguf", name=target.name)
    if four_bit:
        raise LoadError("int4_needs_own", name=target.title, reason=reason)
    if draft.reads_target:
        raise LoadError("reader_needs_own", name=draft.title, forward=Saying("forward_library", reason=reason))


def _need(source: Source, dtype: torch.dtype, device: torch.device, four_bit: bool) -> Need:
    with explained(source.name):
        if source.reads_target:
            shape = json.loads((source.folder / "config.json").read_text(encoding="utf-8"))["shape"]
            return reader_need(source.folder, shape, dtype, device)
        if found := stamp_of(source, dtype, device, four_bit).read():
            return Need(found["weights"]["bytes"], found["weights"]["token_bytes"])
        config = _decoder(source)
        if four_bit and (reason := why_not(config)):
            raise LoadError("int4_needs_own", name=source.title, reason=reason)
        return need_of(config, dtype, four_bit)


def _decoder(source: Source) -> "PreTrainedConfig":
    """The configuration of a model that can be a target or a draft. Raises LoadError for another."""
    config = source.read_config()
    if config.is_encoder_decoder:
        raise LoadError("encoder_decoder", name=source.name)
    if not isinstance(getattr(config.get_text_config(decoder=True), "vocab_size", None), int):
        raise LoadError("config_no_vocabulary", name=source.name)
    return config

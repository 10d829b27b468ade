"""Where the parts of a target lie that one device does not hold: accelerate's `device_map`, checked and weighed.

Parts on GPUs are computed where they lie. Parts on the CPU or the disk beside a GPU are brought to the main device in
each pass, one after another, and are slow for it.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch

from ..words import Saying
from .device import choose_device
from .errors import LoadError
from .need import layers_of_a_token

if TYPE_CHECKING:
    from transformers import PreTrainedModel

#: What stands for the map that is worked out from the free memory of each device.
AUTO = "auto"

#: Of a map's values, those that are no device of their own beside a GPU.
RAM, DISK = "cpu", "disk"

#: What a part of a target may lie on: a GPU's number, RAM, DISK, or another device.
Shelf = int | str | torch.device

_EXAMPLE = '{"model.embed_tokens": 0, "model.layers": "cpu", "model.norm": 0, "lm_head": 0}'
_SHOWN = 6  # parts of a model in a message


class Space(NamedTuple):
    """A shelf and how many bytes may be put there."""

    shelf: Shelf
    free: int


@dataclass(frozen=True, slots=True)
class Spread:
    """A map from parts of a target, by their names in the library's module, to where they lie.

    weights  bytes of them on each shelf, with what is brought to the main device in a pass
    token    bytes that a token adds to the caches on each shelf
    """

    parts: Mapping[str, Shelf]
    weights: Mapping[Shelf, int]
    token: Mapping[Shelf, int]

    @property
    def shelves(self) -> list[Shelf]:
        return sorted(set(self.parts.values()), key=_rank)

    @property
    def main(self) -> torch.device:
        """Where a pass begins and ends."""
        return device_of(_main(self.parts))


def read_map(text: str | None) -> dict[str, Shelf] | torch.device | str | None:
    """A map as a person writes it: nothing, AUTO, a device for all of it, or a JSON object. Raises LoadError."""
    if text is None or text == AUTO:
        return text
    if not text.lstrip().startswith("{"):
        return choose_device(text.strip())
    try:
        parts = json.loads(text)
    except ValueError as error:
        raise LoadError("map_unreadable", map=repr(text[:80]), example=_EXAMPLE) from error
    if not parts:
        raise LoadError("map_unreadable", map=repr(text[:80]), example=_EXAMPLE)
    return {part: _shelf(value) for part, value in parts.items()}


def shelf_of(device: torch.device) -> Shelf:
    if device.type == "cuda":
        return device.index or 0  # accelerate takes the least number for the main device, but of names any
    return RAM if device.type == "cpu" else device


def device_of(shelf: Shelf) -> torch.device:
    """The device of a shelf; what lies on the disk is none's, and passes through the CPU."""
    if isinstance(shelf, int):
        return torch.device(f"cuda:{shelf}")
    return torch.device(RAM) if shelf == DISK else torch.device(shelf)


def name_of(shelf: Shelf) -> str:
    return DISK if shelf == DISK else str(device_of(shelf))


def spread_by(parts: Mapping[str, Shelf], module: "PreTrainedModel", name: str) -> Spread:
    """A person's map over the `need.sketch` of the model `name`. Raises LoadError where it does not fit its parts."""
    known = [part for part, _ in module.named_modules()]
    for part in parts:
        if part not in known:
            raise LoadError("map_part_unknown", part=repr(part), name=name, parts=", ".join(_top(module)))
    for tensor, _ in _tensors(module):
        if _place(tensor, parts) is None:
            raise LoadError("map_incomplete", part=tensor, name=name)
    return _weighed(parts, module)


def spread_over(spaces: Sequence[Space], cache_tokens: int, module: "PreTrainedModel") -> Spread | None:
    """The first spaces that hold the `need.sketch` and its caches of so many tokens in all; None if all do not.

    The last space is the RAM; nothing is put on the disk, from which each pass would have to read it again.
    """
    # Seconds to import.
    from transformers.integrations.accelerate import infer_auto_device_map

    layers = [cache_tokens * layer for layer in layers_of_a_token(module)]
    budgets = {i: max(0, space.free - _cache_there(i, layers, len(spaces))) for i, space in enumerate(spaces[:-1])}
    budgets[RAM] = spaces[-1].free
    found = infer_auto_device_map(module, max_memory=budgets, no_split_module_classes=module._no_split_modules)
    if DISK in found.values():
        return None
    return _weighed({part: key if key == RAM else spaces[key].shelf for part, key in found.items()}, module)


def _cache_there(i: int, layers: list[int], spaces: int) -> int:
    """Bytes to keep for caches on the i-th space.

    Layers in RAM have theirs on the first GPU, so it keeps room for all of them; another keeps its share.
    """
    return sum(layers) if i == 0 else sum(layers) // max(1, spaces - 1)


def _shelf(value: object) -> Shelf:
    if value in (RAM, DISK):
        return value
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise LoadError("map_device_unknown", name=repr(value))
    return shelf_of(choose_device(f"cuda:{value}" if isinstance(value, int) else value))


def _main(parts: Mapping[str, Shelf]) -> Shelf:
    nearest = min(parts.values(), key=_rank)
    return RAM if nearest == DISK else nearest


def _rank(shelf: Shelf) -> tuple[int, int, str]:
    """GPUs by their numbers, then other devices, then the RAM, then the disk."""
    if isinstance(shelf, int):
        return 0, shelf, ""
    return {RAM: 2, DISK: 3}.get(shelf, 1), 0, str(shelf)


def _place(name: str, parts: Mapping[str, Shelf]) -> Shelf | None:
    """Where the tensor or module `name` lies: what the map says of it, or of the nearest part that it belongs to."""
    while name and name not in parts:
        name = name.rpartition(".")[0]
    return parts.get(name)


def _tensors(module: "PreTrainedModel") -> Iterator[tuple[str, torch.Tensor]]:
    """Of all its parts; one that two parts share comes twice, as it is there twice where they lie apart."""
    yield from module.named_parameters(remove_duplicate=False)
    yield from module.named_buffers(remove_duplicate=False)


def _top(module: "PreTrainedModel") -> list[str]:
    """The first of the parts that a map would name."""
    children = [f"{name}.{inner}" for name, part in module.named_children() for inner, _ in part.named_children()]
    heads = [name for name, part in module.named_children() if not list(part.children())]
    return [*children[:_SHOWN], *heads]


def _weighed(parts: Mapping[str, Shelf], module: "PreTrainedModel") -> Spread:
    weights, guests, seen = Counter(), Counter(), set()
    main = _main(parts)
    for name, tensor in _tensors(module):
        shelf, size = _place(name, parts), tensor.numel() * tensor.element_size()
        if (id(tensor), shelf) not in seen:
            seen.add((id(tensor), shelf))
            weights[shelf] += size
        if shelf != main and shelf in (RAM, DISK):
            guests[name.rpartition(".")[0]] += size
    weights[main] += max(guests.values(), default=0)
    return Spread(parts, weights, _caches(parts, module, main))


def _caches(parts: Mapping[str, Shelf], module: "PreTrainedModel", main: Shelf) -> Counter[Shelf]:
    """Bytes that a token adds on each shelf; a layer that is brought to the main device has its cache there."""
    sizes = layers_of_a_token(module)
    layers = [name for name, part in module.named_modules() if type(part).__name__ in (module._no_split_modules or ())]
    places = [_place(name, parts) for name in layers] if len(layers) == len(sizes) else [main] * len(sizes)
    token: Counter[Shelf] = Counter()
    for size, shelf in zip(sizes, places):
        token[main if shelf is None or shelf in (RAM, DISK) else shelf] += size
    return token


def listed(parts: Sequence[Saying | str]) -> Saying | str:
    """Several things as one, in any language."""
    first, *rest = parts
    return Saying("listed", first=first, rest=listed(rest)) if rest else first

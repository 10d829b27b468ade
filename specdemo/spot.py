"""A value from outside together with its place, so that what is wrong with it can be said in one sentence."""

import json
import reprlib
from collections.abc import Collection, Iterator
from typing import NamedTuple

from .records import is_real, is_whole


class Spot(NamedTuple):
    """`value` was found at `place`, say "rounds[3].events[1].p". Each method gives it checked or raises ValueError."""

    value: object
    place: str

    def fault(self, legal: str) -> ValueError:
        return ValueError(f"{self.place} is {shorten(self.value)}; it must be {legal}")

    def at(self, key: str) -> "Spot":
        """What an object has under `key`."""
        fields = self.fields()
        place = f"{self.place}.{key}" if self.place else key
        if key not in fields:
            raise ValueError(f"{place} is missing")
        return Spot(fields[key], place)

    def has(self, key: str) -> bool:
        """Whether an object has something other than null under `key`."""
        return self.fields().get(key) is not None

    def fields(self) -> dict[str, object]:
        if not isinstance(self.value, dict):
            raise self._named().fault("an object")
        return self.value

    def items(self, what: str) -> "Iterator[Spot]":
        """The items of a list of `what`."""
        if not isinstance(self.value, list):
            raise self.fault(f"a list of {what}")
        return (Spot(value, f"{self.place}[{i}]") for i, value in enumerate(self.value))

    def tuple_of(self, *names: str) -> "tuple[Spot, ...]":
        """The items of a list that has one for each name."""
        if not isinstance(self.value, list) or len(self.value) != len(names):
            raise self.fault(f"[{', '.join(names)}]")
        return tuple(self.items("values"))

    def whole(self, most: int) -> int:
        if not is_whole(self.value) or not 0 <= self.value <= most:
            raise self.fault(f"a whole number from 0 to {most}")
        return self.value

    def number(self, least: float, most: float, legal: str) -> float:
        # The bounds come before the conversion: an int may be too large for a float.
        if not is_real(self.value) or not least <= self.value <= most:
            raise self.fault(legal)
        return float(self.value)

    def null(self, why: str) -> None:
        if self.value is not None:
            raise self.fault(f"null: {why}")

    def text(self) -> str:
        """A string that can be written: half of a surrogate pair cannot."""
        if not isinstance(self.value, str):
            raise self.fault("a string")
        if not self.value.isascii() and any("\ud800" <= char <= "\udfff" for char in self.value):
            raise self.fault("text without half characters")
        return self.value

    def one_of(self, names: Collection[str]) -> str:
        if not isinstance(self.value, str) or self.value not in set(names):
            raise self.fault(f"one of {', '.join(names)}")
        return self.value

    def _named(self) -> "Spot":
        return self if self.place else self._replace(place="the whole")


def shorten(value: object) -> str:
    """The value as a message may show it: a hostile one may be megabytes."""
    return reprlib.repr(value) if isinstance(value, (str, list, dict)) else json.dumps(value)[:40]

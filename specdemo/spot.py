"""A value from outside together with its place, so that what is wrong with it can be said in one sentence."""

import json
import reprlib
from collections.abc import Collection, Iterator
from typing import NamedTuple

from .records import is_real, is_whole
from .words import Refusal, Saying


class Spot(NamedTuple):
    """`value` was found at `place`, say "rounds[3].events[1].p". Each method gives it checked or raises Refusal."""

    value: object
    place: str

    def fault(self, legal: str, /, **values: object) -> Refusal:
        """`legal` is the key of the words that say what would be, with the values of its places."""
        return Refusal("spot_wrong", place=self.place, value=shorten(self.value), legal=Saying(legal, **values))

    def at(self, key: str) -> "Spot":
        """What an object has under `key`."""
        fields = self.fields()
        place = f"{self.place}.{key}" if self.place else key
        if key not in fields:
            raise Refusal("spot_missing", place=place)
        return Spot(fields[key], place)

    def has(self, key: str) -> bool:
        """Whether an object has something other than null under `key`."""
        return self.fields().get(key) is not None

    def fields(self) -> dict[str, object]:
        if not isinstance(self.value, dict):
            raise self._named().fault("spot_object")
        return self.value

    def items(self) -> "Iterator[Spot]":
        """The items of a list."""
        if not isinstance(self.value, list):
            raise self.fault("spot_list")
        return (Spot(value, f"{self.place}[{i}]") for i, value in enumerate(self.value))

    def tuple_of(self, *names: str) -> "tuple[Spot, ...]":
        """The items of a list that has one for each name."""
        if not isinstance(self.value, list) or len(self.value) != len(names):
            raise self.fault("spot_tuple", names=", ".join(names))
        return tuple(self.items())

    def whole(self, most: int) -> int:
        if not is_whole(self.value) or not 0 <= self.value <= most:
            raise self.fault("spot_whole", most=most)
        return self.value

    def number(self, least: float, most: float, legal: str) -> float:
        """`legal` as for `fault`."""
        # The bounds come before the conversion: an int may be too large for a float.
        if not is_real(self.value) or not least <= self.value <= most:
            raise self.fault(legal)
        return float(self.value)

    def null(self, why: str, **values: object) -> None:
        """`why` is the key of the words that say why there is nothing here."""
        if self.value is not None:
            raise self.fault("spot_null", why=Saying(why, **values))

    def text(self) -> str:
        """A string that can be written: half of a surrogate pair cannot."""
        if not isinstance(self.value, str):
            raise self.fault("spot_string")
        if not self.value.isascii() and any("\ud800" <= char <= "\udfff" for char in self.value):
            raise self.fault("spot_half")
        return self.value

    def one_of(self, names: Collection[str]) -> str:
        if not isinstance(self.value, str) or self.value not in set(names):
            raise self.fault("spot_one_of", names=", ".join(names))
        return self.value

    def _named(self) -> "Spot":
        return self if self.place else self._replace(place="JSON")


def shorten(value: object) -> str:
    """The value as a message may show it: a hostile one may be megabytes."""
    return reprlib.repr(value) if isinstance(value, (str, list, dict)) else json.dumps(value)[:40]

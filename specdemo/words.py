"""What a person reads, in the language that they read.

The texts stand in assets/words/<language>/<room>.json: a key a text, with {named} places for values. A key means one
thing in all rooms, and every language has the same keys and places; `tests/test_words.py` holds them to it.

A `Saying` is a sentence that has not been said yet, so that it can be said in any language later: what the server tells
travels in all of them (`everywhere`), and the page can change its language without asking again.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

FOLDER = Path(__file__).resolve().parents[1] / "assets" / "words"


class Words(Mapping[str, str]):
    """All texts of a language by their keys; the files are read when the first one is asked for."""

    def __init__(self, language: Language) -> None:
        self.language = language

    @cached_property
    def _texts(self) -> dict[str, str]:
        rooms = sorted((FOLDER / self.language).glob("*.json"))
        return {key: text for room in rooms for key, text in json.loads(room.read_text("utf-8")).items()}

    def __getitem__(self, key: str) -> str:
        return self._texts[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def say(self, key: str, /, **values: object) -> str:
        """The text with its places filled; a value that is itself a saying is said in this language."""
        return self[key].format(**{place: self._said(value) for place, value in values.items()})

    def _said(self, value: object) -> object:
        return self.say(value.key, **value.values) if isinstance(value, Saying) else value


WORDS: dict[Language, Words] = {language: Words(language) for language in LANGUAGES}
ENGLISH = WORDS["en"]


class Saying:
    """A text by its key with the values of its places; as a `str` it is English."""

    __slots__ = ("key", "values")

    def __init__(self, key: str, /, **values: object) -> None:
        self.key, self.values = key, values

    def __str__(self) -> str:
        return ENGLISH.say(self.key, **self.values)

    def __repr__(self) -> str:
        return f"Saying({self.key!r}, **{self.values!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Saying) and (self.key, self.values) == (other.key, other.values)

    __hash__ = None


class Spoken(Exception):
    """An error that a person is told, in whatever language; as a `str` it is English."""

    def __init__(self, said: Saying | str, /, **values: object) -> None:
        """`said` is a key, with the values of its places, or a whole saying."""
        self.saying = said if isinstance(said, Saying) else Saying(said, **values)
        super().__init__(self.saying)

    def __str__(self) -> str:
        return str(self.saying)


class Refusal(Spoken, ValueError):
    """What was asked for cannot be: the sentence names the value and what is legal."""


def everywhere(told: Saying | str) -> dict[Language, str]:
    """A saying in every language; a plain text, which nobody translates, is the same in all of them."""
    if isinstance(told, str):
        return dict.fromkeys(LANGUAGES, told)
    return {language: words.say(told.key, **told.values) for language, words in WORDS.items()}

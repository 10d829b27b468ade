"""How loading tells what it is at."""

from collections.abc import Callable

#: Told a fraction of the work from 0 to 1 and a sentence.
Progress = Callable[[float, str], None]


def ignore(fraction: float, sentence: str) -> None:
    """Tell nobody."""

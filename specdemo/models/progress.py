"""How loading tells what it is at."""

from collections.abc import Callable

from ..words import Saying

#: Told a fraction of the work from 0 to 1 and a sentence.
Progress = Callable[[float, Saying], None]


def ignore(fraction: float, sentence: Saying) -> None:
    """Tell nobody."""

"""Text from outside as text: nothing in it may steer a terminal."""

from ..view.spelling import visible


def plain(text: str, but: str = "") -> str:
    """text with what has no shape made visible, all but the characters of `but`."""
    return "".join(char if char.isprintable() or char in but else visible(char) for char in text)

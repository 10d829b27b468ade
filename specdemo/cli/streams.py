"""The standard streams, which a shell may have closed."""

from typing import TextIO


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person watches; a stream that is closed is None."""
    return stream is not None and stream.isatty()

"""Files that a command is to write."""

from ..files import check_writable
from .faults import Fault


def check_output(option: str, path: str | None) -> None:
    """Whether it will be possible; None is no file. Raises Fault, or OSError as `check_writable`."""
    if path == "":
        raise Fault(f"{option} names no file")
    if path is not None:
        check_writable(path)

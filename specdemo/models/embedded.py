"""The embedded target: a GGUF file, converted once into a folder that loads in a moment."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import torch
from safetensors.torch import save_file

from ..words import Saying
from .errors import LoadError
from .wheel import GGUF_SHA256, PARTIAL, gguf_file

#: Our own draft, which comes with the program. It uses the target's tokenizer.
DRAFT_FOLDER = Path(__file__).parents[2] / "assets" / "draft"

_FORMAT = 1  # of the converted folder: a new number makes everyone convert again
_NAME = f"smollm2-135m-instruct-{GGUF_SHA256[:8]}-{_FORMAT}"
_STALE_S = 3600  # a conversion takes seconds, so what is older was left by one that was killed


def target_folder(cache: Path, say: Callable[[Saying], None]) -> Path:
    """The folder of the embedded target in float32; made under `cache` if it is not there yet.

    A conversion works in a folder of its own and renames it at the end, so one that is killed, or two at once, leave
    nothing half-made. Raises LoadError.
    """
    folder = cache / _NAME
    try:
        cache.mkdir(parents=True, exist_ok=True)
        _sweep(cache)
        if not folder.is_dir():
            _make(folder, say)
    except OSError as error:
        raise LoadError("embedded_not_written", cache=cache, error=error.strerror or error) from error
    return folder


def _make(folder: Path, say: Callable[[Saying], None]) -> None:
    source = gguf_file(folder.parent, say)
    say(Saying("embedded_converting"))
    partial = Path(tempfile.mkdtemp(prefix=PARTIAL, dir=folder.parent))
    try:
        _convert(source, partial)
        _publish(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _convert(source: Path, folder: Path) -> None:
    """GGUF -> config.json, tokenizer.json and model.safetensors in float32."""
    # Seconds to import, and needed once.
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name, dtype=torch.float32)
    AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name).save_pretrained(folder)
    # The weights are plain numbers now. With the note of their origin left in, loading would look for the GGUF file.
    del model.config.quantization_config
    model.config.save_pretrained(folder)
    tied = set(model.all_tied_weights_keys)
    kept = {name: tensor.contiguous() for name, tensor in model.state_dict().items() if name not in tied}
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)  # the writer keeps it to one user, and a class may share a cache


def _publish(partial: Path, folder: Path) -> None:
    os.chmod(partial, 0o755)  # a temporary folder is closed to others
    try:
        partial.rename(folder)
    except OSError:
        if not folder.is_dir():  # else another process was faster, and its folder is as good
            raise


def _sweep(cache: Path) -> None:
    """Remove what killed conversions left."""
    for partial in cache.glob(f"{PARTIAL}*"):
        with suppress(FileNotFoundError):  # another process may sweep too
            if time.time() - partial.stat().st_mtime > _STALE_S:
                shutil.rmtree(partial, ignore_errors=True)

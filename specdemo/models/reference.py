"""The files and modules of a model as others run them: what our own is compared with."""

from pathlib import Path

import torch
from transformers import PreTrainedModel

from .cached import idle_bytes
from .catalogue import EMBEDDED
from .checkpoint import read_module
from .failures import explained
from .folder import cache_folder
from .progress import Progress
from .quiet import quiet
from .sources import locate
from .wheel import gguf_file


def load_module(name: str, role: str, dtype: torch.dtype, device: torch.device, progress: Progress) -> PreTrainedModel:
    """The library's own module of the model that `name` means. `role` is "target" or "draft". Raises LoadError."""
    with quiet(), explained(name):
        source = locate(name, role, progress)
        return read_module(source, source.weights(progress), dtype, device)


def streamed_bytes(module: PreTrainedModel) -> int:
    """Bytes of weights that a pass of the module streams through."""
    return sum(p.numel() * p.element_size() for p in module.parameters()) - idle_bytes(module)


def gguf_of(name: str, progress: Progress) -> Path | None:
    """The GGUF file that the target `name` was made of; None where there is none. Raises LoadError."""
    if name == EMBEDDED:
        return gguf_file(cache_folder(), lambda sentence: progress(0.0, sentence))
    source = locate(name, "target", progress)
    return source.folder / source.gguf if source.gguf else None

"""One model: from files to weights that have been checked."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, PreTrainedModel

from ..contract import Model
from .agreement import agree
from .cached import CachedModel, declared_ends, weights_of
from .errors import LoadError
from .llama import Llama, why_not
from .pair import Weights
from .progress import Progress
from .selfcheck import check_model
from .sources import Source


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """`ends` are the ids that the checkpoint declares to end a text; `forward` says in words which forward runs it."""

    weights: Weights
    ends: frozenset[int]
    forward: str


def load_checkpoint(source: Source, dtype: torch.dtype, device: torch.device, progress: Progress) -> Checkpoint:
    """Read, place, choose a forward, check that it can be rolled back. Raises LoadError and the libraries' errors."""
    folder = source.weights(lambda share, sentence: progress(0.8 * share, sentence))
    progress(0.8, f"Reading {source.title} …")
    module = _read(source, folder, dtype).to(device)
    progress(0.9, f"Checking {source.title} …")
    open_model, forward = _choose_forward(module, dtype)
    check_model(open_model, dtype, source.title)
    return Checkpoint(weights_of(module, source.title, source.name, open_model), declared_ends(module), forward)


def _read(source: Source, folder: Path, dtype: torch.dtype) -> PreTrainedModel:
    how = {"gguf_file": source.gguf} if source.gguf else {"use_safetensors": True}
    module, report = AutoModelForCausalLM.from_pretrained(
        folder, dtype=dtype, trust_remote_code=False, local_files_only=True, output_loading_info=True, **how
    )
    # The library would fill the gaps with random numbers, and say so only in a log.
    if missing := sorted(report["missing_keys"]):
        raise LoadError(f"{source.name} lacks {len(missing)} of its weights, such as {missing[0]}.")
    return module.eval()


def _choose_forward(module: PreTrainedModel, dtype: torch.dtype) -> tuple[Callable[[], Model], str]:
    """Our own forward where it can run the model and says the same; and in words which it is."""
    reason = why_not(module.config)
    if reason is None:
        own = Llama(module)
        if agree(CachedModel(module), own.open(), dtype):
            return own.open, "our own forward"
        reason = "our own one says something else"
    return lambda: CachedModel(module), f"the library's forward, since {reason}"

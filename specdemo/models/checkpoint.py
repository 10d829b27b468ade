"""One model: from files to weights that have been checked."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, PreTrainedModel

from ..words import Saying
from .agreement import agree, answers
from .cached import CachedModel, declared_ends, weights_of
from .eagle import load_eagle
from .errors import LoadError
from .linear import GROUP
from .llama import Llama, why_not
from .pair import Weights
from .progress import Progress
from .selfcheck import check_model, is_out_of_memory
from .sources import Source


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """`ends` are the ids that the checkpoint declares to end a text; `forward` says in words which forward runs it.

    `own` is our own forward of it, where that is the one.
    """

    weights: Weights
    ends: frozenset[int]
    forward: Saying
    own: Llama | None = None


def load_checkpoint(
    source: Source, dtype: torch.dtype, device: torch.device, progress: Progress, four_bit: bool = False
) -> Checkpoint:
    """Read, place, choose a forward, check that it can be rolled back. Raises LoadError and the libraries' errors.

    With `four_bit` the layers get 4 bits a weight, and `dtype` is that of all else.
    """
    folder = source.weights(lambda share, sentence: progress(0.8 * share, sentence))
    progress(0.8, Saying("model_reading", name=source.title))
    module = read_module(source, folder, torch.float32 if four_bit else dtype, device)
    progress(0.9, Saying("model_checking", name=source.title))
    weights, ends = weights_of(module, source.title, source.name, partial(CachedModel, module)), declared_ends(module)
    reason = why_not(module.config)
    if four_bit:
        _refuse_four_bits(source, reason)
        weights = replace(
            weights,
            dtype=dtype,
            four_bit=True,
            bytes=_bytes_in_four_bits(module, dtype),
            idle_bytes=weights.idle_bytes * dtype.itemsize // weights.dtype.itemsize,
        )
    own = None if reason else _own_forward(module, dtype, four_bit)
    if own:
        weights = replace(weights, open=own.open)
    elif reason is None:
        reason = Saying("library_since_differs")
        if four_bit:
            _refuse_four_bits(source, reason)
        module = read_module(source, folder, dtype, device)  # our own took the first one apart
        weights = replace(weights, open=partial(CachedModel, module))
    check_model(weights.open, dtype, source.title)
    forward = Saying("forward_own") if own else Saying("forward_library", reason=reason)
    return Checkpoint(weights, ends, forward, own)


def load_reader(source: Source, target: Checkpoint, progress: Progress) -> tuple[Checkpoint, Checkpoint]:
    """A draft that reads its target: the target again, whose runs now keep what the draft reads, and the draft.

    Raises LoadError.
    """
    if target.own is None:
        raise LoadError("reader_needs_own", name=source.title, forward=target.forward)
    progress(0.5, Saying("model_reading", name=source.title))
    eagle = load_eagle(source.folder, target.own)
    open_target = partial(target.own.open, eagle.tap_after)
    check_model(lambda: eagle.open(open_target()), target.weights.dtype, source.title)
    weights = replace(
        target.weights,
        title=source.title,
        path=source.name,
        parameters=eagle.parameters,
        bytes=eagle.parameters * target.weights.dtype.itemsize,
        open=eagle.open,
        idle_bytes=0,
        reads=eagle.tap_after,
        four_bit=False,
    )
    seeing = replace(target, weights=replace(target.weights, open=open_target))
    return seeing, Checkpoint(weights, frozenset(), Saying("forward_reads_target"))


def read_module(source: Source, folder: Path, dtype: torch.dtype, device: torch.device) -> PreTrainedModel:
    """The library's module of a model whose files lie in `folder`. Raises LoadError and the libraries' errors."""
    how = {"gguf_file": source.gguf} if source.gguf else {"use_safetensors": True}
    module, report = AutoModelForCausalLM.from_pretrained(
        folder, dtype=dtype, trust_remote_code=False, local_files_only=True, output_loading_info=True, **how
    )
    # The library would fill the gaps with random numbers, and say so only in a log.
    if missing := sorted(report["missing_keys"]):
        raise LoadError("weights_missing", name=source.name, count=len(missing), first=missing[0])
    return module.eval().to(device)


def _own_forward(module: PreTrainedModel, dtype: torch.dtype, four_bit: bool) -> Llama | None:
    """Our own forward of the module, which is taken apart; None if the two do not say the same."""
    expected = answers(CachedModel(module))
    try:
        own = Llama(module, consume=True, four_bit=four_bit)
        return own if agree(answers(own.open()), expected, dtype, four_bit) else None
    except RuntimeError as error:  # a processor for which the packed products of this dtype are not written
        if is_out_of_memory(error):
            raise
        return None


def _refuse_four_bits(source: Source, reason: Saying | None) -> None:
    if reason:
        raise LoadError("int4_needs_own", name=source.title, reason=reason)


def _bytes_in_four_bits(module: PreTrainedModel, dtype: torch.dtype) -> int:
    """Memory of the weights when those of the layers' products have 4 bits and a share of their group's two scales."""
    everything = sum(p.numel() for p in module.parameters())
    products = sum(p.numel() for p in module.model.layers.parameters() if p.dim() == 2)
    return round((everything - products) * dtype.itemsize + products * (1 / 2 + 2 * dtype.itemsize / GROUP))

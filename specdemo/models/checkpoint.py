"""One model by way of the library: from files to weights that have been checked."""

import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, PreTrainedModel

from ..words import Saying
from .agreement import agree, answers
from .cached import CachedModel, declared_ends, weights_of
from .errors import LoadError
from .fixed import FixedRun
from .known import OWN, Checkpoint, keep
from .llama import Llama, why_not
from .progress import Progress
from .need import sketch, weights_in_four_bits
from .selfcheck import check_model, is_out_of_memory
from .skeleton import numbers_of
from .sources import Source
from .spread import Shelf, Spread, name_of
from .stamp import Stamp


def load_checkpoint(
    source: Source, dtype: torch.dtype, device: torch.device, four_bit: bool, stamp: Stamp, progress: Progress
) -> Checkpoint:
    """Read, place, choose a forward, check that it can be rolled back. Raises LoadError and the libraries' errors.

    With `four_bit` the layers get 4 bits a weight, and `dtype` is that of all else. The stamp is set if our own forward
    is the one.
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
            bytes=weights_in_four_bits(module, dtype),
            idle_bytes=weights.idle_bytes * dtype.itemsize // weights.dtype.itemsize,
        )
    numbers = None if reason else numbers_of(module)
    own = None if reason else _own_forward(module, dtype, four_bit)
    if own:
        weights = replace(weights, open=own.open, open_fixed=partial(FixedRun, own), token_bytes=own.token_bytes)
    elif reason is None:
        reason = Saying("library_since_differs")
        if four_bit:
            _refuse_four_bits(source, reason)
        module = read_module(source, folder, dtype, device)  # our own took the first one apart
        weights = replace(weights, open=partial(CachedModel, module))
    check_model(weights.open, dtype, source.title)
    if not own:
        return Checkpoint(weights, ends, Saying("forward_library", reason=reason))
    checkpoint = Checkpoint(weights, ends, OWN, own)
    keep(checkpoint, numbers, stamp)
    return checkpoint


def load_spread(source: Source, dtype: torch.dtype, spread: Spread, progress: Progress) -> Checkpoint:
    """Read each part to where it goes, and check that the whole can be rolled back. Raises as `load_checkpoint`."""
    folder = source.weights(lambda share, sentence: progress(0.8 * share, sentence))
    progress(0.8, Saying("model_reading", name=source.title))
    module = read_module(source, folder, dtype, dict(spread.parts))
    progress(0.9, Saying("model_checking", name=source.title))
    open_model = partial(CachedModel, module, spread.main, threading.Lock())
    check_model(open_model, dtype, source.title)
    # Of the module itself some parts lie on no device between two passes, and what is tied may be there twice.
    whole = weights_of(sketch(module.config, dtype), source.title, source.name, open_model)
    weights = replace(whole, device=spread.main, shelves=tuple(map(name_of, spread.shelves)))
    forward = Saying("forward_library", reason=Saying("library_since_spread"))
    return Checkpoint(weights, declared_ends(module), forward)


def read_module(
    source: Source, folder: Path, dtype: torch.dtype, place: torch.device | dict[str, Shelf]
) -> PreTrainedModel:
    """The library's module of a model whose files lie in `folder`, on one device or by a map.

    Raises LoadError and the libraries' errors.
    """
    how = {"gguf_file": source.gguf} if source.gguf else {"use_safetensors": True}
    if isinstance(place, dict):
        how["device_map"] = place
    module, report = AutoModelForCausalLM.from_pretrained(
        folder, dtype=dtype, trust_remote_code=False, local_files_only=True, output_loading_info=True, **how
    )
    # The library would fill the gaps with random numbers, and say so only in a log.
    if missing := sorted(report["missing_keys"]):
        raise LoadError("weights_missing", name=source.name, count=len(missing), first=missing[0])
    return module.eval() if isinstance(place, dict) else module.eval().to(place)


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

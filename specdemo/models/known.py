"""One loaded model; and how one that was checked before is loaded without the library."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from ..words import Saying
from .fixed import FixedRun
from .llama import Llama
from .pair import Weights
from .progress import Progress
from .skeleton import skeleton
from .sources import Source
from .stamp import Stamp

#: What our own forward is called.
OWN = Saying("forward_own")

_PLAIN = ("title", "path", "parameters", "bytes", "idle_bytes", "context", "four_bit", "token_bytes")  # of `Weights`


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """`ends` are the ids that the checkpoint declares to end a text; `forward` says in words which forward runs it.

    `own` is our own forward of it, where that is the one.
    """

    weights: Weights
    ends: frozenset[int]
    forward: Saying
    own: Llama | None = None


def keep(checkpoint: Checkpoint, numbers: dict[str, Any], stamp: Stamp) -> None:
    """Remember what `load_known` needs of a checkpoint on our own forward; `numbers` are those of its skeleton."""
    weights = {name: getattr(checkpoint.weights, name) for name in _PLAIN}
    stamp.set({"weights": weights, "ends": sorted(checkpoint.ends), "numbers": numbers})


def load_known(
    source: Source, found: dict[str, Any], dtype: torch.dtype, device: torch.device, progress: Progress
) -> Checkpoint:
    """The model of which a stamp says what `keep` found, straight from its file into our own forward."""
    progress(0.0, Saying("model_reading", name=source.title))
    four_bit = found["weights"]["four_bit"]
    file = source.folder / "model.safetensors"
    module = skeleton(file, found["numbers"], torch.float32 if four_bit else dtype, device)
    own = Llama(module, consume=True, four_bit=four_bit)
    weights = Weights(**found["weights"], dtype=dtype, device=device, open=own.open, open_fixed=partial(FixedRun, own))
    return Checkpoint(weights, frozenset(found["ends"]), OWN, own)

"""A draft that reads its target's hidden states, beside that target."""

from dataclasses import replace
from functools import partial

from ..words import Saying
from .eagle import load_eagle
from .errors import LoadError
from .known import Checkpoint
from .progress import Progress
from .selfcheck import check_model
from .sources import Source
from .stamp import Stamp


def load_reader(source: Source, target: Checkpoint, stamp: Stamp, progress: Progress) -> tuple[Checkpoint, Checkpoint]:
    """A draft that reads its target: the target again, whose runs now keep what the draft reads, and the draft.

    Raises LoadError.
    """
    if target.own is None:
        raise LoadError("reader_needs_own", name=source.title, forward=target.forward)
    progress(0.5, Saying("model_reading", name=source.title))
    eagle = load_eagle(source.folder, target.own)
    open_target = partial(target.own.open, eagle.tap_after)
    if stamp.read() is None:
        check_model(lambda: eagle.open(open_target()), target.weights.dtype, source.title)
        stamp.set({})
    weights = replace(
        target.weights,
        title=source.title,
        path=source.name,
        parameters=eagle.parameters,
        bytes=eagle.bytes,
        open=eagle.open,
        open_fixed=None,
        idle_bytes=0,
        reads=eagle.tap_after,
        four_bit=eagle.four_bit,
    )
    seeing = replace(target, weights=replace(target.weights, open=open_target))
    return seeing, Checkpoint(weights, frozenset(), Saying("forward_reads_target"))

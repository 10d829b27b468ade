"""Can a model do what a round asks of it? Found out by doing it, never by a list of names."""

from collections.abc import Callable

import torch

from ..contract import Model
from ..words import Saying
from .errors import LoadError

_TOKENS = 14
_KEPT = 8  # of them, before the wrong ones
_WRONG = 5

# The distance between two ways to the same logits, in units of the logits' own spread. Honest rounding is near 1e-6 in
# float32. In 8 to 11 bits a pass over one token and a pass over five may round apart by some hundredths of the spread;
# one wrong token left in the embedded target's cache is .3 or more, and all five of them are .6 to 1.2.
_TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-4}
_LOW_PRECISION = 0.1

#: What a module raises that cannot run over a cache of keys and values.
CANNOT_RUN = (AttributeError, IndexError, KeyError, TypeError, ValueError, RuntimeError, NotImplementedError)


def check_model(open_model: Callable[[], Model], dtype: torch.dtype, name: str) -> None:
    """Feed, roll back, feed again, and compare with one that never went astray. Raises LoadError with the reason."""
    try:
        reason = _fault(open_model, _TOLERANCE.get(dtype, _LOW_PRECISION))
    except CANNOT_RUN as error:
        if is_out_of_memory(error):
            raise
        reason = Saying("unfit_cache", kind=type(error).__name__, error=_first_line(error))
        raise LoadError("unfit", name=name, reason=reason) from error
    if reason:
        raise LoadError("unfit", name=name, reason=reason)


def is_out_of_memory(error: BaseException) -> bool:
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in str(error)


def _first_line(error: BaseException) -> Saying | str:
    lines = str(error).splitlines()
    return lines[0][:120].rstrip(".") if lines else Saying("no_reason")


def _fault(open_model: Callable[[], Model], tolerance: float) -> Saying | None:
    """What the model does wrong; None if nothing."""
    model = open_model()
    generator = torch.Generator().manual_seed(0)
    ids, wrong = (
        torch.randint(model.vocab_size, (n,), generator=generator).to(model.device) for n in (_TOKENS, _WRONG)
    )
    fresh = model.feed(ids)
    if fresh.shape != (_TOKENS, model.vocab_size):
        return Saying("unfit_shape", tokens=_TOKENS, shape=tuple(fresh.shape), size=model.vocab_size)
    if not fresh.isfinite().any(dim=-1).all() or fresh.isnan().any():
        return Saying("unfit_nan")
    if _distance(_after_last_changed(open_model(), ids), fresh[:-1]) > tolerance:
        return Saying("unfit_not_causal")
    if _distance(_after_going_astray(open_model(), ids, wrong), fresh) > tolerance:
        return Saying("unfit_rollback")
    return None


def _after_last_changed(model: Model, ids: torch.Tensor) -> torch.Tensor:
    """The logits of all rows but the last, after the last token was changed."""
    last = (ids[-1:] + 1) % model.vocab_size
    return model.feed(torch.cat([ids[:-1], last]))[:-1]


def _after_going_astray(model: Model, ids: torch.Tensor, wrong: torch.Tensor) -> torch.Tensor:
    """The logits of all rows, read in pieces and with wrong tokens that were taken back in between."""
    rows = [model.feed(ids[:_KEPT])]
    for taken_back in (_WRONG, 1):
        model.feed(wrong[:taken_back])
        model.rewind(_KEPT)
    rows.append(model.feed(ids[_KEPT : _KEPT + 1]))
    model.feed(wrong)
    model.rewind(_KEPT + 1)
    rows.append(model.feed(ids[_KEPT + 1 :]))
    return torch.cat(rows)


def _distance(one: torch.Tensor, other: torch.Tensor) -> float:
    """Root mean square of the difference, in units of the spread of `other` within a row."""
    one, other = one.float(), other.float()
    one, other = (x.masked_fill(~x.isfinite(), 0) for x in (one, other))
    spread = (other - other.mean(dim=-1, keepdim=True)).pow(2).mean().sqrt()
    return float((one - other).pow(2).mean().sqrt() / spread.clamp(min=torch.finfo(torch.float32).tiny))

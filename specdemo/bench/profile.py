"""Where the time of a round goes, and how much of it outside both models' passes."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from statistics import median

import torch

from ..contract import Model
from ..drafters import ModelDrafter
from ..engine import speculate
from ..metrics import measure
from ..models import Pair
from ..records import SamplingParams


@dataclass(frozen=True, slots=True)
class Profile:
    """Milliseconds a round.

    draft   passes of the draft model; drawing  the rest of drafting: q, and the drafts drawn from it
    verify  the target's pass
    judge   p, the verdict and the last token
    look    the cut to the candidates that are shown
    python  everything else
    """

    k: int
    draft: float
    drawing: float
    verify: float
    judge: float
    look: float
    python: float

    @property
    def total(self) -> float:
        return self.draft + self.drawing + self.verify + self.judge + self.look + self.python

    @property
    def outside(self) -> float:
        """The share of a round outside both models' passes."""
        return 1 - (self.draft + self.verify) / self.total


def middle(profiles: Sequence[Profile]) -> Profile:
    """The median of each part, over runs at the same K."""
    parts = [part.name for part in fields(Profile) if part.name != "k"]
    return Profile(profiles[0].k, *(median(getattr(each, part) for each in profiles) for part in parts))


def profile(pair: Pair, prompt_ids: Sequence[int], params: SamplingParams, k: int) -> Profile:
    """Means of one run of the speculative lane. On a GPU the draft's passes are not told from the drawing."""
    target = pair.open_target()
    draft = _Timed(pair.open_draft(target))
    rounds = list(speculate(target, ModelDrafter(draft), prompt_ids, params, k=k, stop_ids=pair.stop_ids))
    stats = measure(rounds)
    passes_s = draft.seconds if target.device.type == "cpu" else stats.draft_s
    parts = (passes_s, stats.draft_s - passes_s, stats.verify_s, stats.judge_s, stats.look_s, stats.python_s)
    return Profile(k, *(1000 * seconds / len(rounds) for seconds in parts))


class _Timed:
    """A model that adds up the seconds of its passes in rounds; the reading of a prompt is not one."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.seconds = 0.0

    def __getattr__(self, name: str) -> object:
        return getattr(self._model, name)

    def feed(self, ids: torch.Tensor) -> torch.Tensor:
        return self._clocked(self._model.feed, ids)

    def feed_narrow(self, ids: torch.Tensor) -> torch.Tensor:
        return self._clocked(self._model.feed_narrow, ids)

    def _clocked(self, read: Callable[[torch.Tensor], torch.Tensor], ids: torch.Tensor) -> torch.Tensor:
        start = time.perf_counter()
        logits = read(ids)
        self.seconds += time.perf_counter() - start
        return logits

"""The test from its beginning to its verdict: first exactly, then by sampling."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from ..contract import Model, room
from ..memo import Memo
from ..pace import USUAL_K
from ..records import SamplingParams, is_whole
from ..words import Refusal, Saying
from .contrast import Contrast, contrasts
from .exact import POSITIONS, Exact, positions
from .lane import Lane
from .sampled import Comparison, Texts, comparisons, write

SAMPLES = 3000

#: A right engine fails a part of the sampled test with about these odds.
FALSE_ALARM = 1e-6


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known.

    contrasts    as many draws by wrong rules, at the first position; none before the exact part is done
    runs         sampled runs of the engine, so far
    comparisons  the first token, the first two, … against the target's law
    kept         share of the sampled runs that kept their first draft; None before the first
    alpha        what `kept` is on average
    """

    exact: Exact
    contrasts: tuple[Contrast, ...] = ()
    runs: int = 0
    comparisons: tuple[Comparison, ...] = ()
    kept: float | None = None
    alpha: float | None = None

    @property
    def lossless(self) -> bool:
        return self.exact.holds and all(one.engine.p_value >= FALSE_ALARM for one in self.comparisons)


class Check:
    """The engine on a target and a draft with empty caches, after a prompt.

    params        as for a run; `seed` makes the test repeatable, `max_new_tokens` plays no part
    k             tokens drafted a round, at least 1
    samples       runs of the engine, at least 1
    reads_target  whether the draft reads what this target holds

    Raises ValueError for values out of range, for a prompt that the models cannot read and for one that leaves them no
    room; `steps` raises `contract.NumericalFault` for logits that are no distribution.
    """

    def __init__(
        self,
        target: Model,
        draft: Model,
        prompt_ids: Sequence[int],
        params: SamplingParams,
        *,
        k: int = USUAL_K,
        samples: int = SAMPLES,
        reads_target: bool = False,
    ) -> None:
        _check_arguments(target, draft, prompt_ids, k, samples)
        p_rows = Memo(target, prompt_ids)
        draft_rows = Memo(draft, prompt_ids, beside=p_rows if reads_target else None)
        self.samples = samples
        self._lane = Lane(p_rows, draft_rows, params, k)
        self._exact, self._texts = Exact(), Texts()
        self._contrasts: tuple[Contrast, ...] = ()

    @property
    def runs(self) -> int:
        """Sampled runs that are done."""
        return self._texts.runs

    def steps(self) -> Iterator[None]:
        """Do the work, a short step a yield."""
        for exact in positions(self._lane):
            self._exact = exact
            yield
        self._contrasts = contrasts(self._lane, self.samples, self._lane.params.seed or 0)
        yield from write(self._lane, self.samples, self._texts)

    def verdict(self) -> Verdict:
        """What is known now: of longer beginnings than one token only at the end, since their laws take passes."""
        if not self.runs:
            return Verdict(self._exact, self._contrasts)
        texts = self._texts
        lengths = None if self.runs == self.samples else 1
        compared = tuple(islice(comparisons(texts, self._lane), lengths))
        return Verdict(self._exact, self._contrasts, self.runs, compared, texts.kept / self.runs, texts.alpha)


def _check_arguments(target: Model, draft: Model, prompt_ids: Sequence[int], k: int, samples: int) -> None:
    for name, value in (("k", k), ("samples", samples)):
        if not is_whole(value) or value < 1:
            raise Refusal("out_of_range", name=name, value=repr(value), legal=Saying("legal_some"))
    if not prompt_ids:
        raise Refusal("prompt_no_tokens")
    # The draft must read the prompt as it is, or the two would not speak of the same position.
    width = min(target.vocab_size, draft.vocab_size)
    for i in prompt_ids:
        if not 0 <= i < width:
            raise Refusal("prompt_id_not_in_both", id=i, last=width - 1)
    if min(room(target, len(prompt_ids)), room(draft, len(prompt_ids))) < POSITIONS + k:
        raise Refusal("prompt_no_room", tokens=len(prompt_ids), more=POSITIONS + k)

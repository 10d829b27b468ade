"""The loop over steps that were recorded: a round is two launches, and one copy that the host waits for.

The same rounds as `engine` makes of the same models with the same seed. What differs is that the host knows of a round
only in its end, so nothing in one depends on it: the draft always reads the last committed tokens again, since up to two
of them may be new to it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import NamedTuple

import torch

from .block import TOP, read_block
from .clock import Laps
from .contract import Coins, prefill, room
from .course import DraftLength, check_count, checked_prompt, cut_at_stop, end_of, rounds_of
from .graphs import Capture, Step, as_it_is, cuda_graph
from .records import Outcome, Round, SamplingParams
from .steps import Desk, FixedModel, Standing, draft_step, verify_step

_REACH = 2  # tokens that may be new to a draft: after K acceptances its own last draft, and the bonus

_SHAPING = [f.name for f in fields(SamplingParams) if f.name not in ("seed", "max_new_tokens")]


class _Steps(NamedTuple):
    """Of a round with some K; there is no draft where K is 0."""

    desk: Desk
    draft: Step | None
    verify: Step


@dataclass(slots=True)
class Stage:
    """Two models in memory that stays where it is, and what was recorded over them: for one run at a time.

    draft    may be the target's own kind of run or another's; None where the target writes alone
    params   all but the seed and the length are part of what is recorded
    capture  None: a CUDA graph on a GPU, else nothing is recorded
    """

    target: FixedModel
    draft: FixedModel | None
    params: SamplingParams
    top: int = TOP
    capture: Capture | None = None
    _standing: Standing = field(init=False)
    _steps: dict[int, _Steps] = field(init=False, default_factory=dict)
    _drafted: int = field(init=False, default=0)  # committed ids that the draft has read, and not others in their place

    def __post_init__(self) -> None:
        self._standing = Standing(_REACH, self.target.device)
        if self.capture is None:
            self.capture = cuda_graph if self.target.device.type == "cuda" else as_it_is

    def serves(self, params: SamplingParams) -> bool:
        return all(getattr(params, name) == getattr(self.params, name) for name in _SHAPING)

    def most(self, k: int, committed: Sequence[int]) -> int:
        """K, or fewer where the draft has no room."""
        return 0 if self.draft is None else int(max(0, min(k, room(self.draft, len(committed)))))

    def begin(self, committed: list[int]) -> None:
        """Read the prompt but its last token, which belongs to the first round."""
        models = [self.target]
        if self.draft is not None and room(self.draft, len(committed)) > 0:
            models.append(self.draft)
        for model in models:
            model.hold(0)
            prefill(model, _ids(committed[:-1], model))
        self._standing.set(committed)
        self._drafted = len(committed) - 1

    def steps(self, k: int, dtype: torch.dtype) -> _Steps:
        """What a round with K drafts does, recorded the first time; `dtype` is that of the coins."""
        if k not in self._steps:
            standing, draft = self._standing, self.draft or self.target
            desk = Desk(k, self.target, draft, self.top, dtype)
            record = partial(self.capture, kept=(standing.recent, standing.newest))
            self._steps[k] = _Steps(
                desk,
                record(partial(draft_step, draft, standing, desk, self.params)) if k else None,
                record(partial(verify_step, self.target, standing, desk, self.params, self.top)),
            )
        return self._steps[k]

    def catch_up(self, committed: list[int]) -> None:
        """After rounds that drafted nothing the draft lacks more tokens than a step reads."""
        missing = committed[self._drafted : -_REACH]
        if missing:
            self.draft.hold(self._drafted)
            prefill(self.draft, _ids(missing, self.draft))

    def end_round(self, committed: list[int], k: int, accepted: int) -> None:
        """The draft has read all that was committed before, and its own drafts but the last, where they stand."""
        if k:
            self._drafted = len(committed) + min(accepted, k - 1)


def _ids(ids: Sequence[int], model: FixedModel) -> torch.Tensor:
    return torch.tensor(ids, dtype=torch.int64, device=model.device).clamp_(max=model.vocab_size - 1)


def speculate(
    stage: Stage,
    prompt_ids: Sequence[int],
    params: SamplingParams,
    *,
    k: DraftLength,
    stop_ids: Iterable[int] = frozenset(),
) -> Iterator[Round]:
    """As `engine.speculate`, on a stage, of which no other run may make use meanwhile."""
    if not callable(k):
        check_count("k", k)
    return _Run(stage, params, k, frozenset(stop_ids), Outcome.BONUS).rounds(prompt_ids)


def decode(
    stage: Stage, prompt_ids: Sequence[int], params: SamplingParams, *, stop_ids: Iterable[int] = frozenset()
) -> Iterator[Round]:
    """As `engine.decode`, on a stage."""
    return _Run(stage, params, 0, frozenset(stop_ids), Outcome.PLAIN).rounds(prompt_ids)


class _Run:
    def __init__(
        self,
        stage: Stage,
        params: SamplingParams,
        k: DraftLength,
        stop_ids: frozenset[int],
        last_outcome: Outcome,
    ) -> None:
        assert stage.serves(params), (params, stage.params)
        self._stage, self._params, self._k = stage, params, k
        self._stop_ids, self._last_outcome = stop_ids, last_outcome
        self._coins = Coins(params.seed, stage.target.device)

    def rounds(self, prompt_ids: Sequence[int]) -> Iterator[Round]:
        committed = checked_prompt(prompt_ids, self._stage.target)
        end = end_of(committed, self._params, self._stage.target)
        assert end <= self._stage.target.rows, (end, self._stage.target.rows)
        return rounds_of(self._round, committed, end, self._k, self._stop_ids)

    @torch.inference_mode()
    def _round(self, index: int, committed: list[int], k: int) -> Round:
        stage = self._stage
        laps = Laps(stage.target.device)
        # 0. Before the first round both read the prompt; and the first time that a K is asked for is no round's time.
        if index == 0:
            stage.begin(committed)
            laps.mark("prefill")
        k = stage.most(k, committed)
        uniforms, coins = self._coins.throw(k), self._coins.throw(k + 1)
        desk, draft, verify = stage.steps(k, coins.dtype)
        laps.mark("record")
        desk.uniforms.copy_(uniforms)
        desk.coins.copy_(coins)
        # 1. Draft.
        if draft is not None:
            stage.catch_up(committed)
            draft()
        laps.mark("draft")
        # 2. Verify, judge, and draw the last token.
        verify()
        laps.mark("verify")
        # 3. Commit: the one copy becomes records.
        events = read_block(desk.fetched(), len(committed), self._last_outcome)
        stage.end_round(committed, k, sum(event.outcome is Outcome.ACCEPTED for event in events))
        events = cut_at_stop(events, self._stop_ids)
        prefill_s, _, draft_s, verify_s, rest_s = laps.seconds("prefill", "record", "draft", "verify")
        return Round(index, k, events, draft_s, verify_s, rest_s, prefill_s)

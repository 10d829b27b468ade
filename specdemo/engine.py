"""The loop: token ids in, records out. It knows no text and no page.

Leviathan et al. 2023 (arXiv 2211.17192), algorithm 1; Chen et al. 2023 (arXiv 2302.01318), algorithm 2.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch

from .block import TOP, pack_block, read_block
from .clock import Laps
from .contract import Coins, Drafter, Model, Proposal, prefill
from .course import DraftLength, check_count, checked_prompt, cut_at_stop, end_of, rounds_of
from .drafters import NoDrafter
from .narrow import Narrow
from .records import Outcome, Round, SamplingParams
from .steps import judged
from .words import Refusal

#: How far from 1 the float32 sum of a q over a vocabulary may be.
_MASS_ERROR = 1e-3

_LAPS = ("prefill", "draft", "verify", "judge", "look")


def speculate(
    target: Model,
    drafter: Drafter,
    prompt_ids: Sequence[int],
    params: SamplingParams,
    *,
    k: DraftLength,
    stop_ids: Iterable[int] = frozenset(),
    top: int = TOP,
) -> Iterator[Round]:
    """Sample from the target with the help of a draft: yields one `Round` for each verification.

    prompt_ids  at least one id; the output follows it
    k           tokens to draft a round, at least 0; a round with 0 is one plain token of the target
    stop_ids    any of them ends the text, wherever in a round it falls
    top         candidates to record of p and of q at each position, at least 0

    The law of the output is the target's own. A run commits before it yields, so it may be closed at any point.
    Raises ValueError for a k or a top below 0 and for a prompt that is empty, out of the vocabulary or longer than the
    target's context, and `contract.NumericalFault` for logits that are no distribution.
    """
    check_count("top", top)
    run = _Run(target, drafter, params, k, frozenset(stop_ids), top, Outcome.BONUS, Coins(params.seed, target.device))
    if not callable(k):
        check_count("k", k)
    return run.rounds(checked_prompt(prompt_ids, target))


def decode(
    target: Model,
    prompt_ids: Sequence[int],
    params: SamplingParams,
    *,
    stop_ids: Iterable[int] = frozenset(),
    top: int = TOP,
) -> Iterator[Round]:
    """The baseline: the target alone, by the same loop, one PLAIN token a round. Arguments as for `speculate`."""
    check_count("top", top)
    nobody = NoDrafter(target.vocab_size, target.device)
    run = _Run(target, nobody, params, 0, frozenset(stop_ids), top, Outcome.PLAIN, Coins(params.seed, target.device))
    return run.rounds(checked_prompt(prompt_ids, target))


@dataclass(frozen=True, slots=True)
class _Run:
    """What stays the same from round to round."""

    target: Model
    drafter: Drafter
    params: SamplingParams
    k: DraftLength
    stop_ids: frozenset[int]
    top: int
    last_outcome: Outcome  # of a last token that replaces no draft
    coins: Coins

    def rounds(self, committed: list[int]) -> Iterator[Round]:
        end = end_of(committed, self.params, self.target)
        return rounds_of(self._round, committed, end, self.k, self.stop_ids)

    @torch.inference_mode()  # on a function that returns, never around a yield: a generator's steps change threads
    def _round(self, index: int, committed: list[int], k: int) -> Round:
        target, params = self.target, self.params
        laps = Laps(target.device)
        # 0. Before the first round both read the prompt; its last token belongs to the round.
        if index == 0:
            self._prefill(committed)
            laps.mark("prefill")
        newest = self._ids(committed[-1:])  # not later: a copy to a GPU would wait for the draft to be done
        # 1. Draft: up to K tokens, each drawn from its q. The target forgets what was refused before, so that a drafter
        # that looks at it sees only what stands.
        target.rewind(len(committed) - 1)
        drafts, q = self._propose(committed, k)
        k = len(drafts)
        if index == 0:
            _check_law(q.drafted)
        laps.mark("draft")
        # 2. Verify: one pass of the target over the last committed token and the drafts gives p at K + 1 positions.
        target.rewind(len(committed) - 1)  # where one model plays both parts, it has drafted in between
        readable = drafts.clamp(max=target.vocab_size - 1)  # an id that the target lacks has p = 0, so any will do
        logits = target.feed(torch.cat([newest, readable]))
        laps.mark("verify")
        # 3. Judge, and draw the round's last token; all of it stays on the device.
        coins = self.coins.throw(k + 1)
        verdict = judged(logits, drafts, q, coins, params)
        laps.mark("judge")
        # 4. Commit: the round's one copy to the host becomes its records.
        block = pack_block(*verdict, drafts, coins, self.top)
        laps.mark("look")
        events = cut_at_stop(read_block(block, len(committed), self.last_outcome), self.stop_ids)
        prefill_s, draft_s, verify_s, judge_s, look_s, rest_s = laps.seconds(*_LAPS)
        return Round(index, k, events, draft_s, verify_s, judge_s + look_s + rest_s, prefill_s, judge_s, look_s)

    def _prefill(self, committed: list[int]) -> None:
        self.target.rewind(0)
        prefill(self.target, self._ids(committed[:-1]))
        if hasattr(self.drafter, "prefill"):
            self.drafter.prefill(committed)

    def _propose(self, committed: list[int], k: int) -> tuple[torch.Tensor, Narrow]:
        device = self.target.device
        if k == 0:
            drafts, q = Proposal.none(self.target.vocab_size, device)
        else:
            drafts, q = self.drafter.propose(committed, k, self.params, self.coins)
        assert len(drafts) == len(q) <= k, f"{len(drafts)} drafts with {len(q)} rows of q, where {k} were asked for"
        return drafts.to(device), Narrow.of(q).to(device)

    def _ids(self, ids: Sequence[int]) -> torch.Tensor:
        return torch.tensor(ids, dtype=torch.int64, device=self.target.device)


def _check_law(q: torch.Tensor) -> None:
    """Refuse rows of q that are no distributions; only in a run's first round, since a device waits for it. NaN is told
    later, with its position."""
    for row, mass in enumerate(q.sum(dim=-1).tolist()):
        if abs(mass - 1) > _MASS_ERROR:
            raise Refusal("q_no_law", mass=f"{mass:.6g}", row=row)

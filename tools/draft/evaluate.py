"""Acceptance as it is: true rounds of speculative sampling over held-out prompts, many prompts side by side."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from operator import mul

import torch
from torch import Tensor
from tqdm import tqdm

from .llama import Target, forward, logits_of, new_cache
from .runner import Runner
from .sample import draw
from .student import Draft


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of an evaluation, a row for each prompt and, where there are two dimensions, a column for each proposal of
    the round."""

    rounds: Tensor  # (rows,)
    emitted: Tensor  # (rows,)
    accepted: Tensor  # (rows, k)
    judged: Tensor  # (rows, k)
    overlap: Tensor  # (rows, k): the sum of sum(min(p, q)) over the judged proposals

    @classmethod
    def empty(cls, rows: int, k: int) -> "Tally":
        counts = (torch.zeros(rows, *more, dtype=torch.int64) for more in ((), (), (k,), (k,)))
        return cls(*counts, torch.zeros(rows, k, dtype=torch.float64))

    def of(self, rows: list[int]) -> "Tally":
        """The counts of some prompts only."""
        return Tally(*(getattr(self, field.name)[rows] for field in fields(self)))

    @property
    def acceptance(self) -> float:
        """accepted / (accepted + rejected)"""
        return int(self.accepted.sum()) / max(1, int(self.judged.sum()))

    @property
    def alpha(self) -> float:
        """The same in expectation: the mean of sum(min(p, q)) over the judged proposals."""
        return float(self.overlap.sum()) / max(1, int(self.judged.sum()))

    @property
    def by_depth(self) -> list[float]:
        """`alpha` of each proposal of the round."""
        return (self.overlap.sum(0) / self.judged.sum(0).clamp_min(1)).tolist()

    @property
    def tokens_per_round(self) -> float:
        return int(self.emitted.sum()) / max(1, int(self.rounds.sum()))


def tokens_per_pass(by_depth: Sequence[float]) -> float:
    """Expected tokens a round with one proposal for each entry, from the acceptance at each depth."""
    return 1.0 + sum(accumulate(by_depth, mul))


def probabilities(logits: Tensor, temperature: float) -> Tensor:
    """(…, vocab) float32; temperature 0 is a one-hot row through the same rule."""
    if temperature == 0:
        return torch.zeros_like(logits).scatter_(-1, logits.argmax(-1, keepdim=True), 1.0)
    return (logits / temperature).softmax(-1)


class Rounds:
    """Speculative sampling for all prompts at once. The state of a row is its tokens, their count and the taps."""

    def __init__(
        self, target: Target, draft: Draft, prompts: list[list[int]], taps_after: tuple[int, ...], cap: int, k: int
    ):
        self.target, self.draft, self.taps_after, self.k = target, draft, taps_after, k
        self.count = torch.tensor([len(prompt) for prompt in prompts])  # tokens committed, (rows,)
        self.prompt = self.count.clone()
        rows, width = len(prompts), int(self.count.max()) + cap + 2 * (k + 1)  # one round beyond the last one
        self.tokens = torch.zeros(rows, width, dtype=torch.int64)
        for i, prompt in enumerate(prompts):
            self.tokens[i, : len(prompt)] = torch.tensor(prompt)
        self.cache = new_cache(target, rows, width)
        self.runner = Runner(draft, rows, width)
        self.index = torch.arange(rows)[:, None]
        ids = self.tokens[:, : int(self.count.max())]
        begin = torch.zeros(rows, dtype=torch.int64)
        _, taps = forward(target, ids, begin, self.cache, slice(None), taps_after)
        self.feature = torch.zeros(rows, width, draft.shape.hidden, dtype=taps.dtype)  # of each committed token
        self._learn(taps, begin)
        self.runner.read(ids, self._before(begin, ids.shape[1]), begin)

    def _learn(self, taps: Tensor, start: Tensor) -> None:
        """Keep what the target held after the tokens from `start` (rows,) on."""
        if self.draft.shape.taps:
            self.feature[self.index, start[:, None] + torch.arange(taps.shape[1])] = self.draft.known(taps)

    def _before(self, start: Tensor, n: int) -> Tensor | None:
        """Features of the tokens before slots start..start + n; zeros before the first."""
        if not self.draft.shape.taps:
            return None
        places = start[:, None] + torch.arange(n) - 1
        return self.feature[self.index, places.clamp_min(0)] * (places >= 0)[..., None]

    def propose(self, temperature: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """k proposals a row and the distributions they come from: (rows, k), (rows, k, vocab)."""
        # The slots of the last round's tokens are read again, now with what the target held there.
        n = self.k + 1
        start = self.count - n
        stream = self.runner.read(
            self.tokens[self.index, start[:, None] + torch.arange(n)], self._before(start, n), start
        )[:, -1:]
        tokens, qs = [], []
        for step in range(self.k):
            q = self.distribution(stream[:, 0], temperature)
            token = draw(q.log(), torch.ones(len(q)), torch.rand(len(q), generator=generator))
            tokens.append(token)
            qs.append(q)
            if step + 1 < self.k:
                feature = stream if self.draft.shape.taps else None
                stream = self.runner.read(token[:, None], feature, self.count + step)
        return torch.stack(tokens, 1), torch.stack(qs, 1)

    def distribution(self, stream: Tensor, temperature: float) -> Tensor:
        """(rows, vocab): zero for every token outside the head."""
        q = torch.zeros(len(stream), self.target.embedding.shape[0])
        q[:, self.draft.kept] = probabilities(self.draft.logits(stream).float(), temperature)
        return q

    def step(self, temperature: float, generator: torch.Generator, live: Tensor, tally: Tally) -> Tensor:
        """One round for all rows; counts those in `live`. Returns how many tokens each row gained, (rows,)."""
        proposed, q = self.propose(temperature, generator)
        last = self.tokens.gather(1, self.count[:, None] - 1)
        stream, taps = forward(
            self.target, torch.cat((last, proposed), 1), self.count - 1, self.cache, slice(None), self.taps_after
        )
        p = probabilities(logits_of(self.target, stream).float(), temperature)  # (rows, k + 1, vocab)
        self._learn(taps, self.count - 1)
        u = torch.rand(proposed.shape, generator=generator)
        p_x, q_x = (y.gather(2, proposed[..., None])[..., 0] for y in (p[:, :-1], q))
        kept = (u * q_x < p_x).long().cumprod(1)  # (rows, k)
        number = kept.sum(1)  # proposals accepted, (rows,)
        # The one more token: from the residual after a rejection, from p after none.
        rows = torch.arange(len(number))
        rest = p[rows, number]
        refused = number < self.k
        rest[refused] = (rest - q[rows, number.clamp_max(self.k - 1)]).clamp_min(0)[refused]
        extra = draw(rest.log(), torch.ones(len(rest)), torch.rand(len(rest), generator=generator))
        self.tokens[self.index, self.count[:, None] + torch.arange(self.k)] = proposed
        self.tokens[rows, self.count + number] = extra
        # Counts: the proposals judged are the accepted ones and the first refused.
        judged = torch.cat((torch.ones_like(kept[:, :1]), kept[:, :-1]), 1) * live[:, None]
        tally.judged.add_(judged)
        tally.accepted.add_(kept * live[:, None])
        tally.overlap.add_(torch.minimum(p[:, :-1], q).sum(-1) * judged)
        tally.rounds.add_(live)
        tally.emitted.add_((number + 1) * live)
        return number + 1


@torch.inference_mode()
def evaluate(
    target: Target, draft: Draft, prompts: list[list[int]], taps_after: tuple[int, ...], stop: set[int], *,
    k: int, temperature: float, cap: int = 128, seed: int = 0,
) -> Tally:  # fmt: skip
    """Write up to `cap` tokens after every prompt and count what happened."""
    generator = torch.Generator().manual_seed(seed)
    rounds = Rounds(target, draft, prompts, taps_after, cap, k)
    tally = Tally.empty(len(prompts), k)
    live = torch.ones(len(prompts), dtype=torch.int64)
    stops = torch.tensor(sorted(stop))
    progress = tqdm(total=cap * len(prompts), desc=f"T={temperature} k={k}", leave=False, mininterval=10)
    while live.any():
        gained = rounds.step(temperature, generator, live, tally)
        progress.update(int((gained * live).sum()))
        new = rounds.tokens[rounds.index, rounds.count[:, None] + torch.arange(k + 1)]
        fresh = torch.arange(k + 1) < gained[:, None]
        ended = (torch.isin(new, stops) & fresh).any(1) | (rounds.count + gained - rounds.prompt >= cap)
        rounds.count += gained * live
        live = live * ~ended
    progress.close()
    return tally

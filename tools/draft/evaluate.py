"""Acceptance as it is: true rounds of speculative sampling over held-out prompts, many prompts side by side."""

from dataclasses import dataclass, field

import torch
from torch import Tensor
from tqdm import tqdm

from .llama import Target, forward, logits_of, new_cache
from .runner import Runner
from .sample import draw
from .student import Draft


@dataclass(slots=True)
class Tally:
    """Counts over the rounds of one evaluation; lists have one entry a proposal of the round, the first at 0."""

    k: int
    temperature: float
    rounds: int = 0
    emitted: int = 0
    accepted: list[int] = field(default_factory=list)
    judged: list[int] = field(default_factory=list)
    overlap: list[float] = field(default_factory=list)  # sum of sum(min(p, q)) over the judged proposals

    def __post_init__(self) -> None:
        self.accepted, self.judged, self.overlap = [0] * self.k, [0] * self.k, [0.0] * self.k

    @property
    def acceptance(self) -> float:
        """accepted / (accepted + rejected)"""
        return sum(self.accepted) / max(1, sum(self.judged))

    @property
    def alpha(self) -> float:
        """The same in expectation: the mean of sum(min(p, q)) over the judged proposals."""
        return sum(self.overlap) / max(1, sum(self.judged))

    @property
    def by_depth(self) -> list[float]:
        return [overlap / max(1, judged) for overlap, judged in zip(self.overlap, self.judged, strict=True)]

    def tokens_per_pass(self, k: int) -> float:
        """Expected tokens a round of `k` proposals, from the acceptance at each depth."""
        reach, total = 1.0, 1.0
        for alpha in self.by_depth[:k]:
            reach *= alpha
            total += reach
        return total


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
        rows, width = len(prompts), int(self.count.max()) + cap + k + 1
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
        overlap = torch.minimum(p[:, :-1], q).sum(-1) * judged
        for d in range(self.k):
            tally.judged[d] += int(judged[:, d].sum())
            tally.accepted[d] += int((kept[:, d] * live).sum())
            tally.overlap[d] += float(overlap[:, d].sum())
        tally.rounds += int(live.sum())
        tally.emitted += int(((number + 1) * live).sum())
        return number + 1


@torch.inference_mode()
def evaluate(
    target: Target, draft: Draft, prompts: list[list[int]], taps_after: tuple[int, ...], stop: set[int], *,
    k: int, temperature: float, cap: int = 128, seed: int = 0,
) -> Tally:  # fmt: skip
    """Write up to `cap` tokens after every prompt and count what happened."""
    generator = torch.Generator().manual_seed(seed)
    rounds = Rounds(target, draft, prompts, taps_after, cap, k)
    tally = Tally(k, temperature)
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

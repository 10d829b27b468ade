"""What a draft step costs beside a target pass, in ms; the speed-up that should follow, and the one that does."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import torch

from .evaluate import Rounds, Tally, probabilities, tokens_per_pass
from .llama import Target, forward, logits_of, new_cache
from .runner import Runner
from .sample import draw
from .student import Draft

CONTEXT = 200  # tokens in the caches while timing


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds, for one sequence."""

    passes: list[float]  # of a target pass over 1, 2, … tokens
    step: float  # of one draft step: read a token, its distribution, one draw
    catch_up: float  # of reading a round's committed tokens, before the first proposal


def milliseconds(action: Callable[[], object], repeats: int) -> float:
    """The median, after two calls that are not counted."""
    seconds = []
    for _ in range(repeats + 2):
        begun = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - begun)
    return 1e3 * median(seconds[2:])


@torch.inference_mode()
def target_cost(target: Target, most: int, repeats: int) -> list[float]:
    """Of passes over 1 … `most` tokens behind CONTEXT others."""
    cache, start = new_cache(target, 1, CONTEXT + most), torch.tensor([CONTEXT])

    def one_pass(n: int) -> Callable[[], object]:
        ids = torch.ones(1, n, dtype=torch.int64)
        return lambda: logits_of(target, forward(target, ids, start, cache, slice(None), ())[0]).float().softmax(-1)

    return [milliseconds(one_pass(n), repeats) for n in range(1, most + 1)]


@torch.inference_mode()
def draft_cost(draft: Draft, committed: int, repeats: int) -> tuple[float, float]:
    """(one step, catching up with `committed` tokens)"""
    runner = Runner(draft, 1, CONTEXT + committed)
    start, vocab = torch.tensor([CONTEXT]), draft.embedding.shape[0]
    width = draft.embedding.shape[1]
    taps = torch.randn(1, committed, max(1, draft.shape.taps), width).to(draft.embedding.dtype)

    stream = torch.randn(1, 1, draft.shape.hidden).to(draft.embedding.dtype)

    def step() -> None:
        feature = stream if draft.shape.taps else None
        out = runner.read(torch.ones(1, 1, dtype=torch.int64), feature, start)
        q = torch.zeros(1, vocab)
        q[:, draft.kept] = draft.logits(out[:, 0]).float().softmax(-1)
        draw(q.log(), torch.ones(1), torch.rand(1))

    def catch_up() -> None:
        feature = draft.known(taps) if draft.shape.taps else None
        runner.read(torch.ones(1, committed, dtype=torch.int64), feature, start)

    return milliseconds(step, repeats), milliseconds(catch_up, repeats)


def predicted(by_depth: Sequence[float], cost: Cost, k: int) -> float:
    """Speed-up over plain decoding: tokens a round over what the round costs in plain passes.

    The last step of the round before and the catching up share one read, so a round is one catch-up and k - 1 steps,
    and the head and the draw of the first proposal, which `step` already holds: k steps is the safe side.
    """
    round_cost = cost.passes[k] + cost.catch_up + k * cost.step
    return tokens_per_pass(by_depth[:k]) * cost.passes[0] / round_cost


@torch.inference_mode()
def plain_rate(target: Target, prompts: list[list[int]], temperature: float, cap: int, seed: int) -> float:
    """Tokens/s of the target alone, `cap` after each prompt in turn; reading the prompts is not counted."""
    generator, begin, seconds = torch.Generator().manual_seed(seed), torch.zeros(1, dtype=torch.int64), 0.0
    for prompt in prompts:
        cache = new_cache(target, 1, len(prompt) + cap)
        stream, _ = forward(target, torch.tensor([prompt]), begin, cache, slice(None), ())
        begun = time.perf_counter()
        for position in range(len(prompt), len(prompt) + cap):
            p = probabilities(logits_of(target, stream[:, -1]).float(), temperature)
            token = draw(p.log(), torch.ones(1), torch.rand(1, generator=generator))
            stream, _ = forward(target, token[:, None], begin + position, cache, slice(None), ())
        seconds += time.perf_counter() - begun
    return cap * len(prompts) / seconds


@torch.inference_mode()
def round_rate(
    target: Target, draft: Draft, prompts: list[list[int]], taps_after: tuple[int, ...], *,
    k: int, temperature: float, cap: int, seed: int,
) -> float:  # fmt: skip
    """Tokens/s of true rounds, at least `cap` after each prompt in turn; counted as in `plain_rate`."""
    generator, live = torch.Generator().manual_seed(seed), torch.ones(1, dtype=torch.int64)
    tally, seconds = Tally.empty(1, k), 0.0
    for prompt in prompts:
        rounds = Rounds(target, draft, [prompt], taps_after, cap, k)
        begun = time.perf_counter()
        while int(rounds.count) < len(prompt) + cap:
            rounds.count += rounds.step(temperature, generator, live, tally)
        seconds += time.perf_counter() - begun
    return int(tally.emitted) / seconds

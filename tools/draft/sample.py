"""Answers: the target speaks, in large batches, and what it thought at each position is written down as it goes.

A shard is one cohort of prompts of like length, decoded in step: rows that meet a stop token leave, and the rest are
packed together. Beside the tokens a shard keeps what distillation needs, so that no second pass of the target follows.
"""

import logging
import random
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor
from tqdm import tqdm

from .llama import Target, forward, logits_of, new_cache

log = logging.getLogger(__name__)

TEMPERATURES = (0.0, 0.5, 0.7, 0.7, 0.8, 0.9, 1.0, 1.0, 1.0)
TOP = 64  # the likeliest tokens kept at each position
PREFILL_ROWS = 32


@dataclass(frozen=True, slots=True)
class Cohort:
    """Prompts to be answered together."""

    prompts: list[list[int]]
    temperatures: list[float]
    max_new: int
    seed: int


@dataclass(slots=True)
class Answers:
    """What a cohort gives, one row a sequence, padded on the right. Position t of `top_*` predicts token t + 1."""

    tokens: Tensor  # (rows, positions) int32
    prompt_length: Tensor  # (rows,)
    total_length: Tensor  # (rows,)
    taps: Tensor  # (rows, positions, taps, hidden): the residual streams after reading token t
    top_ids: Tensor  # (rows, positions, TOP) int32
    top_logp: Tensor  # (rows, positions, TOP) float16: log p at temperature 1


def draw(logits: Tensor, temperatures: Tensor, uniforms: Tensor) -> Tensor:
    """One token a row from softmax(logits / temperature) by the inverse CDF; temperature 0 takes the largest."""
    greedy = temperatures == 0
    scaled = logits / torch.where(greedy, 1.0, temperatures)[:, None]
    cdf = (scaled - scaled.amax(-1, keepdim=True)).exp_().cumsum(-1)  # (rows, vocab), not normalised
    tokens = torch.searchsorted(cdf, (uniforms * cdf[:, -1])[:, None], right=True)[:, 0]
    return torch.where(greedy, logits.argmax(-1), tokens.clamp_max(logits.shape[1] - 1))


def top_of(logits: Tensor) -> tuple[Tensor, Tensor]:
    """The TOP likeliest tokens of each row of float32 logits, and their log-probabilities at temperature 1."""
    top = logits.topk(TOP, sorted=False)
    return top.indices.int(), (top.values - logits.logsumexp(-1, keepdim=True)).half()


def sample_cohort(target: Target, cohort: Cohort, tap_after: tuple[int, ...], stop: set[int]) -> Answers:
    """Answer all prompts of a cohort."""
    # 1. Room for everything.
    rows = len(cohort.prompts)
    lengths = torch.tensor([len(prompt) for prompt in cohort.prompts])
    width = int(lengths.max()) + cohort.max_new
    hidden, dtype = target.embedding.shape[1], target.embedding.dtype
    out = Answers(
        tokens=torch.zeros(rows, width, dtype=torch.int32),
        prompt_length=lengths,
        total_length=lengths.clone(),
        taps=torch.zeros(rows, width, len(tap_after), hidden, dtype=dtype),
        top_ids=torch.zeros(rows, width, TOP, dtype=torch.int32),
        top_logp=torch.zeros(rows, width, TOP, dtype=torch.float16),
    )
    generator = torch.Generator().manual_seed(cohort.seed)
    stops = torch.tensor(sorted(stop))

    # 2. Read the prompts, a few rows at a time.
    cache = new_cache(target, rows, width)
    last = torch.zeros(rows, hidden, dtype=dtype)
    for first in range(0, rows, PREFILL_ROWS):
        part = slice(first, min(first + PREFILL_ROWS, rows))
        ids = torch.zeros(part.stop - first, int(lengths[part].max()), dtype=torch.int64)
        for i, prompt in enumerate(cohort.prompts[part]):
            ids[i, : len(prompt)] = torch.tensor(prompt)
        stream, taps = forward(target, ids, torch.zeros(len(ids), dtype=torch.int64), cache, part, tap_after)
        out.tokens[part, : ids.shape[1]] = ids.int()
        out.taps[part, : ids.shape[1]] = taps
        last[part] = stream[torch.arange(len(ids)), lengths[part] - 1]

    # 3. One token a step for every live row.
    live = torch.arange(rows)  # the row of `out` for each row of the cache
    going = torch.ones(rows, dtype=torch.bool)  # has not met a stop token; a row that has is packed away a little later
    temperatures = torch.tensor(cohort.temperatures)
    position = lengths.clone()  # where the next token of a live row goes
    for step in tqdm(range(cohort.max_new), desc="tokens", leave=False, mininterval=20):
        logits = logits_of(target, last).float()
        out.top_ids[live, position - 1], out.top_logp[live, position - 1] = top_of(logits)
        uniforms = torch.rand(rows, generator=generator)[live]
        token = draw(logits, temperatures[live], uniforms)
        out.tokens[live, position] = token.int()
        out.total_length[live] += going
        going = going & ~torch.isin(token, stops)
        if step + 1 == cohort.max_new or not going.any():
            break
        if going.float().mean() < 0.9:  # packing copies the cache: worth it for a tenth of the rows
            keep = going.nonzero()[:, 0]
            cache = cache.keep(keep, int(position.max()) + 1)
            live, token, position, going = live[keep], token[keep], position[keep], going[keep]
        stream, taps = forward(target, token[:, None], position, cache, slice(None), tap_after)
        out.taps[live, position] = taps[:, 0]
        last = stream[:, 0]
        position = position + 1
    return out


def pack(answers: Answers) -> dict[str, Tensor]:
    """A shard: every sequence after the other, without padding. N is the sum of the lengths."""
    index = torch.arange(answers.tokens.shape[1])
    filled = index < answers.total_length[:, None]
    return {
        "tokens": answers.tokens[filled].to(torch.uint16),  # (N,)
        "prompt_length": answers.prompt_length.int(),  # (sequences,)
        "total_length": answers.total_length.int(),  # (sequences,)
        "taps": answers.taps[filled],  # (N, taps, hidden)
        "top_ids": answers.top_ids[filled].to(torch.uint16),  # (N, TOP)
        "top_logp": answers.top_logp[filled],  # (N, TOP)
    }


def plan(prompts: list[list[int]], rows: int, max_new: int, seed: int) -> list[Cohort]:
    """Cut the prompts into cohorts of `rows`; inside every eight cohorts, prompts of like length stand together."""
    rng = random.Random(seed)
    cohorts = []
    for first in range(0, len(prompts), 8 * rows):
        block = sorted(prompts[first : first + 8 * rows], key=len)
        parts = [block[i : i + rows] for i in range(0, len(block), rows)]
        rng.shuffle(parts)
        for part in parts:
            temperatures = [rng.choice(TEMPERATURES) for _ in part]
            cohorts.append(Cohort(part, temperatures, max_new, seed=seed + len(cohorts)))
    return cohorts


def sample(target: Target, cohorts: list[Cohort], tap_after: tuple[int, ...], stop: set[int], folder: Path) -> None:
    """Answer every cohort that has no shard yet. A shard appears under its name only when it is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    for index, cohort in enumerate(tqdm(cohorts, desc="shards")):
        path = folder / f"shard-{index:04d}.safetensors"
        if path.exists():
            continue
        begun = time.perf_counter()
        with torch.inference_mode():
            shard = pack(sample_cohort(target, cohort, tap_after, stop))
        save_file(shard, path.with_suffix(".part"))
        path.with_suffix(".part").rename(path)
        answered = int((shard["total_length"] - shard["prompt_length"]).sum())
        seconds = time.perf_counter() - begun
        log.info("%s: %d answer tokens in %.0f s, %.0f tokens/s", path.name, answered, seconds, answered / seconds)

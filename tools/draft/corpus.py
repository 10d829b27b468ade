"""The shards as a data set: which sequences there are, and batches of them."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor

from .sample import TOP


@dataclass(frozen=True, slots=True)
class Sequence:
    """Where a sequence stands."""

    shard: int
    begin: int
    prompt_length: int
    total_length: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Sequences padded on the right. Row s of `top_*` is the target's distribution of token s + 1."""

    tokens: Tensor  # (batch, slots) int64
    taps: Tensor  # (batch, slots, taps, hidden)
    top_ids: Tensor  # (batch, slots, TOP) int64
    top_logp: Tensor  # (batch, slots, TOP) float32
    judged: Tensor  # (batch, slots) bool: slots whose next token is an answer's

    def deep(self, depth: int) -> Tensor:
        """(batch, slots): the judged slots that a proposal at `depth` can meet."""
        moved = self.judged.clone()
        for _ in range(depth - 1):
            moved = torch.cat((torch.zeros_like(moved[:, :1]), moved[:, :-1]), 1) & self.judged
        return moved


class Corpus:
    """All shards of a folder, read by memory map."""

    def __init__(self, folder: Path):
        self.files = [safe_open(path, "pt") for path in sorted(folder.glob("shard-*.safetensors"))]
        self.sequences = [row for shard in range(len(self.files)) for row in self._rows(shard)]

    def _rows(self, shard: int) -> Iterator[Sequence]:
        prompts, totals = (self.files[shard].get_tensor(f"{name}_length").tolist() for name in ("prompt", "total"))
        begin = 0
        for prompt, total in zip(prompts, totals, strict=True):
            yield Sequence(shard, begin, prompt, total)
            begin += total

    def answer_tokens(self) -> int:
        return sum(row.total_length - row.prompt_length for row in self.sequences)

    def read(self, row: Sequence, name: str) -> Tensor:
        return self.files[row.shard].get_slice(name)[row.begin : row.begin + row.total_length]

    def token_mass(self, vocab: int) -> Tensor:
        """(vocab,): how much of the target's probability each token got over all answers."""
        mass = torch.zeros(vocab)
        for file in self.files:
            ids, weight = file.get_tensor("top_ids").int(), file.get_tensor("top_logp").float().exp()
            weight[(ids == 0).all(1)] = 0  # prompt positions carry no distribution
            mass.index_add_(0, ids.flatten(), weight.flatten())
        return mass

    def some_taps(self, sequences: int, seed: int) -> Tensor:
        """Taps (n, taps, hidden) of a few sequences, without their last token, which the target did not read."""
        rows = random.Random(seed).sample(self.sequences, min(sequences, len(self.sequences)))
        return torch.cat([self.read(row, "taps")[1:-1] for row in rows])

    def batch(self, rows: list[Sequence], with_taps: bool) -> Batch:
        """Read and pad. Taps are left out where the draft does not read them."""
        slots = max(row.total_length for row in rows)
        shape = (len(rows), slots)
        sample = self.files[0].get_slice("taps").get_shape()
        taps = torch.zeros(*shape, *sample[1:], dtype=torch.bfloat16) if with_taps else torch.empty(0)
        tokens = torch.zeros(shape, dtype=torch.int64)
        judged = torch.zeros(shape, dtype=torch.bool)
        ids, logp = torch.zeros(*shape, TOP, dtype=torch.int64), torch.zeros(*shape, TOP)
        for i, row in enumerate(rows):
            n = row.total_length
            tokens[i, :n] = self.read(row, "tokens").long()
            ids[i, :n], logp[i, :n] = self.read(row, "top_ids").long(), self.read(row, "top_logp").float()
            judged[i, row.prompt_length - 1 : n - 1] = True
            if with_taps:
                taps[i, :n] = self.read(row, "taps")
        return Batch(tokens, taps, ids, logp, judged)

    def epochs(self, slots: int, seed: int) -> Iterator[list[Sequence]]:
        """Batches of about `slots` padded slots, for ever, in an order that the seed fixes.

        Neighbours in length are batched together inside windows of the shuffled order, so padding stays small.
        """
        rng = random.Random(seed)
        while True:
            order = rng.sample(self.sequences, len(self.sequences))
            batches = []
            for first in range(0, len(order), 512):
                window, batch = sorted(order[first : first + 512], key=lambda row: row.total_length), []
                for row in window:
                    if batch and (len(batch) + 1) * row.total_length > slots:
                        batches.append(batch)
                        batch = []
                    batch.append(row)
                batches.append(batch)
            for batch in batches:
                rng.shuffle(batch)
            rng.shuffle(batches)
            yield from batches

"""Shards for answers that exist as tokens: one reading of the target gives what sampling writes down on the way."""

import logging
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from tqdm import tqdm

from .llama import Target, forward, logits_of, new_cache
from .sample import TOP, Answers, pack, top_of

log = logging.getLogger(__name__)

ROWS = 32
SHARD = 512  # sequences


def load_sequences(path: Path) -> list[tuple[list[int], int]]:
    """(ids, prompt length) of every sequence in an .npz of `tokens`, `prompt_length`, `total_length`."""
    data = np.load(path)
    ends = np.cumsum(data["total_length"].astype(int))
    parts = np.split(data["tokens"].astype(int), ends[:-1])
    return [(part.tolist(), int(length)) for part, length in zip(parts, data["prompt_length"], strict=True)]


def read_rows(target: Target, rows: list[tuple[list[int], int]], tap_after: tuple[int, ...]) -> Answers:
    """What the target holds and predicts along the given sequences."""
    lengths = torch.tensor([len(ids) for ids, _ in rows])
    prompts = torch.tensor([prompt for _, prompt in rows])
    tokens = torch.zeros(len(rows), int(lengths.max()), dtype=torch.int64)
    for i, (ids, _) in enumerate(rows):
        tokens[i, : len(ids)] = torch.tensor(ids)
    cache = new_cache(target, *tokens.shape)
    stream, taps = forward(target, tokens, torch.zeros(len(rows), dtype=torch.int64), cache, slice(None), tap_after)
    slot = torch.arange(tokens.shape[1])
    judged = (slot >= prompts[:, None] - 1) & (slot < lengths[:, None] - 1)
    top_ids = torch.zeros(*tokens.shape, TOP, dtype=torch.int32)
    top_logp = torch.zeros(*tokens.shape, TOP, dtype=torch.float16)
    top_ids[judged], top_logp[judged] = top_of(logits_of(target, stream[judged]).float())
    return Answers(tokens.int(), prompts, lengths, taps, top_ids, top_logp)


def teach(
    target: Target, sequences: list[tuple[list[int], int]], tap_after: tuple[int, ...], folder: Path, name: str
) -> None:
    """Write the shards that are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    sequences = sorted(sequences, key=lambda row: len(row[0]))
    for first in tqdm(range(0, len(sequences), SHARD), desc="shards"):
        path = folder / f"shard-{name}-{first:06d}.safetensors"
        if path.exists():
            continue
        part = sequences[first : first + SHARD]
        with torch.inference_mode():
            packed = [pack(read_rows(target, part[i : i + ROWS], tap_after)) for i in range(0, len(part), ROWS)]
        save_file({key: torch.cat([piece[key] for piece in packed]) for key in packed[0]}, path.with_suffix(".part"))
        path.with_suffix(".part").rename(path)

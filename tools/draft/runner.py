"""The draft model at work: cached, step by step, many sequences at once. The reference for any engine that runs it."""

import torch
import torch.nn.functional as F
from torch import Tensor

from .student import Block, Draft, rotary_of


class Runner:
    """Keys and values of a draft for `rows` sequences, written by index, so going back is only saying where to be."""

    def __init__(self, draft: Draft, rows: int, positions: int):
        shape, dtype = draft.shape, draft.embedding.dtype
        size = shape.hidden // shape.heads
        self.draft = draft.pack()
        self.cache = torch.zeros(shape.layers, 2, rows, positions, shape.kv_heads, size, dtype=dtype)
        self.cos, self.sin = rotary_of(draft.theta, size, positions, dtype)

    def read(self, tokens: Tensor, feature: Tensor | None, start: Tensor) -> Tensor:
        """Read tokens (rows, n) into slots start.. (rows,); returns the streams (rows, n, hidden).

        `feature` (rows, n, hidden) is that of the token before each: `Draft.known` where that token is committed, the
        stream given for it here where it is only proposed; None for a draft without taps.
        """
        places = start[:, None] + torch.arange(tokens.shape[1])  # (rows, n)
        rotary = self.cos[places][:, :, None], self.sin[places][:, :, None]  # (rows, n, 1, size)
        visible = torch.arange(int(places.max()) + 1) <= places[:, :, None]  # (rows, n, length)
        x = self.draft.embed(tokens)
        if feature is not None:
            x = self.draft.unite(x, feature)
        mask = torch.where(visible, 0.0, float("-inf")).to(x.dtype)[:, None]
        for block, (keys, values) in zip(self.draft.blocks, self.cache, strict=True):
            x = run_block(block, x, rotary, keys, values, places, mask)
        return x


def run_block(
    block: Block, x: Tensor, rotary: tuple[Tensor, Tensor], keys: Tensor, values: Tensor, places: Tensor, mask: Tensor
) -> Tensor:
    """One block over x (rows, n, hidden) at `places` (rows, n) of its cache, (rows, positions, kv_heads, size)."""
    q, k, v = block.project(x, rotary)
    index = torch.arange(len(x))[:, None]
    keys[index, places], values[index, places] = k, v
    group = block.heads // block.kv_heads
    seen = (y[:, : mask.shape[-1]].repeat_interleave(group, 2).transpose(1, 2) for y in (keys, values))
    mixed = F.scaled_dot_product_attention(q.transpose(1, 2), *seen, attn_mask=mask)
    return block.finish(x, mixed.transpose(1, 2))

"""The draft model: Llama blocks of any width over the target's embedding, with or without the target's taps.

A slot s reads token s and predicts token s + 1. A draft with taps also reads what the target held after token s - 1,
its residual stream after a few layers. That exists only for committed tokens, so inside a round a slot reads the
draft's own output of the slot before instead. `Draft.forward` repeats this in training: depth 1 reads taps everywhere,
depth d is what the d-th proposal of a round will meet.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .llama import Target, rotate
from .product import packed, plain, product

# The copied block adds contributions that were made for a stream much larger than 1; this start learns faster than 1.
JOINED = 5.0


@dataclass(frozen=True, slots=True)
class Shape:
    """What a draft model looks like. `copied` names the target's layers that its blocks start from."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    intermediate: int
    head_size: int  # how many tokens it can propose
    taps: int = 0  # residual streams of the target that it reads; 0: a plain language model
    copied: tuple[int, ...] = ()


class Matrix(nn.Linear):
    """Weights in float32 for the optimiser, multiplied in the dtype of x; or packed once, for use without training."""

    ready: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        weight = self.weight.to(x.dtype) if self.ready is None else self.ready
        return product(x, weight)


class Block(nn.Module):
    """One Llama block over (batch, slots, hidden), with the keys of every depth so far."""

    def __init__(self, shape: Shape, eps: float):
        super().__init__()
        self.heads, self.kv_heads, self.eps = shape.heads, shape.kv_heads, eps
        self.size = shape.hidden // shape.heads
        self.norm_in = nn.Parameter(torch.ones(shape.hidden))
        self.qkv = Matrix(shape.hidden, (shape.heads + 2 * shape.kv_heads) * self.size, bias=False)
        self.out = Matrix(shape.heads * self.size, shape.hidden, bias=False)
        self.norm_mlp = nn.Parameter(torch.ones(shape.hidden))
        self.gate_up = Matrix(shape.hidden, 2 * shape.intermediate, bias=False)
        self.down = Matrix(shape.intermediate, shape.hidden, bias=False)

    def forward(self, x: Tensor, rotary: tuple[Tensor, Tensor], past: list[tuple[Tensor, Tensor]]) -> Tensor:
        """One depth. `past` holds (keys, values), each (batch, heads, slots, size), of the depths before; it grows."""
        slots, group = x.shape[1], self.heads // self.kv_heads
        q, *kv = self.project(x, rotary)
        k, v = (y.repeat_interleave(group, 2).transpose(1, 2) for y in kv)
        past.append((k, v))
        if len(past) == 1:
            mixed = F.scaled_dot_product_attention(q.transpose(1, 2), k, v, is_causal=True)
        else:
            keys, values = (torch.cat(parts, 2) for parts in zip(*past, strict=True))
            mask = depth_mask(len(past), slots).to(x.dtype)
            mixed = F.scaled_dot_product_attention(q.transpose(1, 2), keys, values, attn_mask=mask)
        return self.finish(x, mixed.transpose(1, 2))

    def project(self, x: Tensor, rotary: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Queries (batch, slots, heads, size), keys and values (batch, slots, kv_heads, size), turned by position."""
        qkv = self.qkv(unit(x, self.eps) * self.norm_in.to(x.dtype))
        q, k, v = qkv.view(*x.shape[:2], -1, self.size).split((self.heads, self.kv_heads, self.kv_heads), 2)
        return rotate(q, *rotary), rotate(k, *rotary), v

    def finish(self, x: Tensor, mixed: Tensor) -> Tensor:
        """The rest of the block, from what attention gave, (batch, slots, heads, size)."""
        x = x + self.out(mixed.flatten(2))
        gate, up = self.gate_up(unit(x, self.eps) * self.norm_mlp.to(x.dtype)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Draft(nn.Module):
    """A draft model. The target's embedding is held by reference and never trained."""

    def __init__(self, shape: Shape, embedding: Tensor, kept: Tensor, *, eps: float, theta: float):
        """`embedding` (vocab, width) is the target's; `kept` (head_size,) are the ids of the tokens the draft can
        propose, in the head's order; `eps` and `theta` are those of the target's norms and rotary tables."""
        super().__init__()
        self.shape, self.eps, self.theta = shape, eps, theta
        width = embedding.shape[1]
        self.register_buffer("embedding", embedding, persistent=False)
        self.register_buffer("kept", kept)
        self.narrow = Matrix(width, shape.hidden, bias=False) if shape.hidden != width else None
        if shape.taps:
            # The residual stream carries a few huge, almost constant components; standardised, every one counts.
            self.register_buffer("tap_mean", torch.zeros(shape.taps, width))
            self.register_buffer("tap_scale", torch.ones(shape.taps, width))
            self.fuse = Matrix(shape.taps * width, shape.hidden, bias=False)
            self.join = Matrix(2 * shape.hidden, shape.hidden, bias=False)
        self.blocks = nn.ModuleList(Block(shape, self.eps) for _ in range(shape.layers))
        self.norm = nn.Parameter(torch.ones(shape.hidden))
        self.head = Matrix(shape.hidden, shape.head_size, bias=False)

    def embed(self, tokens: Tensor) -> Tensor:
        """(batch, slots) -> (batch, slots, hidden)"""
        x = F.embedding(tokens, self.embedding)
        return x if self.narrow is None else self.narrow(x)

    def known(self, taps: Tensor) -> Tensor:
        """The feature of a committed token, (…, hidden), from its taps, (…, taps, width).

        For a token that is only proposed, the stream that the draft gave for it takes this place.
        """
        standard = (unit(taps, self.eps) - self.tap_mean.to(taps.dtype)) * self.tap_scale.to(taps.dtype)
        return self.fuse(standard.flatten(-2))

    def unite(self, embedded: Tensor, feature: Tensor) -> Tensor:
        """The input of a slot from the token it reads and the feature of the token before; all (…, hidden)."""
        return self.join(torch.cat((unit(embedded, self.eps), unit(feature, self.eps)), -1))

    def forward(self, tokens: Tensor, taps: Tensor | None, depths: int, deep_rows: int | None = None) -> list[Tensor]:
        """Residual streams before the final norm, (batch, slots, hidden), one for each depth; depth d is right from
        slot d - 1 on. `taps` (batch, slots, taps, width) of slot s belong to token s. Depths above 1 are computed for
        the first `deep_rows` sequences only, where that is given."""
        size = self.shape.hidden // self.shape.heads
        rotary = tuple(
            table[:, None] for table in rotary_of(self.theta, size, tokens.shape[1], self.embedding.dtype)
        )  # (slots, 1, size)
        embedded = self.embed(tokens)
        past: list[list] = [[] for _ in self.blocks]
        streams: list[Tensor] = []
        for depth in range(1, depths + 1):
            if depth == 2 and deep_rows is not None:
                embedded = embedded[:deep_rows]
                past = [[(k[:deep_rows], v[:deep_rows]) for k, v in history] for history in past]
            x = embedded
            if self.shape.taps:
                feature = self.known(taps) if depth == 1 else streams[-1][: len(embedded)]
                x = self.unite(embedded, shift(feature))
            for block, history in zip(self.blocks, past, strict=True):
                x = block(x, rotary, history)
            streams.append(x)
        return streams

    def pack(self) -> "Draft":
        """Make it quick for use: weights in the embedding's dtype, packed. No training after this."""
        self.to(self.embedding.dtype).requires_grad_(False).eval()
        for module in self.modules():
            if isinstance(module, Matrix):
                module.ready = packed(module.weight.detach())
        return self

    def logits(self, stream: Tensor) -> Tensor:
        """(…, hidden) -> (…, head_size)"""
        return self.head(unit(stream, self.eps) * self.norm.to(stream.dtype))


def unit(x: Tensor, eps: float) -> Tensor:
    """x at root mean square 1: taps of different layers differ in size by orders of magnitude."""
    return F.rms_norm(x, (x.shape[-1],), None, eps)


def shift(x: Tensor) -> Tensor:
    """Slot s gets what slot s - 1 held; the first gets zeros."""
    return torch.cat((torch.zeros_like(x[:, :1]), x[:, :-1]), 1)


def depth_mask(depth: int, slots: int) -> Tensor:
    """(slots, depth * slots), added to the scores: which key each slot of `depth` sees.

    The d-th proposal of a round sees taps up to d - 1 slots back, and then one key of each depth up to its own.
    """
    query, key = torch.arange(slots)[:, None], torch.arange(slots)
    back = query - key
    parts = [back >= depth - 1] + [back == depth - 1 - earlier for earlier in range(1, depth)]
    return torch.where(torch.cat(parts, 1), 0.0, -1e4)


def rotary_of(theta: float, size: int, positions: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    frequency = theta ** (-torch.arange(0, size, 2).float() / size)
    angle = torch.outer(torch.arange(positions).float(), frequency).repeat(1, 2)
    return angle.cos().to(dtype), angle.sin().to(dtype)


def new_draft(shape: Shape, target: Target, kept: Tensor, seed: int, taps: Tensor | None = None) -> Draft:
    """A draft that has not been trained yet, begun from the target.

    `taps` (n, taps, width) is a sample of the target's residual streams, for their mean and spread.
    """
    torch.manual_seed(seed)
    eps, theta = target.config.rms_norm_eps, target.config.rope_parameters["rope_theta"]
    draft = Draft(shape, target.embedding, kept, eps=eps, theta=theta)
    start_from_weights(draft, target)
    if shape.taps:
        start_from_taps(draft, taps.float())
    return draft


@torch.no_grad()
def start_from_weights(draft: Draft, target: Target) -> None:
    """Begin near the target: its head rows, its final norm and the layers named in `copied`; elsewhere small noise.

    A narrower draft begins from the principal components of the target's embedding.
    """
    for weight in draft.parameters():
        if weight.dim() == 2:
            nn.init.normal_(weight, std=0.02)
    rows = target.embedding[draft.kept].float()
    if draft.narrow is None:
        draft.head.weight.copy_(rows)
        draft.norm.copy_(target.norm)
    else:
        table = target.embedding.float()
        _, vectors = torch.linalg.eigh(table.T @ table)  # ascending
        components = vectors[:, -draft.shape.hidden :]  # (width, hidden)
        draft.narrow.weight.copy_(components.T)
        draft.head.weight.copy_(rows @ components)
    for block, index in zip(draft.blocks, draft.shape.copied, strict=False):
        source = target.layers[index]
        for name in ("qkv", "out", "gate_up", "down"):
            getattr(block, name).weight.copy_(plain(getattr(source, name)))
        block.norm_in.copy_(source.norm_in)
        block.norm_mlp.copy_(source.norm_mlp)


@torch.no_grad()
def start_from_taps(draft: Draft, taps: Tensor) -> None:
    """Pass the last tap and the token read on to the first block; taps (n, taps, width) float32 are a sample."""
    spread, mean = torch.std_mean(unit(taps, draft.eps), 0)
    draft.tap_mean.copy_(mean)
    draft.tap_scale.copy_(1 / spread)
    eye = torch.eye(draft.shape.hidden)
    draft.fuse.weight[:, -taps.shape[-1] :] += eye  # the last tap is the best single one
    draft.join.weight += JOINED * torch.cat((eye, eye), 1)

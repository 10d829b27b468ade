"""Distillation: the draft learns the target's distributions, first by cross-entropy, then for acceptance itself."""

import json
import logging
import math
import time
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor
from tqdm import tqdm

from .corpus import Batch, Corpus
from .loss import Distil, sharpen
from .student import Draft

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recipe:
    """The numbers of a training run."""

    tokens: int  # slots to be read in all, padding included
    slots: int = 2048  # a batch
    rate: float = 5e-3
    deep_share: float = 0.3  # of a batch's sequences that are followed to depths above 1, each as dear as the first
    outer_share: float = 0.1  # of the rate, for the head and the norms
    warm_up: int = 15  # steps
    last_share: float = 0.05  # of the rate, that half a cosine goes down to; 1 keeps it
    memory: float = 0.99  # of the running average of the weights, which is what a run gives
    weight_decay: float = 0.01
    depths: int = 1  # proposals a round that training looks ahead; above 1 only for a draft with taps
    depth_from: float = 0.3  # share of the run after which it does
    overlap_from: float = 0.4  # share of the run after which the overlap joins the loss
    seed: int = 0
    save_every: int = 25


@dataclass(frozen=True, slots=True)
class Aim:
    """What one step asks for."""

    depths: int
    deep_share: float
    temperature: float
    cross_weight: float
    overlap_weight: float


def aim_at(step: int, steps: int, recipe: Recipe) -> Aim:
    """Cross-entropy at depth 1 first; then, from the recipe's shares of the run on, more depths and the overlap."""
    share = step / steps
    cross_weight, overlap_weight = (0.3, 2.0) if share >= recipe.overlap_from else (1.0, 0.0)
    return Aim(
        depths=recipe.depths if share >= recipe.depth_from else 1,
        deep_share=recipe.deep_share,
        temperature=(0.7, 1.0, 0.85)[step % 3],
        cross_weight=cross_weight,
        overlap_weight=overlap_weight,
    )


def rate_at(step: int, steps: int, recipe: Recipe) -> float:
    """Linear warm-up, then half a cosine down to the last share."""
    if step < recipe.warm_up:
        return recipe.rate * (step + 1) / recipe.warm_up
    done = (step - recipe.warm_up) / max(1, steps - recipe.warm_up)
    return recipe.rate * (recipe.last_share + (1 - recipe.last_share) * (1 + math.cos(math.pi * min(1.0, done))) / 2)


def columns_of(kept: Tensor, vocab: int) -> Tensor:
    """(vocab,): the head's column for a token id, -1 where the head has none."""
    columns = torch.full((vocab,), -1)
    columns[kept] = torch.arange(len(kept))
    return columns


def batch_loss(draft: Draft, batch: Batch, columns: Tensor, aim: Aim) -> tuple[Tensor, list[float]]:
    """Mean loss over the depths, and the overlap of each."""
    deep_rows = max(1, round(aim.deep_share * len(batch.tokens)))
    streams = draft(batch.tokens, batch.taps, aim.depths, deep_rows)
    losses, overlaps = [], []
    for depth, stream in enumerate(streams, 1):
        rows = slice(len(stream))
        chosen = batch.deep(depth)[rows]
        logp, place = batch.top_logp[rows][chosen], columns[batch.top_ids[rows][chosen]]
        loss, _, overlap = Distil.apply(
            draft.logits(stream[chosen]), place, logp.exp(), sharpen(logp, aim.temperature),
            aim.temperature, aim.cross_weight, aim.overlap_weight,
        )  # fmt: skip
        count = int(chosen.sum())
        losses.append(loss / count)
        overlaps.append(float(overlap.detach()) / count)
    return torch.stack(losses).mean(), overlaps


def optimisers_of(draft: Draft, recipe: Recipe) -> list[torch.optim.Optimizer]:
    """Muon for the matrices inside the network, which learns them in fewer steps; AdamW for the head and the norms.

    Those two begin as the target's own and need only small corrections: `outer_share` of the rate.
    """
    inner = [w for name, w in draft.named_parameters() if w.dim() == 2 and not name.startswith("head")]
    outer = [w for name, w in draft.named_parameters() if w.dim() == 1 or name.startswith("head")]
    return [
        torch.optim.Muon(inner, lr=recipe.rate, weight_decay=recipe.weight_decay, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(outer, lr=recipe.rate * recipe.outer_share, betas=(0.9, 0.98), weight_decay=0.0, fused=True),
    ]


def train(draft: Draft, corpus: Corpus, recipe: Recipe, folder: Path) -> None:
    """Train, or go on from the checkpoint in `folder`. The log lands in `folder`/train.jsonl."""
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint = folder / "checkpoint.pt"
    optimisers = optimisers_of(draft, recipe)
    average = {name: weight.detach().clone() for name, weight in draft.named_parameters()}
    steps, first = recipe.tokens // recipe.slots, 0
    if checkpoint.exists():
        state = torch.load(checkpoint)
        draft.load_state_dict(state["draft"])
        for optimiser, saved in zip(optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(saved)
        first, average = state["step"], state["average"]
        log.info("%s: going on from step %d", folder.name, first)
    columns = columns_of(draft.kept, draft.embedding.shape[0])

    def save(step: int) -> None:
        part = checkpoint.with_suffix(".part")
        saved = [optimiser.state_dict() for optimiser in optimisers]
        state = {"draft": draft.state_dict(), "average": average, "optimisers": saved, "step": step}
        torch.save(state | {"recipe": asdict(recipe), "shape": asdict(draft.shape)}, part)
        part.rename(checkpoint)

    order = islice(corpus.epochs(recipe.slots, recipe.seed), first, steps)
    begun = time.perf_counter()
    progress = tqdm(order, initial=first, total=steps, desc=folder.name, mininterval=20)
    with (folder / "train.jsonl").open("a") as lines:
        for step, rows in enumerate(progress, first):
            # 1. Loss and gradient.
            aim = aim_at(step, steps, recipe)
            batch = corpus.batch(rows, with_taps=draft.shape.taps > 0)
            loss, overlaps = batch_loss(draft, batch, columns, aim)
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(draft.parameters(), 1.0)
            # 2. One step.
            rate = rate_at(step, steps, recipe)
            for optimiser, share in zip(optimisers, (1.0, recipe.outer_share), strict=True):
                for group in optimiser.param_groups:
                    group["lr"] = rate * share
                optimiser.step()
                optimiser.zero_grad()
            with torch.no_grad():
                for name, weight in draft.named_parameters():
                    average[name].lerp_(weight, 1 - min(recipe.memory, (step + 1) / (step + 10)))
            # 3. A trace of it.
            row = {
                "step": step,
                "loss": round(loss.item(), 4),
                "norm": round(norm.item(), 3),
                "temperature": aim.temperature,
                "overlap": [round(x, 4) for x in overlaps],
                "seconds": round(time.perf_counter() - begun, 1),
            }
            lines.write(json.dumps(row) + "\n")
            if step % 10 == 0:
                lines.flush()
                progress.set_postfix(loss=row["loss"], overlap=row["overlap"])
            if (step + 1) % recipe.save_every == 0 or step + 1 == steps:
                save(step + 1)


def load_checkpoint(draft: Draft, folder: Path) -> None:
    """The averaged weights of a run."""
    state = torch.load(folder / "checkpoint.pt")
    draft.load_state_dict(state["draft"] | state["average"])

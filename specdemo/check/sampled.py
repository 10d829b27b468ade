"""Sampled: thousands of real runs of the engine, and as many of the target alone; their first token, first two, … first
K + 1 against the exact law. The bonus token is the last of these, so no fewer would do."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch.nn.functional import pad

from ..fit import LEAST_EXPECTED, Fit, fit
from ..records import Outcome, Round
from .lane import Lane

Ids = tuple[int, ...]

SHOWN = 10  # beginnings that a comparison names, the likeliest ones

_BEGINNINGS = 64  # beginnings that are told apart; all other texts share one cell
_ALONE = 2  # tokens that the target writes alone: as a measure of what chance does, it needs no more


class Cell(NamedTuple):
    """A beginning, its exact probability, and how often the engine and the target alone wrote it."""

    ids: Ids
    p: float
    engine: int
    alone: int


class Comparison(NamedTuple):
    """The first `length` tokens of all runs against the target's law of them.

    cells   the likeliest beginnings
    engine  how the engine's runs fit the law
    alone   how those of the target alone do; None beyond the length that it wrote
    """

    length: int
    cells: tuple[Cell, ...]
    engine: Fit
    alone: Fit | None


@dataclass(slots=True)
class Texts:
    """What the runs wrote: the first K + 1 tokens of the engine's and the first few of the target's own.

    kept   runs of the engine that kept their first draft
    alpha  the share of them that is foretold
    """

    engine: Counter[Ids] = field(default_factory=Counter)
    alone: Counter[Ids] = field(default_factory=Counter)
    kept: int = 0
    alpha: float = 0.0

    @property
    def runs(self) -> int:
        return self.engine.total()


def write(lane: Lane, samples: int, texts: Texts) -> Iterator[None]:
    """So many runs of either, into `texts`; a yield each."""
    chance = torch.Generator()
    if lane.params.seed is None:
        chance.seed()
    else:
        chance.manual_seed(lane.params.seed)
    for ours, its in torch.randint(2**62, (samples, 2), generator=chance).tolist():
        rounds = tuple(lane.rounds(seed=ours, max_new_tokens=lane.k + 1))
        first = rounds[0].events[0]
        texts.kept += first.outcome is Outcome.ACCEPTED
        texts.alpha = first.alpha
        texts.engine[_emitted(rounds)] += 1
        texts.alone[_emitted(lane.alone(seed=its, max_new_tokens=min(_ALONE, lane.k + 1)))] += 1
        yield


def _emitted(rounds: Iterator[Round] | tuple[Round, ...]) -> Ids:
    return tuple(event.token_id for round_ in rounds for event in round_.emitted)


def comparisons(texts: Texts, lane: Lane) -> Iterator[Comparison]:
    """The first token, the first two, … against the target's law, worked out along the likeliest beginnings.

    It ends before K + 1 where no beginning is common enough for the next token's law to be told from chance.
    """
    width = max(lane.p.vocab_size, lane.q.vocab_size)
    beginnings = {(): 1.0}
    while beginnings and len(next(iter(beginnings))) <= lane.k:
        rows = [mass * lane.laws(lane.p.row(lane.p.prompt + ids))[0] for ids, mass in beginnings.items()]
        law = pad(torch.cat(rows), (0, width - lane.p.vocab_size))
        yield _compared(list(beginnings), law, texts)
        beginnings = _likeliest(list(beginnings), law, LEAST_EXPECTED / texts.runs, _BEGINNINGS)


def _compared(beginnings: list[Ids], law: torch.Tensor, texts: Texts) -> Comparison:
    """The texts against `law` (B, V): the probability of each beginning with each next token."""
    length = len(beginnings[0]) + 1
    shown = _likeliest(beginnings, law, 0.0, SHOWN)
    written = [_shortened(counts, length) for counts in (texts.engine, texts.alone)]
    cells = tuple(Cell(ids, p, *(counts[ids] for counts in written)) for ids, p in shown.items())
    fits = [_fit(beginnings, law, counts) if counts else None for counts in written]
    return Comparison(length, cells, *fits)


def _shortened(texts: Counter[Ids], length: int) -> Counter[Ids]:
    """The beginnings of that length; empty where the texts are shorter."""
    short: Counter[Ids] = Counter()
    for ids, n in texts.items():
        if len(ids) >= length:
            short[ids[:length]] += n
    return short


def _fit(beginnings: list[Ids], law: torch.Tensor, texts: Counter[Ids]) -> Fit:
    """The texts, each one token longer than a beginning, against `law` (B, V). All others are one cell."""
    row = {ids: i for i, ids in enumerate(beginnings)}
    counts = torch.zeros_like(law)
    others = 0
    for ids, n in texts.items():
        if ids[:-1] in row:
            counts[row[ids[:-1]], ids[-1]] += n
        else:
            others += n
    rest = (1 - law.sum()).clamp(min=0)
    return fit(torch.cat([counts.flatten(), torch.tensor([others])]), torch.cat([law.flatten(), rest[None]]))


def _likeliest(beginnings: list[Ids], law: torch.Tensor, least: float, n: int) -> dict[Ids, float]:
    """The n likeliest beginnings of one token more, with their probabilities: above 0 and at least `least`."""
    mass, at = law.flatten().topk(min(n, law.numel()))
    longer = {}
    for m, i in zip(mass.tolist(), at.tolist()):
        row, token_id = divmod(i, law.shape[1])
        if m > 0 and m >= least:
            longer[*beginnings[row], token_id] = m
    return longer

"""The law of whole outputs of the real engine with real chance: several rounds, models that look at all tokens before.

A right engine fails one of these tests with odds of 1e-7 (χ² against its exact quantile, cells of at least 10 expected
draws), and not at all with the seeds that stand here. A wrong one must fail by far: the same test rejects each of the
faults at the end."""

from collections import Counter
from collections.abc import Callable, Sequence

import pytest
import torch
from fixed_models import FixedTable
from table_models import TableModel, historic, markov
from tape import taped

from specdemo import captured, engine, maths
from specdemo.contract import Coins, Proposal
from specdemo.drafters import ModelDrafter
from specdemo.drafters import model as model_drafter
from specdemo.engine import speculate
from specdemo.fit import Fit, fit
from specdemo.graphs import as_it_is
from specdemo.narrow import Narrow
from specdemo.records import SamplingParams

ODDS = 1e-7

P = [[0.6, 0.4], [0.35, 0.65], [0.5, 0.5], [0.7, 0.3], [0.4, 0.6]]
Q = [[0.05, 0.95], [0.85, 0.15], [0.95, 0.05]]
CHAIN_P = [[0.5, 0.2, 0.3], [0.15, 0.6, 0.25], [0.4, 0.35, 0.25]]
CHAIN_Q = [[0.25, 0.45, 0.3], [0.3, 0.4, 0.3], [0.6, 0.15, 0.25]]


def law_after(rule: Callable[[list[int]], torch.Tensor], prompt: Sequence[int], length: int) -> dict[tuple, float]:
    """The target's exact law of the next `length` tokens."""
    law: dict[tuple, float] = {(): 1.0}
    for _ in range(length):
        law = {
            (*text, token): mass * chance
            for text, mass in law.items()
            for token, chance in enumerate(rule([*prompt, *text]).softmax(-1).tolist())
        }
    return law


def compare(counts: Counter[tuple], law: dict[tuple, float]) -> Fit:
    assert counts.keys() <= law.keys()
    observed = torch.tensor([counts[text] for text in law])
    return fit(observed, torch.tensor(list(law.values()), dtype=torch.float64))


def eagerly(target=historic, draft=Q):
    """The engine's own loop over fresh models: (settings, k) -> rounds."""
    return lambda settings, k: speculate(target(P), ModelDrafter(historic(draft)), [0], settings, k=k, top=0)


def recorded(target=FixedTable, draft=Q, capture=taped):
    """The loop over steps that were recorded once, for all runs."""
    stage = captured.Stage(target(P), FixedTable(draft), SamplingParams(), top=0, capture=capture)
    return lambda settings, k: captured.speculate(stage, [0], settings, k=k)


LOOPS = [eagerly, recorded]


def sample(runs: int, k: int, length: int, loop=eagerly, **models) -> tuple[Fit, int]:
    """Runs of different seeds after token 0 against the law; also the fewest rounds of any."""
    counts: Counter[tuple] = Counter()
    fewest, write = length, loop(**models)
    for seed in range(runs):
        settings = SamplingParams(seed=seed, max_new_tokens=length)
        rounds = list(write(settings, k))
        counts[tuple(event.token_id for round_ in rounds for event in round_.emitted)] += 1
        fewest = min(fewest, len(rounds))
    return compare(counts, law_after(historic(P).rule, [0], length)), fewest


def test_five_thousand_runs_of_their_own_seeds() -> None:
    result, fewest = sample(runs=5000, k=1, length=6)
    assert fewest >= 3 and result.cells > 40
    assert result.p_value > ODDS


def test_one_long_run() -> None:
    """A chain: after a token the next three are independent of all before. Windows of four tokens that do not overlap,
    counted by their first token."""
    settings = SamplingParams(seed=2024, max_new_tokens=4000)
    rounds = speculate(markov(CHAIN_P), ModelDrafter(markov(CHAIN_Q)), [0], settings, k=3, top=0)
    text = [event.token_id for round_ in rounds for event in round_.emitted]
    windows = Counter(tuple(text[i : i + 4]) for i in range(0, len(text), 4))
    for first in range(3):
        counts = Counter({window[1:]: n for window, n in windows.items() if window[0] == first})
        result = compare(counts, law_after(markov(CHAIN_P).rule, [first], 3))
        assert result.cells > 5 and result.p_value > ODDS


# ---------------------------------------------------------------- power


def power(**kwargs) -> Fit:
    return sample(runs=500, k=1, length=4, **kwargs)[0]


@pytest.mark.parametrize("loop", LOOPS)
def test_the_short_version_passes_without_a_fault(loop) -> None:
    assert power(loop=loop).p_value > ODDS


class Reused(Coins):
    """For K = 1: the last token is drawn with the coin that judged the draft."""

    def throw(self, n: int) -> torch.Tensor:
        return super().throw(1).expand(n)


class Reseeded(Coins):
    """Seeded anew at each throw, so that all rounds of a run see the same coins."""

    def throw(self, n: int) -> torch.Tensor:
        return Coins(self._generator.initial_seed(), self._generator.device).throw(n)


class Astray(FixedTable):
    """In memory that stays where it is the same fault: what was refused is gone on from."""

    def feed_at(self, ids: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        return super().feed_at(ids, torch.where(start > 1, start + 1, start))


class Sticky(TableModel):
    """A cache that is not rolled back when its owner believes it is."""

    def __init__(self, table: list[list[float]]) -> None:
        inner = historic(table)
        super().__init__(inner.rule, inner.vocab_size)

    def rewind(self, length: int) -> None:
        pass


def misdeclared(drafter: ModelDrafter, *args) -> Proposal:
    """The q of another temperature than the one that the draft was drawn at."""
    ids, q = PROPOSE(drafter, *args)
    flat = q**0.1
    return Proposal(ids, flat / flat.sum(-1, keepdim=True))


def threshold(drafts: torch.Tensor, p: torch.Tensor, q: torch.Tensor, coins: torch.Tensor) -> torch.Tensor:
    at = range(len(drafts)), drafts
    return (p[at] >= q[at]).cumprod(0).sum()


def resample_from_p(stay: torch.Tensor, p: torch.Tensor, *_: object) -> torch.Tensor:
    return p.index_select(0, stay.reshape(1))


def softmax_of_the_residual(stay: torch.Tensor, p: torch.Tensor, *shared: object) -> torch.Tensor:
    law = LAST_LAW(stay, p, *shared)
    return law if stay == len(p) - 1 else law.softmax(-1)


def bonus_from_the_row_before(stay: torch.Tensor, p: torch.Tensor, *shared: object) -> torch.Tensor:
    return LAST_LAW(stay, p.roll(1, 0) if 0 < len(p) - 1 == stay else p, *shared)


PROPOSE, LAST_LAW = ModelDrafter.propose, maths.last_law
FLAT = [[0.5, 0.5]]
FAULTS = {  # where it is, what stands there instead, and a draft that shows it
    "resample from p": (maths, "last_law", resample_from_p, Q),
    "softmax of the residual": (maths, "last_law", softmax_of_the_residual, Q),
    "always accept": (maths, "verify", lambda drafts, p, q, u: torch.tensor(len(drafts)), Q),
    "a threshold for a coin": (maths, "verify", threshold, Q),
    "bonus from the row before": (maths, "last_law", bonus_from_the_row_before, P),
    "p shifted by one": (Narrow, "beside", lambda q, p: (torch.cat([p[1:], p[-1:]]), q), Q),
    "an argmax draft declared dense": (model_drafter, "draw", lambda q, u: q.argmax(-1), FLAT),
    "q of another temperature": (ModelDrafter, "propose", misdeclared, Q),
    "a coin used twice": (engine, "Coins", Reused, Q),
    "the same coins in every round": (engine, "Coins", Reseeded, Q),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_rejected(name: str, monkeypatch) -> None:
    room, step, fault, draft = FAULTS[name]
    monkeypatch.setattr(room, step, fault)
    assert power(draft=draft).p_value < 1e-9


@pytest.mark.parametrize("name", [name for name, (room, *_) in FAULTS.items() if room is not ModelDrafter])
def test_a_fault_is_rejected_where_steps_are_recorded(name: str, monkeypatch) -> None:
    room, step, fault, draft = FAULTS[name]
    monkeypatch.setattr(captured if room is engine else room, step, fault)
    assert power(draft=draft, loop=recorded, capture=as_it_is).p_value < 1e-9  # one of them asks its device


@pytest.mark.parametrize(("loop", "target"), [(eagerly, Sticky), (recorded, Astray)])
def test_a_target_that_is_not_rolled_back_is_rejected(loop, target) -> None:
    assert power(target=target, loop=loop).p_value < 1e-9

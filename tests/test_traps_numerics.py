"""Traps of numbers: rows that are no law, low precision, vocabularies of different width, and waiting for the host."""

from collections.abc import Callable

import pytest
import torch
from table_models import P, Q, TableModel, constant, historic, script
from torch.overrides import TorchFunctionMode

from specdemo import maths
from specdemo.contract import NumericalFault
from specdemo.drafters import ModelDrafter
from specdemo.drafters import model as model_drafter
from specdemo.engine import decode, speculate
from specdemo.records import Outcome, SamplingParams, TokenEvent


def events_of(target: TableModel, draft: TableModel, params: SamplingParams, k: int = 3, **kwargs) -> list[TokenEvent]:
    rounds = speculate(target, ModelDrafter(draft), [0], params, k=k, **kwargs)
    return [event for round_ in rounds for event in round_.events]


def emitted(events: list[TokenEvent]) -> list[int]:
    return [event.token_id for event in events if event.outcome.emitted]


# ---------------------------------------------------------------- rows that are no law


def poisoned(position: int, poison: str) -> TableModel:
    """Certain of token i % 4 at position i, but its row for one position is no distribution."""

    def rule(ids: list[int]) -> torch.Tensor:
        row = torch.full((4,), -torch.inf)
        row[len(ids) % 4] = 0
        if len(ids) == position:
            row[:] = {"nan": torch.nan, "all -inf": -torch.inf}.get(poison, 0)
            row[2] = {"one nan": torch.nan, "inf": torch.inf}.get(poison, row[2])
        return row

    return TableModel(rule, 4)


@pytest.mark.parametrize("params", [SamplingParams(temperature=0), SamplingParams(top_k=1), SamplingParams(min_p=0.5)])
@pytest.mark.parametrize("poison", ["nan", "one nan", "inf", "all -inf"])
@pytest.mark.parametrize("position", range(1, 9))
def test_a_row_that_is_no_law_is_refused_by_its_position(position: int, poison: str, params: SamplingParams) -> None:
    """Everything is accepted, so positions 1 to 3 are drafts, 4 is a bonus, 5 to 7 are drafts again."""
    healthy = poisoned(-1, "")
    with pytest.raises(NumericalFault, match=rf"The target's \w+ at position {position}\b"):
        events_of(poisoned(position, poison), healthy, params)
    if position % 4:
        with pytest.raises(NumericalFault, match=rf"The draft's \w+ at position {position}\b"):
            events_of(healthy, poisoned(position, poison), params)
    with pytest.raises(NumericalFault, match=rf"The target's \w+ at position {position}\b"):
        list(decode(poisoned(position, poison), [0], params))


def test_what_was_committed_before_a_fault_stays() -> None:
    rounds = speculate(poisoned(6, "nan"), ModelDrafter(poisoned(-1, "")), [0], SamplingParams(seed=0), k=3)
    assert [event.token_id for event in next(rounds).emitted] == [1, 2, 3, 0]
    with pytest.raises(NumericalFault):
        next(rounds)
    with pytest.raises(StopIteration):
        next(rounds)


# ---------------------------------------------------------------- low precision


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_low_precision_weights_are_judged_in_full_precision(dtype: torch.dtype, monkeypatch) -> None:
    """Whatever the logits are, p, q, the coins and the residual are float32 or wider, and q is bit for bit the row that
    the draft was drawn from."""
    drawn, judged = [], []

    def spy(room: object, name: str, look: Callable) -> None:
        real = getattr(room, name)
        monkeypatch.setattr(room, name, lambda *args: (look(*args), real(*args))[1])

    spy(model_drafter, "draw", lambda q, u: drawn.append((q, u)))
    spy(maths, "verify", lambda drafts, p, q, u: judged.append((p, q, u)))
    spy(maths, "_found", lambda law, u: judged.append((law, u)))
    events = events_of(historic(P, dtype=dtype), historic(Q, dtype=dtype), SamplingParams(seed=1, max_new_tokens=40))
    assert {tensor.dtype for tensors in drawn + judged for tensor in tensors} <= {torch.float32, torch.float64}
    rows = torch.cat([tensors[1][:-1] for tensors in judged if len(tensors) == 3])
    assert torch.equal(torch.cat([q for q, _ in drawn]), rows)
    for event in events:
        if event.u is not None:
            assert (event.u * event.q < event.p) == (event.outcome is Outcome.ACCEPTED)


class Zeros:
    """Coins that are all exactly 0: the case in which `u·q <= p` lets everything through."""

    def __init__(self, *_: object) -> None: ...

    def throw(self, n: int) -> torch.Tensor:
        return torch.zeros(n, dtype=torch.float64)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_a_coin_of_zero_accepts_nothing_impossible(dtype: torch.dtype, monkeypatch) -> None:
    monkeypatch.setattr("specdemo.engine.Coins", Zeros)
    target, draft = constant([0.0, 0.0, 1.0], dtype=dtype), constant([0.5, 0.5, 0.0], dtype=dtype)
    events = events_of(target, draft, SamplingParams(max_new_tokens=5))
    assert emitted(events) == [2] * 5
    assert not any(event.outcome is Outcome.ACCEPTED for event in events)


@pytest.mark.parametrize("temperature", [0.0, 1e-320, 1e-8, 1e-5])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_next_to_no_temperature_is_greedy(temperature: float, dtype: torch.dtype) -> None:
    table = [[0.05, 0.15, 0.8], [0.6, 0.3, 0.1], [0.2, 0.7, 0.1]]
    draft = [[0.8, 0.15, 0.05], [0.6, 0.3, 0.1]]
    params = SamplingParams(temperature=temperature, seed=0, max_new_tokens=30)
    plain = decode(historic(table), [0], SamplingParams(temperature=0, max_new_tokens=30))
    argmax = [round_.events[0].token_id for round_ in plain]
    assert emitted(events_of(historic(table, dtype=dtype), historic(draft, dtype=dtype), params)) == argmax


def test_filters_hold_at_every_place_of_a_round() -> None:
    """min-p 1/2 and everything accepted: drafts, replacements and bonus tokens all have at least half the best p."""
    params = SamplingParams(min_p=0.5, seed=4, max_new_tokens=200)
    for draft in (P, Q):
        for event in events_of(historic(P), historic(draft), params, top=4):
            if event.outcome.emitted:
                assert event.p >= 0.5 * max(row.p for row in event.top)


# ---------------------------------------------------------------- vocabularies of different width


@pytest.mark.parametrize("k", [1, 3])
def test_a_wider_draft_may_propose_what_the_target_lacks(k: int) -> None:
    """Its own last ids have p = 0: refused, whatever the coin, and never fed to the target (the table models see to
    that); the law stays the target's."""
    target, draft = constant([0.5, 0.5]), constant([0.1, 0.1, 0.4, 0.4])
    events = events_of(target, draft, SamplingParams(seed=2, max_new_tokens=300), k=k)
    beyond = [event for event in events if event.token_id >= 2]
    assert len(beyond) > 50 and all(event.p == 0 and not event.outcome.emitted for event in beyond)
    share = sum(emitted(events)) / 300
    assert abs(share - 0.5) < 0.15, "5 standard deviations"


@pytest.mark.parametrize("k", [1, 3])
def test_a_narrower_draft_reads_what_it_lacks_as_its_last_id(k: int) -> None:
    """Prompt and text hold ids that the draft has no row for: it stays in step, and its own ids are still accepted."""
    target, draft = script([5, 1, 6, 0, 5, 1, 1, 0, 1], 7), script([0, 1, 0, 0, 1, 1, 1, 0, 1], 2)
    rounds = list(speculate(target, ModelDrafter(draft), [5], SamplingParams(temperature=0, max_new_tokens=8), k=k))
    events = [event for round_ in rounds for event in round_.events]
    assert emitted(events) == [1, 6, 0, 5, 1, 1, 0, 1]
    assert all(event.q == 0 for event in events if event.outcome is Outcome.RESAMPLED)
    assert sum(event.outcome is Outcome.ACCEPTED for event in events) >= 3


@pytest.mark.parametrize(("p_width", "q_width"), [(4, 6), (6, 4)])
def test_padding_that_nobody_uses_changes_nothing(p_width: int, q_width: int) -> None:
    """Vocabularies padded to different widths, as those of one family often are."""

    def padded(table: list[list[float]], width: int) -> TableModel:
        return historic([[*row, *[0.0] * (width - 4)] for row in table])

    params = SamplingParams(seed=9, max_new_tokens=60)
    plain = events_of(historic(P), historic(Q), params)
    assert emitted(events_of(padded(P, p_width), padded(Q, q_width), params)) == emitted(plain)


# ---------------------------------------------------------------- waiting for the host


class Chain:
    """An order-1 model that never reads a tensor on the host; `log` hears of its passes."""

    device = torch.device("cpu")

    def __init__(self, table: list[list[float]], log: list[str], name: str) -> None:
        self.rows, self.log, self.name = torch.tensor(table).log(), log, name
        self.vocab_size, self.length = len(table), 0

    def feed(self, ids: torch.Tensor) -> torch.Tensor:
        self.length += len(ids)
        self.log.append(self.name)
        return self.rows[ids]

    def rewind(self, length: int) -> None:
        self.length = length


class Waits(TorchFunctionMode):
    """Logs what makes the host wait for a GPU: values read from a tensor, and values copied into one."""

    READS = ("tolist", "item", "__bool__", "__int__", "__float__", "__index__", "numpy", "cpu", "nonzero", "unique")

    def __init__(self, log: list[str]) -> None:
        super().__init__()
        self.log = log

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        if name in self.READS:
            self.log.append("read")
        elif name in ("tensor", "as_tensor", "from_numpy"):
            self.log.append("write")
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("params", [SamplingParams(0, max_new_tokens=30), SamplingParams(1.0, 2, 1.0, 0.1, 3, 30)])
def test_a_round_waits_for_the_device_once(params: SamplingParams, monkeypatch) -> None:
    """One copy brings the round's block over. The newest ids go to the device, and the drafter reads its own last
    drafts, before the draft begins, when a GPU has nothing in hand; from then on nothing waits until the block."""
    monkeypatch.setattr(maths, "_may_ask", lambda device: False)
    log: list[str] = []
    target, draft = Chain([*P, P[0]], log, "verify"), Chain([*Q, Q[0]], log, "draft")
    rounds = speculate(target, ModelDrafter(draft), [0, 1], params, k=4)
    next(rounds)
    for _ in range(4):
        log.clear()
        with Waits(log):
            assert next(rounds).k == 4
        assert log == ["write", "read", "write", "draft", "draft", "draft", "draft", "verify", "read"]

"""The proof that speculative sampling changes nothing: the law of its output is computed here, not sampled.

1. One round. Given its drafts x and its coins u, a round is a plain function of numbers: the real `maths.verify` says
   how many drafts stay, the real `maths.last_law` says what the last token is drawn from. So we go through every draft,
   weighted by q, and through every way in which the coins can fall, weighted by the measured length of the interval on
   which the verdict is the same, and add up what comes out. That is the exact law of a round; nothing in it is random.
2. All rounds. A round gives 1 to K + 1 tokens. Let the target itself write the rest, up to K + 1. If that has the
   target's joint law whatever token stood before, then by induction so has round after round after round.
3. The engine. The same through the real loop, caches and records included, with a scripted coin in the place of chance:
   every run that the engine can make, each with its probability.

A proof that cannot fail proves nothing. Every wrong rule below goes through the same machine and must come out wrong,
the best known ones by exactly the amount that arithmetic foretells.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice, pairwise, product
from math import prod
from typing import ClassVar, NamedTuple

import numpy as np
import pytest
import torch
from fixed_models import FixedTable
from table_models import markov
from tape import taped

from specdemo import captured, engine, maths
from specdemo.contract import Proposal
from specdemo.drafters import ModelDrafter
from specdemo.drafters import model as model_drafter
from specdemo.lab.rules import RULES
from specdemo.narrow import Narrow
from specdemo.pace import Costs, Pace
from specdemo.records import Round, SamplingParams

EXACT = 1e-12

# ---------------------------------------------------------------- the tables


class Pair(NamedTuple):
    """Order-1 Markov chains (V, V) of target and draft: the row of the token before is the law of the next."""

    p: torch.Tensor
    q: torch.Tensor


def table(rows: list[list[float]]) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.float64)


def everywhere(row: list[float]) -> torch.Tensor:
    """The same law whatever stood before."""
    return table([row] * len(row))


def processed(pair: Pair, **params) -> Pair:
    """Both chains through the sampler's own filters."""
    return Pair(*(maths.to_probs(rows.log(), SamplingParams(**params)) for rows in pair))


TOY = Pair(everywhere([0.5, 0.3, 0.2]), everywhere([0.6, 0.1, 0.3]))
CHAIN = Pair(
    table([[0.55, 0.15, 0.3], [0.08, 0.72, 0.2], [0.34, 0.33, 0.33]]),
    table([[0.2, 0.5, 0.3], [0.31, 0.6, 0.09], [0.7, 0.05, 0.25]]),
)
PAIRS = {
    "a toy": TOY,
    "a residual of two tokens": Pair(everywhere([0.2, 0.3, 0.5]), everywhere([0.8, 0.1, 0.1])),
    "Markov": CHAIN,
    "p = q": Pair(CHAIN.p, CHAIN.p),
    "p and q a hair apart": Pair(CHAIN.p, CHAIN.p * (1 - 1e-9) + CHAIN.q * 1e-9),
    "disjoint": Pair(everywhere([0, 0, 0.25, 0.75]), everywhere([0.6, 0.4, 0, 0])),
    "zeros in both": Pair(
        table([[0, 0.5, 0.5], [0.2, 0, 0.8], [1, 0, 0]]), table([[0.5, 0.5, 0], [0, 0.3, 0.7], [0.1, 0.9, 0]])
    ),
    "greedy": processed(CHAIN, temperature=0.0),
    "temperature": processed(CHAIN, temperature=0.5),
    "top-k": processed(CHAIN, top_k=2),
    "top-p": processed(CHAIN, top_p=0.6),
    "min-p": processed(CHAIN, min_p=0.5),
    "all filters": processed(CHAIN, temperature=1.7, top_k=2, top_p=0.9, min_p=0.2),
}

# ---------------------------------------------------------------- the machine


class Rule(NamedTuple):
    """What is under test; shapes: drafts (K,), p (K + 1, V), q (K, V), coins (K,)."""

    stay: Callable[..., int]  # (drafts, p, q, coins) -> how many drafts stay
    last: Callable[..., torch.Tensor]  # (stay, drafts, p, q) -> the law of the round's last token (V,)


OURS = Rule(
    stay=lambda drafts, p, q, coins: int(maths.verify(drafts, p, q, coins)),
    last=lambda stay, drafts, p, q: share(maths.last_law(torch.tensor(stay), p, maths.common(p, Narrow.of(q).rows))[0]),
)


def share(masses: torch.Tensor) -> torch.Tensor:
    return masses / masses.sum()


def pieces(f: Callable[[float], object], cells: int = 4, halvings: int = 44) -> list[tuple[float, float]]:
    """[0, 1) cut where the step function f changes: the length of each piece, and a coin in it that stands for all.

    f is looked at in the middle of each cell, and at both ends; between two looks that differ the step is found by
    halving. Without halvings it is taken to lie half-way, which is exact for steps on the borders of the cells.
    """
    looks = [(i + 0.5) / cells for i in range(cells)]
    looks = [0.0, *looks, 1 - 2**-53] if halvings else looks
    values = [f(u) for u in looks]
    cuts, coins = [0.0], looks[:1]
    for (low, here), (high, there) in pairwise(zip(looks, values)):
        if here == there:
            continue
        coins.append(high)
        for _ in range(halvings):
            middle = (low + high) / 2
            low, high = (middle, high) if f(middle) == here else (low, middle)
        cuts.append((low + high) / 2)
    return [(b - a, coin) for (a, b), coin in zip(pairwise([*cuts, 1.0]), coins)]


def falls(rule: Rule, drafts: torch.Tensor, p: torch.Tensor, q: torch.Tensor) -> Iterator[tuple[float, int]]:
    """Every way in which the K coins can fall: (its probability, how many drafts stay)."""

    def stay(coins: tuple[float, ...]) -> int:
        rest = [0.0] * (len(drafts) - len(coins))
        return rule.stay(drafts, p, q, torch.tensor([*coins, *rest], dtype=torch.float64))

    def walk(coins: tuple[float, ...], chance: float) -> Iterator[tuple[float, int]]:
        if len(coins) == len(drafts):
            yield chance, stay(coins)
            return
        for length, coin in pieces(lambda u: stay((*coins, u))):
            yield from walk((*coins, coin), chance * length)

    return walk((), 1.0)


Law = Counter[tuple[int, ...]]  # {tokens: their probability}


def law_of_a_round(pair: Pair, k: int, rule: Rule = OURS, drawn: torch.Tensor | None = None) -> Law:
    """What a round after token 0 emits. `drawn` (V, V): what drafts are drawn from, if not from the declared q."""
    law = Law()
    for drafts in product(range(len(pair.p)), repeat=k):
        before = [0, *drafts]
        weight = prod(float((pair.q if drawn is None else drawn)[a, b]) for a, b in pairwise(before))
        if weight == 0:
            continue
        x, p, q = torch.tensor(drafts, dtype=torch.int64), pair.p[before], pair.q[before[:-1]]
        for chance, stay in falls(rule, x, p, q):
            for token, mass in enumerate(rule.last(stay, x, p, q).tolist()):
                law[(*drafts[:stay], token)] += weight * chance * mass
    return law


def joint(chain: torch.Tensor, length: int) -> np.ndarray:
    """The law of `length` tokens: axes (token before, first, second, …)."""
    law = np.ones(len(chain))
    for _ in range(length):
        law = chain.numpy().reshape(chain.shape + (1,) * (law.ndim - 1)) * law
    return law


def completed(law: Law, chain: torch.Tensor, length: int) -> np.ndarray:
    """The law of the first `length` tokens when the chain goes on by itself after the round."""
    whole = np.zeros((len(chain),) * length)
    for tokens, mass in law.items():
        whole[tokens] += mass * joint(chain, length - len(tokens))[tokens[-1]]
    return whole


def error(law: np.ndarray, chain: torch.Tensor) -> float:
    """The largest error in the probability of any text that follows token 0."""
    assert law.sum() == pytest.approx(1, abs=EXACT)
    return float(abs(law - joint(chain, law.ndim)[0]).max())


def error_of_a_round(pair: Pair, k: int, rule: Rule = OURS) -> float:
    return error(completed(law_of_a_round(pair, k, rule), pair.p, k + 1), pair.p)


def first_token(law: Law, size: int) -> list[float]:
    return [sum(mass for tokens, mass in law.items() if tokens[0] == token) for token in range(size)]


# ---------------------------------------------------------------- 1 and 2: the rule is lossless


@pytest.mark.parametrize("k", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("name", PAIRS)
def test_the_output_has_the_law_of_the_target(name: str, k: int) -> None:
    assert error_of_a_round(PAIRS[name], k) < EXACT


@pytest.mark.parametrize("name", PAIRS)
def test_the_chance_of_acceptance_is_the_overlap(name: str) -> None:
    p, q = PAIRS[name]
    accepted = sum(
        float(q[0, x]) * chance
        for x in range(len(q))
        for chance, stay in falls(OURS, torch.tensor([x]), p[[0, x]], q[[0]])
        if stay == 1
    )
    assert accepted == pytest.approx(float(maths.common(p[:1], q[:1]).sum()), abs=EXACT)


# ---------------------------------------------------------------- wrong rules, and what each of them does


def wrong_residual(law: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]) -> Rule:
    """Ours, but after a rejection of token x the last one is drawn from law(p, q, x)."""

    def last(stay: int, drafts: torch.Tensor, p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
        return p[stay] if stay == len(drafts) else law(p[stay], q[stay], drafts[stay])

    return OURS._replace(last=last)


def wrong_verdict(stay: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], int]) -> Rule:
    """Ours, but stay(p(x), q(x), u) says how many drafts stay."""

    def judge(drafts: torch.Tensor, p: torch.Tensor, q: torch.Tensor, coins: torch.Tensor) -> int:
        at = (range(len(drafts)), drafts)
        return stay(p[at], q[at], coins)

    return OURS._replace(stay=judge)


def of_the_lab(name: str) -> Rule:
    """A wrong rule that the lab shows to students."""
    rule = RULES[name]
    return Rule(
        stay=lambda drafts, p, q, coins: int(maths.verify(drafts, *rule.judged(p[: len(q)], q), coins)),
        last=lambda stay, drafts, p, q: p[stay] if stay == len(drafts) else rule.redrawn(p[stay], q[stay]),
    )


def prefix(flags: torch.Tensor) -> int:
    return int(flags.cumprod(0).sum())


def shifted(p: torch.Tensor) -> torch.Tensor:
    return torch.cat([p[1:], p[-1:]])


WRONG = {
    "resample from p": of_the_lab("resample"),
    "softmax of the residual": of_the_lab("softmax"),
    "absolute difference": wrong_residual(lambda p, q, x: share((p - q).abs())),
    "a clamp of 0.01": wrong_residual(lambda p, q, x: share((p - q).clamp(min=0.01))),
    "p without the drafted token": wrong_residual(lambda p, q, x: share(p.index_fill(0, x, 0))),
    "always accept": of_the_lab("always"),
    "accept with p": wrong_verdict(lambda p, q, u: prefix(u < p)),
    "a threshold for a coin": of_the_lab("threshold"),
    "a sum for a prefix": wrong_verdict(lambda p, q, u: int((u * q < p).sum())),
    "residual of the next position": OURS._replace(
        last=lambda stay, x, p, q: p[stay] if stay == len(x) else maths.residual(p[stay + 1], q[stay])
    ),
    "bonus from the row before": OURS._replace(
        last=lambda stay, x, p, q: p[stay - 1] if stay == len(x) else OURS.last(stay, x, p, q)
    ),
    "p shifted by one": Rule(
        stay=lambda x, p, q, u: OURS.stay(x, shifted(p), q, u),
        last=lambda stay, x, p, q: OURS.last(stay, x, shifted(p), q),
    ),
}

E = 1.2214027581601699  # exp(.2); .2 is what p has of token 1 beyond q
#: The law of the first token on the toy, by arithmetic on paper. The right one is .5 .3 .2.
WRONG_ON_THE_TOY = {
    "resample from p": [0.6, 0.16, 0.24],
    "softmax of the residual": [0.5 + 0.2 / (2 + E), 0.1 + 0.2 * E / (2 + E), 0.2 + 0.2 / (2 + E)],
    "absolute difference": [0.55, 0.2, 0.25],
    "a clamp of 0.01": [0.5 + 0.2 / 22, 0.1 + 0.2 * 20 / 22, 0.2 + 0.2 / 22],
    "p without the drafted token": [0.5625, 0.1975, 0.24],
    "always accept": [0.6, 0.1, 0.3],
    "accept with p": [0.3, 0.64, 0.06],
    "a threshold for a coin": [0, 1, 0],
}


def test_right_on_the_toy() -> None:
    assert first_token(law_of_a_round(TOY, 1), 3) == pytest.approx([0.5, 0.3, 0.2], abs=EXACT)


@pytest.mark.parametrize("name", WRONG_ON_THE_TOY)
def test_a_wrong_rule_is_wrong_by_the_foretold_amount(name: str) -> None:
    assert first_token(law_of_a_round(TOY, 1, WRONG[name]), 3) == pytest.approx(WRONG_ON_THE_TOY[name], abs=EXACT)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rule_is_rejected(name: str) -> None:
    assert error_of_a_round(CHAIN, 2, WRONG[name]) > 1e-3


@pytest.mark.parametrize("name", ["residual of the next position", "bonus from the row before", "p shifted by one"])
def test_a_wrong_position_needs_a_chain_to_be_seen(name: str) -> None:
    """Why there are chains above: where the law is the same everywhere, these faults do not show."""
    assert error_of_a_round(TOY, 2, WRONG[name]) < EXACT


def test_a_wrong_bonus_is_seen_where_everything_is_accepted() -> None:
    assert error_of_a_round(PAIRS["p = q"], 1, WRONG["bonus from the row before"]) > 0.05


RAW = Pair(everywhere([0.45, 0.25, 0.2, 0.1]), everywhere([0.4, 0.35, 0.15, 0.1]))
TOP_2 = processed(RAW, top_k=2)
COLD = processed(RAW, temperature=0.5)


class Misdeclared(NamedTuple):
    right: torch.Tensor  # the law that the output should have
    p: torch.Tensor  # what the judge takes for p
    q: torch.Tensor  # and for q
    drawn: torch.Tensor  # what the drafts are really drawn from
    output: list[float]


MISDECLARED = {
    "an argmax draft declared dense": Misdeclared(TOY.p, TOY.p, TOY.q, everywhere([1, 0, 0]), [5 / 6, 1 / 6, 0]),
    "a raw q, drawn filtered": Misdeclared(TOP_2.p, TOP_2.p, RAW.q, TOP_2.q, [8 / 15, 7 / 15, 0, 0]),
    "top-k for the draft alone": Misdeclared(TOP_2.p, RAW.p, TOP_2.q, TOP_2.q, [0.45, 0.25, 0.2, 0.1]),
    "drawn warm, declared cold": Misdeclared(COLD.p, COLD.p, COLD.q, RAW.q, [0.521, 0.179, 0.2, 0.1]),
}


@pytest.mark.parametrize("name", MISDECLARED)
def test_a_draft_that_is_not_what_it_declares_is_rejected(name: str) -> None:
    right, p, q, drawn, output = MISDECLARED[name]
    law = first_token(law_of_a_round(Pair(p, q), 1, drawn=drawn), len(p))
    assert law == pytest.approx(output, abs=5e-4)
    assert abs(np.array(law) - right[0].numpy()).max() > 0.05


def test_a_draft_with_a_temperature_of_its_own_is_lossless_if_it_says_so() -> None:
    assert error_of_a_round(Pair(COLD.p, RAW.q), 2) < EXACT


# ---------------------------------------------------------------- 3: the engine


class ScriptedCoins:
    """The coins of a script, and 0.5 after its end; `thrown` counts them."""

    def __init__(self, script: tuple[float, ...]) -> None:
        self.script, self.thrown = script, 0

    def throw(self, n: int) -> torch.Tensor:
        coins = [*self.script[self.thrown : self.thrown + n], *[0.5] * n][:n]
        self.thrown += n
        return torch.tensor(coins, dtype=torch.float64)


class ReusedCoins(ScriptedCoins):
    """A fault, for K = 1: the coin that judged the draft draws the last token too."""

    def throw(self, n: int) -> torch.Tensor:
        return super().throw(1).expand(n)


class Case(NamedTuple):
    """Tables so round that every step in a coin lies on the border of one of `cells` cells: then a look at the middle
    of each cell sees all there is."""

    pair: Pair
    cells: int


# Quarters, so p/q is one of 0, 1/3, 1/2, 2/3 and 1, and a residual has a mass of 1, 2 or 3 quarters.
THREE = Case(
    Pair(
        table([[0.5, 0.25, 0.25], [0.25, 0.75, 0], [0.25, 0.25, 0.5]]),
        table([[0.25, 0.25, 0.5], [0.5, 0.25, 0.25], [0, 0.75, 0.25]]),
    ),
    cells=12,
)
TWO = Case(Pair(table([[0.25, 0.75], [0.75, 0.25]]), table([[0.5, 0.5], [1, 0]])), cells=4)
FLAT = Case(Pair(everywhere([0.25, 0.25, 0.25, 0.25]), everywhere([0.75, 0.25, 0, 0])), cells=12)
NARROW = Case(Pair(THREE.pair.p, table([[0.25, 0, 0.75], [0.75, 0, 0.25], [0.5, 0, 0.5]])), cells=12)


def eagerly(pair: Pair):
    return lambda params, k: engine.speculate(markov(pair.p), ModelDrafter(markov(pair.q)), [0], params, k=k)


def narrowly(pair: Pair):
    """A draft that says which tokens it can propose, and works out its rows over those alone."""
    draft = markov(pair.q)
    draft.support = pair.q.sum(0).nonzero()[:, 0]
    draft.feed_narrow = lambda ids: draft.feed(ids)[:, draft.support]
    return lambda params, k: engine.speculate(markov(pair.p), ModelDrafter(draft), [0], params, k=k)


def recorded(pair: Pair):
    """The loop over recorded steps; each K is recorded once for all runs."""
    models = [FixedTable(table.tolist(), rows=8, history=False) for table in pair]
    stage = captured.Stage(*models, SamplingParams(), capture=taped)
    return lambda params, k: captured.speculate(stage, [0], params, k=k)


LOOPS = [eagerly, recorded]


def law_of_the_engine(
    case: Case,
    k: int | Callable[[], Pace],
    length: int,
    patch: pytest.MonkeyPatch,
    rounds: int | None = None,
    coins=ScriptedCoins,
    loop=eagerly,
) -> np.ndarray:
    """The law of `length` tokens after token 0, from every run that a `loop` can make.

    `k` may make what chooses K, anew for each run. With `rounds`, the target itself goes on after so many.
    """
    p, q = case.pair
    write = loop(case.pair)

    def run(script: tuple[float, ...]) -> tuple[list[tuple], int]:
        stream = coins(script)
        for room in (engine, captured):
            patch.setattr(room, "Coins", lambda seed, device: stream)
        params, chosen = SamplingParams(max_new_tokens=length), k() if callable(k) else k
        made: list[Round] = [*islice(write(params, chosen), rounds)]
        return [(event.token_id, event.outcome) for round_ in made for event in round_.events], stream.thrown

    law = Law()

    def walk(script: tuple[float, ...], chance: float) -> None:
        events, thrown = run(script)
        if thrown == len(script):
            law[tuple(token for token, outcome in events if outcome.emitted)] += chance
            return
        # What a coin decides shows in the events: a drafted token, a verdict, or a round's last token.
        for piece, coin in pieces(lambda u: run((*script, u))[0], case.cells, halvings=0):
            walk((*script, coin), chance * piece)

    walk((), 1.0)
    return completed(law, p, length)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(("case", "k"), [(THREE, 1), (THREE, 2), (FLAT, 1), (TWO, 1), (TWO, 2), (TWO, 3), (TWO, 4)])
def test_a_round_of_the_engine_has_the_law_of_the_target(case: Case, k: int, loop, monkeypatch) -> None:
    assert error(law_of_the_engine(case, k, k + 1, monkeypatch, rounds=1, loop=loop), case.pair.p) < EXACT


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(("k", "length"), [(0, 3), (1, 4), (2, 4)])
def test_whole_runs_of_the_engine_have_the_law_of_the_target(k: int, length: int, loop, monkeypatch) -> None:
    assert error(law_of_the_engine(TWO, k, length, monkeypatch, loop=loop), TWO.pair.p) < EXACT


LAST_LAW = maths.last_law


def resample_from_p(accepted: torch.Tensor, p: torch.Tensor, *_: object) -> torch.Tensor:
    return p.index_select(0, accepted.reshape(1))


def shared_with_others(accepted: torch.Tensor, p: torch.Tensor, shared: torch.Tensor, support: torch.Tensor):
    return LAST_LAW(accepted, p, shared, (support + 1) % p.shape[1])


@pytest.mark.parametrize(("k", "length", "rounds"), [(1, 2, 1), (2, 3, 1), (1, 3, None)])
def test_a_draft_of_few_tokens_leaves_the_law_alone(k: int, length: int, rounds: int | None, monkeypatch) -> None:
    assert error(law_of_the_engine(NARROW, k, length, monkeypatch, rounds, loop=narrowly), NARROW.pair.p) < EXACT


@pytest.mark.parametrize(
    ("room", "name", "fault"),
    [
        (maths, "last_law", shared_with_others),
        (Narrow, "share_of", lambda q, p: p.flip(1)[:, q.support]),
        (maths, "last_law", resample_from_p),
    ],
)
def test_a_draft_of_few_tokens_with_a_fault_is_rejected(room: object, name: str, fault: Callable, monkeypatch) -> None:
    monkeypatch.setattr(room, name, fault)
    assert error(law_of_the_engine(NARROW, 1, 2, monkeypatch, 1, loop=narrowly), NARROW.pair.p) > 1e-2


class SwiftPace(Pace):
    """K is 1 to begin with; one acceptance makes it 2, one rejection 0. `chosen` are all that were ever chosen."""

    chosen: ClassVar[set[int]] = set()

    def __init__(self) -> None:
        super().__init__(Costs((1.0, 1.37, 1.53), 0.1))

    def __call__(self, last: Round | None) -> int:
        k = super().__call__(last)
        self.chosen.add(k)
        return k


@pytest.mark.parametrize("loop", LOOPS)
def test_a_k_that_is_chosen_from_past_rounds_leaves_the_law_alone(loop, monkeypatch) -> None:
    SwiftPace.chosen.clear()
    assert error(law_of_the_engine(TWO, SwiftPace, 4, monkeypatch, loop=loop), TWO.pair.p) < EXACT
    assert SwiftPace.chosen == {0, 1, 2}


def test_a_k_that_is_chosen_from_the_drafts_themselves_is_rejected(monkeypatch) -> None:
    """A draft that might be refused is taken back unseen: token 0 comes at .5 × .25 instead of .25."""

    def peeking(drafter: ModelDrafter, committed, k, params, coins) -> Proposal:
        drafted = honest(drafter, committed, k, params, coins)
        doubtful = drafted.ids[0] == 0  # p is .25 there, and q .5
        return Proposal.none(drafter.model.vocab_size, drafter.model.device) if doubtful else drafted

    honest = ModelDrafter.propose
    monkeypatch.setattr(ModelDrafter, "propose", peeking)
    law = law_of_the_engine(TWO, 1, 2, monkeypatch, rounds=1)
    assert law.sum(axis=1) == pytest.approx([0.125, 0.875], abs=EXACT)


@pytest.mark.parametrize("loop", LOOPS)
def test_the_engine_with_a_coin_used_twice_is_rejected(loop, monkeypatch) -> None:
    """Token 0 is rejected when u >= 1/3; the same u then draws 2 below 1/2 and 3 above, so 1 to 3 instead of 1 to 1."""
    law = law_of_the_engine(FLAT, 1, 2, monkeypatch, rounds=1, coins=ReusedCoins, loop=loop)
    assert law.sum(axis=1) == pytest.approx([0.25, 0.25, 0.125, 0.375], abs=EXACT)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(
    ("room", "name", "fault"),
    [
        (maths, "last_law", resample_from_p),
        (maths, "verify", lambda drafts, p, q, coins: torch.tensor(len(drafts))),
        (maths, "last_law", lambda accepted, p, *_: p[:1]),
        (Narrow, "beside", lambda q, p: (shifted(p), q)),
        (model_drafter, "draw", lambda q, coins: q.argmax(-1)),
    ],
)
def test_the_engine_with_a_fault_is_rejected(room: object, name: str, fault: Callable, loop, monkeypatch) -> None:
    monkeypatch.setattr(room, name, fault)
    assert error(law_of_the_engine(THREE, 1, 2, monkeypatch, rounds=1, loop=loop), THREE.pair.p) > 1e-2

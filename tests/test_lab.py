"""The lab: exact laws against an enumeration written from the rules' own words, draws, detection, hostile questions."""

import re
from fractions import Fraction
from itertools import accumulate

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from specdemo.fit import fit
from specdemo.lab.detection import LEVEL, POWER, draws_needed, power
from specdemo.lab.draws import draws, play
from specdemo.lab.laws import distance, laws
from specdemo.lab.rules import LOSSLESS, RULES
from specdemo.lab.setting import MOST, MOST_DRAWS, SEEDS, normalised
from specdemo.session import Library, Session, lab
from specdemo.ui.serve import TRACES
from specdemo.words import LANGUAGES

WRONG = [name for name in RULES if name != LOSSLESS]
EXACT = 1e-9

Q, P = [0.2, 0.4, 0.3, 0.1], [0.5, 0.1, 0.1, 0.3]
EXAMPLE = {"tokens": ["A", "B", "C", "D"], "q": Q, "p": P, "rule": LOSSLESS}


def row(values):
    return torch.tensor([float(x) for x in values], dtype=torch.float64)


# -- the example ------------------------------------------------------------------------------------------------------


def test_the_example_has_the_figures_of_the_theory():
    here = laws(RULES[LOSSLESS], row(P), row(Q))
    assert here.accept.tolist() == pytest.approx([1, 1 / 4, 1 / 3, 1], abs=EXACT)
    assert here.kept.tolist() == pytest.approx([0.2, 0.1, 0.1, 0.1], abs=EXACT)
    assert here.kept.sum().item() == pytest.approx(0.5, abs=EXACT)
    assert here.refused.tolist() == pytest.approx([0, 0.3, 0.2, 0], abs=EXACT)
    assert here.redrawn.tolist() == pytest.approx([0.6, 0, 0, 0.4], abs=EXACT)
    assert here.law.tolist() == pytest.approx(P, abs=EXACT)


def test_the_threshold_loses_a_token_altogether():
    here = laws(RULES["threshold"], row(P), row(Q))
    assert here.law.tolist() == pytest.approx([0.62, 0, 0, 0.38], abs=EXACT)


def test_the_page_is_told_the_same_figures():
    answer = lab.show(EXAMPLE)
    column = {part: [here[part] for here in answer["rows"]] for part in answer["rows"][0]}
    assert column["accept"] == ["1", "0.25", "0.3333", "1"]
    assert column["kept"] == ["0.2", "0.1", "0.1", "0.1"] and answer["alpha"] == "0.5"
    assert column["refused"] == ["0", "0.3", "0.2", "0"] and answer["refused_mass"] == "0.5"
    assert column["redrawn"] == ["0.6", "0", "0", "0.4"]
    assert column["law"] == ["0.5", "0.1", "0.1", "0.3"] and not any(answer["wrong"])


@pytest.mark.parametrize("name", RULES)
def test_no_mass_is_told_with_the_rounding_of_its_sum(name):
    answer = lab.show({**EXAMPLE, "rule": name})
    figure = answer["figure"]
    texts = [answer["alpha"], answer["refused_mass"], *(x for here in answer["rows"] for x in here.values())]
    texts += [note["text"] for note in figure["layout"]["annotations"]] + figure["layout"]["meta"]["heading"]
    texts += [trace["name"] for trace in figure["data"] if trace.get("name")]
    assert not [text for text in texts if re.search(r"\d{6}", re.sub("<[^>]*>", "", text))]


def test_the_picture_tells_what_the_table_tells():
    answer = lab.show({**EXAMPLE, "q": [0.3, 0.35, 0.2625, 0.0875]})
    text = " ".join(note["text"] for note in answer["figure"]["layout"]["annotations"])
    for here in answer["rows"]:
        assert here["kept"] in text and here["law"] in text and (here["refused"] == "0" or here["refused"] in text)


# -- every rule, enumerated -------------------------------------------------------------------------------------------

TABLES = {
    "the example": ([Fraction(x, 10) for x in (5, 1, 1, 3)], [Fraction(x, 10) for x in (2, 4, 3, 1)]),
    "equal": ([Fraction(1, 4)] * 4, [Fraction(1, 4)] * 4),
    "disjoint": ([Fraction(0), Fraction(0), Fraction(1, 4), Fraction(3, 4)], [Fraction(2, 3), Fraction(1, 3), 0, 0]),
    "two tokens": ([Fraction(1, 4), Fraction(3, 4)], [Fraction(3, 4), Fraction(1, 4)]),
    "five tokens": (
        [Fraction(x, 30) for x in (3, 9, 1, 12, 5)],
        [Fraction(x, 30) for x in (10, 2, 6, 4, 8)],
    ),
    "a draft too sure": ([Fraction(x, 20) for x in (9, 5, 3, 3)], [Fraction(x, 20) for x in (17, 1, 1, 1)]),
}


def stated(name, p, q):
    """A rule by its own words, in fractions: (what drafts are drawn from, how often x is kept, the law after a refusal
    of x). Nothing here is taken from the product."""
    n = len(p)
    gap = [max(Fraction(0), a - b) for a, b in zip(p, q)]
    residual = [g / sum(gap) for g in gap] if sum(gap) else list(p)
    fair = [min(Fraction(1), a / b) if b else Fraction(0) for a, b in zip(p, q)]
    drawn, kept, after = list(q), fair, [residual] * n
    match name:
        case "threshold":
            kept = [Fraction(int(b <= a)) for a, b in zip(p, q)]
        case "always":
            kept = [Fraction(1)] * n
        case "resample":
            after = [list(p)] * n
        case "softmax":
            weights = [2.718281828459045235360287 ** float(g) for g in gap]
            after = [[w / sum(weights) for w in weights]] * n
        case "argmax":
            drawn = [Fraction(int(i == q.index(max(q)))) for i in range(n)]
        case "top_k":
            least = sorted(q, reverse=True)[(n + 1) // 2 - 1]
            top = [x if x >= least else Fraction(0) for x in q]
            drawn = [x / sum(top) for x in top]
        case "one_coin":
            ends = list(accumulate(residual))
            stretches = list(zip([0, *ends], ends))
            # The coin lies evenly between kept[x] and 1.
            after = [
                [max(Fraction(0), b - max(a, k)) / (1 - k) if k < 1 else Fraction(0) for a, b in stretches]
                for k in kept
            ]
    return drawn, kept, after


def enumerated(name, p, q):
    drawn, kept, after = stated(name, p, q)
    n = range(len(p))
    return [float(drawn[y] * kept[y] + sum(float(drawn[x] * (1 - kept[x])) * after[x][y] for x in n)) for y in n]


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("table", TABLES)
def test_the_exact_law_is_that_of_an_enumeration(name, table):
    p, q = TABLES[table]
    here = laws(RULES[name], row(p), row(q))
    assert here.law.tolist() == pytest.approx(enumerated(name, p, q), abs=EXACT)
    assert here.law.sum().item() == pytest.approx(1, abs=EXACT)


#: In quarters, so that no border lies inside a cell of a twelfth. The first has a residual of two tokens.
QUARTERS = [((1, 1, 1, 1), (3, 1, 0, 0)), ((2, 1, 1), (1, 1, 2))]


@pytest.mark.parametrize("quarters", QUARTERS)
@pytest.mark.parametrize("name", RULES)
def test_the_draws_themselves_have_that_law(name, quarters):
    """Every round there is: uniforms in the middle of the cells."""
    p, q = ([Fraction(x, 4) for x in side] for side in quarters)
    cells = 6000 if name == "softmax" else 12  # a softmax's borders are no fractions
    sides = [(torch.arange(n, dtype=torch.float64) + 0.5) / n for n in (12, 12, cells)]
    counts = play(RULES[name], row(p), row(q), torch.cartesian_prod(*sides)).counts(len(p)).double()
    near = 1 / cells if name == "softmax" else EXACT
    assert (counts / counts.sum()).tolist() == pytest.approx(enumerated(name, p, q), abs=near)


chances = st.lists(st.integers(0, 50), min_size=2, max_size=12).filter(any)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(chances, st.randoms(use_true_random=False))
def test_the_right_rule_gives_p_whatever_p_and_q_are(weights, random):
    p = row(normalised(weights))
    q = row(normalised([random.randint(0, 50) for _ in weights]))
    here = laws(RULES[LOSSLESS], p, q)
    assert (here.law - p).abs().max().item() < EXACT
    assert distance(here.law, p) < EXACT


def test_a_wrong_rule_is_wrong_on_the_example():
    for name in WRONG:
        assert distance(laws(RULES[name], row(P), row(Q)).law, row(P)) > 0.05, name


# -- draws ------------------------------------------------------------------------------------------------------------


def test_a_seed_repeats_its_draws():
    one, same, other = (draws(RULES[LOSSLESS], row(P), row(Q), 500, seed) for seed in (7, 7, 8))
    assert torch.equal(one.tokens, same.tokens) and not torch.equal(one.tokens, other.tokens)
    before = torch.get_rng_state()
    draws(RULES[LOSSLESS], row(P), row(Q), 500, 9)
    assert torch.equal(before, torch.get_rng_state()), "the global seed is nobody's"


def test_the_p_value_of_the_right_rule_is_uniform():
    """Kolmogorov and Smirnov on 400 seeded samples: a right rule fails with odds of 1e-4, d < 2.23/√400."""
    values = sorted(
        fit(draws(RULES[LOSSLESS], row(P), row(Q), 2000, seed).counts(4), row(P)).p_value for seed in range(400)
    )
    gaps = [max(v - i / 400, (i + 1) / 400 - v) for i, v in enumerate(values)]
    assert max(gaps) < 2.23 / 20


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rule_is_found_out(name):
    found = fit(draws(RULES[name], row(P), row(Q), 100_000, 1).counts(4), row(P))
    assert found.p_value < 1e-12
    own = fit(draws(RULES[name], row(P), row(Q), 100_000, 1).counts(4), laws(RULES[name], row(P), row(Q)).law)
    assert own.p_value > 1e-6, "and it has the law that it is said to have (false alarm: 1e-6)"


@pytest.mark.parametrize("name", WRONG)
def test_so_many_draws_find_it_out_as_often_as_promised(name):
    """By the product's own draws: of 400 samples at least the promised share, less four standard errors and the 0.01
    within which it was measured (false alarm: 1e-4)."""
    law = laws(RULES[name], row(P), row(Q)).law
    needed = draws_needed(law, row(P))
    samples = [draws(RULES[name], row(P), row(Q), needed, seed).counts(4) for seed in range(400)]
    found = sum(fit(counts, row(P)).p_value < LEVEL for counts in samples) / 400
    assert found > POWER - 0.01 - 4 * (POWER * (1 - POWER) / 400) ** 0.5
    assert power(needed // 2, law, row(P)) < POWER


def test_what_is_right_or_nearly_right_is_not_found_out():
    assert draws_needed(row(P), row(P)) is None
    assert power(1000, row(P), row(P)) == pytest.approx(LEVEL, abs=0.015)
    assert draws_needed(row([0.5 + 1e-6, 0.1 - 1e-6, 0.1, 0.3]), row(P)) is None


def test_one_impossible_token_is_enough():
    assert draws_needed(row([0.5, 0.5]), row([1, 0])) == 4  # 1 − 2⁻⁴ = 0.94


# -- what a browser may ask -------------------------------------------------------------------------------------------

HUGE = 10**400
VALUES = [None, True, "x", "", "\ud800", [], {}, -1, 2, HUGE, -HUGE, float("nan"), float("inf"), 1e-320, [[1]]]
QUESTIONS = [
    *VALUES,
    *({**EXAMPLE, field: value} for field in ("tokens", "p", "q", "rule") for value in VALUES),
    *({**EXAMPLE, "q": [0.2, 0.4, 0.3, value]} for value in VALUES),
    {**EXAMPLE, "tokens": ["A"] * 100_000, "p": [0] * 100_000, "q": [0] * 100_000},
    {**EXAMPLE, "tokens": ["A"], "p": [1], "q": [1]},
    {**EXAMPLE, "p": [0, 0, 0, 0]},
]


def is_told(answer):
    return set(answer["refused"]) == set(LANGUAGES) and answer["side"] in (None, "p", "q")


@pytest.mark.parametrize("asked", [lab.show, lab.compare])
def test_no_question_about_values_is_more_than_refused(asked):
    for question in QUESTIONS:
        answer = asked(question)
        assert is_told(answer) if "refused" in answer else question is not None


@pytest.mark.parametrize("question", [{"n": value} for value in (*VALUES, 0, MOST_DRAWS + 1, 1.5) if value != 2])
def test_a_number_of_draws_out_of_range_is_named(question):
    answer = lab.draw_many({**EXAMPLE, **question})
    assert is_told(answer) and "must be a whole number from 1 to 1,000,000" in answer["refused"]["en"]


@pytest.mark.parametrize("seed", [True, "x", "\ud800", [], {}, -1, SEEDS, HUGE, 1.5, float("nan"), "9" * 5000, "²"])
@pytest.mark.parametrize("asked", [lab.draw_one, lab.draw_many])
def test_a_seed_out_of_range_is_named(asked, seed):
    answer = asked({**EXAMPLE, "n": 10, "seed": seed})
    assert is_told(answer) and "seed" in answer["refused"]["en"]


def test_a_seed_may_be_text_or_nothing():
    assert lab.draw_one({**EXAMPLE, "seed": "12"})["seed"] == 12
    assert {lab.draw_one({**EXAMPLE, "seed": seed})["seed"] != 12 for seed in ("", None)} == {True}


def test_what_is_no_distribution_is_named():
    def wrong(**fields):
        answer = lab.show({**EXAMPLE, **fields})
        return answer["refused"]["en"], answer["side"]

    assert wrong(q=[0.2, -0.4, 0.3, 0.9]) == ("q of B is -0.4; it must be a number from 0 to 1.", "q")
    assert wrong(p=[0.5, 0.1, 0.1, "abc"]) == ("p of D is abc; it must be a number from 0 to 1.", "p")
    turned, _ = wrong(tokens=["\u202eA", "B", "C", "D"], p=["\u202e9", 0.1, 0.1, 0.3])
    assert turned == "p of '\\u202eA' is '\\u202e9'; it must be a number from 0 to 1."
    assert wrong(p=[0.5, 0.1, None, 0.3]) == ("p of C is empty; it must be a number from 0 to 1.", "p")
    assert wrong(q=[0.2, 0.4, 0.3, 0.2]) == ("q sums to 1.1; a distribution must sum to 1.", "q")


def test_anything_can_be_normalised():
    for values in VALUES:
        expected = [1.0] * len(values) if isinstance(values, list) else []
        assert lab.normalise({"values": values}) == {"values": expected}
    assert normalised([2, 1, 1]) == [0.5, 0.25, 0.25]
    assert normalised([-1, "x", float("nan"), None]) == [0.25] * 4
    for values in ([HUGE, 1], [1e308] * 12, [5e-324, 0], [1 / 3] * 20):
        result = normalised(values)
        assert sum(result) == pytest.approx(1) and len(result) <= MOST


def test_a_sum_within_rounding_of_1_is_taken_as_1():
    answer = lab.show({**EXAMPLE, "tokens": ["A", "B", "C"], "p": [0.333333] * 3, "q": [0.2, 0.3, 0.5]})
    assert "refused" not in answer


# -- one round, told --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RULES)
def test_a_round_is_told_in_the_words_of_its_own_numbers(name):
    kinds = set()
    for seed in range(40):
        round_ = draws(RULES[name], row(P), row(Q), 1, seed)
        told = [step["said"]["en"] for step in lab.draw_one({**EXAMPLE, "rule": name, "seed": seed})["steps"]]
        token = EXAMPLE["tokens"][round_.tokens[0]]
        assert len(told) == (2 if round_.kept[0] else 3)
        assert f"proposes \u2068{EXAMPLE['tokens'][round_.drafts[0]]}\u2069" in told[0]
        assert f"\u2068{token}\u2069" in told[-1] and "out" in told[-1]
        assert ("refuse" in told[1]) == (not round_.kept[0])
        kinds.add(len(told))
    assert kinds == ({2} if name == "always" else {2, 3})


def test_many_draws_are_read_for_the_reader():
    def said(n, seed, **fields):
        answer = lab.draw_many({**EXAMPLE, "n": n, "seed": seed, **fields})
        return answer["said"][-1]["en"], answer["exposed"]

    sentence, exposed = said(100_000, 1)
    assert "Nothing here speaks against the rule. It is no proof" in sentence and not exposed
    sentence, exposed = said(100_000, 1, rule="one_coin")
    assert sentence.endswith("The rule is found out.") and exposed
    assert said(3, 1)[0].startswith("Too few draws")
    sentence, exposed = said(100, 1, rule="always", q=[0.25] * 4, p=[0.5, 0.5, 0, 0])
    assert "impossible" in sentence and exposed
    unlucky = next(s for s in range(1000) if lab.draw_many({**EXAMPLE, "n": 100, "seed": s})["exposed"])
    assert "an accident" in said(100, unlucky)[0]


# -- a token of a run -------------------------------------------------------------------------------------------------


def test_a_token_of_a_run_becomes_two_distributions():
    session = Session(Library(TRACES))
    run = session.library.first
    for place, event in enumerate(run.rounds["spec"][0].events):
        answer = session.candidates({"run": run.run_id, "lane": "spec", "round": 0, "event": place})
        if event.q is None:
            assert is_told(answer)
            continue
        assert len(answer["tokens"]) == len(answer["p"]) == len(answer["q"]) <= MOST
        assert answer["tokens"][-1] == "everything else"
        assert event.p == pytest.approx(min(answer["p"], key=lambda p: abs(p - event.p)), abs=1e-5)
        shown = lab.show({**answer, "rule": LOSSLESS})
        assert "refused" not in shown and not any(shown["wrong"])
    for question in (*VALUES, {"run": run.run_id, "lane": "spec", "round": 0, "event": 99}, {"run": []}):
        assert is_told(session.candidates(question))

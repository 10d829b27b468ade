"""The arithmetic of a token: a reader with a calculator comes to what is written."""

import re

import pytest
from events import DRAFTED, HOSTILE, event, law, sample
from hypothesis import assume, given
from hypothesis import strategies as st

from specdemo.records import Outcome, TokenEvent
from specdemo.view.numbers import show
from specdemo.view.sentences import sentences
from specdemo.words import ENGLISH

DIGITS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
NUMBER = r"\d+(?:\.\d+)?(?:×10⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)?"


def value(text: str) -> float:
    mantissa, _, exponent = text.partition("×10")
    return float(f"{mantissa}e{exponent.translate(DIGITS) or 0}")


def numbers(text: str) -> list[float]:
    return [value(found) for found in re.findall(NUMBER, text)]


def told(an_event: TokenEvent) -> dict[str, str]:
    lines = sentences(an_event)
    assert all(set(line) == {"label", "text"} for line in lines)
    assert len({line["label"] for line in lines}) == len(lines)
    return {line["label"]: line["text"] for line in lines}


def same_to_the_digits_shown(redone: float, shown: str) -> bool:
    digits = len(re.sub(r"^0\.0*|\.|×.*", "", shown))
    return show(redone, max(digits, 4)) == show(value(shown), max(digits, 4))


PROBABILITIES = st.one_of(st.floats(1e-12, 1), st.floats(1e-12, 1e-4))


@given(PROBABILITIES, PROBABILITIES, st.floats(0, 1, exclude_max=True), st.booleans(), st.integers(-3, 3))
def test_the_verdict_can_be_redone(p, q, u, near, steps):
    """Also where u·q and p differ in their last digits only."""
    if near:
        u = p / q * (1 + steps * 3e-7)
        assume(0 <= u < 1)
    outcome = Outcome.ACCEPTED if u * q < p else Outcome.REJECTED
    text = told(TokenEvent(0, outcome, p, q, u, min(p, q), (), (1 - p, 1 - q), "x"))["verdict"]
    found = re.fullmatch(rf"u·q = ({NUMBER}) × ({NUMBER}) ([=≈]) ({NUMBER}) ([<≥]) p = ({NUMBER}) → (\w+)", text)
    assert found, text
    shown_u, shown_q, equal, product, relation, shown_p, verdict = found.groups()
    redone = value(shown_u) * value(shown_q)
    assert verdict == outcome and relation == ("<" if outcome is Outcome.ACCEPTED else "≥")
    assert (redone < value(shown_p)) == (relation == "<")
    assert (value(product) < value(shown_p)) == (relation == "<")
    assert redone == pytest.approx(value(product), rel=2e-3)
    if equal == "=":
        assert redone == pytest.approx(value(product), rel=5.1e-4)


def test_the_example_of_a_textbook():
    accepted = event(Outcome.ACCEPTED, [0.41, 0.59], [0.52, 0.48], 0, u=0.631)
    lines = told(accepted)
    assert lines["verdict"] == "u·q = 0.6310 × 0.5200 = 0.3281 < p = 0.4100 → accepted"
    assert lines["ratio"].startswith("p/q = 0.4100 / 0.5200 = 0.7885,")
    assert "0.4800 + 0.4100 = 0.8900" in lines["α"] and "1 − α = 0.1100" in lines["α"]


def test_the_toy():
    """p = (.5 .3 .2), q = (.6 .1 .3): α = .8 and the residual is the second token alone."""
    lines = told(event(Outcome.RESAMPLED, [0.5, 0.3, 0.2], [0.6, 0.1, 0.3], 1))
    assert "0.5000 + 0.1000 + 0.2000 = 0.8000" in lines["α"]
    assert lines["residual"].endswith("(0.3000 − 0.1000) / 0.2000 = 0.2000 / 0.2000 = 1")
    assert lines["lossless"].endswith("0.1000 + 0.2000 × 1 = 0.3000 = p")


@pytest.mark.parametrize("seed", range(1, 9))
def test_sums_are_as_written(seed):
    """= stands where the shown terms give the shown sum, ≈ where they miss its last digit."""
    resampled = sample(Outcome.RESAMPLED, seed)
    lines = told(resampled)
    found = re.fullmatch(rf"α = Σ min\(p, q\) = (.*) ([=≈]) ({NUMBER}): .* 1 − α = ({NUMBER})", lines["α"])
    terms, equal, alpha, refused = found.groups()
    assert value(alpha) == pytest.approx(resampled.alpha, rel=5e-4)
    assert value(refused) == pytest.approx(1 - resampled.alpha, rel=5e-4)
    total = sum(numbers(terms))
    assert total == pytest.approx(value(alpha), rel=2e-3)
    assert (equal == "=") == same_to_the_digits_shown(total, alpha)

    p, q, left, gap, again, share = numbers(lines["residual"].split(" = ", 1)[1])[-6:]
    assert left == again == value(refused)
    assert p - q == pytest.approx(gap, abs=2e-4) and gap / left == pytest.approx(share, rel=2e-3)
    kept, left, share, p_again = numbers(lines["lossless"].split(" = ", 1)[1])
    assert kept + left * share == pytest.approx(p_again, rel=2e-3) and p == p_again


@pytest.mark.parametrize("outcome", Outcome)
def test_each_outcome_has_its_story(outcome):
    labels = list(told(sample(outcome)))
    judged, alone = ["ratio", "coin", "verdict", "α"], ["why", "chance"]
    assert (
        labels
        == {
            Outcome.ACCEPTED: judged,
            Outcome.REJECTED: judged,
            Outcome.DISCARDED: ["why", "ratio", "α"],
            Outcome.RESAMPLED: ["why", "α", "residual", "lossless"],
            Outcome.BONUS: alone,
            Outcome.PLAIN: alone,
        }[outcome]
    )


def test_a_discarded_token_is_not_said_to_be_judged():
    lines = told(sample(Outcome.DISCARDED))
    assert "never judged" in lines["why"] and "would have been" in lines["ratio"]


def test_one_hot_rows():
    lines = told(event(Outcome.REJECTED, [0, 1], [1, 0], 0, u=0.45))
    assert lines["verdict"] == "u·q = 0.4500 × 1 = 0.4500 ≥ p = 0 → rejected"
    assert lines["α"].startswith("α = Σ min(p, q) = 0:")
    assert told(event(Outcome.ACCEPTED, [0, 1], [0, 1], 1, u=0.5))["α"].startswith("α = Σ min(p, q) = 1 = 1:")


@pytest.mark.parametrize("outcome", Outcome)
def test_a_translation_needs_no_other_key(outcome):
    """With other words every line comes out in them, and what a model wrote is in none of them."""
    german = {key: f"[{key}] " + text for key, text in ENGLISH.items()}
    p, q = law(20, 1), law(20, 2)
    u = 0.5 if outcome in (Outcome.ACCEPTED, Outcome.REJECTED) else None
    for token_id in range(20) if outcome in DRAFTED else [0]:
        lines = sentences(event(outcome, p, q, token_id, u=u, texts=HOSTILE), german)
        assert all(line["label"].startswith("[") and line["text"].startswith("[") for line in lines)
        assert not any("alert" in line["text"] for line in lines)

"""Records as the page is fed with them."""

import json

import pytest
import torch

from specdemo.metrics import measure
from specdemo.records import Outcome, Round, SamplingParams, TokenEvent
from specdemo.view.deltas import CODES, event_row, head, instructive, round_row, stats_row, to_text
from specdemo.view.numbers import show


def event(outcome, p=0.25, q=None, u=None, alpha=None, text="x", token_id=7):
    return TokenEvent(token_id, outcome, p, q, u, alpha, text=text)


def rejection(p, q, alpha):
    return Round(
        0,
        1,
        (event(Outcome.REJECTED, p, q, 0.9, alpha), event(Outcome.RESAMPLED, 0.4, 0.1, None, alpha)),
        0.1,
        0.2,
        0.05,
    )


def numbered(*rounds):
    return [Round(i, r.k, r.events, r.draft_s, r.verify_s, r.other_s) for i, r in enumerate(rounds)]


def test_every_outcome_has_its_own_code():
    codes = [event_row(event(outcome))[0] for outcome in Outcome]
    assert [CODES[code] for code in codes] == list(Outcome)


def test_what_the_page_rounds_reads_as_what_the_figures_round():
    """Rounded twice a number may come out otherwise: 0.129499 by way of 0.1295 as 0.130."""
    numbers = torch.rand(4000, generator=torch.Generator().manual_seed(5)).tolist()
    assert any(show(float(f"{x:.5g}"), 3) != show(x, 3) for x in numbers)
    for x in numbers:
        assert [show(sent, 3) for sent in event_row(event(Outcome.ACCEPTED, x, x, x, x))[3:]] == [show(x, 3)] * 4


def test_a_coin_comes_back_as_it_was_sent():
    for u in torch.rand(200, generator=torch.Generator().manual_seed(6)).tolist():
        sent = event_row(event(Outcome.ACCEPTED, 0.5, 0.5, u, 1.0))[5]
        assert torch.tensor(sent, dtype=torch.float32) == torch.tensor(u, dtype=torch.float32)


def test_a_round_carries_its_index_its_tokens_and_its_times():
    round_ = Round(
        3,
        2,
        (
            event(Outcome.ACCEPTED, 0.123456789, 0.5, 0.25, 0.75, " sky", 11),
            event(Outcome.ACCEPTED, 1.0, 1.0, 0.0, 1.0, "<b>", 12),
            event(Outcome.BONUS, 3.2e-12, text="\n", token_id=0),
        ),
        0.0123456789,
        0.2,
        0.0,
        1.5,
    )
    assert json.loads(json.dumps(round_row(round_))) == [
        3,
        2,
        [
            [0, " sky", 11, 0.123456789, 0.5, 0.25, 0.75],
            [0, "<b>", 12, 1.0, 1.0, 0.0, 1.0],
            [4, "\n", 0, 3.2e-12, None, None, None],
        ],
        [0.012346, 0.2, 0.0, 1.5],
    ]


@pytest.mark.parametrize("text", ["</script>", "\u2028", "𝄞", "\ud800", '"\\', "你", "\x00"])
def test_texts_travel_unharmed(text):
    assert json.loads(to_text({"text": text})) == {"text": text}
    assert "\n" not in to_text({"text": "a\nb"})


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_is_no_number_is_not_sent(number):
    with pytest.raises(ValueError):
        to_text({"p": number})


def test_rates_without_a_denominator_are_null():
    row = stats_row(measure([]))
    assert row["acceptance"] is row["per_pass"] is row["per_second"] is row["first_token_s"] is None
    assert row["emitted"] == row["judged"] == 0


def test_the_numbers_are_those_of_the_run():
    row = stats_row(measure(numbered(rejection(0.1, 0.5, 0.4), rejection(0.2, 0.6, 0.5))))
    assert (row["rounds"], row["drafted"], row["accepted"], row["judged"], row["emitted"]) == (2, 2, 0, 2, 2)
    assert row["seconds"] == [0.2, 0.4, 0.1] and row["per_pass"] == 1 and row["acceptance"] == 0
    assert row["per_second"] == pytest.approx(2 / 0.7, rel=1e-4)


def test_the_head_repeats_what_was_asked():
    told = head("why", SamplingParams(seed=4, top_k=3), 5, {"name": "x"}, ["A note."], chat=True, recorded=False)
    assert (told["prompt"], told["seed"], told["top_k"], told["k"], told["chat"]) == ("why", 4, 3, 5, True)
    assert told["pair"] == {"name": "x"} and told["notes"] == [{"en": "A note.", "zh": "A note."}]


def test_the_most_instructive_token_is_a_clear_rejection():
    rounds = numbered(rejection(0.30, 0.31, 0.95), rejection(0.2, 0.6, 0.4), rejection(0.0001, 0.01, 0.5))
    assert instructive(rounds) == (1, 0)
    assert instructive([]) is None
    assert instructive([Round(0, 0, (event(Outcome.PLAIN),), 0, 0.1, 0)]) is None

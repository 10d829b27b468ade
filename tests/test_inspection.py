"""What the inspector is told of a token, and of what it would have been with another coin."""

import math

import pytest
from events import sample

from specdemo.records import Outcome, Round
from specdemo.view.inspection import inspection, what_if
from specdemo.view.numbers import show
from specdemo.view.position import rows
from specdemo.words import LANGUAGES, WORDS


def round_of(event):
    return Round(0, 1, (event,), 0.0, 0.0, 0.0)


@pytest.mark.parametrize("outcome", [Outcome.ACCEPTED, Outcome.REJECTED])
@pytest.mark.parametrize("seed", range(5))
def test_another_coin_decides_by_the_rule(outcome, seed):
    event = sample(outcome, seed=seed)
    edge = event.p / event.q
    coins = {0.0, 1.0, event.u, *(u for u in (edge, math.nextafter(edge, 0), math.nextafter(edge, 1)) if u <= 1)}
    for u in coins:
        told = what_if(round_of(event), 0, u, "light")
        kept = u * event.q < event.p
        assert told["outcome"] == ("accepted" if kept else "rejected")
        assert (told["residual"] is None) == kept
        (mark,) = (shape for shape in told["coin"]["layout"]["shapes"] if shape["type"] == "line")
        assert mark["x0"] == u
    assert not kept or len(coins) > 2


def test_with_its_own_coin_a_token_is_what_it_was():
    for outcome in (Outcome.ACCEPTED, Outcome.REJECTED):
        event = sample(outcome)
        real, supposed = inspection(round_of(event), 0, "dark"), what_if(round_of(event), 0, event.u, "dark")
        assert supposed["outcome"] == outcome
        for part in ("position", "coin", "sentences", "candidates"):
            assert supposed[part] == real[part], part


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_coin_that_was_moved_is_not_said_to_be_drawn(name):
    event, words = sample(Outcome.REJECTED), WORDS[name]
    for u in (event.u, 0.0, 1.0):
        texts = [line["text"] for line in what_if(round_of(event), 0, u, "light", words=words)["sentences"]]
        shown = {key: words[key].format(u=show(u)) in texts for key in ("u", "u_moved")}
        assert shown == {"u": u == event.u, "u_moved": u != event.u}


def test_nothing_is_marked_in_a_residual_that_nobody_drew_from():
    told = what_if(round_of(sample(Outcome.REJECTED)), 0, 1.0, "light")["residual"]
    assert told["layout"]["shapes"] == [] or all(shape["type"] == "line" for shape in told["layout"]["shapes"])
    assert "would be" in told["layout"]["meta"]["heading"][0]


@pytest.mark.parametrize("outcome", list(Outcome))
def test_candidates_are_what_the_target_may_write_here(outcome):
    event = sample(outcome)
    named = {row.token_id: row for row in rows(event) if row.token_id is not None}
    told = inspection(round_of(event), 0, "light")["candidates"]
    assert [p for *_, p, _ in told] == sorted((p for *_, p, _ in told), reverse=True)
    assert {token_id for token_id, *_ in told} == {i for i, row in named.items() if row.p > 0}
    for token_id, _, p, share in told:
        assert p == named[token_id].p and (share is None) == (event.q is None)
    if event.q is not None:
        assert sum(share for *_, share in told) <= 1 + 1e-9

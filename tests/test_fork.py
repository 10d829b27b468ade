"""Leaving a run at a token: which text stands before the fork, what is refused, and that the rest is as ever."""

import json
from dataclasses import replace

import pytest
from test_session import place_of, request
from tiny import tiny_pair

from specdemo.drafters import ModelDrafter
from specdemo.engine import decode, speculate
from specdemo.records import Outcome
from specdemo.session import LANES, Log, Run, Session
from specdemo.session.fork import forked
from specdemo.trace import from_json, to_json


@pytest.fixture(scope="module")
def pair():
    return replace(tiny_pair(), stop_ids=frozenset())


@pytest.fixture(scope="module")
def log(pair):
    """A finished run with tokens of every outcome."""
    run = Run(request(length=40, seed=5), place_of(pair))
    list(run.deltas())
    return run.look()


def all_of(log, *outcomes):
    """(lane, round, event, the event itself) of each token with one of the outcomes."""
    return [
        (lane, round_.index, place, event)
        for lane in LANES
        for round_ in log.rounds[lane]
        for place, event in enumerate(round_.events)
        if event.outcome in outcomes
    ]


def text_before(log, lane, index, place):
    """By another way than the session's: all ids of a lane, cut where the token's own would stand."""
    written = []
    for round_ in log.rounds[lane]:
        for at, event in enumerate(round_.events):
            if (round_.index, at) == (index, place):
                return written
            if event.outcome in (Outcome.ACCEPTED, Outcome.RESAMPLED, Outcome.BONUS, Outcome.PLAIN):
                written.append(event.token_id)
    raise AssertionError("no such token")


def test_a_token_put_in_place_follows_the_text_before_it(log):
    forks = all_of(log, *(set(Outcome) - {Outcome.DISCARDED}))
    assert {event.outcome for *_, event in forks} == set(Outcome) - {Outcome.DISCARDED}
    for lane, index, place, _ in forks:
        asked = forked(log, {"lane": lane, "round": index, "event": place, "token": 77})
        assert list(asked.fork.ids) == [*text_before(log, lane, index, place), 77]
        assert (asked.fork.lane, asked.fork.round, asked.fork.event, asked.fork.u) == (lane, index, place, None)
        assert asked.prompt_ids == tuple(log.prompt_ids) and asked.params == log.params and asked.k == log.k


def test_another_coin_keeps_the_draft_exactly_below_its_ratio(log):
    for lane, index, place, event in all_of(log, Outcome.ACCEPTED, Outcome.REJECTED):
        for u in (0.0, event.p / event.q / 2, min(1.0, event.p / event.q), 1.0, event.u):
            if not u < 1 and event.p / event.q >= 1 and u * event.q < event.p:
                continue
            asked = forked(log, {"lane": lane, "round": index, "event": place, "u": u})
            given = asked.fork.ids[-1]
            if u * event.q < event.p:
                assert given == event.token_id
            elif event.outcome is Outcome.REJECTED:
                drawn = [e.token_id for e in log.rounds[lane][index].events if e.outcome is Outcome.RESAMPLED]
                assert [given] == drawn, "another token than the one that the run drew, by the same uniform"
            else:
                row = next(row for row in event.top if row.token_id == given)
                assert row.p > row.q, "a token that the residual does not hold"
            assert asked.fork.u == u


def test_the_token_after_a_refusal_that_was_none_is_drawn_from_the_residual(log):
    """400 draws over the named tokens; a false alarm by the 6-sigma bound of each share: below 1e-7 in all."""
    lane, index, place, event = next(
        (*at, event)
        for *at, event in all_of(log, Outcome.ACCEPTED)
        if sum(row.p > row.q for row in event.top) > 2 and event.p < event.q
    )
    gaps = {row.token_id: max(0.0, row.p - row.q) for row in event.top}
    drawn = [forked(log, {"lane": lane, "round": index, "event": place, "u": 1.0}).fork.ids[-1] for _ in range(400)]
    for token_id, gap in gaps.items():
        share = gap / sum(gaps.values())
        assert abs(drawn.count(token_id) / 400 - share) <= 6 * (share * (1 - share) / 400) ** 0.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"round": 10_000}, "no such token"),
        ({"lane": "left"}, "no such token"),
        ({"lane": None}, "no such token"),
        ({"event": 1.5}, "no such token"),
        ({"event": -1}, "no such token"),
        ({"token": "77"}, "token is '77'"),
        ({"token": -1}, "token is -1"),
        ({"token": None}, "token is None"),
        ({"u": "0.3"}, "u is '0.3'"),
        ({"u": 1.5}, "u is 1.5"),
        ({"u": float("nan")}, "u is nan"),
        ({"lane": "plain", "u": 0.3}, "No coin was thrown"),
    ],
)
def test_a_senseless_fork_is_refused(log, change, message):
    with pytest.raises(ValueError, match=message):
        forked(log, {"lane": "spec", "round": 0, "event": 0, "token": 77} | change)


def test_a_draft_that_was_never_judged_cannot_be_left(log):
    lane, index, place, _ = all_of(log, Outcome.DISCARDED)[0]
    with pytest.raises(ValueError, match="never judged"):
        forked(log, {"lane": lane, "round": index, "event": place, "token": 77})


def test_a_saved_run_goes_on_only_within_the_limits_of_the_form(log):
    trace = replace(log.trace(), pair={"name": "embedded"})
    here = {"lane": "spec", "round": 0, "event": 0, "token": 77}
    assert forked(Log.of("x", trace), here).pair.name == "embedded"
    for change, message in (
        ({"pair": {"name": "own", "target_path": "/etc", "draft_path": "/etc"}}, "not on offer"),
        ({"pair": {}}, "not on offer"),
        ({"k": 2**31 - 1}, "K is 2147483647"),
        ({"params": replace(trace.params, max_new_tokens=2**62)}, "Length is"),
        ({"params": replace(trace.params, temperature=1e9)}, "Temperature is"),
    ):
        with pytest.raises(ValueError, match=message):
            forked(Log.of("x", replace(trace, **change)), here)


# -- the run that goes on ---------------------------------------------------------------------------------------------


def deltas(stream):
    return [json.loads(text) for text in stream]


def english(stream):
    """Why there is no run."""
    return deltas(stream)[-1]["phase"]["sentence"]["en"]


@pytest.fixture
def session(pair):
    return Session(place=place_of(pair))


@pytest.fixture
def first(session):
    """The id of a finished run."""
    return deltas(session.run(prompt="the 你 and", length=24, seed=7))[-1]["run"]


def test_a_fork_is_what_the_engine_writes_after_the_text_before_it(session, first, pair):
    log = session._kept({"run": first}).look()
    told = deltas(session.fork({"run": first, "lane": "spec", "round": 2, "event": 0, "token": 101}))
    assert told[-1]["phase"]["name"] == "done"
    trace = session._kept({"run": told[-1]["run"]}).trace()
    before = [*log.prompt_ids, *text_before(log, "spec", 2, 0), 101]
    target = pair.open_target()
    spec = speculate(target, ModelDrafter(pair.open_draft(target)), before, log.params, k=log.k)
    alone = decode(pair.open_target(), before, log.params)
    for ours, engine in ((trace.rounds, spec), (trace.baseline, alone)):
        assert [[e.token_id for e in r.events] for r in ours] == [[e.token_id for e in r.events] for r in engine]
    assert from_json(to_json(trace)) == trace
    # The texts of the prompt, of what stands before, of the given token and of the rest are one decoding.
    whole = [*before, *(e.token_id for r in trace.rounds for e in r.emitted)]
    text = "".join(e.text for r in trace.rounds for e in r.emitted)
    assert pair.decode(log.prompt_ids) + trace.fork.before + trace.fork.given + text == pair.decode(whole)
    heads = [delta["head"]["fork"] for delta in told if "head" in delta]
    assert heads[-1] == {
        "lane": "spec", "round": 2, "event": 0, "before": trace.fork.before, "given": trace.fork.given, "u": None
    }  # fmt: skip


def test_forks_of_forks_keep_all_that_stands_before(session, first):
    run = first
    for depth in range(3):
        told = deltas(session.fork({"run": run, "lane": "spec", "round": 1, "event": 0, "token": 90 + depth}))
        run = told[-1]["run"]
    trace = session._kept({"run": run}).trace()
    assert [i for i in trace.fork.ids if i in (90, 91, 92)][-3:] == [90, 91, 92]


def test_what_cannot_follow_is_told_and_the_next_run_is_fine(session, first, pair):
    for change, sentence in (
        ({"token": 10**6}, "not in the target's vocabulary"),
        ({"run": "forgotten"}, "forgotten"),
        ({"run": None}, "forgotten"),
    ):
        asked = {"run": first, "lane": "spec", "round": 0, "event": 0, "token": 5} | change
        assert sentence in english(session.fork(asked))
    assert deltas(session.run(prompt="the", length=3))[-1]["phase"]["name"] == "done"


def test_a_token_that_ends_the_text_has_nothing_after_it(session, first, pair):
    session.place = place_of(replace(pair, stop_ids=frozenset({2})))
    asked = {"run": first, "lane": "spec", "round": 0, "event": 0, "token": 2}
    assert "ends the text" in english(session.fork(asked))


def test_a_fork_beyond_the_context_is_told():
    pair = replace(tiny_pair(max_position_embeddings=64), stop_ids=frozenset())
    session = Session(place=place_of(pair))
    run = deltas(session.run(prompt="the hand", length=400))[-1]["run"]
    last = len(session._kept({"run": run}).look().rounds["plain"]) - 1
    here = {"run": run, "lane": "plain", "round": last, "event": 0, "token": 5}
    assert "must have at most" in english(session.fork(here))

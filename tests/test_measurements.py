"""The two tabs that measure, without a page: tiny pairs, hostile questions, stops; no timed assertion.

Waits have a limit only so that a fault fails instead of hanging.
"""

import json
import threading
import time
from dataclasses import replace

import pytest
import torch
from plotly import graph_objects as go
from tiny import tiny_pair

from specdemo import maths
from specdemo.check import FALSE_ALARM, Exact, Verdict
from specdemo.metrics import measure
from specdemo.pay import MOST_K, Costs
from specdemo.session import Here, Library, Session, proof
from specdemo.session import measurement as measurement_module
from specdemo.session.measurements import Measurements
from specdemo.session.pay import KS, MOST_LENGTH, MOST_TURNS, Pay
from specdemo.trace import load
from specdemo.ui.serve import TRACES
from specdemo.view.economy import speedup_figure
from specdemo.view.proof import conclusions
from specdemo.view.shares import Sample, shares_figure
from specdemo.words import ENGLISH, LANGUAGES

LIMIT_S = 60.0

FIELDS = {"prompt": "the hand", "k": 2, "seed": 5, "temperature": 0.4}

ANYTHING = (None, True, 0, -1, 10**400, 1.5, float("nan"), "", "x", "recorded-english", [], [1, 2], {}, {"a": [None]})


@pytest.fixture(scope="module")
def pair():
    return tiny_pair()


def session_of(pair):
    return Session(Library(TRACES), Here(load=lambda spec, progress: pair))


@pytest.fixture
def session(pair):
    return session_of(pair)


def checks_of(session):
    return Measurements(session, proof.plan, proof.show)


def ended(measurements, told, question=None):
    """Look until it is over; the last thing told, with all that is shown."""
    end = time.monotonic() + LIMIT_S
    while told["phase"]["name"] not in ("done", "failed", "stopped"):
        assert time.monotonic() < end, f"waited {LIMIT_S} s, and it is {told['phase']}"
        time.sleep(0.005)
        told = measurements.look({"run": told["run"]})
    return measurements.look({"run": told["run"], **(question or {})})


class Gated:
    """A pair whose target waits before each pass once `go` is cleared, and counts its passes."""

    def __init__(self):
        tiny, self.go, self.passes = tiny_pair(), threading.Event(), 0
        self.go.set()

        def open_():
            model = tiny.target.open()
            feed = model.feed

            def counted(ids):
                self.passes += 1
                self.go.wait(LIMIT_S)
                return feed(ids)

            model.feed = counted
            return model

        self.pair = replace(tiny, target=replace(tiny.target, open=open_))


# -- is it lossless? --------------------------------------------------------------------------------------------------


def test_a_check_from_its_beginning_to_its_end(session):
    checks = checks_of(session)
    told = checks.start({"fields": FIELDS, "runs": 60})
    assert told["head"] == {**told["head"], "k": 2, "seed": 5, "runs": 60, "clamped": False}
    last = ended(checks, told)
    shown = last["shown"]
    assert last["phase"]["name"] == "done"
    assert {(test["length"], test["who"]) for test in shown["tests"]} >= {(1, "the engine"), (1, "the target alone")}
    assert shown["choice"] == "1" and "60 runs each" in shown["figure"]["layout"]["meta"]["heading"][1]
    go.Figure(shown["figure"])
    assert any(line["label"] == "exactly" and "to within" in line["text"] for line in shown["lines"])
    # Asked for again with what is known there is nothing new; in Chinese, and of another length, there is.
    assert "shown" not in checks.look({"run": last["run"], "news": last["news"]})
    other = checks.look({"run": last["run"], "language": "zh", "theme": "dark", "choice": "2"})["shown"]
    assert other["choice"] == "2" and other["tests"][0]["who"] == "引擎" and "前 2 个" in str(other["figure"]["layout"])


def test_wrong_rules_can_be_looked_at_and_are_called_lossy(session):
    checks = checks_of(session)
    last = ended(checks, checks.start({"fields": FIELDS, "runs": 40}), {"choice": "always"})
    shown = last["shown"]
    assert len(shown["rules"]) == 7 and shown["choice"] == "always"
    assert shown["figure"]["layout"]["meta"]["heading"][0] == "LOSSY: always accept"
    go.Figure(shown["figure"])


def test_a_right_engine_is_not_accused_and_a_wrong_one_is(session, monkeypatch):
    checks = checks_of(session)
    fields = {**FIELDS, "k": 1}
    right = ended(checks, checks.start({"fields": fields, "runs": 100}))["shown"]
    assert float(right["tests"][0]["p_value"].split("×")[0]) > FALSE_ALARM
    assert not any("NOT lossless" in line["text"] for line in right["lines"])
    monkeypatch.setattr(maths, "verify", lambda ids, p, q, u: torch.tensor(len(ids)))
    wrong = ended(checks, checks.start({"fields": fields, "runs": 200}))["shown"]
    assert sum("NOT lossless" in line["text"] for line in wrong["lines"]) == 2  # exactly, and by sampling


def test_a_test_without_two_cells_is_no_test(session):
    """A p-value of 1 over one cell would speak for an engine, and for any wrong rule, without having looked."""
    checks = checks_of(session)
    few = ended(checks, checks.start({"fields": FIELDS, "runs": 5}))["shown"]
    assert {row["p_value"] for row in (*few["tests"], *few["rules"])} == {"too few runs"}
    (said,) = (line["text"] for line in few["lines"] if line["label"] == "what it says")
    assert said == ENGLISH["proof_too_few"]
    greedy = ended(checks, checks.start({"fields": {**FIELDS, "temperature": 0}, "runs": 5}))["shown"]
    (said,) = (line["text"] for line in greedy["lines"] if line["label"] == "what it says")
    assert said == ENGLISH["proof_certain"] and {row["p_value"] for row in greedy["tests"]} == {"–"}


@pytest.mark.parametrize(("alpha", "best", "where"), [(1.0, MOST_K, "bottom left"), (0.3, 1, "bottom center")])
def test_the_name_of_the_best_k_ends_before_the_axis_does(alpha, best, where):
    figure = speedup_figure(None, (), "run", alpha, Costs(0.1, {}), alpha, 0.1)
    (ring,) = (trace for trace in figure["data"] if "text" in trace)
    assert ring["x"] == [best] and ring["textposition"] == where


def test_nothing_is_said_of_what_was_not_looked_at():
    assert [line["label"] for line in conclusions(Verdict(Exact()), 5)] == [ENGLISH["proof_through"]]


def test_more_runs_than_allowed_are_cut_and_told(session, monkeypatch):
    monkeypatch.setattr(proof, "MOST_RUNS", 5)
    checks = checks_of(session)
    told = checks.start({"fields": FIELDS, "runs": 10**9})
    assert told["head"]["clamped"] and (told["head"]["runs"], told["head"]["asked"]) == (5, 10**9)
    assert ended(checks, told)["phase"]["name"] == "done"


@pytest.mark.parametrize("runs", [0, -3, 1.5, None, "many", True, float("nan"), [], {}])
def test_a_count_that_is_none_is_told_in_both_languages(session, runs):
    told = checks_of(session).start({"fields": FIELDS, "runs": runs})
    assert told["phase"]["name"] == "failed" and set(told["phase"]["sentence"]) == set(LANGUAGES)
    assert "whole number" in told["phase"]["sentence"]["en"]
    assert runs is not None or told["phase"]["sentence"]["en"].startswith("Runs is empty;")


def test_a_count_as_large_as_a_browser_spells_with_an_exponent_is_cut(session):
    for kind, fields in ((checks_of(session), {"runs": 1e21}), (Pay(session).sweeps, {"turns": 1e21, "length": 1e300})):
        told = kind.start({"fields": FIELDS, **fields})
        kind.stop({"run": told.get("run")})
        assert told["phase"]["name"] != "failed" and told["head"]["clamped"]


def test_without_drafts_there_is_nothing_to_check(session):
    told = checks_of(session).start({"fields": {**FIELDS, "k": 0}, "runs": 5})
    assert told["phase"]["name"] == "failed" and "at least 1" in told["phase"]["sentence"]["en"]


def test_a_check_of_a_k_that_changes_is_refused(session):
    told = checks_of(session).start({"fields": {**FIELDS, "auto": True}, "runs": 5})
    assert "K is auto" in json.dumps(told)


def test_a_stop_in_the_middle_keeps_what_was_found_and_frees_the_turn():
    gated = Gated()
    session = session_of(gated.pair)
    checks = checks_of(session)
    told = checks.start({"fields": FIELDS, "runs": 600})
    end = time.monotonic() + LIMIT_S
    while not (told := checks.look({"run": told["run"]}))["phase"].get("runs"):
        assert time.monotonic() < end, f"waited {LIMIT_S} s, and it is {told['phase']}"
        time.sleep(0.005)  # else the looking keeps the work from going on
    stopped = checks.stop({"run": told["run"]})
    passes = gated.passes
    assert stopped["phase"]["name"] == "stopped" and stopped["shown"]["tests"]
    assert any("Stopped at" in line["text"] for line in stopped["shown"]["lines"])
    with session.place.turns.queued("another") as came:
        assert came(LIMIT_S) and gated.passes <= passes + 12, "the stopped check went on"  # no more than a run's worth


def test_a_check_that_nobody_looks_at_ends(session, monkeypatch):
    monkeypatch.setattr(measurement_module, "LEASE_S", 0.0)
    checks = checks_of(session)
    checks.start({"fields": FIELDS, "runs": 600})
    with session.place.turns.queued("another") as came:
        assert came(LIMIT_S)


def test_hostile_questions_about_checks_have_an_answer(session):
    checks = checks_of(session)
    told = ended(checks, checks.start({"fields": FIELDS, "runs": 3}))
    for value in ANYTHING:
        for name in ("theme", "language", "choice", "news"):
            assert "phase" in checks.look({"run": told["run"], name: value})
        for method in (checks.look, checks.stop):
            assert method({"run": value}) is None
        for name in ("prompt", "k", "temperature", "seed", "top_p", "pair"):
            answer = checks.start({"fields": {**FIELDS, name: value}, "runs": 1})
            json.dumps(answer, allow_nan=False)
            if "run" in answer:
                ended(checks, answer)
        assert checks.start({"fields": value, "runs": 1})["phase"]["name"] == "failed"
    assert checks.look({}) is None and checks.start({})["phase"]["name"] == "failed"


def test_a_figure_shows_the_shares_and_their_intervals():
    figure = shares_figure(("a", "b"), ["x", "y"], [0.75, 0.25], "p", [Sample("s", [70, 30], 100)], "light")
    go.Figure(figure)
    law, marks, _ = figure["data"]
    assert law["x"] == [0.75, 0.25] and marks["x"] == [0.7, 0.3]
    # Wilson's interval of 70 of 100, by hand: (0.7 + 0.0192) / 1.0384 ± 0.0877
    low, high = marks["x"][0] - marks["error_x"]["arrayminus"][0], marks["x"][0] + marks["error_x"]["array"][0]
    assert (low, high) == pytest.approx((0.6042, 0.7811), abs=1e-4)


# -- does it pay? -----------------------------------------------------------------------------------------------------


def test_the_recorded_run_says_whether_it_pays_before_any_model(session):
    answer = Pay(session).answer({"run": "recorded-english"})
    texts = " ".join(line["text"] for line in answer["lines"])
    race = measure(load(TRACES / "english.json.gz").rounds)
    assert f"{race.accepted} were kept" in texts and f"α = {race.acceptance:.3f}" in texts
    for name in ("speedup", "positions"):
        go.Figure(answer[name])
    assert answer["rows"] == []
    names = [trace.get("name") for trace in answer["speedup"]["data"]]
    assert "measured: this run" in names and "with α and c as set below" not in names


def test_other_numbers_have_a_curve_of_their_own(session):
    pay = Pay(session)
    free = pay.answer({"run": "recorded-english", "alpha": 0.9, "c": 0, "language": "zh"})
    assert "按下方设定的 α 和 c" in [trace.get("name") for trace in free["speedup"]["data"]]
    assert "α = 0.9" in free["what_if"] and free["alpha"] == pay.answer({"run": "recorded-english"})["alpha"]


def test_without_a_run_the_curves_are_drawn_with_what_is_set(session):
    answer = Pay(session).answer({"alpha": 0.5, "c": 0.1})
    assert answer["positions"] is None and "says nothing" in answer["lines"][0]["text"]
    go.Figure(answer["speedup"])


def test_a_sweep_from_its_beginning_to_its_end(session):
    pay = Pay(session)
    told = pay.sweeps.start({"fields": FIELDS, "turns": 2, "length": 6})
    last = ended(pay.sweeps, told)
    assert last["phase"]["name"] == "done" and last["news"] == 2 * (len(KS) + 1) + 1
    answer = pay.answer({"run": "recorded-english", "sweep": last["run"]})
    assert [row[0] for row in answer["rows"]] == [str(k) for k in KS]
    assert all("(2)" in row[2] for row in answer["rows"])
    go.Figure(answer["speedup"])


def test_a_sweep_is_bounded_and_its_counts_are_checked(session):
    pay = Pay(session)
    told = pay.sweeps.start({"fields": FIELDS, "turns": 1000, "length": 10**9})
    pay.sweeps.stop({"run": told["run"]})
    assert told["head"]["clamped"] and (told["head"]["turns"], told["head"]["length"]) == (MOST_TURNS, MOST_LENGTH)
    for value in (0, 1.5, None, "x", [], float("nan")):
        for name in ("turns", "length"):
            refused = pay.sweeps.start({"fields": FIELDS, "turns": 1, "length": 1, name: value})
            assert refused["phase"]["name"] == "failed" and "whole number" in refused["phase"]["sentence"]["en"]
            assert value is not None or " is empty;" in refused["phase"]["sentence"]["en"]


def test_a_run_and_a_sweep_that_are_forgotten_are_told_from_none(session):
    answer = Pay(session).answer({"run": "gone", "sweep": "gone"})
    assert "does not keep" in answer["lines"][0]["text"] and answer["rows"] is None


def test_hostile_questions_about_pay_have_an_answer(session):
    pay = Pay(session)
    for value in ANYTHING:
        for name in ("run", "sweep", "alpha", "c", "theme", "language"):
            json.dumps(pay.answer({"run": "recorded-english", name: value}), allow_nan=False)

"""The parts of a round as the page tells them, against sums worked out apart from it."""

from dataclasses import replace

import pytest
from test_plots import a_run

from specdemo.records import Round
from specdemo.view.profile import profile
from specdemo.words import LANGUAGES, WORDS

#: Two rounds in milliseconds: draft, verify, judge, look, Python.
SPENT = [(2.0, 20.0, 1.0, 0.5, 0.5), (4.0, 30.0, 2.0, 0.25, 1.75)]


def round_(index: int, draft: float, verify: float, judge: float, look: float, python: float) -> Round:
    """The prompt took a whole second, which is no part of a round."""
    d, v, j, o, other = (ms / 1000 for ms in (draft, verify, judge, look, judge + look + python))
    return Round(index, 2, a_run(1)[0].events, d, v, other, 1.0, j, o)


ROUNDS = [round_(i, *spent) for i, spent in enumerate(SPENT)]


def cells(table: dict, column: int) -> dict[str, list]:
    return {part: row[column] for part, _, _, row in table["rows"]}


def test_the_mean_round_and_the_picked_one():
    table = profile(ROUNDS, current=1)
    assert table["columns"] == ["part", "mean round (of 2)", "round 2"]
    parts = ["draft", "verify", "judge", "look", "python"]
    assert [part for part, *_ in table["rows"]] == [*parts, "whole"]
    means = [sum(both) / 2 for both in zip(*SPENT)]
    for column, spent in ((0, means), (1, SPENT[1])):
        told = cells(table, column)
        for part, ms in zip(parts, spent):
            written, share, percent = told[part]
            assert float(written.removesuffix(" ms")) == pytest.approx(ms, rel=5e-3)
            assert share == pytest.approx(ms / sum(spent))
            assert percent == f"{100 * ms / sum(spent):.1f} %"
        assert float(told["whole"][0].removesuffix(" ms")) == pytest.approx(sum(spent), rel=5e-3)
        assert sum(told[part][1] for part in parts) == pytest.approx(1)


@pytest.mark.parametrize("current", [None, -1, 2, 99])
def test_without_a_round_that_is_there_it_is_of_the_mean_alone(current):
    assert len(profile(ROUNDS, current=current)["columns"]) == 2


def test_a_run_without_finer_times_is_told_in_three_parts():
    """As a trace that was kept before there were any, or a recorded CUDA graph, whose verification is one with them."""
    older = [replace(each, judge_s=0.0, look_s=0.0) for each in ROUNDS]
    told = cells(profile(older), 0)
    assert list(told) == ["draft", "verify", "other", "whole"]
    assert told["other"][1] == pytest.approx(6 / 62)


def test_nothing_is_told_of_nothing():
    assert profile([]) is None
    still = [Round(0, 0, (), 0.0, 0.0, 0.0)]
    assert cells(profile(still), 0)["verify"] == ["0 ms", 0.0, "0.0 %"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_part_has_a_name_and_says_what_it_is(language):
    for part, name, meaning, _ in profile(ROUNDS, WORDS[language], current=0)["rows"]:
        assert name and (meaning or part == "whole")

"""The values that flow: checked where they enter, and unable to change."""

import math
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest

from specdemo.records import Outcome, Round, RunStats, SamplingParams, TokenEvent, is_real, is_whole

WRONG = {
    "temperature": [-0.1, math.nan, math.inf, -math.inf, "1", None, True],
    "top_k": [-1, 1.5, "3", None, True, math.nan],
    "top_p": [0, 0.0, -0.5, 1.0001, math.nan, "0.9", None, True],
    "min_p": [-0.01, 1.01, math.nan, "0", None, False],
    "seed": [-1, 2**63, 0.5, "7", True],
    "max_new_tokens": [-1, 1.0, "8", None, True, math.inf],
}
RIGHT = {
    "temperature": [0, 0.0, 5e-324, 1, 0.7, 100.0],
    "top_k": [0, 1, 10**9],
    "top_p": [1, 1.0, 5e-324],
    "min_p": [0, 1, 0.5],
    "seed": [None, 0, 2**63 - 1],
    "max_new_tokens": [0, 1, 10**6],
}
RANGE = {
    "temperature": "a finite number, at least 0",
    "top_k": "a whole number, at least 0",
    "top_p": "above 0 and at most 1",
    "min_p": "between 0 and 1",
    "seed": "a whole number from 0 to 2^63 - 1, or None",
    "max_new_tokens": "a whole number, at least 0",
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_a_wrong_setting_is_named_with_its_value_and_its_range(name: str, value: object) -> None:
    with pytest.raises(ValueError) as caught:
        SamplingParams(**{name: value})
    message = str(caught.value)
    assert message.startswith(f"{name} is {value!r};") and RANGE[name] in message


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in RIGHT.items() for value in values])
def test_a_right_setting_is_kept_as_it_is(name: str, value: object) -> None:
    assert getattr(SamplingParams(**{name: value}), name) == value


def test_greedy_is_temperature_0_and_nothing_else() -> None:
    assert SamplingParams(temperature=0).greedy and not SamplingParams(temperature=1e-300).greedy


def test_what_is_a_number() -> None:
    assert all(is_whole(x) for x in (0, -3, 10**30)) and not any(is_whole(x) for x in (True, 1.0, "1", None))
    assert all(is_real(x) for x in (0, 0.5, -1e300)) and not any(is_real(x) for x in (math.nan, math.inf, False, "1"))


def test_what_is_part_of_the_text() -> None:
    assert {outcome for outcome in Outcome if not outcome.emitted} == {Outcome.REJECTED, Outcome.DISCARDED}


def test_a_round_knows_its_text_and_its_time() -> None:
    outcomes = [Outcome.ACCEPTED, Outcome.REJECTED, Outcome.DISCARDED, Outcome.RESAMPLED]
    round_ = Round(3, 3, tuple(TokenEvent(i, outcome, 0.5) for i, outcome in enumerate(outcomes)), 0.1, 0.2, 0.3, 5.0)
    assert [event.token_id for event in round_.emitted] == [0, 3]
    assert round_.seconds == pytest.approx(0.6), "without the prompt"


def test_a_round_and_a_run_tell_their_time_by_one_rule() -> None:
    counts = {field.name: 0 for field in fields(RunStats)}
    parts = {"draft_s": 1.0, "verify_s": 2.0, "other_s": 4.0, "judge_s": 0.5, "look_s": 0.25}
    for timed in (Round(0, 0, (), **parts), RunStats(**counts | parts)):
        assert (timed.seconds, timed.python_s) == (7.0, 3.25)
        assert replace(timed, judge_s=4.5).python_s == 0, "its parts were added up apart"
    for rule in ("seconds", "python_s"):
        assert getattr(Round, rule) is getattr(RunStats, rule)


@pytest.mark.parametrize("value", [SamplingParams(), TokenEvent(1, Outcome.PLAIN, 0.5), Round(0, 0, (), 0, 0, 0)])
def test_values_do_not_change(value: object) -> None:
    for field in fields(value):
        with pytest.raises(FrozenInstanceError):
            setattr(value, field.name, None)
    with pytest.raises((AttributeError, TypeError)):
        value.anything = 1
    assert not hasattr(value, "__dict__")
    hash(value)


def test_whole_numbers_of_numpy_count_and_become_our_own() -> None:
    params = SamplingParams(top_k=np.int64(3), seed=np.uint32(7), max_new_tokens=np.int32(9))
    assert params == SamplingParams(top_k=3, seed=7, max_new_tokens=9)
    assert [type(n) for n in (params.top_k, params.seed, params.max_new_tokens)] == [int, int, int]
    assert not any(map(is_whole, (np.float64(3), np.True_, np.array([1, 2]), 3.0, "3", None)))

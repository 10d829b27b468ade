"""The count of threads is the one with the quickest pass."""

import pytest
import torch

from specdemo.models import threads


@pytest.fixture(autouse=True)
def threads_as_before():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("speeds", "best"), [({1: 3.0, 2: 2.0, 3: 4.0}, 2), ({1: 1.0, 2: 2.0, 3: 2.0}, 1)])
def test_the_quickest_is_taken(monkeypatch, speeds, best):
    monkeypatch.setattr(threads, "_pass", lambda model: speeds[torch.get_num_threads()] / 1000)
    sentence = str(threads.choose_threads(None, 3))
    assert torch.get_num_threads() == best
    assert sentence.startswith(f"Threads: {best} of 3") and f"1: {speeds[1]:.0f} ms" in sentence


def test_a_moment_s_disturbance_does_not_decide(monkeypatch):
    slow_once = iter([9.0, *[1.0] * 99])
    monkeypatch.setattr(threads, "_pass", lambda model: 2.0 if torch.get_num_threads() == 1 else next(slow_once))
    threads.choose_threads(None, 2)
    assert torch.get_num_threads() == 2


def test_a_count_that_is_slow_is_not_tried_for_long(monkeypatch):
    """With others on its cores a pass with several threads may take twenty times as long."""
    tried = []
    monkeypatch.setattr(threads, "_pass", lambda model: tried.append(torch.get_num_threads()) or 3.0 ** tried[-1] / 9)
    threads.choose_threads(None, 2)
    assert torch.get_num_threads() == 1 and tried == [1, 1, 2, 2]


def test_an_earlier_choice_does_not_bound_a_later_one(monkeypatch):
    monkeypatch.setattr(threads, "_pass", lambda model: torch.get_num_threads())
    threads.choose_threads(None, 2)
    assert torch.get_num_threads() == 1
    monkeypatch.setattr(threads, "_pass", lambda model: -torch.get_num_threads())
    threads.choose_threads(None, 2)
    assert torch.get_num_threads() == 2


def test_one_thread_for_a_while():
    torch.set_num_threads(2)
    with pytest.raises(KeyError), threads.one_thread():
        assert torch.get_num_threads() == 1
        raise KeyError
    assert torch.get_num_threads() == 2

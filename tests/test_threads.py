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
    torch.set_num_threads(3)
    sentence = threads.choose_threads(None)
    assert torch.get_num_threads() == best
    assert sentence.startswith(f"Threads: {best} of 3") and f"{speeds[1]:.0f} ms with 1" in sentence


def test_a_moment_s_disturbance_does_not_decide(monkeypatch):
    slow_once = iter([9.0, *[1.0] * 99])
    monkeypatch.setattr(threads, "_pass", lambda model: 2.0 if torch.get_num_threads() == 1 else next(slow_once))
    torch.set_num_threads(2)
    threads.choose_threads(None)
    assert torch.get_num_threads() == 2

"""The count of threads is the one with the quickest pass."""

import pytest
import torch

from specdemo.models.threads import choose_threads, one_thread


@pytest.fixture(autouse=True)
def threads_as_before():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("speeds", "best"), [({1: 3.0, 2: 2.0, 3: 4.0}, 2), ({1: 1.0, 2: 2.0, 3: 2.0}, 1)])
def test_the_quickest_is_taken(speeds, best):
    sentence = str(choose_threads(lambda: speeds[torch.get_num_threads()] / 1000, 3))
    assert torch.get_num_threads() == best
    assert sentence.startswith(f"Threads: {best} of 3") and f"1: {speeds[1]:.0f} ms" in sentence


def test_a_moment_s_disturbance_does_not_decide():
    slow_once = iter([9.0, *[1.0] * 99])
    choose_threads(lambda: 2.0 if torch.get_num_threads() == 1 else next(slow_once), 2)
    assert torch.get_num_threads() == 2


def test_a_count_that_is_slow_is_not_tried_for_long():
    """With others on its cores a pass with several threads may take twenty times as long."""
    tried = []
    choose_threads(lambda: tried.append(torch.get_num_threads()) or 3.0 ** tried[-1] / 9, 2)
    assert torch.get_num_threads() == 1 and tried == [1, 1, 2, 2]


def test_an_earlier_choice_does_not_bound_a_later_one():
    choose_threads(torch.get_num_threads, 2)
    assert torch.get_num_threads() == 1
    choose_threads(lambda: -torch.get_num_threads(), 2)
    assert torch.get_num_threads() == 2


def test_one_thread_for_a_while():
    torch.set_num_threads(2)
    with pytest.raises(KeyError), one_thread():
        assert torch.get_num_threads() == 1
        raise KeyError
    assert torch.get_num_threads() == 2

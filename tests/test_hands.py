"""What computes does so on few threads: beside each that has computed, OpenMP keeps others ready."""

import gc
import os
import sys
import threading
import time
from functools import partial

import pytest
import torch
from test_lab import EXAMPLE
from test_session import LIMIT_S, until
from tiny import tiny_pair

from specdemo.models import CATALOGUE
from specdemo.session import Here, Session
from specdemo.session.hands import Hands, apart
from specdemo.session.place import Work
from specdemo.ui.questions import questions

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts threads as Linux lists them")


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def threads_here() -> int:
    return len(os.listdir("/proc/self/task"))


def threads_at_rest() -> int:
    """How many there are once those of other tests are gone."""
    gc.collect()
    counts = [threads_here()]
    while len(counts) < 10 or len(set(counts[-10:])) > 1:
        time.sleep(0.05)
        counts.append(threads_here())
    return counts[-1]


def counting(seen, n, pair):
    for _ in range(n):
        seen.append(threading.get_ident())
        time.sleep(0.002)
        yield None


@pytest.mark.parametrize("patient", [False, True])
def test_all_works_are_done_by_one_thread(patient):
    """Two that measure, and so take turns, and those who run between them."""
    pair, seen = tiny_pair(), []
    place = Here(load=lambda spec, progress: pair)
    works = [Work(CATALOGUE["embedded"], partial(counting, seen, 50), 1, patient=patient) for _ in range(3)]
    asking = [threading.Thread(target=lambda work=work: list(place.work(work))) for work in works]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join(LIMIT_S)
    assert len(seen) == 150 and len(set(seen)) == 1
    assert not {thread.ident for thread in asking} & set(seen)


def test_what_was_begun_ends_with_who_asked():
    taken, closed = [], threading.Event()

    def steps():
        try:
            for n in range(10**6):
                taken.append(n)
                yield n
        finally:
            closed.set()

    going = steps()
    followed = Hands(1).take(going)
    assert next(followed) == 0
    followed.close()
    count = len(taken)
    time.sleep(0.05)
    assert len(taken) == count < 10**6  # nobody takes a step any more
    going.close()
    assert closed.is_set()


def test_the_end_and_the_fault_of_the_steps_arrive():
    def ends():
        yield 1
        return "said"

    def breaks():
        yield 1
        raise ZeroDivisionError("seen")

    def whole(steps):
        return (yield from Hands(1).take(steps))

    follow = whole(ends())
    assert next(follow) == 1
    with pytest.raises(StopIteration) as end:
        next(follow)
    assert end.value.value == "said"
    follow = whole(breaks())
    assert next(follow) == 1
    with pytest.raises(ZeroDivisionError, match="seen"):
        next(follow)


@linux
@pytest.mark.parametrize("name", ["lab_show", "lab_compare", "lab_draw_one", "lab_draw_many"])
def test_a_question_that_computes_leaves_no_thread_behind(name, two_threads):
    """Seen: after 100,000 draws in the lab a run was half as fast, as long as the thread lived that had drawn them."""
    answer = questions(Session())[name]
    held, told = threading.Event(), []

    def ask():
        told.append(answer({**EXAMPLE, "n": 100_000, "seed": 1}))
        held.wait(LIMIT_S)

    before = threads_at_rest()
    asking = threading.Thread(target=ask)
    asking.start()
    try:
        until(lambda: told, "an answer")
        assert "refused" not in told[0]
        until(lambda: threads_here() == before + 1, "the threads of the draws to end")
    finally:
        held.set()
        asking.join(LIMIT_S)


@linux
def test_the_count_above_can_see_what_is_left(two_threads):
    held, computed = threading.Event(), threading.Event()

    def compute():
        torch.ones(10**6) + 1
        computed.set()
        held.wait(LIMIT_S)

    before = threads_at_rest()
    asking = threading.Thread(target=compute)
    asking.start()
    try:
        assert computed.wait(LIMIT_S)
        assert threads_here() == before + 2  # itself, and the one that OpenMP made
    finally:
        held.set()
        asking.join(LIMIT_S)


def test_apart_is_the_function():
    @apart
    def half(n: int, of: int = 2) -> float:
        """Half."""
        return n / of

    assert half(3) == 1.5 and half(3, of=3) == 1 and half.__doc__ == "Half."
    with pytest.raises(ZeroDivisionError):
        half(1, of=0)

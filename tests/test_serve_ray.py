"""Replicas on Ray Serve: two processes on this machine, each with a tiny pair; one of them is killed.

Waits have a limit only so that a fault fails instead of hanging.
"""

import asyncio
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest
from ports import free_port
from test_place import by_lane, tokens, work_of
from test_session import request, until
from tiny import tiny_pair

from specdemo.models import CATALOGUE, LoadError
from specdemo.replicas import address as address_module
from specdemo.replicas.count import Count
from specdemo.replicas.place import Replicas, asking
from specdemo.replicas.replica import Replica
from specdemo.session import Here, Phase, Session
from specdemo.session.place import About, Work
from specdemo.session.raced import Spelled, raced
from specdemo.trial import load_recorded

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ray's own

EMBEDDED, SLOW, OTHER = (CATALOGUE[name] for name in ("embedded", "smollm2-360m", "gpt2-xl"))


class Slow:
    """A model that takes its time."""

    def __init__(self, model):
        self._model = model

    def __getattr__(self, name):
        return getattr(self._model, name)

    def feed(self, ids):
        time.sleep(0.005)
        return self._model.feed(ids)


def load(spec, progress):
    if spec == OTHER:
        raise LoadError("hub_unknown", name=spec.target)
    pair = tiny_pair()
    if spec == SLOW:
        slow = replace(pair.target, open=lambda: Slow(pair.target.open()))
        return replace(pair, target=slow, stop_ids=frozenset())
    return pair


def located(begin, pair):
    """The work with, before its news, the process that does it."""
    yield os.getpid()
    yield from begin(pair)


def endless(pair):
    while True:
        time.sleep(0.001)
        yield None


@pytest.fixture(scope="module")
def place():
    if find_spec("ray") is None:  # it must not be imported yet, see `Replicas`
        pytest.skip("the package ray is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))  # the replicas read the tiny pair's module, too
        place = Replicas(EMBEDDED, Count(2, 2), load=load)
    yield place
    place.close()


def pid_of(news):
    """Of the process at work, once it is."""
    return next(one for one in news if isinstance(one, int))


def held(place):
    """A replica that is held until the news are closed, and its process."""
    news = place.work(Work(EMBEDDED, partial(located, endless), 1))
    return news, pid_of(news)


def began(place, **fields):
    """The news of a run that is past its third round and has seconds to go, and the process that does it."""
    asked = request(pair=SLOW.name, length=250, **fields)
    news = place.work(Work(asked.pair, partial(located, partial(raced, asked)), 500))
    pid, rounds = pid_of(news), 0
    while rounds < 3:
        rounds += isinstance(next(news), Spelled)
    return news, pid


def test_a_replica_writes_what_this_process_writes(place):
    work = work_of(request(prompt="the 你 and", k=3, seed=11))
    far, near = list(place.work(work)), list(Here(load).work(work))
    assert far[-1] == near[-1] == Phase("done") and tokens(far)
    assert by_lane(tokens(far)) == by_lane(tokens(near))


def test_two_runs_go_on_at_once_and_a_third_waits(place):
    (first, one), (second, other) = began(place), began(place, seed=6)
    assert one != other != os.getpid()
    third = place.work(work_of(request(length=2)))
    phase = next(news for news in third if isinstance(news, Phase))
    assert phase == Phase("waiting", {"ahead": 2, "seconds": None})
    first.close()
    assert list(third)[-1] == Phase("done"), "who was stopped has left its replica"
    second.close()


def test_a_run_that_is_stopped_before_its_turn_leaves_the_line(place):
    (first, _), (second, _) = held(place), held(place)
    waits = place.work(work_of(request()))
    assert next(news for news in waits if news is not None).name == "waiting"
    waits.close()
    assert not place.turns.wanted
    first.close()
    second.close()
    assert list(place.work(work_of(request(length=2))))[-1] == Phase("done")


def test_who_waits_is_told_about_how_long_by_runs_of_late(place):
    assert list(place.work(work_of(request(pair=SLOW.name, length=4))))[-1] == Phase("done")
    rate = place.turns.forecast.seconds(SLOW, 1)
    assert rate >= 0.005 / 2, "a round of either lane takes so long, and a round is some tokens of both"
    (first, _), (second, _) = began(place), began(place, seed=6)
    with closing(place.work(work_of(request(length=2)))) as third:
        phase = next(news for news in third if isinstance(news, Phase))
    assert phase.values["ahead"] == 2 and 0 < phase.values["seconds"] <= 500 * rate
    first.close()
    second.close()


def test_a_measurement_leaves_a_replica_to_runs(place):
    with closing(place.work(Work(EMBEDDED, partial(located, endless), 1, patient=True))) as one:
        pid_of(one)
        with closing(place.work(Work(EMBEDDED, endless, 1, patient=True))) as other:
            assert next(news for news in other if news is not None) == Phase("waiting", {"ahead": 1, "seconds": None})
            assert list(place.work(work_of(request(length=2))))[-1] == Phase("done")


def test_who_has_to_wait_for_a_replica_is_told_so(place, monkeypatch):
    (first, _), (second, _) = held(place), held(place)
    monkeypatch.setattr(place.turns, "at_once", 3)  # as if there were one more, which is still to be started
    with closing(place.work(work_of(request()))) as third:
        phase = next(news for news in third if news is not None)
    assert phase.name == "loading" and "replica" in str(phase.values["sentence"])
    first.close()
    second.close()


async def told_by(replica, work):
    return [news async for news in replica.work(work)]


def test_a_replica_ends_a_run_whose_time_is_over():
    """The same class without Ray."""
    news = asyncio.run(told_by(Replica(EMBEDDED, load, 0.05), work_of(request(pair=SLOW.name, length=250))))
    assert news[-1] == Phase("done", {"most": 0.05})


def test_a_replica_takes_a_pair_with_recorded_rounds_or_says_why_not():
    """The same class without Ray, given how to load a pair as Ray gives it: pickled."""
    replica = Replica(EMBEDDED, pickle.loads(pickle.dumps(partial(load_recorded, load))), 1.0)
    (about,) = (one for one in asyncio.run(told_by(replica, asking(EMBEDDED))) if isinstance(one, About))
    assert "NVIDIA" in str(about.notes[-1]), "there is no such GPU here"


def test_the_death_of_a_replica_ends_its_run_alone_and_what_comes_after_is_right(place):
    """SIGKILL, in mid-run."""
    expected = by_lane(tokens(list(Here(load).work(work_of(request(seed=9))))))
    (dying, pid), (living, other) = began(place), began(place, seed=6)
    os.kill(pid, signal.SIGKILL)
    last = list(dying)[-1]
    assert last.name == "failed" and "run it again" in str(last.values["sentence"])
    rounds = [one.round for one in living if isinstance(one, Spelled) and one.lane == "plain"]
    assert rounds[-1].index == 249, "the other run went on to its end"
    for _ in range(3):
        again = list(place.work(work_of(request(seed=9))))
        assert again[-1] == Phase("done") and by_lane(tokens(again)) == expected
    (first, one), (second, two) = held(place), held(place)
    assert len({one, two, pid}) == 3, "there are two replicas again"
    first.close()
    second.close()


def test_the_page_is_told_and_the_next_run_is_as_ever(place):
    session = Session(place=place)
    deltas = (json.loads(text) for text in session.run(pair=SLOW.name, prompt="the hand", length=250, seed=5))
    run = next(delta for delta in deltas if delta.get("spec"))["run"]
    free, other = held(place)
    free.close()
    (busy,) = {child.pid for child in psutil.Process().children(recursive=True) if is_replica(child)} - {other}
    os.kill(busy, signal.SIGKILL)
    last = list(deltas)[-1]
    assert last["phase"]["name"] == "failed" and "重新运行" in last["phase"]["sentence"]["zh"]
    assert json.loads(session.trace({"run": run}))["rounds"], "what was written stays"
    after = [json.loads(text) for text in session.run(prompt="the hand", length=5, seed=5)][-1]
    assert after["phase"]["name"] == "done"


def is_replica(process):
    return "ServeReplica" in " ".join(process.cmdline())


def test_nobody_without_its_token_reaches_the_cluster(place):
    asking = f"from ray._raylet import GcsClient; GcsClient({place._ray.get_runtime_context().gcs_address!r})"
    environment = {**os.environ, "RAY_AUTH_TOKEN": "0" * 64}
    done = subprocess.run([sys.executable, "-c", asking], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode != 0 and "authentication" in done.stderr.lower()


def test_an_error_is_told_as_in_this_process(place):
    last = list(place.work(work_of(request(prompt="the " * 600))))[-1]
    assert last.name == "failed" and "must have at most" in str(last.values["sentence"])


def test_a_place_tells_what_a_replicas_pair_is(place):
    assert place.readiness(OTHER) is None
    place.prepare(EMBEDDED)
    place.prepare(OTHER)
    until(lambda: isinstance(place.readiness(EMBEDDED), About), "a replica to tell what its pair is")
    assert place.readiness(EMBEDDED) == About.of(tiny_pair())
    until(lambda: place.readiness(OTHER).final, "a pair that cannot be loaded")
    assert "openai-community/gpt2-xl" in str(place.readiness(OTHER).values["sentence"])


def test_it_does_not_report_to_anybody(place):
    from ray._common.usage import usage_lib

    assert not usage_lib.usage_stats_enabled()


ADDRESSES = ["127.0.0.1:{}", "[::1]:{}", "no.such.host.invalid:{}", "127.0.0.1:9{}"]


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_at_which_nobody_answers_is_refused_at_the_door(address, monkeypatch):
    monkeypatch.setattr(subprocess, "run", None)  # nothing is started
    with pytest.raises(ConnectionError, match=r"^nobody answers there \(.+\)$"):
        address_module.check(address.format(free_port()))


def test_rays_client_is_refused_before_anything_is_left_on_the_cluster():
    with pytest.raises(ConnectionError, match="cannot stream; give the HOST:PORT"):
        address_module.check("ray://127.0.0.1:10001")


def test_who_answers_but_is_no_cluster_is_given_up(monkeypatch):
    """Ray would ask for ever, and complain."""
    monkeypatch.setattr(address_module, "_CLUSTER_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        here = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ConnectionError, match="no Ray cluster answered"):
            address_module.check(here)


def test_what_ray_says_of_an_address_is_one_line():
    if find_spec("ray") is None:
        pytest.skip("the package ray is not installed")
    with pytest.raises(ConnectionError, match=r"^ValueError: .*nonsense.*$"):
        address_module.check("nonsense")


@pytest.mark.parametrize(("text", "count"), [("2", Count(2, 2)), (" 1-4 ", Count(1, 4)), ("64", Count(64, 64))])
def test_how_many_can_be_said(text, count):
    assert Count.of(text) == count


@pytest.mark.parametrize("text", ["", "0", "-1", "65", "4-2", "1-", "two", "2.0", "1-2-3", "９"])
def test_how_many_cannot_be_said(text):
    with pytest.raises(ValueError, match="must be a whole number from 1 to 64"):
        Count.of(text)


def test_each_gets_its_share_of_the_machines():
    assert Count(2, 2).share({"CPU": 16, "GPU": 1}) == {"num_cpus": 8.0, "num_gpus": 0.5}
    assert Count(1, 2).share({"CPU": 5, "GPU": 8}) == {"num_cpus": 2.0, "num_gpus": 1.0}
    assert Count(4, 4).share({"CPU": 2}) == {"num_cpus": 0.5}
    with pytest.raises(ValueError, match="no CPU"):
        Count(1, 1).share({})


def test_a_range_scales_with_the_runs_that_wait():
    assert Count(2, 2).options() == {"num_replicas": 2}
    scaling = Count(1, 3).options()["autoscaling_config"]
    assert (scaling["min_replicas"], scaling["max_replicas"], scaling["target_ongoing_requests"]) == (1, 3, 1)

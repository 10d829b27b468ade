"""Work on ZeroGPU: elsewhere its decorator changes nothing; with the package's own worker the same tokens come out."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from test_place import by_lane, tokens, work_of
from test_session import request
from tiny import tiny_pair

from specdemo.models import CATALOGUE, LoadError
from specdemo.models.probe import note_on
from specdemo.pace import UNMEASURED, Costs
from specdemo.session import Here, Phase
from specdemo.session.place import Work
from specdemo.space import zero
from specdemo.space.zero import MOST_S, PAIRS, START_S, ZeroGPU, chosen, on_zero, seconds
from specdemo.words import Saying

EMBEDDED = CATALOGUE["embedded"]


@pytest.fixture(scope="module")
def pair():
    return replace(tiny_pair(), notes=(Saying("note_one_model"),))


def plainly(duration):
    """As `spaces.GPU` outside ZeroGPU."""
    return lambda function: function


def test_elsewhere_the_decorator_gives_the_function_back(monkeypatch):
    pytest.importorskip("spaces")
    monkeypatch.delenv("SPACES_ZERO_GPU", raising=False)

    def far(work):
        yield work

    assert zero.gpu()(duration=seconds)(far) is far and not on_zero()


def test_on_the_packages_own_worker_the_same_tokens_come_out():
    """Its fork, its pipe, its way of closing; the scheduler is ours and the device a CPU."""
    pytest.importorskip("spaces")
    script = Path(__file__).with_name("zero_stand_in.py")
    done = subprocess.run([sys.executable, "-W", "ignore", script], capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["on_zero"] and seen["same"] and seen["again"] and seen["about"] == "tiny"
    assert seen["kinds"] == ["Begun", "Spelled"]
    done, after, spent, refused, other = seen["last"]
    assert (done, after) == ("done", "done")
    assert "gave no GPU" in spent and "quota" in spent and "{" not in spent
    assert "must have at most" in refused and "GPT-2 XL" in other and "embedded" in other
    paths = [path for path, _ in seen["asked"]]
    assert paths.count("/schedule") == 5 and paths.count("/release") == 4
    first = seen["asked"][0][1]
    assert first["token"] == "somebody" and int(first["durationSeconds"]) <= 1.5 * MOST_S


def test_without_zerogpu_the_place_does_as_this_process_does(pair):
    place = ZeroGPU([EMBEDDED], plainly, load=lambda spec, device: pair)
    work = work_of(request(prompt="the 你 and", seed=11))
    news, here = list(place.work(work)), list(Here(load=lambda spec, progress: pair).work(work))
    assert news[0].name == "loading" and news[-1] == here[-1] == Phase("done")
    assert by_lane(tokens(news)) == by_lane(tokens(here))


def test_a_pair_that_does_not_load_leaves_the_page_its_recorded_runs():
    def load(spec, device):
        raise LoadError("hub_unknown", name="it")

    place = ZeroGPU([EMBEDDED], plainly, load)
    last = list(place.work(work_of(request())))[-1]
    assert last == place.readiness(EMBEDDED) and last.name == "failed" and "it" in str(last.values["sentence"])


def test_costs_that_were_measured_without_the_gpu_are_not_gone_by(pair):
    costs = Costs((3.0,) * 9, 2.0)
    measured = replace(pair, costs=costs, notes=(*pair.notes, note_on(costs)))
    place = ZeroGPU([EMBEDDED], plainly, load=lambda spec, device: measured)
    assert place._held[EMBEDDED].costs == UNMEASURED and place.readiness(EMBEDDED).notes == pair.notes


@pytest.mark.parametrize(("tokens", "expected"), [(0, START_S), (256, 16), (2 * 1024, MOST_S), (10**9, MOST_S)])
def test_the_seconds_that_are_asked_for_follow_the_tokens_and_end(tokens, expected):
    assert seconds(Work(EMBEDDED, iter, tokens)) == expected


@pytest.mark.parametrize("patient", [False, True])
def test_a_work_that_takes_longer_ends_by_itself_and_says_so(pair, monkeypatch, patient):
    def endless(pair):
        while True:
            yield None

    monkeypatch.setattr(zero, "MOST_S", 0.05)
    place = ZeroGPU([EMBEDDED], plainly, load=lambda spec, device: pair)
    assert list(place.work(Work(EMBEDDED, endless, 10**9, patient)))[-1] == Phase("done", {"most": 0.05})


def test_the_environment_names_the_pairs(monkeypatch):
    monkeypatch.delenv(PAIRS, raising=False)
    assert chosen() == [EMBEDDED]
    monkeypatch.setenv(PAIRS, " qwen3-8b, embedded ,")
    assert [spec.name for spec in chosen()] == ["qwen3-8b", "embedded"]
    monkeypatch.setenv(PAIRS, "qwen")
    with pytest.raises(ValueError, match=f"{PAIRS} has 'qwen'; it may have embedded"):
        chosen()

"""A class at once: the line, one run for each page, limits, what needs no line, and memory that stays flat.

Waits have a limit only so that a fault fails instead of hanging.
"""

import asyncio
import gc
import itertools
import json
import threading
import time
import weakref
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from types import SimpleNamespace

import httpx
import pytest
from starlette.applications import Starlette
from tiny import tiny_pair

from specdemo.metrics import measure
from specdemo.models import CATALOGUE
from specdemo.session import LANES, Here, Library, Log, Phase, Request, Run, Session, Store, Turns, lab
from specdemo.session import library as library_module
from specdemo.session import measurement as measurement_module
from specdemo.session import place as place_module
from specdemo.session import run as run_module
from specdemo.session.forecast import Forecast
from specdemo.session.measurement import Measurement, Sheet
from specdemo.session.measurements import Measurements, Plan
from specdemo.session.place import Work
from specdemo.session.seats import AT_ONCE, Seats
from specdemo.session.turns import SLICE_S
from specdemo.trace import load
from specdemo.ui import door
from specdemo.ui.serve import TRACES

LIMIT_S = 20.0
PAIR = CATALOGUE["embedded"]
ANNA, BERT = "anna" * 8, "bert" * 8


@pytest.fixture(scope="module")
def pair():
    """One that never stops of itself."""
    return replace(tiny_pair(max_position_embeddings=4096), stop_ids=frozenset())


def session_of(pair, turns=None):
    """With the pair in memory, since loading takes a turn, too."""
    session = Session(Library(TRACES), Here(load=lambda spec, progress: pair, turns=turns))
    assert session.place.pairs.get(PAIR).done.wait(LIMIT_S)
    return session


def workers():
    return {thread for thread in threading.enumerate() if thread.name.startswith("job ")}


@pytest.fixture(autouse=True)
def told_often(monkeypatch):
    """What happens within a run is seen while it goes on, though these models need no time."""
    monkeypatch.setattr(run_module, "update_s", lambda pair, near: 0.01)


def until(condition, what):
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end, f"waited {LIMIT_S} s for: {what}"
        time.sleep(0.002)


def last(deltas):
    return json.loads(list(deltas)[-1])


def first_round(deltas):
    """Read a run until it writes; its id."""
    while not (delta := json.loads(next(deltas))).get("spec"):
        pass
    assert delta["phase"]["name"] == "running", "it is over already"
    return delta["run"]


def wait_for(deltas, phase):
    """Read a run until it is in a phase; this phase."""
    seen = []
    until(lambda: seen.append(json.loads(next(deltas))["phase"]) or seen[-1]["name"] == phase, phase)
    return seen[-1]


def ids_of(session, run):
    log = session._runs.get(run).look()
    return {lane: [event.token_id for r in log.rounds[lane] for event in r.events] for lane in LANES}


class Busy:
    """Somebody who has the machine until `go`."""

    def __init__(self, turns, seconds=None):
        self.go, here = threading.Event(), threading.Event()

        def hold():
            with turns.queued(self, seconds) as came:
                came(None)
                here.set()
                self.go.wait(LIMIT_S)

        threading.Thread(target=hold, daemon=True).start()
        assert here.wait(LIMIT_S)


@pytest.fixture
def busy():
    """`busy(turns)` occupies them; all are let go in the end."""
    made = []
    yield lambda turns, seconds=None: made.append(Busy(turns, seconds)) or made[-1]
    for one in made:
        one.go.set()


# -- the line ---------------------------------------------------------------------------------------------------------


def test_a_wait_is_what_those_before_still_need():
    now = [100.0]
    turns = Turns(clock=lambda: now[0])
    with ExitStack() as stack:
        for ticket, seconds in (("served", 12.0), ("b", 5.0), ("c", 7.0), ("d", None), ("e", 1.0)):
            came = stack.enter_context(turns.queued(ticket, seconds))
            assert came(0) == (ticket == "served")
        now[0] += 4
        assert [turns.ahead(ticket) for ticket in "bcde"] == [1, 2, 3, 4] and turns.ahead("served") == 0
        assert [turns.wait(ticket) for ticket in "bcde"] == [8.0, 13.0, 20.0, None]
        now[0] += 60  # it takes longer than was thought
        assert [turns.wait(ticket) for ticket in "bc"] == [0.0, 5.0]


def test_two_at_a_time_where_that_is_asked_for(busy):
    turns = Turns(at_once=2)
    first, second = busy(turns, 10.0), busy(turns, 10.0)
    came = threading.Event()

    def third():
        with turns.queued("third") as here:
            here(None)
            came.set()

    threading.Thread(target=third, daemon=True).start()
    until(lambda: turns.ahead("third") == 2, "the line")
    assert turns.wanted and not came.is_set() and turns.wait("third") == pytest.approx(10, abs=LIMIT_S / 2)
    second.go.set()
    assert came.wait(LIMIT_S) and not first.go.is_set()


def test_a_forecast_is_the_median_of_late_runs_of_that_pair():
    forecast = Forecast()
    assert forecast.seconds("a", 10) is None
    for seconds in (9.0, 1.0, 2.0):
        forecast.learn("a", 10, seconds)
    forecast.learn("b", 1, 50.0)
    forecast.learn("a", 0, 100.0)  # no run, but a question about the pair
    assert forecast.seconds("a", 30) == 6.0 and forecast.seconds("b", 2) == 100.0
    for _ in range(30):
        forecast.learn("a", 10, 5.0)
    assert forecast.seconds("a", 10) == 5.0 and forecast.seconds("b", 1) is None


def test_a_run_that_waits_tells_its_place_and_about_how_long(pair, busy):
    session = session_of(pair)
    assert last(session.run(prompt="the hand", length=20))["phase"]["name"] == "done"
    busy(session.place.turns, 7.0)
    rate = session.place.turns.forecast.seconds(PAIR, 1)
    assert rate > 0
    with closing(session.run(prompt="the hand", length=1000)) as one, closing(session.run(prompt="a")) as two:
        assert wait_for(one, "waiting")["ahead"] == 1
        phase = wait_for(two, "waiting")
        while phase["ahead"] != 2:
            phase = json.loads(next(two))["phase"]
        assert 2000 * rate <= phase["seconds"] <= 2000 * rate + 7


def test_two_runs_at_a_time_write_what_each_writes_alone(pair):
    session = session_of(pair, turns=Turns(at_once=2))
    prompts = ("the hand", "and in")
    together = [session.run(prompt=prompt, seed=4, length=120) for prompt in prompts]
    runs = [first_round(deltas) for deltas in together]
    assert not session.place.turns.wanted
    for deltas in together:
        assert last(deltas)["phase"]["name"] == "done"
    alone = [last(session.run(prompt=prompt, seed=4, length=120))["run"] for prompt in prompts]
    assert [ids_of(session, run) for run in runs] == [ids_of(session, run) for run in alone]


# -- measurements in the same line ------------------------------------------------------------------------------------


@dataclass
class Found:
    """What these tests measure: how many steps were done."""

    steps: int

    @property
    def progress(self):
        return {"steps": self.steps}


def counting(session, end):
    """Measurements that count until `end()`."""

    def begin(pair):
        steps = 0
        while not end():
            steps += 1
            yield Found(steps)
            time.sleep(0.001)

    def plan(request, question):
        return Plan({}, Work(request.pair, begin, 1, patient=True))

    return Measurements(session, plan, lambda found, *_: {"steps": found.steps})


def test_a_measurement_goes_behind_a_run_that_waits_and_goes_on_after_it(pair, monkeypatch):
    """It would go on for ever unless the run had its turn."""
    monkeypatch.setattr(place_module, "SLICE_S", 0.01)
    session, ran = session_of(pair), threading.Event()
    counts = counting(session, ran.is_set)
    told = counts.start({"fields": {"prompt": "a"}})
    until(lambda: counts.look(told)["phase"]["name"] == "running", "the measurement")
    deltas = session.run(prompt="the hand", length=200)
    first_round(deltas)
    until(lambda: counts.look(told)["phase"]["name"] == "waiting", "it to wait")
    waiting = counts.look(told)
    assert waiting["phase"]["ahead"] == 1 and waiting["shown"]["steps"]
    assert last(deltas)["phase"]["name"] == "done"
    until(lambda: counts.look(told)["news"] > waiting["news"], "it goes on")
    assert counts.look(told)["phase"]["name"] == "running"
    ran.set()
    until(lambda: counts.look(told)["phase"]["name"] == "done", "its end")


def test_a_run_waits_no_longer_for_a_measurement_than_a_slice(pair):
    session, stop = session_of(pair), threading.Event()
    counts = counting(session, stop.is_set)
    told = counts.start({"fields": {"prompt": "a"}})
    until(lambda: counts.look(told)["phase"]["name"] == "running", "the measurement")
    with closing(session.run(prompt="the hand")) as deltas:
        assert wait_for(deltas, "waiting")["seconds"] <= SLICE_S
    stop.set()


def test_measurements_take_turns_with_each_other(pair, monkeypatch):
    monkeypatch.setattr(place_module, "SLICE_S", 0.01)
    session, stop = session_of(pair), threading.Event()
    counts = counting(session, stop.is_set)
    told = [counts.start({"fields": {"prompt": "a"}}) for _ in range(3)]
    until(lambda: all(counts.look(one)["news"] > 20 for one in told), "all of them to go on")
    stop.set()


def test_a_measurement_is_given_up_although_others_are_looked_at(pair, monkeypatch):
    """Seen: whoever looked at a measurement renewed all of them."""
    now = [0.0]
    monkeypatch.setattr(place_module, "SLICE_S", 0.0)
    monkeypatch.setattr(measurement_module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    session, stop = session_of(pair), threading.Event()
    counts = counting(session, stop.is_set)
    left, watched = (counts.start({"fields": {"prompt": "a"}}) for _ in range(2))
    kept = counts._kept.get(left["run"])
    for _ in range(4):
        now[0] += 0.4 * measurement_module.LEASE_S
        assert counts.look(watched)["phase"]["name"] != "stopped"
        counts.start({"fields": {"prompt": "a"}})
    until(lambda: kept.over, "the end of what nobody looks at")
    assert counts.look(watched)["phase"]["name"] != "stopped"
    stop.set()


def test_a_hidden_tab_that_looks_once_a_minute_keeps_its_measurement(pair, monkeypatch):
    now, steps = [0.0], []
    monkeypatch.setattr(measurement_module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    session, stop = session_of(pair), threading.Event()
    counts = counting(session, lambda: steps.append(1) or stop.is_set())
    told = counts.start({"fields": {"prompt": "a"}})
    for _ in range(3):
        now[0] += 60.0
        done = len(steps)
        until(lambda done=done: len(steps) > done + 2 or counts._kept.get(told["run"]).over, "more of it")
        assert counts.look(told)["phase"]["name"] == "running"
    stop.set()


# -- one run for each page --------------------------------------------------------------------------------------------


def test_a_second_run_of_a_page_ends_the_first_at_once(pair):
    session = session_of(pair)
    other = session.run(page=BERT, prompt="and", length=1000)
    run = first_round(other)
    first = session.run(page=ANNA, prompt="the hand", length=1000)
    wait_for(first, "waiting")
    second = session.run(page=ANNA, prompt="the hand", length=5)  # the first one waits
    wait_for(second, "waiting")
    assert [json.loads(delta)["phase"]["name"] for delta in first] == ["stopped"]
    third = session.run(page=BERT, prompt="and", length=7)  # the first one writes
    next(third)
    assert last(other)["phase"]["name"] == "stopped" and len(ids_of(session, run)["plain"]) < 1000
    assert last(second)["phase"]["name"] == "done"
    assert len(ids_of(session, last(third)["run"])["plain"]) == 7


def test_a_fork_replaces_the_run_of_its_page_too(pair):
    session = session_of(pair)
    former = last(session.run(page=ANNA, prompt="the hand", length=9))["run"]
    going = session.run(page=ANNA, prompt="the hand", length=1000)
    first_round(going)
    fork = session.fork({"page": ANNA, "run": former, "lane": "plain", "round": 3, "event": 0, "token": 70})
    next(fork)
    assert last(going)["phase"]["name"] == "stopped" and last(fork)["phase"]["name"] == "done"


def test_who_has_no_page_ends_nothing_and_a_refused_run_neither(pair):
    session = session_of(pair)
    runs = [session.run(prompt="the hand", length=1000), session.run(page=ANNA, prompt="the hand", length=1000)]
    for deltas in runs:
        next(deltas)
    with closing(session.run(prompt="a")) as another:
        next(another)
        refused = json.loads(*session.run(page=ANNA, prompt="a", k=99))
        assert refused["phase"]["sentence"]["en"].startswith("K is 99")
        assert "stopped" not in {json.loads(next(deltas))["phase"]["name"] for deltas in runs}
    for deltas in runs:
        deltas.close()


def test_a_measurement_ends_the_former_of_its_kind_and_page(pair, monkeypatch):
    monkeypatch.setattr(place_module, "SLICE_S", 0.0)
    session, stop = session_of(pair), threading.Event()
    kinds = [counting(session, stop.is_set) for _ in range(2)]
    asked = {"fields": {"prompt": "a"}, "page": ANNA}
    with closing(session.run(page=ANNA, prompt="the hand", length=1000)) as deltas:
        next(deltas)
        first, other = kinds[0].start(asked), kinds[1].start(asked)
        second = kinds[0].start(asked)
        assert kinds[0].look(first)["phase"]["name"] == "stopped"
        assert {kinds[1].look(other)["phase"]["name"], kinds[0].look(second)["phase"]["name"]}.isdisjoint({"stopped"})
        assert json.loads(next(deltas))["phase"]["name"] != "stopped"
    stop.set()


@pytest.mark.parametrize("page", [1, True, "", "short", "x" * 65, [], {}, ["x" * 20], "\ud800" * 3])
def test_what_is_no_id_of_a_page_is_refused(pair, page):
    session = session_of(pair)
    here = {"run": "recorded-english", "lane": "spec", "round": 0, "event": 0, "token": 9}
    for told in (
        json.loads(*session.run(page=page, prompt="a")),
        json.loads(*session.fork({**here, "page": page})),
        counting(session, lambda: True).start({"fields": {"prompt": "a"}, "page": page}),
    ):
        sentence = told["phase"]["sentence"]["en"]
        assert sentence.startswith("Page is ") and sentence.endswith("text of 16 to 64 characters, or nothing.")
        json.dumps(told, ensure_ascii=False).encode()


def test_a_page_whose_run_is_replaced_needs_no_second_seat(pair, busy):
    session = session_of(pair)
    session.seats = Seats(2)
    busy(session.place.turns)
    with closing(session.run(page=ANNA, prompt="a")) as one, closing(session.run(page=BERT, prompt="a")) as two:
        next(one), next(two)
        refused = json.loads(*session.run(prompt="a"))
        assert refused["phase"]["sentence"]["en"].startswith("2 runs are going on or waiting already")
        told = counting(session, lambda: True).start({"fields": {"prompt": "a"}})
        assert told["phase"]["sentence"]["en"].startswith("2 runs are going on or waiting already")
        with closing(session.run(page=ANNA, prompt="b")) as again:
            assert json.loads(next(again))["phase"]["name"] != "failed"


# -- limits -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def seconds_a_step(monkeypatch):
    """Each step of a run takes a second; two come before the first round."""
    ticks = defaultdict(itertools.count)
    monkeypatch.setattr(place_module, "time", SimpleNamespace(monotonic=lambda: next(ticks[threading.get_ident()])))


def test_a_run_ends_when_its_time_is_over_keeps_its_text_and_says_so(pair, seconds_a_step):
    whole = session_of(pair)
    all_of_it = ids_of(whole, last(whole.run(prompt="the hand", length=50, seed=1))["run"])
    session = session_of(pair, turns=Turns(most_s=12.5))
    end = last(session.run(prompt="the hand", length=50, seed=1))
    assert end["phase"] == {"name": "done", "spec": "time", "plain": "time", "most": "12.5", "asked": 50}
    log = session._runs.get(end["run"]).look()
    assert sum(len(log.rounds[lane]) for lane in LANES) == 11
    for lane, ids in ids_of(session, end["run"]).items():
        assert ids and ids == all_of_it[lane][: len(ids)]
    assert end["pick"] or end["stats"]["spec"]["emitted"]


def test_only_the_own_turn_counts(pair, busy):
    session = session_of(pair, turns=Turns(most_s=0.5))
    one = busy(session.place.turns)
    deltas = session.run(prompt="the hand", length=1, k=0)
    wait_for(deltas, "waiting")
    time.sleep(0.6)
    one.go.set()
    assert last(deltas)["phase"] == {"name": "done", "spec": "cap", "plain": "cap"}


def test_a_lane_that_ended_by_itself_was_not_cut(pair, seconds_a_step):
    session = session_of(pair, turns=Turns(most_s=2.5))
    end = last(session.run(prompt="the hand", length=1, k=0))
    assert end["phase"] == {"name": "done", "spec": "cap", "plain": "time", "most": "2.5", "asked": 1}


# -- what needs no line -----------------------------------------------------------------------------------------------


def questions_that_need_no_line(session, recorded):
    """Whatever a page shows without a model; each has an answer."""
    here = {"run": recorded, "lane": "spec", "round": 0, "event": 0}
    values = {"tokens": ["a", "b"], "p": [0.5, 0.5], "q": [0.2, 0.8]}
    return {
        "recorded run": session.resync({"run": recorded}),
        "figures": session.inspect(here),
        "rounds": session.rounds({"run": recorded}),
        "saved": session.trace({"run": recorded}),
        "lab": lab.show(values)["rows"],
        "draws": lab.draw_many({**values, "n": 100, "seed": 1})["said"],
        "token in the lab": session.candidates(here).get("tokens"),
    }


def test_recorded_runs_lab_and_lesson_need_no_line(pair, busy):
    session = session_of(pair)
    busy(session.place.turns)
    with ExitStack() as stack:
        for n in range(30):
            next(stack.enter_context(closing(session.run(page=f"student {n:020}", prompt="the hand"))))
        until(lambda: len(session.place.turns._line) == 31, "all of them to wait")
        answers = questions_that_need_no_line(session, "recorded-english")
    assert all(answers.values()), answers


def test_thirty_and_more_who_wait_leave_threads_for_questions(pair, busy, monkeypatch):
    """Seen: each reader of a run held one of the server's forty threads, so that nobody else had an answer."""
    monkeypatch.setattr(run_module, "SILENCE_S", 2 * LIMIT_S)
    monkeypatch.setattr(run_module, "WAITING_S", 2 * LIMIT_S)
    session = session_of(pair)
    one = busy(session.place.turns)

    async def class_at_once():
        transport = httpx.ASGITransport(Starlette(routes=door.routes(session, None)))
        async with httpx.AsyncClient(transport=transport, base_url="http://here", timeout=None) as client:
            asked = {"prompt": "the hand", "length": 2}
            runs = [asyncio.create_task(client.post("/specdemo/run", json=asked)) for _ in range(50)]
            while len(session.place.turns._line) < 51:
                await asyncio.sleep(0.01)
            question = {"run": "recorded-english", "lane": "spec", "round": 0, "event": 0}
            answer = await client.post("/specdemo/ask/inspect", json=question)
            one.go.set()
            return answer, await asyncio.gather(*runs)

    answer, runs = asyncio.run(asyncio.wait_for(class_at_once(), LIMIT_S))
    assert answer.json()["position"]
    assert [last(run.text.splitlines())["phase"]["name"] for run in runs] == ["done"] * 50


def test_a_recording_is_read_once_for_all_who_open_it_together(monkeypatch):
    """Seen: thirty who opened the page at once had it read thirty times, and waited for all of them."""
    read, library = [], Library(TRACES)
    monkeypatch.setattr(library_module, "load", lambda path: time.sleep(0.05) or read.append(path) or load(path))
    with ThreadPoolExecutor(8) as students:
        logs = list(students.map(library.get, ["recorded-english"] * 8))
    assert len(read) == 1 and all(log is logs[0] for log in logs)


# -- what is kept -----------------------------------------------------------------------------------------------------


def test_the_store_keeps_what_still_goes_on():
    store = Store(capacity=2)
    params = Request.of(prompt="x").params
    logs = {name: Log(name, prompt="x", params=params, k=1, phase=Phase("waiting")) for name in "abcd"}
    logs["b"].phase = Phase("done")
    for name, log in logs.items():
        store.put(name, log)
    assert [store.get(name) is not None for name in "abcd"] == [True, False, True, True]
    logs["a"].phase = logs["c"].phase = Phase("stopped")
    store.put("b", logs["b"])
    assert [store.get(name) is not None for name in "abcd"] == [False, True, False, True]


def test_a_measurement_is_forgotten_after_its_time():
    now = [0.0]
    store = Store(clock=lambda: now[0], lifetime_s=10)
    store.put("a", SimpleNamespace(look=lambda: Sheet("a", Phase("done"), {})))
    now[0] = 11
    assert store.get("a") is None
    store.put("b", SimpleNamespace(look=lambda: Sheet("b", Phase("done"), {})))
    assert list(store._kept) == ["b"]


def test_what_is_over_keeps_no_pair_and_no_thread(pair):
    class Held:
        """Something that a pair holds."""

    made = []

    def load(spec, progress):
        held = Held()
        made.append(weakref.ref(held))
        return replace(pair, target=replace(pair.target, open=lambda held=held: pair.target.open()))

    session, before = Session(place=Here(load=load)), workers()
    end = last(session.run(prompt="the hand", length=5))
    checks = counting(session, lambda: True)
    told = checks.start({"fields": {"prompt": "a"}})
    until(lambda: checks.look(told)["phase"]["name"] == "done", "its end")
    assert session._runs.get(end["run"]) and made[0]()
    session.place.pairs._loadings.clear()
    until(lambda: gc.collect() is not None and made[0]() is None, "nobody to hold the pair")
    until(lambda: workers() <= before, "the workers' end")


def objects():
    gc.collect()
    return Counter(type(thing).__name__ for thing in gc.get_objects())


def test_memory_stays_flat_over_hundreds_of_runs(pair, monkeypatch):
    """What the server keeps is full after the first runs; from then on no kind of thing becomes more."""
    monkeypatch.setattr(run_module, "update_s", lambda pair, near: 0.0)
    session, others = session_of(pair), workers()
    session._runs = Store(capacity=8)
    checks = counting(session, lambda: True)
    checks._kept = Store(capacity=8)

    def students(count):
        for n in range(count):
            page = f"student {n:020}"
            deltas = session.run(page=page, prompt="the hand", length=2, seed=1)
            if n % 3 == 0 and n < count - 8:  # the last ones, which are kept, are alike
                next(deltas)
                deltas.close()  # a tab that is closed
            else:
                last(deltas)
            told = checks.start({"fields": {"prompt": "a"}, "page": page})
            until(lambda told=told: checks.look(told)["phase"]["name"] == "done", "its end")
        until(lambda: workers() <= others, "the workers' end")

    students(60)  # seats, stores and forecast are full now
    before = objects()
    students(150)
    more = {kind: count - before[kind] for kind, count in objects().items() if count - before[kind] > 50}
    assert not more, f"after 150 more runs there are more: {more}"
    alive = Counter(type(thing).__name__ for thing in gc.get_objects() if type(thing) in (Run, Measurement))
    assert alive["Run"] <= 8 + AT_ONCE and alive["Measurement"] <= 8 + AT_ONCE


def test_a_forecast_learns_at_least_what_the_clocks_of_the_lanes_say(pair):
    session = session_of(pair)
    end = last(session.run(prompt="the hand", length=40))
    rounds = session._runs.get(end["run"]).look().rounds
    clocks = sum(measure(rounds[lane]).seconds + measure(rounds[lane]).prefill_s for lane in LANES)
    assert session.place.turns.forecast.seconds(PAIR, 2 * 40) >= clocks

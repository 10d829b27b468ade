"""What the server answers to the page's scripts, and to anybody else: never a failure of its own."""

import json
import threading

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.testclient import TestClient
from tiny import tiny_pair

from specdemo.session import Here, Library, Session
from specdemo.session import run as run_module
from specdemo.session.seats import AT_ONCE
from specdemo.trace import from_json
from specdemo.ui import door, malformed
from specdemo.ui.api import RUNS
from specdemo.ui.questions import questions
from specdemo.ui.serve import TRACES

JSON = {"content-type": "application/json"}
RECORDED = "recorded-english"
QUESTIONS = tuple(questions(Session()))
ASKED = ("run", "lane", "round", "event", "theme", "shown", "language", "spec", "plain", "u", "current", "text", "size")
ANYTHING = (None, True, 0, -1, 10**40, 1.5, "", "x", "recorded", [], [1, 2], {}, {"a": [None]})


@pytest.fixture(scope="module")
def session():
    return Session(Library(TRACES), Here(load=lambda spec, progress: tiny_pair()))


@pytest.fixture
def client(session):
    guard = [Middleware(malformed.Malformed)]
    return TestClient(Starlette(routes=door.routes(session, None), middleware=guard))  # raises whatever the server raises


def told(response):
    return [json.loads(line) for line in response.text.splitlines()]


def test_a_run_is_a_line_an_update_and_can_be_asked_about(client):
    response = client.post("/specdemo/run", json={"prompt": "the hand", "length": 6, "k": 2, "seed": 1})
    deltas = told(response)
    assert response.status_code == 200 and deltas[-1]["phase"]["name"] == "done"
    run = {"run": deltas[-1]["run"]}
    trace = from_json(client.post("/specdemo/ask/trace", json=run).json())
    assert len(trace.baseline) == 6 == len(client.post("/specdemo/ask/resync", json=run).json()["plain"])
    assert client.post("/specdemo/ask/inspect", json={**run, "lane": "plain", "round": 0, "event": 0}).json()[
        "position"
    ]


@pytest.mark.parametrize(("host", "near"), [("127.0.0.1", True), ("::1", True), ("192.0.2.7", False)])
def test_who_reads_on_this_machine_is_told_in_a_rhythm_of_its_own(session, monkeypatch, host, near):
    seen = []
    monkeypatch.setattr(run_module, "update_s", lambda pair, near: seen.append(near) or 0.0)
    client = TestClient(Starlette(routes=door.routes(session, None)), client=(host, 5000))
    fields = {"prompt": "the hand", "length": 6, "k": 2, "seed": 1, "near": not near}
    run = told(client.post("/specdemo/run", json=fields))[-1]["run"]
    of_run = len(seen)
    leaving = {"run": run, "lane": "plain", "round": 1, "event": 0, "token": 5, "near": not near}
    assert told(client.post("/specdemo/fork", json=leaving))[-1]["phase"]["name"] == "done"
    assert len(seen) > of_run > 0 and set(seen) == {near}


@pytest.mark.parametrize("name", QUESTIONS)
def test_any_question_has_an_answer(client, name):
    questions = [{}, *({"run": RECORDED, field: value} for value in ANYTHING for field in ASKED)]
    for question in [*questions, *({"run": value} for value in ANYTHING)]:
        assert client.post(f"/specdemo/ask/{name}", json=question).status_code == 200, question


@pytest.mark.parametrize("path", [*RUNS, *(f"ask/{name}" for name in QUESTIONS)])
def test_what_is_no_object_is_refused(client, path):
    for body in ("", "x", "[", "null", "[1]", '"x"', "1", "[" * 100_000, b"\xff\xfe"):
        response = client.post(f"/specdemo/{path}", content=body, headers={"content-type": "application/json"})
        assert response.status_code == 400, body
    # the types that a form on another site may send without being asked whether it may
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert client.post(f"/specdemo/{path}", content="{}", headers={"content-type": kind}).status_code == 415


def test_a_question_without_end_is_cut_off(client, monkeypatch):
    monkeypatch.setattr(malformed, "MOST", 1000)
    sent = []

    def endless():
        while len(sent) < 10_000:
            sent.append(100)
            yield b" " * 100

    assert client.post("/specdemo/ask/open", content=endless(), headers=JSON).status_code == 413


@pytest.mark.parametrize("field", ["run", "lane", "round", "event", "u", "token"])
def test_any_fork_is_a_run_or_a_sentence(client, field):
    here = {"run": RECORDED, "lane": "spec", "round": 0, "event": 0, "token": 10**9}
    for value in ANYTHING:
        if (field, value) in [("u", None), ("round", 0), ("event", 0), ("event", 1)]:
            continue
        deltas = told(client.post("/specdemo/fork", content=json.dumps({**here, field: value}), headers=JSON))
        assert deltas[-1]["phase"]["name"] == "failed" and deltas[-1]["phase"]["sentence"], (field, value)


def test_no_such_question(client):
    assert client.post("/specdemo/ask/__init__", json={}).status_code == 404


@pytest.mark.parametrize("name", ["k", "temperature", "top_k", "top_p", "min_p", "seed", "length", "prompt", "pair"])
def test_a_value_that_is_none_is_told_in_one_sentence(client, name):
    for value in (None, [], {}, "x", 1e400, -7, True):
        if (name, value) in [("seed", None), ("prompt", "x")]:
            continue
        (delta,) = told(client.post("/specdemo/run", content=json.dumps({"prompt": "a", name: value}), headers=JSON))
        assert delta["phase"]["name"] == "failed" and delta["phase"]["sentence"]["en"].endswith("."), (name, value)


def test_a_setting_that_does_not_exist_is_told(client):
    for name in ("self", "cls", "kk", "x" * 10_000):
        (delta,) = told(client.post("/specdemo/run", json={"prompt": "a", name: 1}))
        sentence = delta["phase"]["sentence"]["en"]
        assert sentence.startswith(f"There is no setting called '{name[:60]}'; there are prompt, ")


def test_a_full_server_says_so_and_is_free_again():
    gate, tiny = threading.Event(), tiny_pair()
    session = Session(place=Here(load=lambda spec, progress: gate.wait(60) and tiny))
    waiting = [session.run(prompt="a", length=1) for _ in range(AT_ONCE)]
    for run in waiting:
        next(run)
    (refusal,) = session.run(prompt="a")
    assert f"{AT_ONCE} runs are going on or waiting already" in refusal and '"failed"' in refusal
    waiting.pop().close()
    gate.set()
    assert '"done"' in list(session.run(prompt="a", length=1))[-1]
    for run in waiting:
        run.close()
    assert '"done"' in list(session.run(prompt="a", length=1))[-1]


def test_the_default_pair_loads_once_a_page_has_asked_how_it_is():
    loads = []
    session = Session(place=Here(load=lambda spec, progress: loads.append(spec) or tiny_pair()))
    client = TestClient(Starlette(routes=door.routes(session, None)))
    assert session.status() == {"state": "idle"} and loads == []
    states = {client.post("/specdemo/ask/status", json={}).json()["state"] for _ in range(3)}
    assert states <= {"loading", "ready"} and loads == [session.default]


def test_a_load_that_failed_is_told_and_not_begun_again_by_asking():
    loads = []

    def fails(spec, progress):
        loads.append(spec)
        raise RuntimeError("the cable is out")

    session = Session(place=Here(load=fails))
    client = TestClient(Starlette(routes=door.routes(session, None)))
    client.post("/specdemo/ask/status", json={})
    session.place.pairs.peek(session.default).done.wait(60)
    assert client.post("/specdemo/ask/status", json={}).json()["state"] == "failed" and len(loads) == 1

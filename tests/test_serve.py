"""The server as a whole: how it is, who may use it, what it logs and counts, how it stops, and whom it never calls."""

import base64
import io
import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest
from ports import free_port
from starlette.applications import Starlette
from starlette.testclient import TestClient
from tiny import tiny_pair

from specdemo.metrics import measure
from specdemo.models.embedded import target_folder
from specdemo.models.folder import cache_folder
from specdemo.records import Outcome
from specdemo.session import LANES, Here, Library, Session
from specdemo.ui import door, logs, prometheus
from specdemo.ui.api import RUNS
from specdemo.ui.questions import questions
from specdemo.ui.serve import TRACES, _where, open_page

ROOT = Path(__file__).parents[1]
LOGIN = ("teacher", "a:b ü")
LIMIT_S = 60


def session_of(load=lambda spec, progress: tiny_pair()) -> Session:
    return Session(Library(TRACES), Here(load=load))


def run_to_end(session: Session, **fields) -> dict:
    return json.loads(list(session.run(**{"prompt": "the hand", "length": 8, "k": 2, "seed": 1, **fields}))[-1])


# -- where it is ------------------------------------------------------------------------------------------------------


def test_who_opens_it_to_the_room_is_told_what_the_room_has_to_type(monkeypatch):
    monkeypatch.setattr("specdemo.ui.serve.gethostname", lambda: "lectern")
    assert _where("http://127.0.0.1:7861/", others=False) == "The page is at http://127.0.0.1:7861/"
    told = _where("http://127.0.0.1:7861/", others=True)
    assert "http://lectern:7861/" in told and told.endswith("this machine's address, port 7861")


# -- how it is --------------------------------------------------------------------------------------------------------


def health(session: Session) -> tuple[int, str]:
    answer = TestClient(Starlette(routes=door.routes(session, None))).get("/specdemo/health")
    return answer.status_code, answer.json()["state"]


def test_it_is_ready_once_a_pair_is_there_and_until_it_is_closed():
    gate = threading.Event()
    session = session_of(lambda spec, progress: gate.wait(LIMIT_S) and tiny_pair())
    assert health(session) == (503, "loading")
    session.preload()
    assert health(session) == (503, "loading")
    gate.set()
    session.place.pairs.get(session.default).done.wait(LIMIT_S)
    assert health(session) == (200, "ready")
    session.close()
    assert health(session) == (503, "stopping")
    assert run_to_end(session)["phase"]["sentence"]["en"] == "The server is being stopped; try again when it is back."


def test_a_pair_that_cannot_be_loaded_is_told():
    def fails(spec, progress):
        raise RuntimeError("the cable is out")

    session = session_of(fails)
    session.preload()
    session.place.pairs.peek(session.default).done.wait(LIMIT_S)
    assert health(session) == (503, "failed")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts as Linux does")
def test_a_server_at_rest_takes_nothing_from_a_run():
    """Seen: gradio's queue woke a thousand times a second to look for work, 6 % of a core while a run went on."""
    page = open_page(session_of(), port=free_port(), quiet=True)
    try:
        woken = [times_woken(page.server.thread.native_id)]
        for _ in range(2):
            time.sleep(1)
            woken.append(times_woken(page.server.thread.native_id))
    finally:
        page.close(verbose=False)
    assert min(b - a for a, b in zip(woken, woken[1:])) < 300


def times_woken(thread: int) -> int:
    """How often it has gone on after a wait."""
    status = Path(f"/proc/self/task/{thread}/status").read_text()
    return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status, re.MULTILINE)[1])


# -- who may use it ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def guarded():
    page = open_page(session_of(), port=free_port(), login=LOGIN, metrics=True, quiet=True)
    yield page.local_url.rstrip("/")
    page.close(verbose=False)


def basic(text: str) -> dict[str, str]:
    return {"authorization": f"Basic {base64.b64encode(text.encode()).decode()}"}


OURS = [
    *(("GET", path) for path in ("plotly", "dictionary.js", "scripts/page.js", "metrics")),
    *(("POST", path) for path in (*RUNS, *(f"ask/{name}" for name in questions(Session())), "ask/nothing")),
]


@pytest.mark.parametrize(("method", "path"), OURS)
def test_nothing_of_ours_is_open_without_the_login(guarded, method, path):
    wrong = [{}, basic("teacher:wrong"), basic("teacher"), basic(":"), {"authorization": "Basic é"}]
    wrong += [{"authorization": "Bearer x"}, {"authorization": "Basic"}, {"cookie": "access-token-x=None"}]
    for headers in wrong:
        headers = {name: value.encode("latin-1") for name, value in headers.items()}
        assert httpx.request(method, f"{guarded}/specdemo/{path}", headers=headers).status_code == 401, headers
    answer = httpx.request(method, f"{guarded}/specdemo/{path}", headers=basic(":".join(LOGIN)))
    assert answer.status_code in (200, 404, 415)  # 415: let through, and told what is missing


def test_gradio_s_form_opens_our_addresses_too(guarded):
    with httpx.Client(base_url=guarded) as browser:
        assert browser.get("/config").status_code == 401
        assert browser.post("/login", data={"username": LOGIN[0], "password": "wrong"}).status_code == 400
        assert browser.get("/specdemo/plotly").status_code == 401
        assert browser.post("/login", data={"username": LOGIN[0], "password": LOGIN[1]}).status_code == 200
        assert browser.get("/config").status_code == 200 == browser.get("/specdemo/plotly").status_code
        asked = browser.post("/specdemo/ask/status", json={})
        assert asked.status_code == 200
        tokens = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
        browser.get("/logout")
        assert tokens and httpx.get(f"{guarded}/specdemo/plotly", headers={"cookie": tokens}).status_code == 401


def test_other_spellings_of_an_address_open_nothing(guarded):
    port = int(guarded.rpartition(":")[2])
    for path in ("//specdemo/plotly", "/x/../specdemo/plotly", "/%73pecdemo/plotly", "/specdemo/scripts/../plotly"):
        with socket.create_connection(("127.0.0.1", port)) as raw:
            raw.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            assert raw.makefile("rb").readline().split()[1] in (b"401", b"404"), path


def test_the_health_needs_no_login(guarded):
    assert httpx.get(f"{guarded}/specdemo/health").json()["state"] in ("loading", "ready")


# -- what it logs and counts ------------------------------------------------------------------------------------------


@pytest.fixture
def logged():
    """What is logged; logging is afterwards as it was."""
    root, stream = logging.getLogger("specdemo"), io.StringIO()
    before = root.handlers, root.level, root.propagate
    logs.write_to(stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.handlers, root.propagate = before[0], before[2]
    root.setLevel(before[1])


def test_a_run_is_one_line_without_its_prompt(logged):
    session = session_of()
    logs.log_runs(session, prompts=False)
    told = run_to_end(session, prompt="a secret 秘密")
    rounds = session.lanes(told["run"])
    spec, plain = (measure(rounds[lane]) for lane in LANES)
    (line,) = logged()
    assert (line["event"], line["level"], line["end"], line["reason"]) == ("run", "info", "done", told["phase"]["spec"])
    assert (line["tokens"], line["target_only_tokens"]) == (spec.emitted, plain.emitted)
    assert line["acceptance"] == round(spec.acceptance, 4) and line["pair"] == "embedded"
    assert 0 < line["seconds"] < LIMIT_S and line["time"].endswith("+00:00")
    assert told["run"].startswith(line["run"]) and len(line["run"]) < len(told["run"]) // 2
    assert "secret" not in str(line) and "秘密" not in str(line)


def test_the_prompt_is_logged_where_that_is_asked_for(logged):
    session = session_of()
    logs.log_runs(session, prompts=True)
    run_to_end(session, prompt='a "secret"\n秘密\ud800')
    assert [line["prompt"] for line in logged()] == ['a "secret"\n秘密\ufffd']


def test_a_refusal_a_stop_and_a_failure_are_lines_too(logged):
    def load(spec, progress):
        if spec.name == "gpt2-xl":
            raise RuntimeError("the cable is out")
        return tiny_pair()

    session = session_of(load)
    logs.log_runs(session, prompts=False)
    run_to_end(session, prompt=" ")
    run_to_end(session, pair="gpt2-xl")
    run = session.run(prompt="the hand", length=1000)
    next(run)
    run.close()
    runs = [line for line in logged() if line["event"] == "run"]
    assert [(line["end"], line["reason"]) for line in runs] == [
        ("refused", "prompt_empty"),
        ("failed", "load_failed"),
        ("stopped", None),
    ]
    (fault,) = [line for line in logged() if line["event"] != "run"]
    assert "the cable is out" in fault["traceback"] and fault["level"] == "error"


def samples(client: TestClient) -> dict[str, float]:
    lines = client.get("/specdemo/metrics").text.splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}


def test_what_is_counted_is_what_was_run():
    session = session_of()
    client = TestClient(Starlette(routes=door.routes(session, None, prometheus.routes(session))))
    before = samples(client)
    assert before["specdemo_ready"] == 0 and before['specdemo_runs_total{end="done"}'] == 0
    ids = [run_to_end(session, seed=seed)["run"] for seed in (1, 2)]
    run_to_end(session, k=99)
    after = samples(client)
    events = [e for i in ids for lane in session.lanes(i).values() for round_ in lane for e in round_.events]
    for outcome in Outcome:
        assert after[f'specdemo_tokens_total{{outcome="{outcome}"}}'] == sum(e.outcome is outcome for e in events)
    assert after['specdemo_runs_total{end="done"}'] == 2 == after["specdemo_run_seconds_count"]
    assert after['specdemo_failures_total{reason="out_of_range"}'] == 1 == after['specdemo_runs_total{end="refused"}']
    assert after["specdemo_ready"] == 1 and after["specdemo_waiting"] == 0
    shares = [measure(session.lanes(i)["spec"]).acceptance for i in ids]
    assert after["specdemo_run_acceptance_sum"] == pytest.approx(sum(shares))


def test_those_who_wait_are_counted():
    session = session_of()
    client = TestClient(Starlette(routes=door.routes(session, None, prometheus.routes(session))))
    run_to_end(session)
    with session.place.turns.queued("another"):
        runs = [session.run(prompt="the hand", length=1) for _ in range(3)]
        for run in runs:
            while '"waiting"' not in next(run):
                pass
        assert samples(client)["specdemo_waiting"] == 3
    for run in runs:
        list(run)
    assert samples(client)["specdemo_waiting"] == 0


def test_counts_are_off_unless_asked_for():
    client = TestClient(Starlette(routes=door.routes(session_of(), None)))
    assert client.get("/specdemo/metrics").status_code == 404


# -- how it stops, and whom it never calls ----------------------------------------------------------------------------

TINY = """
import sys
from dataclasses import replace
from tiny import tiny_pair
from specdemo.ui import serve

pair = replace(tiny_pair(max_position_embeddings=4096), stop_ids=frozenset())
serve.load_pair = lambda spec, **how: pair
sys.exit(serve.serve(port=int(sys.argv[1])))
"""


class Served:
    """A server in a process of its own, up and ready."""

    def __init__(self, code: str, *words: str) -> None:
        self.port = free_port()
        path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
        command = [sys.executable, "-c", code, str(self.port), *words]
        pipe = subprocess.PIPE
        environment = {**os.environ, "PYTHONPATH": path}
        self.process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=ROOT, env=environment)
        assert "The page is at" in self.process.stdout.readline()
        self.url = f"http://127.0.0.1:{self.port}"
        until = time.monotonic() + LIMIT_S
        while httpx.get(f"{self.url}/specdemo/health").status_code != 200:
            assert time.monotonic() < until
            time.sleep(0.1)

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Exit status, and what it wrote to stderr."""
        self.process.send_signal(number)
        try:
            _, err = self.process.communicate(timeout=LIMIT_S)
        finally:
            self.process.kill()
        return self.process.returncode, err


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals for another process")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_stop_tells_the_readers_of_runs_and_ends_with_its_status(number, status):
    served = Served(TINY)
    with httpx.stream("POST", f"{served.url}/specdemo/run", json={"prompt": "the", "length": 1000}) as answer:
        lines = answer.iter_lines()
        while json.loads(next(lines))["phase"]["name"] != "running":
            pass
        ended = {}
        stopping = threading.Thread(target=lambda: ended.update(zip(("status", "err"), served.stop(number))))
        stopping.start()
        *_, last = lines
    stopping.join(LIMIT_S)
    assert json.loads(last)["phase"] == {"name": "stopped"}
    assert ended["status"] == status and "Traceback" not in ended["err"]
    assert [json.loads(line)["end"] for line in ended["err"].splitlines() if '"event": "run"' in line] == ["stopped"]


WATCHED = """
import ipaddress, os, sys

def watch(event, args):
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = args[1]
        outside = isinstance(address, tuple) and not ipaddress.ip_address(address[0]).is_loopback
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyname_ex"):
        outside = args[0] not in (None, "localhost", "127.0.0.1", "0.0.0.0")
    else:
        outside = event in ("subprocess.Popen", "os.posix_spawn", "os.exec", "os.system")
    if outside:
        os.write(2, f"OUTSIDE {event} {args!r:.200}\\n".encode())
        raise PermissionError(event)

sys.addaudithook(watch)
"""
COMMAND = """
from specdemo.__main__ import main
sys.exit(main(["serve", "--port", sys.argv[1]]))
"""
CALLS = [
    "import socket; socket.create_connection(('192.0.2.1', 80), timeout=1)",
    "import urllib.request; urllib.request.urlopen('http://example.org')",
    "import subprocess; subprocess.run(['curl', 'http://example.org'])",
    "import socket; socket.socket(type=socket.SOCK_DGRAM).connect(('192.0.2.1', 53))",
]


@pytest.mark.parametrize("call", CALLS)
def test_a_call_to_somebody_else_would_be_seen(call):
    done = subprocess.run([sys.executable, "-c", WATCHED + call], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("OUTSIDE")


def test_it_calls_nobody_but_itself():
    """The whole command on the embedded pair: the page, its scripts, a run."""
    target_folder(cache_folder(), lambda sentence: None)  # which is fetched and converted once, by another process
    served = Served(WATCHED + COMMAND)
    for path in ("/", "/config", "/theme.css", "/specdemo/plotly", "/specdemo/scripts/page.js"):
        assert httpx.get(served.url + path, follow_redirects=True).status_code == 200, path
    asked = {"prompt": "Hello.", "length": 4, "k": 2}
    with httpx.stream("POST", f"{served.url}/specdemo/run", json=asked, timeout=LIMIT_S) as answer:
        *_, last = answer.iter_lines()
    assert json.loads(last)["phase"]["name"] == "done"
    status, err = served.stop()
    assert status == 0 and "OUTSIDE" not in err, err

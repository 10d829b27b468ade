"""The endpoints for scripts, over HTTP by gradio's own client: what they say they take is what they take."""

import json
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from browsing import Endless
from gradio_client import Client
from gradio_client.exceptions import AppError, AuthenticationError
from ports import free_port
from test_serve import session_of
from test_session import until

from specdemo.cli.arguments import parser
from specdemo.metrics import measure
from specdemo.models import CATALOGUE
from specdemo.pace import USUAL_K
from specdemo.records import USUAL_TEMPERATURE
from specdemo.session import LANES, Here, Session
from specdemo.trace import from_json
from specdemo.ui import serve
from specdemo.ui.serve import open_page

ROOT = Path(__file__).parents[1]
LIMIT_S = 60
ENDPOINTS = {"/run", "/cancel", "/trace", "/recordings", "/pairs", "/check"}


def client_of(url: str) -> Client:
    return Client(url, verbose=False, analytics_enabled=False)


@pytest.fixture(scope="module")
def page():
    page = open_page(session_of(), port=free_port(), quiet=True)
    yield page
    page.close(verbose=False)


@pytest.fixture(scope="module")
def client(page):
    return client_of(page.local_url)


def streamed(client: Client, name: str, **asked) -> list:
    return list(client.submit(**asked, api_name=name))


# -- what they say of themselves --------------------------------------------------------------------------------------


def test_scripts_see_these_alone_with_types_and_words(client):
    told = client.view_api(return_format="dict")
    assert set(told["named_endpoints"]) == ENDPOINTS and told["unnamed_endpoints"] == {}
    types = {
        name: {p["parameter_name"]: p["python_type"]["type"] for p in end["parameters"]}
        for name, end in told["named_endpoints"].items()
    }
    assert types["/run"] == {
        "prompt": "str",
        "pair": "str",
        "k": "int | Literal[auto]",
        "temperature": "float",
        "length": "int",
        "seed": "None | int",
        "top_k": "int",
        "top_p": "float",
        "min_p": "float",
        "chat": "bool",
        "target": "str",
        "draft": "str",
    }
    assert types["/cancel"] == types["/trace"] == {"run": "str"} and types["/pairs"] == types["/recordings"] == {}
    assert set(types["/check"]) == set(types["/run"]) - {"length", "target", "draft"} | {"runs"}
    for name, endpoint in told["named_endpoints"].items():
        (result,) = endpoint["returns"]
        assert "Any" not in result["python_type"]["type"] or name in ("/run", "/trace"), name
        assert len(endpoint["description"]) > 40 and "Parameters" not in endpoint["description"]
    assert "lane: str, index: int, tokens: list[dict(text: str, id: int" in str(told["named_endpoints"]["/run"])


def test_what_is_not_said_is_as_on_the_page_and_the_command_line(client):
    told = client.view_api(return_format="dict")["named_endpoints"]
    command = parser()
    for name, words in (("/run", ["generate", "x"]), ("/check", ["check"])):
        usual = {p["parameter_name"]: p["parameter_default"] for p in told[name]["parameters"]}
        assert usual["k"] == command.parse_args(words).k == USUAL_K
        assert usual["temperature"] == command.parse_args(words).temperature == USUAL_TEMPERATURE


# -- what they do -----------------------------------------------------------------------------------------------------


def test_a_run_is_its_rounds_as_they_are_in_its_trace(page, client):
    begun, *rounds, over = streamed(client, "/run", prompt="the hand", length=150, k=2, seed=7)
    assert begun["seed"] == 7 and over["run"] == begun["run"] and over["end"] == "done"
    trace = from_json(json.dumps(client.predict(run=begun["run"], api_name="/trace")))
    assert (trace.params.seed, trace.params.max_new_tokens, trace.k) == (7, 150, 2)
    for lane, kept in (("spec", trace.rounds), ("plain", trace.baseline)):
        told = [one for one in rounds if one["lane"] == lane]
        assert [one["index"] for one in told] == list(range(len(kept)))
        for one, round_ in zip(told, kept):
            assert (one["draft_s"], one["verify_s"], one["other_s"]) == (
                round_.draft_s,
                round_.verify_s,
                round_.other_s,
            )
            tokens = [(t["id"], t["outcome"], t["p"], t["q"], t["u"]) for t in one["tokens"]]
            assert tokens == [(e.token_id, e.outcome, e.p, e.q, e.u) for e in round_.events]
        assert over["text"][lane] == "".join(e.text for round_ in kept for e in round_.emitted)
        stats = measure(kept)
        assert over["stats"][lane]["emitted"] == stats.emitted
    shown = httpx.post(f"{page.local_url}specdemo/ask/resync", json={"run": begun["run"]}).json()["phase"]
    assert {"name": over["end"], **over["why"]} == shown and over["most_s"] is None
    assert streamed(client, "/run", prompt="the hand", length=150, k=2, seed=7)[-1]["text"] == over["text"]


def test_k_may_be_left_to_the_run(client):
    begun, *_ = streamed(client, "/run", prompt="the hand", length=4, k="auto")
    assert client.predict(run=begun["run"], api_name="/trace")["k"] is None


def test_a_run_that_was_cut_by_the_limit_of_time_says_so(endless):
    page, session, _ = endless
    session.place.turns.most_s = 0.05
    over = streamed(client_of(page.local_url), "/run", **LONG)[-1]
    assert (over["end"], over["why"], over["most_s"]) == ("done", dict.fromkeys(LANES, "time"), 0.05)


REFUSED = [
    ({"prompt": ""}, "The prompt is empty; write at least one word."),
    ({"prompt": "a", "k": 17}, "K is 17; it must be a whole number from 0 to 16."),
    ({"prompt": "a", "temperature": "hot"}, "Temperature is 'hot'; it must be a number from 0 to 5."),
    ({"prompt": "a", "length": 10**9}, "Length is 1000000000; it must be a whole number from 1 to 1,024."),
    ({"prompt": "a", "seed": [1]}, "Seed is [1]; it must be a whole number from 0 to 2,147,483,647."),
    ({"prompt": "a", "pair": {"a": 1}}, "There is no pair called {'a': 1}; choose one of: embedded, "),
    ({"prompt": "a" * 20_001}, "The prompt has 20,001 characters; it must have at most 20,000."),
]


@pytest.mark.parametrize(("asked", "sentence"), REFUSED, ids=[sentence[:20] for _, sentence in REFUSED])
@pytest.mark.parametrize("name", ["/run", "/check"])
def test_what_is_refused_is_refused_as_on_the_page(page, client, name, asked, sentence):
    if name == "/check" and "length" in asked:
        return
    with pytest.raises(AppError) as error:
        client.predict(**asked, api_name=name)
    assert str(error.value).startswith(sentence)
    told = httpx.post(f"{page.local_url}specdemo/run", json=asked).text
    assert json.loads(told)["phase"]["sentence"]["en"] == str(error.value)


def test_own_models_only_where_the_server_allows_them():
    session = Session(place=Here(load=lambda spec, progress: None), own_models=False)
    page = open_page(session, port=free_port(), quiet=True)
    try:
        with pytest.raises(AppError, match="Models of your own are switched off on this server"):
            client_of(page.local_url).predict(prompt="a", pair="own", target="x", draft="y", api_name="/run")
    finally:
        page.close(verbose=False)


def test_behind_a_login_they_take_it():
    page = open_page(session_of(), port=free_port(), login=("teacher", "secret"), quiet=True)
    try:
        client = Client(page.local_url, auth=("teacher", "secret"), verbose=False, analytics_enabled=False)
        assert streamed(client, "/run", prompt="the hand", length=2)[-1]["end"] == "done"
        with pytest.raises(AuthenticationError):
            client_of(page.local_url)
    finally:
        page.close(verbose=False)


@pytest.mark.parametrize("name", ["/cancel", "/trace"])
def test_a_run_that_is_not_there_is_told(client, name):
    for run in ("nothing", "", "../../etc/passwd", "recorded-../english"):
        with pytest.raises(AppError, match="The server does not keep that run any longer"):
            client.predict(run=run, api_name=name)


def test_recordings_can_be_had_and_replayed(client):
    ids = client.predict(api_name="/recordings")
    assert "recorded-english" in ids
    assert from_json(json.dumps(client.predict(run=ids[0], api_name="/trace"))).baseline


def test_pairs_are_the_catalogue(client):
    told = client.predict(api_name="/pairs")
    assert [(one["name"], one["target"], one["draft"]) for one in told] == [
        (one.name, one.target, one.draft) for one in CATALOGUE.values()
    ]


def test_a_check_tells_how_far_it_is_and_its_verdict(client):
    found = streamed(client, "/check", prompt="the hand", runs=400, seed=3)
    assert all(not one["over"] for one in found[:-1]) and found[-1]["over"]
    last = found[-1]
    assert last["lossless"] and last["runs"] == last["asked"] == 400 and last["miscast_coins"] == 0
    assert 0 <= last["exact_error"] < 1e-9 and [law["length"] for law in last["laws"]] == [1, 2]
    assert all(0 <= law["p_value"] <= 1 and law["impossible"] == 0 for law in last["laws"])


@pytest.mark.parametrize(
    ("asked", "sentence"), [({"k": "auto"}, "K"), ({"k": 0}, "K"), ({"runs": 0}, "0"), ({"runs": "x"}, "'x'")]
)
def test_a_check_that_cannot_be_is_refused(client, asked, sentence):
    with pytest.raises(AppError) as error:
        client.predict(prompt="a", **asked, api_name="/check")
    assert sentence in str(error.value) and str(error.value).endswith(".")


# -- how they are left ------------------------------------------------------------------------------------------------


@pytest.fixture
def endless():
    """A page whose runs end only when they are stopped, and how many passes their targets have made."""
    pair = Endless()
    session = Session(place=Here(load=lambda spec, progress: pair.pair))
    page = open_page(session, port=free_port(), quiet=True)
    yield page, session, lambda: sum(target.passes for target in pair.targets)
    session.close()
    page.close(verbose=False)


def rests(session: Session, passes) -> bool:
    """Whether the engine has stopped: within the limit, and then for good."""
    until = time.monotonic() + LIMIT_S
    while session.busy and time.monotonic() < until:
        time.sleep(0.05)
    before = passes()
    time.sleep(0.3)
    return not session.busy and passes() == before > 0


def until_written(told) -> str:
    """The id of a run that has written something."""
    begun = next(told)
    while "lane" not in next(told):
        pass
    return begun["run"]


LONG = {"prompt": "the hand", "length": 1000}


def test_a_job_that_is_cancelled_stops_the_engine(endless):
    page, session, passes = endless
    job = client_of(page.local_url).submit(**LONG, api_name="/run")
    run = until_written(iter(job))
    job.cancel()
    assert rests(session, passes)
    assert sum(len(rounds) for rounds in session.lanes(run).values()) < 2000
    assert session.stop({"run": run})["phase"]["name"] == "stopped"


def test_a_run_that_is_cancelled_by_its_id_says_so_to_its_reader(endless):
    page, session, passes = endless
    client = client_of(page.local_url)
    told = iter(client.submit(**LONG, api_name="/run"))
    run = until_written(told)
    assert client.predict(run=run, api_name="/cancel") == {"run": run, "end": "stopped"}
    *_, over = told
    assert (over["end"], over["why"]) == ("stopped", {}) and rests(session, passes)
    assert client.predict(run=run, api_name="/cancel")["end"] == "stopped"


def test_a_check_that_is_stopped_in_the_line_says_so_and_nothing_is_logged(endless, capfd):
    page, session, _ = endless
    client = client_of(page.local_url)
    told = iter(client.submit(**LONG, api_name="/run"))
    until_written(told)
    check = client.submit(prompt="the hand", api_name="/check")
    until(lambda: session.place.turns.wanted, "the check to stand in line")
    for job in session.jobs:
        job.stop()
    with pytest.raises(AppError, match="Stopped"):
        check.result(LIMIT_S)
    assert "Traceback" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("name", ["run", "check"])
def test_a_client_that_goes_away_takes_its_work_with_it(endless, name):
    page, session, passes = endless
    url = f"{page.local_url}gradio_api"
    config = httpx.get(f"{page.local_url}config").json()
    (place,) = (d["id"] for d in config["dependencies"] if d["api_name"] == name)
    asked = {"run": ["the hand", "embedded", 2, 0.8, 1000], "check": ["the hand", 20_000]}[name]
    defaults = {"run": [None, 0, 1.0, 0.0, True, "", ""], "check": ["embedded", 2, 0.8, None, 0, 1.0, 0.0, True]}[name]
    body = {"data": [*asked, *defaults], "fn_index": place, "session_hash": "gone"}
    assert httpx.post(f"{url}/queue/join", json=body).status_code == 200
    with httpx.stream("GET", f"{url}/queue/data?session_hash=gone", timeout=LIMIT_S) as stream:
        for line in stream.iter_lines():
            if "process_generating" in line:
                break
    assert rests(session, passes)


def test_the_example_prints_a_run(page):
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "client.py", "the hand", page.local_url],
        capture_output=True,
        encoding="utf-8",
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stderr
    assert "acceptance 0." in done.stdout and "speed-up" in done.stdout


def test_without_a_client_library_an_address_is_enough(page):
    """As the README shows with curl: one request begins a run, another one streams it."""
    url = f"{page.local_url}gradio_api/call"
    event = httpx.post(f"{url}/v2/run", json={"prompt": "the hand", "length": 3}).json()["event_id"]
    told = httpx.get(f"{url}/run/{event}", timeout=LIMIT_S).text
    last = [line for line in told.splitlines() if line.startswith("data: ")][-1]
    assert json.loads(last.removeprefix("data: "))[0]["end"] == "done" and "event: complete" in told
    assert len({lane for lane in LANES if f'"{lane}"' in told}) == 2


def test_gradio_keeps_nothing_of_calls_that_are_over(monkeypatch):
    monkeypatch.setattr(serve, "_VISITORS", 2)
    page = open_page(session_of(), port=free_port(), quiet=True)
    try:
        for _ in range(4):  # each by a visitor of its own
            assert streamed(client_of(page.local_url), "/run", prompt="the hand", length=2)[-1]["end"] == "done"
        assert len(page.app.state_holder.session_data) <= 2
        assert len(page._queue.event_analytics) <= 1 and page._queue.cached_event_analytics_summary == {"functions": {}}
    finally:
        page.close(verbose=False)

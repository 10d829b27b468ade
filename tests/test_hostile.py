"""Malformed requests: each has an answer, none a failure, a traceback or a file. The long version is `tools.fuzz`."""

import asyncio

import httpx
import pytest
from ports import free_port
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route
from starlette.testclient import TestClient
from test_serve import session_of

from specdemo.ui import door, serve
from specdemo.ui.malformed import Malformed
from specdemo.ui.serve import open_page
from tools.fuzz import fuzz


@pytest.fixture
def page():
    pages = []

    def open_():
        pages.append(open_page(session_of(), port=free_port(), quiet=True))
        return pages[-1].local_url

    yield open_
    for one in pages:
        one.close(verbose=False)


def test_whatever_is_sent_is_answered(page):
    tally = fuzz(page(), seed=0, requests=1000)
    assert tally.faults == []
    assert sum(tally.statuses.values()) > 900 and {200, 400, 404, 405, 415, 422} <= tally.statuses.keys()


class Open:
    """Middleware that lets everything through."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        await self.app(scope, receive, send)


def test_without_the_guard_gradio_fails(page, monkeypatch):
    """What the test above can find."""
    monkeypatch.setattr(serve, "Malformed", Open)
    assert any(fault.startswith("500") for fault in fuzz(page(), seed=0, requests=200).faults)


CLOSED = [
    *(("POST", path) for path in ("upload", "process_recording", "run/run", "api/run", "vibe-edit", "stream/x")),
    *(("GET", path) for path in ("file=/etc/hostname", "file/x", "proxy=http://x", "deep_link?session_hash=x")),
    *(("GET", path) for path in ("heartbeat/x", "runs", "upload_progress?upload_id=x", "custom_component/a/b/c/d")),
    ("POST", "component_server"),
]


def test_addresses_that_nothing_needs_are_closed(page):
    url = page()
    for method, path in CLOSED:
        files = {"files": ("a.txt", b"x")} if path == "upload" else None
        answer = httpx.request(method, f"{url}gradio_api/{path}", files=files)
        assert answer.status_code == 404 and answer.json() == {"error": "There is nothing here."}, path
    assert httpx.get(f"{url}monitoring").status_code == 404


def test_a_fault_of_ours_is_not_put_down_to_the_request():
    session = session_of()
    session.resync = lambda question: 1 / 0
    guarded = Starlette(routes=door.routes(session, None), middleware=[Middleware(Malformed)])
    client = TestClient(guarded, raise_server_exceptions=False)
    assert client.post("/specdemo/ask/resync", json={}).status_code == 500


def test_a_body_without_end_is_cut_off(monkeypatch):
    monkeypatch.setattr("specdemo.ui.malformed.MOST", 10_000)
    taken, told = [], []

    async def endless():
        taken.append(1)
        return {"type": "http.request", "body": b" " * 1000, "more_body": True}

    async def send(message):
        told.append(message)

    async def read(request):
        await request.body()

    app = Starlette(routes=[Route("/x", read, methods=["POST"])], middleware=[Middleware(Malformed)])
    scope = {"type": "http", "method": "POST", "path": "/x", "headers": [], "query_string": b""}
    asyncio.run(app(scope, endless, send))
    assert told[0]["status"] == 413 and len(taken) == 11

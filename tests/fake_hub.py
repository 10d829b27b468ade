"""A hub of our own on localhost: enough of its protocol for the hub's library to list and fetch a repository."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from huggingface_hub import constants

SHA = "0123456789abcdef0123456789abcdef01234567"


class FakeHub:
    """Serves each repository from a folder, or refuses it with (status, error code).

    Of the repositories in `gated` it lists the files and gives out none. `asked` has the names of the files fetched.
    """

    def __init__(self) -> None:
        self.repos: dict[str, Path] = {}
        self.refusals: dict[str, tuple[int, str]] = {}
        self.gated: set[str] = set()
        self.asked: list[str] = []

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body for the path of a request."""
        path = path.partition("?")[0].strip("/")
        repo = "/".join(path.removeprefix("api/models/").split("/")[:2])
        if repo in self.refusals:
            status, code = self.refusals[repo]
            return status, {"X-Error-Code": code, "X-Error-Message": code}, b"{}"
        if repo not in self.repos:
            return 404, {"X-Error-Code": "RepoNotFound"}, b"{}"
        folder = self.repos[repo]
        if path.startswith("api/models/"):
            return 200, {"Content-Type": "application/json"}, json.dumps(_about(repo, folder, path)).encode()
        if repo in self.gated:
            return 403, {"X-Error-Code": "GatedRepo"}, b"{}"
        file = folder / path.split("/", 4)[4]
        if not file.is_file():
            return 404, {"X-Error-Code": "EntryNotFound"}, b""
        return 200, {"ETag": f'"{file.name}-{file.stat().st_size}"', "X-Repo-Commit": SHA}, file.read_bytes()


def _about(repo: str, folder: Path, path: str) -> object:
    files = [file for file in folder.rglob("*") if file.is_file()]
    if "/tree/" in path:
        names = [(str(file.relative_to(folder)), file.stat().st_size) for file in files]
        return [{"type": "file", "path": name, "size": size, "oid": name} for name, size in names]
    return {"id": repo, "modelId": repo, "sha": SHA, "siblings": []}


@contextmanager
def fake_hub(monkeypatch, cache: Path) -> Iterator[FakeHub]:
    """The hub's library talks to a `FakeHub` and keeps what it fetches under `cache`."""
    hub = FakeHub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = hub.answer(self.path)
            if self.command == "GET" and "/resolve/" in self.path and status == 200:
                hub.asked.append(self.path.rpartition("/")[2])
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    endpoint = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", endpoint + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()

"""The package `spaces` as on ZeroGPU, in a process of its own: its worker, its pipe; a scheduler of ours, and no GPU.

Run as a script it makes a tiny pair, asks for runs through `ZeroGPU` and prints what was seen as JSON.
"""

import contextvars
import json
import os
import pickle
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qsl, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402

from specdemo.session.phase import Phase  # noqa: E402
from specdemo.session.raced import Spelled  # noqa: E402


class Scheduler(BaseHTTPRequestHandler):
    """Grants every GPU but one for the visitor "spent", and keeps what it was asked."""

    asked: list[tuple[str, dict[str, str]]] = []

    def do_POST(self):
        url = urlsplit(self.path)
        query = dict(parse_qsl(url.query))
        self.asked.append((url.path, query))
        status, answer = 200, {}
        if url.path == "/schedule" and query.get("token") == "spent":
            status, answer = 429, {"left": 3, "wait": 60}
        elif url.path == "/schedule":
            answer = {"idle": True, "nvidiaIndex": 0, "nvidiaUUID": "none", "allowToken": "a"}
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def stand_in() -> None:
    """What a CUDA build of torch would have, and a device that is there."""
    torch.version.cuda = torch.version.cuda or "12.8"
    if not hasattr(torch._C, "_cuda_init"):
        torch._C._cuda_init, torch.cuda._is_in_bad_fork = int, bool
    server = ThreadingHTTPServer(("127.0.0.1", 0), Scheduler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["SPACES_ZERO_GPU"] = "true"
    os.environ["SPACES_ZERO_DEVICE_API_URL"] = f"http://127.0.0.1:{server.server_port}"


def without_a_gpu() -> None:
    from spaces.zero import wrappers

    wrappers.torch = SimpleNamespace(
        unpatch=wrappers.torch.unpatch,
        enter_mode=wrappers.torch.enter_mode,
        init=lambda uuid: torch.set_num_threads(1),
        size=lambda: 0,
        move=lambda callback: None,
    )


def on_behalf_of(visitor, function):
    """With a request from the page that carries the visitor's token, as in `ui.api`."""
    from gradio.context import LocalContext
    from starlette.requests import Request

    def call():
        headers = [(b"x-ip-token", visitor.encode())]
        LocalContext.request.set(Request({"type": "http", "headers": headers}))
        return function()

    return contextvars.copy_context().run(call)


def main() -> None:
    torch.set_num_threads(1)
    stand_in()
    from test_place import by_lane, tokens, work_of
    from test_session import request
    from tiny import tiny_pair

    from specdemo.session import Here
    from specdemo.space.zero import ZeroGPU, gpu, on_zero

    asked = request(prompt="the 你 and", k=3, seed=11)
    pair = replace(tiny_pair(), notes=())
    decorator = gpu()
    without_a_gpu()
    place = ZeroGPU([asked.pair], decorator, load=lambda spec, device: pair, device="cpu")
    here = Here(load=lambda spec, progress: pair)
    # 1. A run, and the same one here.
    news = on_behalf_of("somebody", lambda: list(place.work(work_of(asked))))
    same = by_lane(tokens(news)) == by_lane(tokens(list(here.work(work_of(asked)))))
    # 2. A run that is closed after its third round, and the next one in the worker.
    closed = place.work(work_of(request(length=400)))
    rounds = 0
    while rounds < 3:
        rounds += isinstance(next(closed), Spelled)
    closed.close()
    after = list(place.work(work_of(asked)))
    # 3. A visitor whose quota is spent, an error in the worker, a pair that is not there.
    spent = on_behalf_of("spent", lambda: list(place.work(work_of(asked))))
    refused = list(place.work(work_of(request(prompt="the " * 600))))
    other = list(place.work(work_of(request(pair="gpt2-xl"))))
    seen = {
        "on_zero": on_zero(),
        "kinds": [type(one).__name__ for one in news if not isinstance(one, Phase)][:2],
        "same": same,
        "again": by_lane(tokens(after)) == by_lane(tokens(news)) and bool(tokens(news)),
        "last": [str(one[-1].values.get("sentence", one[-1].name)) for one in (news, after, spent, refused, other)],
        "about": pickle.loads(pickle.dumps(place.readiness(asked.pair))).pair["name"],
        "asked": Scheduler.asked,
    }
    print(json.dumps(seen))


if __name__ == "__main__":
    main()

"""Malformed requests to every address of a served page. What must never come back: a 5xx, a traceback, a file, nothing.

    python -m tools.fuzz                          5,000 requests to a server of its own, on the embedded pair
    python -m tools.fuzz --requests 1000 --seed 7 --url http://127.0.0.1:7860

It prints how many answers had which status, and each fault with the request that led to it; it exits with 1 for any.
"""

import argparse
import json
import random
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import urlsplit

import httpx

from specdemo.session import Library, Session
from specdemo.session.request import FIELDS
from specdemo.trace import to_json
from specdemo.ui.api import RUNS
from specdemo.ui.questions import questions
from specdemo.ui.serve import TRACES, open_page

#: Seconds of silence that an answer may have; what is valid by chance is worked on, and streams for as long.
LIMIT_S = 20.0

JSON = {"content-type": "application/json"}

QUESTIONS = tuple(questions(Session()))

#: Values of JSON that a field was not made for.
VALUES: tuple[object, ...] = (
    *(None, True, False, 0, -1, 1, 10**40, -(10**40), 2**31, 2**63, 1.5, -0.0, 1e308, float("nan"), float("inf")),
    *("", " ", "x", "0", "1e999", "\x00", "\ud800", "\udfff\ud800", "\u202e", "😀" * 50, "é" * 3000, "a" * 50_000),
    *("<img src=x onerror=alert(1)>", "${7*7}", "{{7*7}}", "{0.__class__}", "%s%n", "';--", "../../../etc/passwd"),
    *("embedded", "own", "auto", "recorded-english", "recorded-../english", "spec", "plain", "__proto__", "dark", "zh"),
    *([], [[]], [None] * 1000, [1, "a", {}], {}, {"a": {"b": [{}]}}, {"": ""}, {"\ud800": 1}, {"__class__": "x"}),
)

#: What questions, runs and measurements are asked with; a field of another one's is hostile, too.
NAMES = (
    *FIELDS,
    *("run", "lane", "round", "event", "theme", "shown", "language", "spec", "plain", "u", "current", "text", "size"),
    *("token", "fields", "runs", "news", "choice", "source", "costs", "alpha", "p", "q", "rule", "draws", "self", ""),
)

#: Files that must not be read, and what no answer may hold: a line of one of them, a traceback, an unforeseen error.
FILES = ("etc/passwd", "proc/self/environ", "README.md", "app.py", "specdemo/words.py", ".git/config")
LEAKS = (
    *("root:x:0", "PATH=", "# specdemo", "SPACE_ID", "class Saying", "[core]", "Traceback (most recent", 'File "/'),
    "failed inside the engine",
)

PREFIXES = (
    *("gradio_api/file=", "gradio_api/file/", "static/", "assets/", "svelte/", "specdemo/scripts/", "specdemo/", ""),
    *("gradio_api/proxy=http://127.0.0.1:22/", "gradio_api/custom_component/", "gradio_api/stream/", "?deep_link="),
)

#: Addresses of gradio's that take JSON.
GRADIO = (
    *("queue/join", "cancel", "reset", "component_server", "call/run", "call/check", "call/trace", "call/nothing"),
    *("call/v2/run", "call/v2/check", "call/v2/cancel", "call/v2/trace", "call/v2/nothing"),
    *("run/run", "api/run", "upload"),
)


@dataclass(frozen=True)
class Attack:
    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    def __str__(self) -> str:
        return f"{self.method} /{self.path[:80]} {self.headers} {self.body[:160]!r}"


def attacks(seed: int) -> Iterator[Attack]:
    """Without end, the same for the same seed."""
    draw = random.Random(seed)
    kinds: list[Callable[[random.Random], Attack]] = [_question, _run, _gradio, _bytes, _path, _trace, _method]
    while True:
        yield draw.choice(kinds)(draw)


def _value(draw: random.Random, depth: int = 0) -> object:
    if depth < 3 and draw.random() < 0.15:
        return {draw.choice(NAMES): _value(draw, depth + 1) for _ in range(draw.randrange(4))}
    return draw.choice(VALUES)


def _asked(draw: random.Random) -> dict[str, object]:
    """An object with a few fields, any of which may be missing or anything."""
    asked: dict[str, object] = {"length": draw.choice((1, 2, "2", 3.0))} if draw.random() < 0.9 else {}
    if draw.random() < 0.5:
        asked |= {"prompt": "the hand", "run": "recorded-english", "lane": "spec", "round": 0, "event": 0}
    return asked | {draw.choice(NAMES): _value(draw) for _ in range(draw.randrange(5))}


def _encoded(draw: random.Random, sent: object) -> bytes:
    return json.dumps(sent, ensure_ascii=draw.random() < 0.7).encode("utf-8", "surrogatepass")


def _question(draw: random.Random) -> Attack:
    name = draw.choice((*QUESTIONS, "nothing", "__init__", "%2e%2e"))
    return Attack("POST", f"specdemo/ask/{name}", JSON, _encoded(draw, _asked(draw)))


def _run(draw: random.Random) -> Attack:
    return Attack("POST", f"specdemo/{draw.choice(list(RUNS))}", JSON, _encoded(draw, _asked(draw)))


def _gradio(draw: random.Random) -> Attack:
    sent = draw.choice((_asked(draw), {"data": [_value(draw) for _ in range(draw.randrange(14))]}, _value(draw)))
    if isinstance(sent, dict):
        odd = {
            "session_hash": draw.choice(("fuzz", _value(draw))),
            "fn_index": draw.choice((*range(60), _value(draw))),
            "component_id": draw.choice((*range(120), _value(draw))),
            "fn_name": draw.choice(("start", "look", "stop", "answer", "candidates", "__class__", _value(draw))),
            "event_id": _value(draw),
            "data": _asked(draw),
        }
        sent = {name: value for name, value in odd.items() if draw.random() < 0.7} | sent
    return Attack("POST", f"gradio_api/{draw.choice(GRADIO)}", JSON, _encoded(draw, sent))


def _bytes(draw: random.Random) -> Attack:
    """A body that is no JSON, or called something else than it is."""
    bodies = (
        *(b"", b"x", b"null", b"[1]", b'"x"', b"{", b'{"a":1', b'{"a":1}{', b"\xff\xfe{", b"\x1f\x8b\x08\x00junk"),
        *(b"[" * 100_000, b'{"a":' * 5000, b'{"u":' + b"9" * 5000 + b"}", b'{"round":1e400}', b'{"run":NaN}'),
        *('{"prompt":"a"}'.encode(code) for code in ("utf-16", "utf-32", "utf-7", "cp037")),
        *(b'{"prompt":"\xed\xa0\x80"}', b'{"prompt":"a","prompt":1}', draw.randbytes(300)),
    )
    kinds = ("application/json", "application/json; charset=utf-16", "text/plain", "multipart/form-data", "\x7f", "")
    path = draw.choice((*(f"specdemo/ask/{q}" for q in QUESTIONS), *(f"specdemo/{r}" for r in RUNS), *_of_gradio()))
    headers = {"content-type": draw.choice(kinds)}
    if draw.random() < 0.2:
        headers["content-encoding"] = draw.choice(("gzip", "br", "nonsense"))
    return Attack(draw.choice(("POST", "POST", "PUT", "GET")), path, headers, draw.choice(bodies))


def _of_gradio() -> Iterator[str]:
    return (f"gradio_api/{name}" for name in GRADIO)


def _path(draw: random.Random) -> Attack:
    ups = ("", "../", "..%2f", "%2e%2e/", "..\\", "%c0%ae%c0%ae/", "/", "....//", "./")
    up = draw.choice(ups) * draw.choice((1, 2, 8))
    odd = draw.choice((draw.choice(FILES), "a" * 6000, "%00", "%ff", "x%0d%0aSet-Cookie:a", "*", "", "con"))
    query = draw.choice(("", "", "?x=%00", "?__theme=<script>", "?lang=${1}", "?session_hash=" + "z" * 4000))
    return Attack(draw.choice(("GET", "GET", "HEAD")), f"{draw.choice(PREFIXES)}{up}{odd}{query}")


def _trace(draw: random.Random) -> Attack:
    """A recorded run with something else at one of its places, as a file that is opened."""
    trace = json.loads(_recorded())
    place = draw.choice([*_places(trace)])
    place[draw.choice([*place] if isinstance(place, dict) else range(len(place)))] = _value(draw)
    asked = {"text": json.dumps(trace), "size": draw.choice((1, None, 10**20, "x"))}
    return Attack("POST", "specdemo/ask/open", JSON, _encoded(draw, asked))


def _places(here: object) -> Iterator[dict | list]:
    """Everything in a value of JSON that holds something."""
    if isinstance(here, dict | list) and here:
        yield here
        for inner in here.values() if isinstance(here, dict) else here:
            yield from _places(inner)


@cache
def _recorded() -> str:
    """The first rounds of the first recording."""
    trace = json.loads(to_json(Library(TRACES).first.trace()))
    return json.dumps({**trace, "rounds": trace["rounds"][:3], "baseline": {"rounds": trace["baseline"]["rounds"][:3]}})


def _method(draw: random.Random) -> Attack:
    method = draw.choice(("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "HEAD", "FOO", "GET", "POST"))
    paths = ("", "config", "specdemo/run", "specdemo/ask/resync", "specdemo/plotly", "login", "logout")
    headers = {draw.choice(("origin", "accept-encoding", "range", "cookie", "x-forwarded-proto")): "x" * 2000}
    return Attack(method, draw.choice((*paths, *_of_gradio())), headers)


@dataclass
class Tally:
    """What came back: how many answers had which status, and what must not be."""

    statuses: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    slowest_s: float = 0.0


def fuzz(url: str, seed: int, requests: int) -> Tally:
    """Send so many requests to the page at `url`, one after another; then it must still write as before."""
    tally = Tally()
    with httpx.Client(base_url=url, timeout=LIMIT_S) as client:
        before = _written(client)
        for _, attack in zip(range(requests), attacks(seed)):
            _send(client, attack, tally)
        try:
            if _written(client) != before:
                tally.faults.append("the same run is another one afterwards")
        except httpx.HTTPError as error:
            tally.faults.append(f"{type(error).__name__}: a run afterwards")
    for line in _garbage():
        _send_raw(url, line, tally)
    return tally


def _send(client: httpx.Client, attack: Attack, tally: Tally) -> None:
    began = time.monotonic()
    try:
        headers = {name: value.encode("latin-1") for name, value in attack.headers.items()}
        # As raw bytes: the library would tidy up a path with dots in it.
        target = client.base_url.copy_with(raw_path=b"/" + attack.path.encode("ascii"))
        answer = client.request(attack.method, target, headers=headers, content=attack.body)
        text = answer.text
        if answer.status_code == 200 and "/call/" in attack.path and attack.method == "POST":
            event = answer.json().get("event_id", "x")
            text = client.get(f"/gradio_api/call/run/{event}").text  # what became of it
    except httpx.LocalProtocolError:
        return  # which cannot even be sent
    except httpx.HTTPError as error:
        tally.faults.append(f"{type(error).__name__}: {attack}")
        return
    tally.slowest_s = max(tally.slowest_s, time.monotonic() - began)
    tally.statuses[answer.status_code] += 1
    leaked = [leak for leak in LEAKS if leak in text]
    if answer.status_code >= 500 or leaked:
        tally.faults.append(f"{answer.status_code} {leaked}: {attack} -> {text[:200]!r}")


def _written(client: httpx.Client) -> str:
    """The text of a run with a seed."""
    asked = {"prompt": "the hand", "length": 12, "seed": 1, "temperature": 0.7}
    lines = client.post("/specdemo/run", json=asked, timeout=120).text.splitlines()
    rounds = [round_ for line in lines for round_ in json.loads(line).get("spec", [])]
    assert rounds, lines[-1:]
    return json.dumps([[event[2] for event in round_[2]] for round_ in rounds])


def _garbage() -> list[bytes]:
    """What is no HTTP."""
    return [
        *(b"\x00" * 100 + b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"),
        b"GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a: b\r\n" * 20_000 + b"\r\n",
        b"POST /specdemo/run HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"POST /specdemo/run HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ]


def _send_raw(url: str, line: bytes, tally: Tally) -> None:
    parts = urlsplit(url)
    try:
        with socket.create_connection((parts.hostname, parts.port), timeout=LIMIT_S) as connection:
            connection.sendall(line)
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(4096)
    except ConnectionError:
        return  # hung up: an answer, too
    except TimeoutError:
        tally.faults.append(f"no answer to {line[:60]!r}")
        return
    if answer.split(b" ")[1:2] >= [b"5"]:
        tally.faults.append(f"{answer[:60]!r}: {line[:60]!r}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--url", help="of a served page (default: one of its own)")
    args = parser.parse_args()
    page = None if args.url else open_page(Session(Library(TRACES), own_models=False), quiet=True)
    try:
        tally = fuzz(args.url or page.local_url, args.seed, args.requests)
    finally:
        if page:
            page.close(verbose=False)
    print("answers", dict(sorted(tally.statuses.items())), f"the slowest after {tally.slowest_s:.1f} s")
    print(*tally.faults, f"faults: {len(tally.faults)}", sep="\n")
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main())

"""What the page's scripts ask the server for by HTTP: runs, each a stream of lines, and questions about them.

Gradio's own events would cost too much and say too little: for each update its page copies all that a component holds,
and a value out of a field's bounds is refused in gradio's words before it reaches us.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping

from anyio import CapacityLimiter, to_thread
from gradio.context import LocalContext
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from ..session import Session
from ..session.seats import AT_ONCE
from .questions import questions

#: By its address below /specdemo: what a new run is asked for with.
RUNS: Mapping[str, Callable[[Session, dict], Iterator[str]]] = {
    "run": lambda session, fields: session.run(**fields),
    "fork": Session.fork,
}


def routes(session: Session) -> list[BaseRoute]:
    """For the server, below /specdemo."""
    # Whoever reads a run holds a thread while nothing comes. They have threads of their own, one for each seat: a class
    # that waits in line must not keep a question from its answer.
    readers, answers = CapacityLimiter(AT_ONCE), questions(session)

    async def run(request: Request) -> Response:
        LocalContext.request.set(request)  # where ZeroGPU looks for whose quota it is
        fields = await _object(request) | {"near": _near(request)}
        deltas = RUNS[request.url.path.rpartition("/")[2]](session, fields)
        return StreamingResponse(_lines(deltas, readers), media_type="application/x-ndjson")

    async def ask(request: Request) -> Response:
        answer = answers.get(request.path_params["name"])
        if answer is None:
            raise HTTPException(404, f"The questions are {', '.join(answers)}.")
        LocalContext.request.set(request)
        text = json.dumps(await run_in_threadpool(answer, await _object(request)), ensure_ascii=False)
        return Response(text, media_type="application/json")

    return [
        *(Route(f"/{name}", run, methods=["POST"]) for name in RUNS),
        Route("/ask/{name}", ask, methods=["POST"]),
    ]


async def _object(request: Request) -> dict[str, object]:
    """What was sent. Pages of others are kept out by its type: a browser does not let them send it."""
    if not request.headers.get("content-type", "").startswith("application/json"):
        raise HTTPException(415, "Send JSON as application/json.")
    try:
        sent = json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "What was sent is no JSON.") from error
    if not isinstance(sent, dict):
        raise HTTPException(400, "What was sent is no object of JSON.")
    return sent


def _near(request: Request) -> bool:
    """Whether who asks is on this machine: a browser there draws on the cores that the run needs."""
    return request.client is not None and request.client.host in ("127.0.0.1", "::1")


async def _lines(deltas: Iterator[str], readers: CapacityLimiter) -> AsyncIterator[str]:
    """The deltas of a run, a line each. A run ends with its reader."""
    try:
        while (delta := await to_thread.run_sync(next, deltas, None, limiter=readers)) is not None:
            yield delta + "\n"
    finally:
        deltas.close()

"""What the page's scripts ask the server for by HTTP: runs, each a stream of lines, and questions about them.

Gradio's own events would cost too much and say too little: for each update its page copies all that a component holds,
and a value out of a field's bounds is refused in gradio's words before it reaches us.
"""

import json
from collections.abc import AsyncIterator, Callable, Mapping

from starlette.concurrency import iterate_in_threadpool, run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from ..session import Session

#: By its address below /specdemo/ask: what may be asked with an object of JSON. The answer is JSON, too.
QUESTIONS: Mapping[str, Callable[[Session, dict], object]] = {
    "resync": Session.resync,
    "stop": Session.stop,
    "inspect": Session.inspect,
    "trace": Session.trace,
    "status": lambda session, question: session.status(),
}


def routes(session: Session) -> list[BaseRoute]:
    async def run(request: Request) -> Response:
        return StreamingResponse(_lines(session, await _object(request)), media_type="application/x-ndjson")

    async def ask(request: Request) -> Response:
        answer = QUESTIONS.get(request.path_params["name"])
        if answer is None:
            raise HTTPException(404, f"The questions are {', '.join(QUESTIONS)}.")
        text = json.dumps(await run_in_threadpool(answer, session, await _object(request)), ensure_ascii=False)
        return Response(text, media_type="application/json")

    return [
        Route("/specdemo/run", run, methods=["POST"]),
        Route("/specdemo/ask/{name}", ask, methods=["POST"]),
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


async def _lines(session: Session, fields: Mapping[str, object]) -> AsyncIterator[str]:
    """The deltas of a run, a line each. A run ends with its reader."""
    deltas = session.run(**fields)
    try:
        async for delta in iterate_in_threadpool(deltas):
            yield delta + "\n"
    finally:
        deltas.close()

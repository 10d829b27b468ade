"""Requests that gradio cannot read: it fails at them with its own errors, and they are told what they are."""

import logging

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..session.session import MAX_FILE

#: Bytes of a body: a file within its limit, in which every character had to be written as two or three.
MOST = 3 * MAX_FILE

#: Below it are our own addresses.
OURS = "/specdemo"

#: Of gradio's addresses those that nothing here needs: they write files, fetch what they are told to, hold connections
#: open, or go past the queue. Whatever begins like one of these is closed.
_CLOSED = (
    *("api/", "component_server", "custom_component", "deep_link", "dev", "file", "heartbeat", "process_recording"),
    *("profiling", "proxy", "run", "stream", "undo-vibe", "upload", "vibe"),
)

_log = logging.getLogger(__name__)


def closed() -> list[BaseRoute]:
    """To stand before gradio's own."""
    nothing = JSONResponse({"error": "There is nothing here."}, 404)
    below = [f"/gradio_api/{name}" for name in _CLOSED]
    return [Route(f"{path}{{rest:path}}", nothing) for path in (*below, "/monitoring", "/pwa_icon/")]


class Malformed:
    """Middleware that answers with 400 where gradio fails, and with 413 to a body without end.

    What fails in ours is our own fault, and stays one.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, left = False, MOST

        async def bounded() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise HTTPException(413, f"A request may have at most {MOST} bytes.")
            return message

        async def noted(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, bounded, noted)
        except Exception as error:
            if OURS in scope.get("root_path", ""):  # which a mount leaves there once it has been reached
                raise
            _log.warning("malformed", extra={"fields": {"path": scope["path"][:100], "error": type(error).__name__}})
            if started:  # a stream: it ends here
                await send({"type": "http.response.body", "body": b""})
            else:
                await JSONResponse({"error": "The request cannot be read."}, 400)(scope, receive, send)

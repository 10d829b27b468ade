"""What must be in the page before gradio's own scripts: gradio adds its `head` only once they run."""

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_END = b"</head>"


class EarlyHead:
    """Middleware that puts `head` at the end of the head of each page of HTML."""

    def __init__(self, app: ASGIApp, head: str) -> None:
        self._app, self._head = app, head.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start: Message | None = None  # of a page of HTML, held back until its length is known
        body = b""

        async def edited(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start" and _is_page(message):
                start = message
                return
            if start is None:
                await send(message)
                return
            body += message.get("body", b"")
            if message.get("more_body"):
                return
            body = body.replace(_END, self._head + _END, 1)
            MutableHeaders(scope=start)["content-length"] = str(len(body))
            await send(start)
            await send({"type": "http.response.body", "body": body})

        await self._app(scope, receive, edited)


def _is_page(start: Message) -> bool:
    headers = Headers(raw=start["headers"])
    return headers.get("content-type", "").startswith("text/html") and "content-encoding" not in headers

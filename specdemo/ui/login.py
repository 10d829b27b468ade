"""Who may use our own addresses where the page asks for a password: gradio guards only its own."""

import base64
import binascii
import secrets

from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

#: A user and a password, as gradio takes them.
Login = tuple[str, str]


class LoggedIn:
    """Middleware that lets through who has gradio's cookie, or gives user and password by HTTP Basic, as scripts do."""

    def __init__(self, app: ASGIApp, login: Login) -> None:
        self._app, self._login = app, ":".join(login).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._knows(HTTPConnection(scope)):
            await self._app(scope, receive, send)
        else:
            # No WWW-Authenticate: a browser would ask in a window of its own, and the page has its form.
            await JSONResponse({"error": "Log in first."}, 401)(scope, receive, send)

    def _knows(self, connection: HTTPConnection) -> bool:
        return _has_cookie(connection) or secrets.compare_digest(_basic(connection), self._login)


def _has_cookie(connection: HTTPConnection) -> bool:
    """Whether gradio has given this browser a token, under either of the names that it uses."""
    app = connection.app
    names = (f"access-token-{app.cookie_id}", f"access-token-unsecure-{app.cookie_id}")
    return any(connection.cookies.get(name) in app.tokens for name in names)


def _basic(connection: HTTPConnection) -> bytes:
    """user:password as sent by HTTP Basic; nothing where it was not."""
    scheme, _, encoded = connection.headers.get("authorization", "").partition(" ")
    try:
        return base64.b64decode(encoded, validate=True) if scheme.lower() == "basic" else b""
    except (binascii.Error, ValueError):
        return b""

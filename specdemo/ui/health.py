"""Whether the server can take runs, for what watches over it: known without a login, and said at once."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from ..session import Session
from .malformed import OURS


def routes(session: Session) -> list[BaseRoute]:
    async def health(request: Request) -> Response:
        state = session.health()
        status = 200 if state == "ready" else 503
        return JSONResponse({"state": state}, status, {"Cache-Control": "no-store"})

    return [Route(f"{OURS}/health", health)]

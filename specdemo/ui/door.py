"""All addresses of ours, and who may use them; and those that nobody may."""

from collections.abc import Sequence

from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Mount

from ..session import Session
from . import api, files, health
from .login import LoggedIn, Login
from .malformed import OURS, closed


def routes(session: Session, login: Login | None, more: Sequence[BaseRoute] = ()) -> list[BaseRoute]:
    """Below /specdemo: what the page fetches and asks, and `more`, behind the login if there is one; and the health.

    They stand before gradio's, of which some are closed.
    """
    guard = [Middleware(LoggedIn, login=login)] if login else []
    inside = [*files.routes(), *api.routes(session), *more]
    return [*health.routes(session), Mount(OURS, routes=inside, middleware=guard), *closed()]

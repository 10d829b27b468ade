"""Builds the page and opens it to browsers."""

import os

from ..session import Session
from ..trace import load
from .files import ASSETS, head, routes
from .page import build
from .theme import theme

RECORDING = ASSETS / "traces" / "first.json"


def serve(host: str | None = "127.0.0.1", port: int | None = None, *, session: Session | None = None, **options):
    """Serve until interrupted. `host` and `port` None: as the environment says, which is what a Space needs."""
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
    session = session or Session(load(RECORDING) if RECORDING.exists() else None)
    page = build(session)
    session.preload()
    return page.launch(
        server_name=host,
        server_port=port,
        ssr_mode=False,
        run_history=False,
        footer_links=["settings"],
        show_error=True,
        head=head(),
        theme=theme(),
        app_kwargs={"routes": routes()},
        **options,
    )

"""Builds the page and opens it to browsers."""

import os
import threading
from functools import partial

import gradio as gr
from starlette.middleware import Middleware

from ..models import CATALOGUE, PairSpec, load_pair
from ..session import Here, Library, Session
from . import api, files
from .early import EarlyHead
from .files import ASSETS
from .page import build
from .theme import theme

#: Where the recorded runs lie.
TRACES = ASSETS / "traces"

_SOON_S = 3.0

LOCAL, ANYWHERE = "127.0.0.1", "0.0.0.0"


def serve(
    host: str | None = LOCAL,
    port: int | None = None,
    pair: PairSpec = CATALOGUE["embedded"],
    device_map: str | None = None,
    **options: object,
) -> None:
    """Open the page and serve it until interrupted; `host` and `port` None: as the environment says, as on a Space.

    Only a page that nobody else can reach loads models by any name. `device_map` as for `models.load_pair`.
    """
    place = Here(partial(load_pair, device_map=device_map))
    session = Session(Library(TRACES), place, own_models=host == LOCAL, default=pair)
    page = open_page(session, host, port, quiet=True, **options)
    print(f"The page is at {page.local_url}", "and at this machine's address" if host == ANYWHERE else "", flush=True)
    page.block_thread()


def open_page(session: Session, host: str | None = LOCAL, port: int | None = None, **options: object) -> gr.Blocks:
    """The page, being served. `options` go to gradio's `launch`.

    The default pair loads once a page has been painted (see `api`), which it would hold up, or soon if nobody comes.
    """
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
    page = build(session)
    page.launch(
        server_name=host,
        server_port=port,
        prevent_thread_lock=True,
        ssr_mode=False,
        run_history=False,
        footer_links=[],
        favicon_path=ASSETS / "favicon.svg",
        show_error=True,
        share=False,  # whatever the environment says: a tunnel would let anybody in
        head=files.head(),
        theme=theme(),
        app_kwargs={
            "routes": [*files.routes(), *api.routes(session)],
            "middleware": [Middleware(EarlyHead, head=files.early_head())],
        },
        **options,
    )
    threading.Thread(target=session.warm_up, daemon=True).start()
    soon = threading.Timer(_SOON_S, session.preload)
    soon.daemon = True
    soon.start()
    return page

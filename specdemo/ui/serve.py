"""Builds the page and opens it to browsers."""

import os
import sys
import threading
import time
from socket import gethostname

import gradio as gr
from starlette.middleware import Middleware
from starlette.routing import BaseRoute

from ..models import CATALOGUE, PairSpec
from ..session import Library, Place, Session
from . import door, files, logs
from .early import EarlyHead
from .files import ASSETS
from .interruption import Interruption
from .login import Login
from .malformed import Malformed
from .page import build
from .theme import theme

#: Where the recorded runs lie.
TRACES = ASSETS / "traces"

_SOON_S = 3.0

#: Seconds that a stop leaves to readers of runs and to the engine's last step, and between two looks at that.
_FAREWELL_S, _LOOK_S = 5.0, 0.05

#: For gradio: it reports to nobody. And it makes no statistics of the endpoints' use, which nobody could look at: it
#: would keep ten thousand calls, and go through all of them after each.
_ENVIRONMENT = {
    "GRADIO_ANALYTICS_ENABLED": "False",
    "GRADIO_ANALYTICS_MAX_EVENTS": "1",
    "GRADIO_ANALYTICS_CACHE_FREQUENCY": str(10**9),
}

#: Visitors for whom gradio keeps what their page is made of. Nothing on it is theirs alone, so whoever is forgotten
#: lacks nothing; by itself it would keep ten thousand.
_VISITORS = 100

#: How the names of threads begin that compute: what a session's jobs and loads are called.
_COMPUTING = ("job ", "load ")

LOCAL, ANYWHERE = "127.0.0.1", "0.0.0.0"


def serve(
    host: str | None = LOCAL,
    port: int | None = None,
    pair: PairSpec = CATALOGUE["embedded"],
    place: Place | None = None,
    log_prompts: bool = False,
    **options: object,
) -> int:
    """Open the page and serve it until asked to stop; `host` and `port` None: as the environment says, as on a Space.

    Only a page that nobody else can reach loads models by any name. `place` as for `Session`, `options` as for
    `open_page`. Returns the exit status: 0 after SIGTERM, 130 after Ctrl-C.
    """
    asked = Interruption()
    logs.write_to(sys.stderr)
    session = Session(Library(TRACES), place, own_models=host == LOCAL, default=pair)
    logs.log_runs(session, log_prompts)
    page = open_page(session, host, port, quiet=True, **options)
    print(_where(page.local_url, host == ANYWHERE), flush=True)
    status = asked.wait()
    _stop(session, page)
    if any(thread.name.startswith(_COMPUTING) for thread in threading.enumerate()):
        # A load cannot be broken off, and Python must not be taken down under a thread that computes: it would abort.
        sys.stdout.flush()
        os._exit(status)
    return status


def _where(url: str, others: bool) -> str:
    """Where the page is; its address in the network is not asked for, since to ask is to call somebody."""
    if not others:
        return f"The page is at {url}"
    port = url.rstrip("/").rpartition(":")[2]
    others_see = f"http://{gethostname()}:{port}/, or at this machine's address, port {port}"
    return f"The page is at {url}, for others at {others_see}"


def _stop(session: Session, page: gr.Blocks) -> None:
    """End what goes on, give its readers a moment to be told, then close."""
    session.close()
    until = time.monotonic() + _FAREWELL_S
    while session.busy and time.monotonic() < until:
        time.sleep(_LOOK_S)
    page.close(verbose=False)


def open_page(
    session: Session,
    host: str | None = LOCAL,
    port: int | None = None,
    login: Login | None = None,
    metrics: bool = False,
    **options: object,
) -> gr.Blocks:
    """The page, being served, to everybody or to who knows the `login`. `options` go to gradio's `launch`.

    `metrics` adds counts for Prometheus; it raises ModuleNotFoundError where its package is not installed.

    The default pair loads once a page has been painted (see `api`), which it would hold up, or soon if nobody comes.
    """
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    page = build(session)
    page.launch(
        server_name=host,
        server_port=port,
        auth=login,
        prevent_thread_lock=True,
        ssr_mode=False,
        run_history=False,
        footer_links=[],
        favicon_path=ASSETS / "favicon.svg",
        show_error=True,
        enable_monitoring=False,
        state_session_capacity=_VISITORS,
        share=False,  # whatever the environment says: a tunnel would let anybody in
        head=files.head(),
        theme=theme(),
        app_kwargs={
            "routes": door.routes(session, login, _metrics(session) if metrics else ()),
            "middleware": [Middleware(Malformed), Middleware(EarlyHead, head=files.early_head())],
        },
        **options,
    )
    threading.Thread(target=session.warm_up, daemon=True).start()
    soon = threading.Timer(_SOON_S, session.preload)
    soon.daemon = True
    soon.start()
    return page


def _metrics(session: Session) -> list[BaseRoute]:
    # An optional package, which only those need who ask for it.
    from . import prometheus

    return prometheus.routes(session)

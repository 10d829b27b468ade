"""The stage: lanes, numbers, rounds and inspector, one component that the browser draws by itself."""

import gradio as gr

from ..palette import PALETTE
from ..session import Session
from ..view.deltas import CODES
from ..view.plots import CONFIG
from .files import template

_LOAD = """
import(new URL("specdemo/scripts/race/stage.js", document.baseURI).href)
  .then((stage) => stage.mount({ element, props, server, watch }));
"""


def stage(session: Session) -> gr.HTML:
    """A component whose value is the last delta; whatever the browser asks for goes straight to the session."""

    def resync(question: dict) -> dict | None:
        return session.resync(question)

    def halt(question: dict) -> dict | None:
        return session.stop(question)

    def inspect(question: dict) -> dict | None:
        return session.inspect(question)

    def trace(question: dict) -> str | None:
        return session.trace(question)

    def status(question: dict) -> dict:
        return session.status()

    return gr.HTML(
        session.first_paint(),
        html_template=template("stage.html"),
        js_on_load=_LOAD,
        apply_default_css=False,
        elem_id="sd-stage",
        server_functions=[resync, halt, inspect, trace, status],
        outcomes=[{"name": outcome.value, "glyph": PALETTE[outcome].glyph} for outcome in CODES],
        plotly=CONFIG,
    )

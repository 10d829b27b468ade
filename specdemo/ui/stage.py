"""The stage: lanes, numbers, rounds and inspector, one component that the browser draws by itself."""

import gradio as gr

from ..palette import PALETTE
from ..session import Session
from ..session.session import MAX_FILE
from ..view.deltas import CODES
from ..view.plots import CONFIG
from .files import template

_LOAD = """
import(new URL("specdemo/scripts/race/stage.js", document.baseURI).href)
  .then((stage) => stage.mount({ element, props }));
"""


def stage(session: Session) -> gr.HTML:
    """A component whose value is the recorded run; whatever comes later is asked for by its scripts, see `api`."""
    return gr.HTML(
        session.first_paint(),
        html_template=template("stage.html"),
        js_on_load=_LOAD,
        apply_default_css=False,
        elem_id="sd-stage",
        outcomes=[{"name": outcome.value, "glyph": PALETTE[outcome].glyph} for outcome in CODES],
        plotly=CONFIG,
        recordings=list(session.library.names) if session.library else [],
        largest=MAX_FILE,
    )

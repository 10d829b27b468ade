"""The Lab tab: the theory by numbers, one component that the browser draws by itself."""

import gradio as gr

from ..lab.rules import RULES
from ..view.plots import CONFIG
from .files import template

_LOAD = """
import(new URL("specdemo/scripts/shared/fetched.js", document.baseURI).href)
  .then(({ fetched }) => fetched("lab/lab.js", element))
  .then((lab) => lab.mount({ element, props }));
"""


def laboratory() -> gr.HTML:
    """What its scripts ask goes to `session.lab`, and to the session for a token of a run, see `questions`."""
    return gr.HTML(
        html_template=template("lab.html"),
        js_on_load=_LOAD,
        apply_default_css=False,
        elem_id="sd-lab",
        rules=list(RULES),
        plotly=CONFIG,
    )

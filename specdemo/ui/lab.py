"""The Lab tab: the theory by numbers, one component that the browser draws by itself."""

import gradio as gr

from ..lab.rules import RULES
from ..session import Session, lab
from ..view.plots import CONFIG
from .files import template

_LOAD = """
import(new URL("specdemo/scripts/lab/lab.js", document.baseURI).href)
  .then((lab) => lab.mount({ element, props, server }));
"""


def laboratory(session: Session) -> gr.HTML:
    """Whatever the browser asks for goes straight to `session.lab`, and to the session for a token of a run."""

    def candidates(question: object) -> dict[str, object]:
        return session.candidates(question)

    return gr.HTML(
        html_template=template("lab.html"),
        js_on_load=_LOAD,
        apply_default_css=False,
        elem_id="sd-lab",
        server_functions=[lab.show, lab.compare, lab.draw_one, lab.draw_many, lab.normalise, candidates],
        rules=list(RULES),
        plotly=CONFIG,
    )

"""The tab "Is it lossless?"."""

from collections.abc import Mapping

import gradio as gr

from ..session import Session
from ..session.measurements import Measurements
from ..session.proof import plan, show
from .measuring import measuring

_LOAD = """
import(new URL("specdemo/scripts/proof/proof.js", document.baseURI).href)
  .then((tab) => tab.mount({ element, props, server, fields: () => trigger("fields") }));
"""


def proof(session: Session, fields: Mapping[str, gr.components.Component]) -> gr.HTML:
    """`fields` of the race: what is checked."""
    checks = Measurements(session, plan, show)

    def start(question: dict) -> dict:
        return checks.start(question)

    def look(question: dict) -> dict | None:
        return checks.look(question)

    def stop(question: dict) -> dict | None:
        return checks.stop(question)

    return measuring("proof", _LOAD, fields, [start, look, stop])

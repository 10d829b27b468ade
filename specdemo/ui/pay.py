"""The tab "Does it pay?"."""

from collections.abc import Mapping

import gradio as gr

from ..session import Session
from ..session.pay import Pay
from .measuring import measuring

_LOAD = """
import(new URL("specdemo/scripts/pay/pay.js", document.baseURI).href)
  .then((tab) => tab.mount({ element, props, server, fields: () => trigger("fields") }));
"""


def pay(session: Session, fields: Mapping[str, gr.components.Component]) -> gr.HTML:
    """`fields` of the race: what a sweep measures."""
    economics = Pay(session)

    def answer(question: dict) -> dict:
        return economics.answer(question)

    def start(question: dict) -> dict:
        return economics.sweeps.start(question)

    def look(question: dict) -> dict | None:
        return economics.sweeps.look(question)

    def stop(question: dict) -> dict | None:
        return economics.sweeps.stop(question)

    return measuring("pay", _LOAD, fields, [answer, start, look, stop])

"""The page: a header, and under it the tabs."""

import gradio as gr

from ..session import Session
from ..words import ENGLISH
from .controls import Controls
from .endpoints import add_endpoints
from .files import template
from .lab import laboratory
from .labels import Labels
from .link import links
from .measuring import measuring
from .race import race

#: Seconds between two looks of gradio's queue, which only the API uses, at whether there is work; its own on Windows.
_LOOK_S = 0.05

_LOAD = """
() => { import(new URL("specdemo/scripts/page.js", document.baseURI).href).then((page) => page.mount()); return []; }
"""

_HEADER = """
import(new URL("specdemo/scripts/header.js", document.baseURI).href)
  .then((header) => header.mount({ element, again: () => trigger("speak") }));
"""


def build(session: Session) -> gr.Blocks:
    said = Labels()
    with gr.Blocks(title=ENGLISH["name"], fill_width=True, analytics_enabled=False) as page:
        header = gr.HTML(html_template=template("header.html"), js_on_load=_HEADER, apply_default_css=False)
        with gr.Tabs(elem_id="sd-tabs", overflow_behavior="wrap"):
            asked = _tabs(session, said)
        page.load(None, js=_LOAD, api_visibility="private")
        said.follow(page.load, header.speak)
        links(page, asked)
        add_endpoints(session)
    _calm(page)
    return page


def _calm(page: gr.Blocks) -> None:
    """Gradio's queue looks for work a thousand times a second, on cores that the models need (6.31, `queueing.py`)."""
    page.queue()
    page._queue.sleep_when_free = _LOOK_S


def _tabs(session: Session, said: Labels) -> Controls:
    """What is in a tab is made when it is first opened, and kept. Returns the form of the race."""
    with said(gr.Tab(id="race", elem_id="sd-tab-race"), label="tab_race"):
        asked = race(session, said)
    with said(gr.Tab(id="lab", elem_id="sd-tab-lab"), label="tab_lab"):
        laboratory()
    with said(gr.Tab(id="proof", elem_id="sd-tab-proof"), label="tab_proof"):
        measuring("proof", asked.fields)
    with said(gr.Tab(id="pay", elem_id="sd-tab-pay"), label="tab_pay"):
        measuring("pay", asked.fields)
    return asked

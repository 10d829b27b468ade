"""The page: a header, and under it the tabs."""

import gradio as gr

from ..session import Session
from .files import template
from .race import race
from .words import ENGLISH, Words

#: Runs that may wait at once.
_AT_ONCE = 24

_LOAD = """
() => { import(new URL("specdemo/scripts/page.js", document.baseURI).href).then((page) => page.mount()); return []; }
"""


def build(session: Session, words: Words = ENGLISH) -> gr.Blocks:
    with gr.Blocks(title=words["name"], fill_width=True, analytics_enabled=False) as page:
        gr.HTML(html_template=template("header.html", words), js_on_load=None, apply_default_css=False)
        with gr.Tabs(elem_id="sd-tabs", overflow_behavior="wrap"):
            _tabs(session, words)
        page.load(None, js=_LOAD, api_visibility="private")
    page.queue(max_size=2 * _AT_ONCE)
    return page


def _tabs(session: Session, words: Words) -> None:
    """What is in a tab is made when it is first opened, and kept."""
    with gr.Tab(words["tab_race"], id="race", elem_id="sd-tab-race"):
        race(session, words, _AT_ONCE)

"""The page: header, controls, stage."""

from collections.abc import Iterator

import gradio as gr

from ..session import Session
from .controls import controls
from .files import template
from .stage import stage
from .words import ENGLISH, Words

#: Runs that may wait at once, shown or unshown; the session lets one of them work at a time.
_AT_ONCE = 24


def build(session: Session, words: Words = ENGLISH) -> gr.Blocks:
    with gr.Blocks(title=words["name"], fill_width=True, analytics_enabled=False) as page:
        gr.HTML(html_template=template("header.html", words), js_on_load=None, apply_default_css=False)
        asked = controls(words, session.own_models, session.default.name)
        shown = stage(session, words)

        def run(*values: object) -> Iterator[str]:
            yield from session.run(**dict(zip(asked.fields, values)))

        running = asked.run.click(
            run,
            list(asked.fields.values()),
            shown,
            show_progress="hidden",
            concurrency_limit=_AT_ONCE,
            api_visibility="private",
        )
        asked.stop.click(None, cancels=[running], api_visibility="private")
    page.queue(max_size=2 * _AT_ONCE)
    return page

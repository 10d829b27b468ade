"""The Race tab: what a run is asked for with, and the stage that shows it."""

from collections.abc import Iterator

import gradio as gr

from ..session import Session
from .controls import controls
from .labels import Labels
from .stage import stage


def race(session: Session, said: Labels, at_once: int) -> dict[str, gr.components.Component]:
    """The fields of what a run is asked for with, by name.

    at_once  runs that may wait at once, shown or unshown; the session lets one of them work at a time
    """
    asked = controls(said, session.own_models, session.default.name)
    shown = stage(session)

    def run(*values: object) -> Iterator[str]:
        yield from session.run(**dict(zip(asked.fields, values)))

    running = asked.run.click(
        run,
        list(asked.fields.values()),
        shown,
        show_progress="hidden",
        concurrency_limit=at_once,
        api_visibility="private",
    )
    asked.stop.click(None, cancels=[running], api_visibility="private")
    return asked.fields

"""The Lab tab: the theory by numbers."""

import gradio as gr

from ..lab.rules import RULES
from .tab import tab


def laboratory() -> gr.HTML:
    """What its scripts ask goes to `session.lab`, and to the session for a token of a run, see `questions`."""
    return tab("lab", rules=list(RULES))

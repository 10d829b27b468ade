"""The tabs that measure: each knows the race's fields."""

import json
from collections.abc import Mapping

import gradio as gr

from .tab import tab

_FIELDS = """(...values) => {
  const fields = Object.fromEntries(NAMES.map((name, place) => [name, values[place]]));
  document.dispatchEvent(new CustomEvent("sd-fields", { detail: fields }));
  return [];
}"""


def measuring(name: str, fields: Mapping[str, gr.components.Component]) -> gr.HTML:
    """The tab `name`, whose scripts trigger "fields" to be handed what is to be measured.

    They get the values of `fields`, as an event of the document.
    """
    measured = tab(name)
    handed = _FIELDS.replace("NAMES", json.dumps(list(fields)))
    measured.fields(None, list(fields.values()), None, js=handed, api_visibility="private")
    return measured

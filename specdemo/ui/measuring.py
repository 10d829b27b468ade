"""The tabs that measure: a component that the browser draws by itself and that knows the race's fields."""

import json
from collections.abc import Mapping

import gradio as gr

from ..view.plots import CONFIG
from .files import template

_LOAD = """
import(new URL("specdemo/scripts/shared/fetched.js", document.baseURI).href)
  .then(({ fetched }) => fetched("NAME/NAME.js", element))
  .then((tab) => tab.mount({ element, props, fields: () => trigger("fields") }));
"""

_FIELDS = """(...values) => {
  const fields = Object.fromEntries(NAMES.map((name, place) => [name, values[place]]));
  document.dispatchEvent(new CustomEvent("sd-fields", { detail: fields }));
  return [];
}"""


def measuring(name: str, fields: Mapping[str, gr.components.Component]) -> gr.HTML:
    """The tab with the template and the scripts `name`, which may ask what `questions` has for it.

    They trigger "fields" to be handed what is to be measured: the values of `fields`, as an event of the document.
    """
    tab = gr.HTML(
        html_template=template(f"{name}.html"),
        js_on_load=_LOAD.replace("NAME", name),
        apply_default_css=False,
        elem_id=f"sd-{name}",
        plotly=CONFIG,
    )
    handed = _FIELDS.replace("NAMES", json.dumps(list(fields)))
    tab.fields(None, list(fields.values()), None, js=handed, api_visibility="private")
    return tab

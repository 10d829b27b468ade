"""What the tabs that measure share: a component that the browser draws by itself and that knows the race's fields."""

import json
from collections.abc import Callable, Mapping, Sequence

import gradio as gr

from ..view.plots import CONFIG
from .files import template

_FIELDS = """(...values) => {{
  const fields = Object.fromEntries({names}.map((name, place) => [name, values[place]]));
  document.dispatchEvent(new CustomEvent("sd-fields", {{ detail: fields }}));
  return [];
}}"""


def measuring(
    name: str, load: str, fields: Mapping[str, gr.components.Component], functions: Sequence[Callable]
) -> gr.HTML:
    """The tab with the template `name`; its scripts, which `load` imports, may call `functions` with a question each.

    They may trigger "fields", too: then the values of `fields` come as an event of the document.
    """
    tab = gr.HTML(
        html_template=template(f"{name}.html"),
        js_on_load=load,
        apply_default_css=False,
        elem_id=f"sd-{name}",
        server_functions=list(functions),
        plotly=CONFIG,
    )
    handed = _FIELDS.format(names=json.dumps(list(fields)))
    tab.fields(None, list(fields.values()), None, js=handed, api_visibility="private")
    return tab

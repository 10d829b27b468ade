"""A tab that the browser draws by itself, by scripts that are fetched once the page stands."""

import gradio as gr

from ..view.plots import CONFIG
from .files import template

_LOAD = """
import(new URL("specdemo/scripts/shared/fetched.js", document.baseURI).href)
  .then(({ fetched }) => fetched("NAME/NAME.js", element))
  .then((tab) => tab.mount({ element, props, fields: () => trigger("fields") }));
"""


def tab(name: str, **props: object) -> gr.HTML:
    """One component with the template and the scripts `name`, which get `props` and ask what `questions` has for it."""
    return gr.HTML(
        html_template=template(f"{name}.html"),
        js_on_load=_LOAD.replace("NAME", name),
        apply_default_css=False,
        elem_id=f"sd-{name}",
        plotly=CONFIG,
        **props,
    )

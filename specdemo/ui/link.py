"""Links that carry the form's values: put in when a page opens, and copied from it. Both are the browser's work."""

import json

import gradio as gr

from .controls import Controls

_LINK = 'import(new URL("specdemo/scripts/shared/link.js", document.baseURI).href)'
_FILL = f"async () => (await {_LINK}).updates(NAMES)"
_GIVE = f"async (...values) => {{ (await {_LINK}).give(NAMES, values, FRESH); return []; }}"


def links(page: gr.Blocks, asked: Controls) -> None:
    """What a link says is refused, as anything in the form, when a run is asked for."""
    fields = list(asked.fields.values())
    names, fresh = json.dumps(list(asked.fields)), json.dumps([field.value for field in fields])
    page.load(None, None, fields, js=_FILL.replace("NAMES", names), api_visibility="private")
    give = _GIVE.replace("NAMES", names).replace("FRESH", fresh)
    asked.link.click(None, fields, None, js=give, api_visibility="private")

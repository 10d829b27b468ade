"""What a run is asked for with."""

import json
from typing import NamedTuple

import gradio as gr

from ..models import CATALOGUE, EMBEDDED, PairSpec
from ..pace import USUAL_K
from ..records import USUAL_TEMPERATURE
from ..session.request import MAX_K, OWN
from ..words import Saying
from .labels import Labels
from .presets import PRESETS

_FIXED = '(auto) => ({ __type__: "update", interactive: !auto })'


class Controls(NamedTuple):
    """The fields by the names that `session.Request.of` gives them, and the buttons."""

    fields: dict[str, gr.components.Component]
    run: gr.Button
    stop: gr.Button
    link: gr.Button


def controls(said: Labels, own_models: bool, pair: str) -> Controls:
    with gr.Row(elem_id="sd-controls", equal_height=False):
        with gr.Column(scale=7, min_width=320, elem_id="sd-ask"):
            prompt, chips = _prompt(said)
            with said(gr.Accordion(open=False, elem_id="sd-more"), label="more"):
                more = _more(said)
        with gr.Column(scale=4, min_width=300, elem_id="sd-dials"):
            dials = _dials(said, own_models, pair)
            run, stop, link = _buttons(said)
    fields = {"prompt": prompt, **dials, **more}
    for chip, preset in zip(chips, PRESETS):
        # Answered in the browser, so at once.
        values = json.dumps([preset.prompt, preset.chat])
        chip.click(None, None, [prompt, fields["chat"]], js=f"() => {values}", api_visibility="private")
    return Controls(fields, run, stop, link)


def _prompt(said: Labels) -> tuple[gr.Textbox, list[gr.Button]]:
    prompt = said(
        gr.Textbox(PRESETS[0].prompt, lines=3, max_lines=3, elem_id="sd-prompt"),
        label="prompt",
        placeholder="placeholder",
    )
    with gr.Row(elem_id="sd-chips"):
        chips = [said(gr.Button(size="sm", elem_classes="sd-chip"), value=preset.label) for preset in PRESETS]
    return prompt, chips


def _dials(said: Labels, own_models: bool, pair: str) -> dict[str, gr.components.Component]:
    choices = [(_title(spec), name) for name, spec in CATALOGUE.items()] + [(Saying("own"), OWN)] * own_models
    chosen = said(gr.Dropdown(choices, value=pair, elem_id="sd-models"), label="pair", choices=choices)
    with gr.Row(elem_id="sd-own"):
        target = said(gr.Textbox(max_lines=1, min_width=120), label="own_target")
        draft = said(gr.Textbox(max_lines=1, min_width=120), label="own_draft")
    with gr.Row():
        with gr.Column(min_width=120, elem_id="sd-drafts"):
            k = said(gr.Slider(0, MAX_K, USUAL_K, step=1, buttons=[], elem_id="sd-k", min_width=120), label="k")
            auto = said(gr.Checkbox(False, container=False, elem_id="sd-auto", min_width=120), label="auto")
        temperature = said(
            gr.Slider(0, 2, USUAL_TEMPERATURE, step=0.05, buttons=[], elem_id="sd-temperature", min_width=120),
            label="temperature",
        )
    only_own = f"(name) => {{ document.body.classList.toggle('sd-own', name === '{OWN}'); return []; }}"
    chosen.change(None, [chosen], [], js=only_own, api_visibility="private")
    auto.change(None, [auto], [k], js=_FIXED, api_visibility="private")
    return {"pair": chosen, "target": target, "draft": draft, "k": k, "auto": auto, "temperature": temperature}


def _title(spec: PairSpec) -> Saying | str:
    return Saying("embedded_pair", title=spec.title) if spec.name == EMBEDDED else spec.title


def _buttons(said: Labels) -> tuple[gr.Button, gr.Button, gr.Button]:
    with gr.Row(elem_id="sd-buttons"):
        run = said(gr.Button(variant="primary", elem_id="sd-run", min_width=100), value="run")
        stop = said(gr.Button(elem_id="sd-stop", min_width=80), value="stop")
        link = said(gr.Button(size="sm", elem_id="sd-link", elem_classes="sd-chip", min_width=80), value="copy_link")
    return run, stop, link


def _more(said: Labels) -> dict[str, gr.components.Component]:
    with gr.Row():
        return {
            # No bounds: gradio would refuse in its own words, and the page would wait for ever.
            "length": said(gr.Number(128, precision=0, min_width=90, elem_id="sd-length"), label="length"),
            "seed": said(
                gr.Textbox(max_lines=1, min_width=130, elem_id="sd-seed"), label="seed", placeholder="seed_placeholder"
            ),
            "top_k": said(gr.Number(0, precision=0, min_width=90, elem_id="sd-top-k"), label="top_k"),
            "top_p": said(gr.Number(1.0, step=0.05, min_width=90, elem_id="sd-top-p"), label="top_p"),
            "min_p": said(gr.Number(0.0, step=0.05, min_width=90, elem_id="sd-min-p"), label="min_p"),
            "chat": said(gr.Checkbox(True, min_width=220, elem_id="sd-chat"), label="chat"),
        }

"""What a run is asked for with."""

import json
from typing import NamedTuple

import gradio as gr

from ..models import CATALOGUE
from ..session.request import MAX_K, OWN
from .presets import PRESETS
from .words import Words


class Controls(NamedTuple):
    """The fields by the names that `session.Request.of` gives them, and the two buttons."""

    fields: dict[str, gr.components.Component]
    run: gr.Button
    stop: gr.Button


def controls(words: Words, own_models: bool, pair: str) -> Controls:
    with gr.Row(elem_id="sd-controls", equal_height=False):
        with gr.Column(scale=7, min_width=320, elem_id="sd-ask"):
            prompt, chips = _prompt(words)
            with gr.Accordion(words["more"], open=False, elem_id="sd-more"):
                more = _more(words)
        with gr.Column(scale=4, min_width=300, elem_id="sd-dials"):
            dials = _dials(words, own_models, pair)
            run, stop = _buttons(words)
    fields = {"prompt": prompt, **dials, **more}
    for chip, preset in zip(chips, PRESETS):
        # Answered in the browser, so at once.
        values = json.dumps([preset.prompt, preset.chat])
        chip.click(None, None, [prompt, fields["chat"]], js=f"() => {values}", api_visibility="private")
    return Controls(fields, run, stop)


def _prompt(words: Words) -> tuple[gr.Textbox, list[gr.Button]]:
    prompt = gr.Textbox(
        PRESETS[0].prompt,
        label=words["prompt"],
        placeholder=words["placeholder"],
        lines=3,
        max_lines=3,
        elem_id="sd-prompt",
    )
    with gr.Row(elem_id="sd-chips"):
        chips = [gr.Button(preset.label, size="sm", elem_classes="sd-chip") for preset in PRESETS]
    return prompt, chips


def _dials(words: Words, own_models: bool, pair: str) -> dict[str, gr.components.Component]:
    choices = [(spec.title, name) for name, spec in CATALOGUE.items()] + [(words["own"], OWN)] * own_models
    chosen = gr.Dropdown(choices, value=pair, label=words["pair"], elem_id="sd-models")
    with gr.Row(elem_id="sd-own"):
        target = gr.Textbox(label=words["own_target"], max_lines=1, min_width=120)
        draft = gr.Textbox(label=words["own_draft"], max_lines=1, min_width=120)
    with gr.Row():
        k = gr.Slider(0, MAX_K, 2, step=1, label=words["k"], buttons=[], elem_id="sd-k", min_width=120)
        temperature = gr.Slider(
            0, 2, 0.8, step=0.05, label=words["temperature"], buttons=[], elem_id="sd-temperature", min_width=120
        )
    only_own = f"(name) => {{ document.body.classList.toggle('sd-own', name === '{OWN}'); return []; }}"
    chosen.change(None, [chosen], [], js=only_own, api_visibility="private")
    return {"pair": chosen, "target": target, "draft": draft, "k": k, "temperature": temperature}


def _buttons(words: Words) -> tuple[gr.Button, gr.Button]:
    with gr.Row(elem_id="sd-buttons"):
        run = gr.Button(words["run"], variant="primary", elem_id="sd-run", min_width=100)
        stop = gr.Button(words["stop"], elem_id="sd-stop", min_width=80)
    return run, stop


def _more(words: Words) -> dict[str, gr.components.Component]:
    with gr.Row():
        return {
            "length": gr.Number(
                128,
                label=words["length"],
                precision=0,  # no bounds: gradio would refuse in its own words, and the page would wait for ever
                min_width=90,
                elem_id="sd-length",
            ),
            "seed": gr.Textbox(
                "",
                label=words["seed"],
                placeholder=words["seed_placeholder"],
                max_lines=1,
                min_width=130,
                elem_id="sd-seed",
            ),
            "top_k": gr.Number(0, label=words["top_k"], precision=0, min_width=90, elem_id="sd-top-k"),
            "top_p": gr.Number(1.0, label=words["top_p"], step=0.05, min_width=90, elem_id="sd-top-p"),
            "min_p": gr.Number(0.0, label=words["min_p"], step=0.05, min_width=90, elem_id="sd-min-p"),
            "chat": gr.Checkbox(True, label=words["chat"], min_width=220, elem_id="sd-chat"),
        }

"""What a run is asked for with."""

import json
from typing import NamedTuple

import gradio as gr

from ..models import CATALOGUE
from ..session.request import MAX_K, MAX_LENGTH, OWN
from .presets import PRESETS
from .words import Words


class Controls(NamedTuple):
    """Fields in the order of `Controls.names`, and the two buttons."""

    fields: dict[str, gr.components.Component]
    run: gr.Button
    stop: gr.Button


def controls(words: Words) -> Controls:
    with gr.Row(elem_id="sd-controls", equal_height=False):
        with gr.Column(scale=7, min_width=320, elem_id="sd-ask"):
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
        with gr.Column(scale=4, min_width=300, elem_id="sd-dials"):
            with gr.Row():
                k = gr.Slider(0, 8, 4, step=1, label=words["k"], elem_id="sd-k", min_width=120)
                temperature = gr.Slider(0, 2, 0.8, step=0.05, label=words["temperature"], elem_id="sd-t", min_width=120)
            with gr.Row(elem_id="sd-buttons"):
                run = gr.Button(words["run"], variant="primary", elem_id="sd-run", min_width=120)
                stop = gr.Button(words["stop"], elem_id="sd-stop", min_width=80)
    with gr.Accordion(words["more"], open=False, elem_id="sd-more"):
        with gr.Row():
            titles = [(spec.title, name) for name, spec in CATALOGUE.items()]
            pair = gr.Dropdown([*titles, (words["own"], OWN)], value="embedded", label=words["pair"], elem_id="sd-pair")
            target = gr.Textbox(label=words["own_target"], elem_id="sd-target")
            draft = gr.Textbox(label=words["own_draft"], elem_id="sd-draft")
        with gr.Row():
            top_k = gr.Number(0, label=words["top_k"], precision=0, minimum=0, min_width=90)
            top_p = gr.Number(1.0, label=words["top_p"], minimum=0, maximum=1, step=0.05, min_width=90)
            min_p = gr.Number(0.0, label=words["min_p"], minimum=0, maximum=1, step=0.05, min_width=90)
            seed = gr.Textbox("", label=words["seed"], max_lines=1, min_width=90)
            length = gr.Number(128, label=words["length"], precision=0, minimum=1, maximum=MAX_LENGTH, min_width=90)
            chat = gr.Checkbox(True, label=words["chat"], min_width=200)
    for chip, preset in zip(chips, PRESETS):
        values = json.dumps([preset.prompt, preset.chat])
        chip.click(None, None, [prompt, chat], js=f"() => {values}", api_visibility="private")
    fields = {
        "prompt": prompt,
        "pair": pair,
        "target": target,
        "draft": draft,
        "chat": chat,
        "k": k,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "min_p": min_p,
        "seed": seed,
        "length": length,
    }
    return Controls(fields, run, stop)

"""The page's parts, without a browser: words, templates, styles, and that building it loads no model."""

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import gradio as gr
import pytest

from specdemo.models import CATALOGUE
from specdemo.pace import USUAL_K
from specdemo.palette import PALETTE, THEMES
from specdemo.records import USUAL_TEMPERATURE, Outcome
from specdemo.session import Here, Library, Request, Session
from specdemo.ui.controls import controls
from specdemo.ui.files import ASSETS, SCRIPTS, head, template, variables
from specdemo.ui.labels import Labels
from specdemo.ui.page import build
from specdemo.ui.presets import PRESETS
from specdemo.ui.serve import TRACES
from specdemo.words import ENGLISH

ROOT = Path(__file__).resolve().parents[1]
TEMPLATES = ["header.html", "lab.html", "stage.html"]


def no_load(spec, progress):
    raise AssertionError("nobody asked for a model")


@pytest.fixture(scope="module")
def config():
    session = Session(Library(TRACES), Here(load=no_load))
    return build(session).get_config_file()


def components(config, kind):
    return [c["props"] for c in config["components"] if c["type"] == kind]


def test_importing_the_page_loads_neither_models_nor_transformers():
    code = "import sys, app, specdemo.ui.serve; sys.exit('transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=300).returncode == 0


def test_every_import_of_a_script_leads_to_a_script():
    """The dictionary is made by the server; it lies beside the scripts' folder."""
    lost = [
        (path.name, name)
        for path in SCRIPTS.rglob("*.js")
        for name in re.findall(r'from "(.+?)"', path.read_text("utf-8"))
        if not (target := path.parent / name).is_file() and target.resolve() != SCRIPTS.parent / "dictionary.js"
    ]
    loaded = "".join(path.read_text("utf-8") for path in (ROOT / "specdemo" / "ui").glob("*.py"))
    loaded = "".join(loaded.replace("NAME/NAME", f"{tab}/{tab}") for tab in ("proof", "pay"))
    lost += [name for name in re.findall(r'"specdemo/(scripts/.+?)"', loaded) if not (ASSETS / name).is_file()]
    assert lost == []


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_are_filled_in_as_text(name):
    words = {**ENGLISH, "lead": "<img src=x>", "lab_lead": "<img src=x>", "half": '"&'}
    filled = template(name, words)
    assert "[[" not in filled and "<img" not in filled
    assert re.findall(r"data-say-\w[\w-]*=\"(\w+)\"", filled) == re.findall(
        r"\[\[(\w+)\]\]", (ASSETS / name).read_text()
    )
    with pytest.raises(AssertionError):
        template(name, {**ENGLISH, "lead": "${1}", "lab_lead": "${1}", "half": "`{{x}}"})


def test_the_style_has_every_colour_of_the_palette_in_both_themes():
    light, dark = variables().splitlines()
    for line, theme in ((light, "light"), (dark, "dark")):
        for name, colour in THEMES[theme]._asdict().items():
            assert f"--sd-{name}: {colour};" in line
        for outcome in Outcome:
            assert f"--sd-{outcome}-ink: {getattr(PALETTE[outcome], theme).ink};" in line
    assert light.startswith(":root {") and ".dark {" in dark


def test_styles_use_no_colour_of_their_own_and_only_variables_that_exist():
    text = head()
    own = re.sub(re.escape(variables()), "", text)
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b(?=[^{]*;)|\brgba?\(|\bhsla?\(", own)
    defined = set(re.findall(r"(--sd-[\w-]+):", text)) | {"--sd-k", "--sd-share"}  # set by scripts
    assert set(re.findall(r"var\((--sd-[\w-]+)", text)) <= defined


def test_nothing_on_the_page_points_outside(config):
    texts = [head(), *(path.read_text("utf-8") for path in [*SCRIPTS.rglob("*.js"), *ASSETS.glob("*.html")])]
    assert not any(re.search(r"https?://|//cdn", text) for text in texts)
    assert config["analytics_enabled"] is False


def test_presets_can_be_run_and_cover_what_they_promise():
    assert {ENGLISH[preset.label] for preset in PRESETS} >= {"Explain", "Code", "Dialogue", "中文", "Raw text"}
    for preset in PRESETS:
        Request.of(prompt=preset.prompt, chat=preset.chat)
    assert [preset.label for preset in PRESETS if not preset.chat] == ["preset_raw"]


def test_the_first_page_carries_the_recorded_run(config):
    (stage,) = (props for props in components(config, "html") if props.get("elem_id") == "sd-stage")
    delta = json.loads(stage["value"])
    assert delta["phase"]["name"] == "recorded" and delta["head"]["recorded"]
    round_, place = delta["pick"]
    assert delta["spec"][round_][2][place][0] == list(Outcome).index(Outcome.REJECTED)
    assert delta["spec"] and delta["plain"] and delta["stats"]["speedup"]


def test_the_page_keeps_no_state_and_no_run_goes_through_gradio(config):
    assert not components(config, "state") and not components(config, "plot")
    public = {d["api_name"] for d in config["dependencies"] if d["api_visibility"] != "private"}
    assert public == {"run", "cancel", "trace", "recordings", "pairs", "check"}, "what is the page's alone is no API"
    assert {d["api_name"] for d in config["dependencies"] if d["backend_fn"]} == public
    assert not [props for props in components(config, "html") if props.get("server_functions")], "one way to ask"


def test_all_tabs_beside_the_race_are_fetched_in_one_way():
    htmls = {p.get("elem_id"): p.get("js_on_load") for p in components(build(Session(None)).get_config_file(), "html")}
    loads = {htmls[f"sd-{name}"].replace(f"{name}/{name}.js", "") for name in ("lab", "proof", "pay")}
    assert len(loads) == 1 and "fetched.js" in loads.pop()


def test_the_form_offers_exactly_what_a_request_takes():
    with gr.Blocks():
        fields = controls(Labels(), own_models=True, pair="embedded").fields
    assert set(fields) == set(inspect.signature(Request.of).parameters)
    defaults = {name: field.value for name, field in fields.items()}
    asked = Request.of(**defaults)
    assert asked.pair == CATALOGUE["embedded"] and asked.chat
    assert (asked.k, asked.params.temperature) == (USUAL_K, USUAL_TEMPERATURE)
    assert Request.of(prompt="a").params.temperature == USUAL_TEMPERATURE


def test_own_models_are_offered_only_where_they_may_be_loaded():
    for allowed in (True, False):
        session = Session(None, Here(load=no_load), own_models=allowed)
        (models,) = components(build(session).get_config_file(), "dropdown")
        assert ("own" in [value for _, value in models["choices"]]) == allowed

"""The figures: their lengths are the event's numbers, and every text of a model is only text."""

import html
import json
import re
from pathlib import Path

import plotly
import pytest
from events import DRAFTED, HOSTILE, event, law, sample
from playwright.sync_api import sync_playwright
from plotly import graph_objects as go
from table_models import markov

from specdemo import engine
from specdemo.drafters import ModelDrafter
from specdemo.palette import PALETTE, THEMES
from specdemo.records import Outcome, Round, SamplingParams
from specdemo.view.numbers import show
from specdemo.view.plots import CONFIG, coin_figure, position_figure, residual_figure
from specdemo.view.position import residual, rows
from specdemo.view.timing import rounds_figure
from specdemo.words import ENGLISH

JUDGED = (Outcome.ACCEPTED, Outcome.REJECTED)
FIGURES = (position_figure, coin_figure, residual_figure)


def few(outcome: Outcome, **kwargs):
    """An event over so few tokens that nothing is cut: every bar is to scale."""
    return sample(outcome, size=8, sharpness=1.0, **kwargs)


def traces(figure: dict, colour: str) -> list[dict]:
    return [trace for trace in figure["data"] if trace["type"] == "bar" and trace["marker"]["color"] == colour]


def outlined(figure: dict, ink: str) -> dict:
    """The bars with edges in this ink: the whole of p or of q."""
    (trace,) = [t for t in figure["data"] if t["type"] == "bar" and t["marker"]["line"].get("color") == ink]
    return trace


def numbers(figure: dict, ink: str) -> list[str]:
    (trace,) = [t for t in figure["data"] if t["type"] == "scatter" and t["textfont"]["color"] == ink]
    return [text.split()[-1] for text in trace["text"]]


def ticks(figure: dict) -> list[str]:
    """The tick texts as they are seen."""
    return [html.unescape(re.sub("<[^<>]*>", "", text)) for text in figure["layout"]["yaxis"]["ticktext"]]


# -- all of them ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("outcome", Outcome)
def test_plotly_takes_every_figure_and_json_keeps_it(outcome, theme):
    for an_event in (sample(outcome), few(outcome), sample(outcome, texts=HOSTILE)):
        figures = [figure for make in FIGURES if (figure := make(an_event, theme)) is not None]
        assert figures
        for figure in figures:
            go.Figure(figure)  # raises for an unknown property and for an illegal value
            assert json.loads(json.dumps(figure, allow_nan=False)) == figure


def test_which_outcome_has_which_figure():
    for outcome in Outcome:
        assert (coin_figure(sample(outcome)) is not None) == (outcome in JUDGED)
        assert (residual_figure(sample(outcome)) is not None) == (outcome is Outcome.RESAMPLED)


def test_a_real_run_from_the_engine():
    """Every event of it: p in the figure sums to 1, q too, and what they share to α, as float32 sums do."""
    p = [law(40, seed, 8.0) for seed in range(40)]
    q = [law(40, 100 + seed, 8.0) for seed in range(40)]
    params = SamplingParams(seed=3, max_new_tokens=60)
    run = engine.speculate(markov(p), ModelDrafter(markov(q)), [0], params, k=4)
    baseline = engine.decode(markov(p), [0], params)
    events = [an_event for rounds in (run, baseline) for round_ in rounds for an_event in round_.events]
    assert {an_event.outcome for an_event in events} == set(Outcome)
    for an_event in events:
        here = rows(an_event)
        assert sum(row.p for row in here) == pytest.approx(1, abs=1e-5)
        if an_event.q is not None:
            assert sum(row.q for row in here) == pytest.approx(1, abs=1e-5)
            assert sum(row.shared for row in here) == pytest.approx(an_event.alpha, abs=1e-5)
        for make in FIGURES:
            figure = make(an_event)
            assert figure is None or go.Figure(figure)


def test_the_page_is_told_to_send_nothing_anywhere():
    source = (Path(plotly.__file__).parent / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    assert not CONFIG["showSendToCloud"] and not CONFIG["plotlyServerURL"] and not CONFIG["displaylogo"]
    assert all(re.search(rf"\b{option}:{{", source) for option in CONFIG)  # no such option, no such effect


# -- p and q ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(1, 5))
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("outcome", DRAFTED)
def test_bars_are_p_and_q(outcome, theme, seed):
    """p is what is shared and the gap, q what is shared and the excess; bars lie where their rows are."""
    an_event, colours = few(outcome, seed=seed), THEMES[theme]
    here, figure = rows(an_event), position_figure(an_event, theme)
    assert outlined(figure, colours.p)["x"] == [row.p for row in here]
    assert outlined(figure, colours.q)["x"] == [row.q for row in here]
    (shared,), (gap,), (over,) = (traces(figure, colour) for colour in (colours.shared, colours.gap, colours.over))
    assert shared["x"] == [min(row.p, row.q) for row in here] == gap["base"] == over["base"]
    assert [base + x for base, x in zip(gap["base"], gap["x"])] == pytest.approx(
        [max(row.p, row.shared) for row in here]
    )
    assert [base + x for base, x in zip(over["base"], over["x"])] == pytest.approx([row.q for row in here])
    assert sum(shared["x"]) == pytest.approx(an_event.alpha)
    assert sum(gap["x"]) == pytest.approx(1 - an_event.alpha) == sum(over["x"])
    for upper, lower in ((gap, over), (outlined(figure, colours.p), outlined(figure, colours.q))):
        assert all(i - 0.5 < y < i for i, y in enumerate(upper["y"]))
        assert all(i < y < i + 0.5 for i, y in enumerate(lower["y"]))
    assert over["marker"]["pattern"]["shape"] and not gap["marker"].get("pattern")


@pytest.mark.parametrize("outcome", DRAFTED)
def test_what_is_written_is_the_events(outcome):
    an_event = few(outcome)
    here, figure = rows(an_event), position_figure(an_event)
    assert numbers(figure, THEMES["light"].p) == [show(row.p, 3) for row in here]
    assert numbers(figure, THEMES["light"].q) == [show(row.q, 3) for row in here]
    assert show(an_event.alpha) in figure["layout"]["title"]["text"]
    legend = [trace["name"] for trace in figure["data"] if trace.get("showlegend")]
    assert [text.split(": ")[1] for text in legend] == [
        show(x, 3) for x in (sum(min(r.p, r.q) for r in here), *[sum(max(0, r.q - r.p) for r in here)] * 2)
    ]
    for row, hover in zip(here, figure["data"][-1]["hovertext"]):
        lines = hover.split("<br>")
        assert f"p = {show(row.p, 6)}" in lines and f"q = {show(row.q, 6)}" in lines
        assert f"p/q = {show(row.p / row.q, 6)}" in lines and f"min(p, q) = {show(row.shared, 6)}" in lines


@pytest.mark.parametrize("outcome", [Outcome.BONUS, Outcome.PLAIN])
def test_p_alone(outcome):
    figure = position_figure(few(outcome))
    assert outlined(figure, THEMES["light"].p)["x"] == [row.p for row in rows(few(outcome))]
    assert not [trace for trace in figure["data"] if trace.get("showlegend")]
    assert (
        "q " not in str([trace.get("text") for trace in figure["data"]])
        and "p alone" in figure["layout"]["meta"]["alt"]
    )


def test_discarded_is_said_to_be_never_judged():
    assert "never judged" in position_figure(sample(Outcome.DISCARDED))["layout"]["title"]["text"]


@pytest.mark.parametrize("outcome", Outcome)
def test_the_own_token_is_marked_and_no_other(outcome):
    an_event = sample(outcome)
    here, figure = rows(an_event), position_figure(an_event)
    own = next(i for i, row in enumerate(here) if row.mine)
    bands = [shape for shape in figure["layout"]["shapes"] if shape["type"] == "rect"]
    assert [(band["y0"], band["y1"]) for band in bands] == [(own - 0.5, own + 0.5)]
    assert bands[0]["fillcolor"] == PALETTE[outcome].light.fill
    assert [PALETTE[outcome].glyph in tick.split("\u2068")[0] for tick in ticks(figure)] == [row.mine for row in here]
    alt = figure["layout"]["meta"]["alt"]
    assert PALETTE[outcome].glyph in alt and ENGLISH[outcome] in alt


def test_everything_else_that_dwarfs_the_tokens_is_broken_and_says_so():
    """2,000 tokens much alike: the rest has nearly all of the mass. Its bars are cut in proportion, its numbers not."""
    p, q = law(2000, 1, 1.0), law(2000, 2, 1.0)
    an_event = event(Outcome.REJECTED, p, q, 0, u=0.9)
    here, figure, colours = rows(an_event), position_figure(an_event), THEMES["light"]
    longest = max(max(row.p, row.q) for row in here[:-1])
    p_bars, q_bars = outlined(figure, colours.p)["x"], outlined(figure, colours.q)["x"]
    assert p_bars[:-1] == [row.p for row in here[:-1]]
    assert here[-1].p > 0.9 and longest < max(p_bars[-1], q_bars[-1]) < 2 * longest
    assert p_bars[-1] / q_bars[-1] == pytest.approx(here[-1].p / here[-1].q)
    (shared,) = traces(figure, colours.shared)
    assert shared["x"][-1] / p_bars[-1] == pytest.approx(here[-1].shared / here[-1].p)
    assert "not to scale" in ticks(figure)[-1] and numbers(figure, colours.p)[-1] == show(here[-1].p, 3)
    assert numbers(figure, colours.q)[-1] == show(here[-1].q, 3)
    assert len([shape for shape in figure["layout"]["shapes"] if shape["type"] == "line"]) == 2
    assert ticks(position_figure(sample(Outcome.REJECTED, sharpness=60.0)))[-1] == "everythingelse"


def test_one_token_is_enough():
    figure = position_figure(event(Outcome.PLAIN, [1.0], None, 0))
    assert outlined(figure, THEMES["light"].p)["x"] == [1.0] and ticks(figure) == ["· \u2068␣w0\u2069"]


# -- texts ------------------------------------------------------------------------------------------------------------


def hostile_event(first: int):
    """The ten hostile texts from `first` on, as the ten likeliest tokens."""
    texts = HOSTILE[first : first + 10]
    weights = [2.0**-i for i in range(len(texts))]
    p = [w / sum(weights) for w in weights]
    return event(Outcome.REJECTED, p, p[::-1], 0, u=0.9, texts=texts)


@pytest.mark.parametrize("first", [0, 10])
def test_no_text_becomes_a_command(first):
    """The only tags are our own, the only entities those of literal < > &."""
    an_event = hostile_event(first)
    for make in (position_figure, coin_figure):
        figure = make(an_event)
        spoken = [figure["layout"]["title"]["text"], *figure["layout"]["yaxis"].get("ticktext", [])]
        spoken += [text for trace in figure["data"] for text in trace.get("hovertext", [])]
        for text in spoken:
            tags = set(re.findall(r"<(/?\w+)", text))
            assert tags <= {"b", "/b", "br", "span", "/span"}, text
            assert text.count("<b") - text.count("<br") == text.count("</b>") <= 1
            assert not re.search(r"&(?!(lt|gt|amp);)", text)
            assert not re.search(r"[\x00-\x1f\u202a-\u202e]", text)


def test_tokens_of_one_spelling_stay_apart():
    p = [0.3, 0.2, 0.5]
    figure = position_figure(event(Outcome.BONUS, p, None, 2, texts=[" the", " the", "x"]))
    axis = figure["layout"]["yaxis"]
    assert axis["tickvals"] == [0, 1, 2] == outlined(figure, THEMES["light"].p)["y"]
    assert [tick.strip("+ ") for tick in ticks(figure)] == [
        "\u2068x\u2069",
        "\u2068␣the\u2069 #0",
        "\u2068␣the\u2069 #1",
    ]


# -- the coin ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(1, 9))
@pytest.mark.parametrize("outcome", JUDGED)
def test_the_coin_falls_where_it_fell(outcome, seed):
    an_event = sample(outcome, seed)
    figure, colours, edge = coin_figure(an_event), THEMES["light"], min(1.0, an_event.p / an_event.q)
    keep, refuse = figure["data"]
    assert keep["marker"]["color"] == colours.shared and (keep["base"], keep["x"]) == ([0], [edge])
    assert refuse["marker"]["color"] == colours.over and (refuse["base"], refuse["x"]) == ([edge], [1 - edge])
    (mark,) = figure["layout"]["shapes"]
    assert mark["x0"] == mark["x1"] == an_event.u
    assert (an_event.u < edge) == (outcome is Outcome.ACCEPTED)
    alt = figure["layout"]["meta"]["alt"]
    assert ("kept" in alt, "refused" in alt) == (outcome is Outcome.ACCEPTED, outcome is Outcome.REJECTED)


def test_a_close_call_is_seen_to_be_one():
    """u and p/q that agree in seven digits are written with more."""
    close = coin_figure(event(Outcome.REJECTED, [0.3, 0.7], [0.5, 0.5], 0, u=0.6 + 3e-9))["layout"]["meta"]["alt"]
    u, ratio = re.search(r"u = ([\d.]+) ≥ p/q = ([\d.]+)", close).groups()
    assert float(u) > float(ratio)


def test_a_token_that_p_likes_better_is_kept_whatever_the_coin():
    figure = coin_figure(event(Outcome.ACCEPTED, [0.6, 0.4], [0.3, 0.7], 0, u=0.99))
    assert figure["data"][1]["x"] == [0.0] and "whatever u" in figure["layout"]["meta"]["alt"]
    assert [note["text"] for note in figure["layout"]["annotations"]] == [
        "<b>u = 0.9900</b>",
        "0",
        "1 ≤ p/q = 2.000",
        "keep",
    ]


# -- the residual -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(1, 5))
def test_the_residual_over_the_rows_of_the_position(seed):
    an_event = few(Outcome.RESAMPLED, seed=seed)
    figure, here = residual_figure(an_event), rows(an_event)
    bars = outlined(figure, THEMES["light"].p)
    assert bars["x"] == residual(an_event, here) and sum(bars["x"]) == pytest.approx(1)
    gaps = [max(0.0, row.p - row.q) / (1 - an_event.alpha) for row in here]
    assert bars["x"] == pytest.approx(gaps)
    assert numbers(figure, THEMES["light"].p) == [show(x, 3) for x in bars["x"]]
    position = position_figure(an_event)
    assert ticks(figure) == ticks(position)
    assert figure["layout"]["yaxis"]["range"] == position["layout"]["yaxis"]["range"]
    assert figure["layout"]["height"] == position["layout"]["height"]


# -- time -------------------------------------------------------------------------------------------------------------


def a_run(n: int) -> list[Round]:
    events = (sample(Outcome.ACCEPTED), sample(Outcome.REJECTED), sample(Outcome.RESAMPLED))
    return [Round(i, 2, events, 0.001 * (i % 7), 0.02, 0.0005, 0.3 if i == 0 else 0.0) for i in range(n)]


@pytest.mark.parametrize("n", [0, 1, 3, 400])
@pytest.mark.parametrize("theme", THEMES)
def test_a_bar_a_round(theme, n):
    rounds = a_run(n)
    figure = rounds_figure(rounds, theme, current=n - 1 if n else None)
    go.Figure(figure)
    assert json.loads(json.dumps(figure)) == figure
    *parts, hover = figure["data"]
    assert [trace["name"] for trace in parts] == ["draft", "verify", "other"]
    for trace, field in zip(parts, ("draft_s", "verify_s", "other_s")):
        assert trace["x"] == list(range(1, n + 1))
        assert trace["y"] == [1000 * getattr(round_, field) for round_ in rounds]
    assert figure["layout"]["yaxis"]["range"][1] >= max((1000 * r.seconds for r in rounds), default=0)
    assert [(s["x0"], s["x1"]) for s in figure["layout"]["shapes"]] == ([(n - 0.5, n + 0.5)] if n else [])
    assert len(hover["hovertext"]) == n
    assert all("1 of 2 drafts kept, 2 tokens" in text for text in hover["hovertext"])
    assert n / figure["layout"]["xaxis"]["dtick"] <= 8


# -- in a browser -----------------------------------------------------------------------------------------------------


def test_texts_are_seen_literally(chromium):
    """What Plotly makes of the hostile texts: no element of theirs, no script, and each spelled out."""
    script = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1000, "height": 700})
        faults = []
        page.on("dialog", lambda dialog: faults.append(dialog.message) or dialog.dismiss())
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.set_content("<!doctype html><div id=figure></div>")
        page.add_script_tag(path=script)
        for first in (0, 10):
            an_event = hostile_event(first)
            figure = position_figure(an_event)
            page.evaluate("([f, c]) => Plotly.react('figure', f.data, f.layout, c)", [figure, CONFIG])
            seen = page.eval_on_selector_all(".ytick text", "found => found.map(text => text.textContent)")
            assert seen == ticks(figure)
            title = page.eval_on_selector(".gtitle", "title => title.textContent")
            assert title.startswith(figure["layout"]["meta"]["alt"].split(": α")[0])
            for box in page.query_selector_all(".ytick text"):
                place = box.bounding_box()
                page.mouse.move(500, place["y"] + place["height"] / 2)
                page.wait_for_selector(".hovertext")
            assert page.query_selector_all("img, #figure script, #figure a") == []
        assert faults == []
        browser.close()

"""The lab's pictures: do their areas add up, do they stand out where they should, are names only names?"""

import json
import re

import pytest
import torch
from plotly import graph_objects as go

from specdemo.lab.laws import laws
from specdemo.lab.rules import LOSSLESS, RULES
from specdemo.palette import THEMES
from specdemo.view.flow import flow_figure
from specdemo.view.histogram import histogram_figure
from specdemo.view.spelling import width
from specdemo.words import WORDS

TOKENS = ["A", "B", "C", "D"]
P, Q = (torch.tensor(row, dtype=torch.float64) for row in ([0.5, 0.1, 0.1, 0.3], [0.2, 0.4, 0.3, 0.1]))
ONE = 190  # pixels of a mass of 1


def flow(rule=LOSSLESS, tokens=TOKENS, theme="light", language="en", lit=None):
    return flow_figure(tokens, P, laws(RULES[rule], P, Q), rule != LOSSLESS, theme, WORDS[language], lit)


def histogram(tokens=TOKENS, law=None, theme="light", language="en"):
    return histogram_figure(tokens, [52, 9, 11, 28], P.tolist(), law, 7, theme, WORDS[language])


@pytest.mark.parametrize("language", WORDS)
@pytest.mark.parametrize("theme", THEMES)
def test_plotly_takes_them_and_they_travel_as_json(theme, language):
    for rule in RULES:
        figure = flow(rule, theme=theme, language=language)
        go.Figure(figure)
        json.dumps(figure, allow_nan=False)
    go.Figure(histogram(law=Q.tolist(), theme=theme, language=language))


def areas(figure):
    """What the blocks of each column hold, as masses: x -> sum of heights, frames left out."""
    sums = {}
    for trace in figure["data"]:
        if not trace["marker"]["line"]["width"]:
            sums[trace["x"][0]] = sums.get(trace["x"][0], 0) + sum(trace["y"]) / ONE
    return sums


@pytest.mark.parametrize("rule", RULES)
def test_every_mass_is_drawn_once_on_each_side(rule):
    here = laws(RULES[rule], P, Q)
    left, right, pool = areas(flow(rule)).values() if rule != "always" else (1, 1, 0)
    assert (left, right) == pytest.approx((1, 1))
    assert pool == pytest.approx(here.refused.sum().item())


def test_what_is_freed_flows_into_the_gaps():
    ribbons = [shape for shape in flow()["layout"]["shapes"] if shape["type"] == "path"]
    colours = THEMES["light"]
    kinds = [shape["fillcolor"] for shape in ribbons]
    assert (kinds.count(colours.shared), kinds.count(colours.over), kinds.count(colours.gap)) == (4, 2, 2)


def test_the_outcome_fills_the_frame_of_p_token_by_token():
    kept, again, frame = (flow()["data"][i] for i in (1, 4, 5))
    for i in range(4):
        assert frame["y"][i] == pytest.approx(ONE * P[i].item())
        assert kept["y"][i] + again["y"][i] == pytest.approx(frame["y"][i])
        assert again["base"][i] == pytest.approx(kept["base"][i] + kept["y"][i]), "stacked"


def test_a_difference_from_p_is_framed_in_red_and_nothing_else_is():
    def red(rule):
        shapes = flow(rule)["layout"]["shapes"]
        return [shape["line"]["dash"] for shape in shapes if shape["line"].get("color") == THEMES["light"].lossy]

    assert red(LOSSLESS) == []
    assert red("threshold") == ["solid", "dot", "dot", "solid"]  # A and D have too much, B and C nothing


def test_only_the_lit_parts_stand_out():
    dim = flow(lit=[("draft", 1), ("refused", 1), ("pool", 0), ("again", 0)])
    drafted, came, lost, pool, filled, _ = (trace["marker"]["opacity"] for trace in dim["data"])
    assert [x == 1 for x in drafted] == [False, True, False, False] == [x == 1 for x in lost]
    assert not any(x == 1 for x in came) and pool == [1] and [x == 1 for x in filled] == [True, False, False, False]
    bright = [shape["opacity"] for shape in dim["layout"]["shapes"] if shape["type"] == "path"]
    assert sorted(set(bright)) == [0.18, 0.5] and bright.count(0.5) == 2


def test_a_name_is_only_a_name():
    hostile = ["<b>x</b>", "<img src=x>", "\u202eabc", "\n"]
    for figure in (flow(tokens=hostile), histogram(tokens=hostile)):
        written = json.dumps(figure, ensure_ascii=False)
        assert "<img" not in written and "<b>x</b>" not in written and "\u202e" not in written


def test_what_stands_beside_the_lanes_has_room():
    names = ["everything else", "␣caused", "中文词语", "A"]
    masses = [0.00012, 0.4, 0.1, 0.49988], [0.5, 0.00004, 0.4, 0.09996]
    p, q = (torch.tensor(row, dtype=torch.float64) for row in masses)
    for rule in RULES:
        look = flow_figure(names, p, laws(RULES[rule], p, q), rule != LOSSLESS, "light", WORDS["en"])["layout"]
        for side, anchor, end in (("l", "right", 0.0), ("r", "left", 1.0)):
            texts = [note["text"] for note in look["annotations"] if (note["xanchor"], note["x"]) == (anchor, end)]
            lines = [line for text in texts for line in re.sub("<(?!br)[^>]*>", "", text).split("<br>")]
            assert len(texts) >= len(names)
            assert look["margin"][side] >= max(8 * sum(width(c) for c in line) for line in lines)


def test_a_wrong_rule_s_law_is_marked_and_in_sight():
    law = [0.05, 0.05, 0.05, 0.85]
    right, wrong = histogram(), histogram(law=law)
    assert len(right["data"]) + 1 == len(wrong["data"])
    assert wrong["data"][-1]["x"] == law and wrong["data"][-1]["marker"]["color"] == THEMES["light"].lossy
    assert right["layout"]["xaxis"]["range"][1] < 0.85 < wrong["layout"]["xaxis"]["range"][1]

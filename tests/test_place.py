"""Where a run is worked: what crosses pickles, and on the other side of a pipe the same tokens come out."""

import multiprocessing
import pickle
from contextlib import closing
from functools import partial

import pytest
import torch
from test_session import LIMIT_S, loads, request, until
from tiny import tiny_pair

from specdemo.replicas.place import asking
from specdemo.session import Here, Phase, Request
from specdemo.session.place import About, Place, Work
from specdemo.session.proof import plan as proof_plan
from specdemo.session.raced import Begun, Spelled, raced
from specdemo.words import Refusal


@pytest.fixture(scope="module")
def pair():
    return tiny_pair()


def place_of(pair):
    return Here(load=lambda spec, progress: pair)


def work_of(asked: Request) -> Work:
    return Work(asked.pair, partial(raced, asked), 2 * asked.params.max_new_tokens)


def told_by(place: Place, work: Work) -> list[object]:
    return list(place.work(work))


def tokens(news: list[object]) -> list[tuple]:
    """All that a seed decides: not the clocks."""
    return [(one.lane, one.round.index, one.round.events, one.rest) for one in news if isinstance(one, Spelled)]


def by_lane(rows: list[tuple]) -> dict[str, list[tuple]]:
    """The lanes' order is their clocks' affair."""
    return {lane: [row for row in rows if row[0] == lane] for lane in ("spec", "plain")}


def test_everything_that_crosses_pickles(pair):
    work = work_of(request(prompt="the 你 and", temperature=1.5))
    news = told_by(place_of(pair), pickle.loads(pickle.dumps(work)))
    assert {Phase, Begun, Spelled} <= {type(one) for one in news} and news[-1] == Phase("done")
    assert pickle.loads(pickle.dumps(news)) == news
    assert pickle.loads(pickle.dumps(About.of(pair))) == About.of(pair)


def test_a_refusal_crosses_as_the_last_news(pair):
    news = told_by(place_of(pair), work_of(request(prompt="the " * 600)))
    assert news[-1].name == "failed" and "must have at most" in str(news[-1].values["sentence"])
    assert pickle.loads(pickle.dumps(news))[-1] == news[-1]


def test_a_measurement_pickles_too(pair):
    plan = proof_plan(request(k=1), {"runs": 20})
    news = told_by(place_of(pair), pickle.loads(pickle.dumps(plan.work)))
    assert news[-1] == Phase("done") and pickle.loads(pickle.dumps(news[-2])).verdict.runs == 20


def _far(pipe, pair, work):
    torch.set_num_threads(1)  # OpenMP's threads did not come along
    for news in place_of(pair).work(work):
        pipe.send(news)
    pipe.close()


@pytest.mark.parametrize("temperature", [0, 1.0])
def test_a_forked_worker_streams_the_same_tokens(pair, temperature):
    """As on ZeroGPU: the pair comes along by the fork, the work and its news go through a pipe."""
    work = work_of(request(prompt="the 你 and", k=3, temperature=temperature, seed=11))
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    worker = context.Process(target=_far, args=(theirs, pair, work), daemon=True)
    worker.start()
    theirs.close()
    far = []
    while not far or not (isinstance(far[-1], Phase) and far[-1].final):
        assert ours.poll(LIMIT_S), "the worker is silent"
        far.append(ours.recv())
    worker.join(LIMIT_S)
    assert far[-1] == Phase("done")
    assert by_lane(tokens(far)) == by_lane(tokens(told_by(place_of(pair), work)))


def test_closing_the_news_frees_the_machine(pair):
    place = place_of(pair)
    news = place.work(work_of(request(length=400)))
    while not isinstance(next(news), Spelled):
        pass
    news.close()
    assert told_by(place, work_of(request(length=2)))[-1] == Phase("done")


def test_what_was_not_foreseen_is_told_with_its_type(pair):
    def breaks(pair):
        yield None
        raise ValueError("no such thing\nand a long tail")

    last = told_by(place_of(pair), Work(request().pair, breaks, 1))[-1]
    assert str(last.values["sentence"]) == "The run failed inside the engine (ValueError: no such thing)."


def test_a_place_tells_how_far_a_pair_is(pair):
    spec, place = request().pair, Here(load=loads(Refusal("prompt_empty"), pair))
    assert place.readiness(spec) is None
    place.prepare(spec)
    until(lambda: place.readiness(spec).name == "failed", "the loading to fail")
    with closing(place.work(work_of(request(length=1)))) as news:
        list(news)
    assert place.readiness(spec) == About.of(pair)


def test_telling_what_a_pair_is_is_a_work_that_ends_well(pair):
    news = told_by(place_of(pair), asking(request().pair))
    assert [one for one in news if one is not None] == [About.of(pair), Phase("done")]

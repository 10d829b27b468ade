"""What runs behind the page, without a page: tiny pairs, spies on their models, no timed assertion.

Waits have a limit only so that a fault fails instead of hanging.
"""

import gc
import json
import threading
import time
import weakref
from dataclasses import replace

import pytest
import torch
from spies import Spied, spied
from tiny import tiny_pair

from specdemo.drafters import ModelDrafter
from specdemo.engine import decode, speculate
from specdemo.metrics import measure
from specdemo.models import CATALOGUE, LoadError
from specdemo.pace import Pace
from specdemo.records import Outcome, Round, TokenEvent
from specdemo.session import LANES, Here, Log, Pairs, Phase, Request, Run, Session, Store, Turns
from specdemo.session import run as run_module
from specdemo.trace import from_json, to_json
from specdemo.words import Refusal, Saying, everywhere

LIMIT_S = 60.0


@pytest.fixture(scope="module")
def pair():
    return tiny_pair()


def place_of(pair):
    return Here(load=lambda spec, progress: pair)


def request(**fields):
    return Request.of(**({"prompt": "the hand", "length": 24, "seed": 5} | fields))


def loads(*outcomes):
    """Loads pairs by what comes out of it, one time after the other: a pair, or an error that is raised."""
    left = list(outcomes)

    def load(spec, progress):
        outcome = left.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return load


def until(condition, what):
    """Wait for something another thread does."""
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end, f"waited {LIMIT_S} s for: {what}"
        time.sleep(0.002)


def told(run):
    """All deltas of a run, parsed."""
    return [json.loads(text) for text in run.deltas()]


def assembled(deltas):
    """What a page makes of deltas: the events of each lane."""
    rounds = {lane: [] for lane in LANES}
    for delta in deltas:
        for lane in LANES:
            for index, _, events, _ in delta.get(lane, []):
                assert index == len(rounds[lane]), "a round is missing or comes twice"
                rounds[lane].append(events)
    return rounds


# -- a run, from its request to its end -------------------------------------------------------------------------------


def test_the_page_gets_exactly_what_the_engine_makes(pair):
    asked = request(k=3, temperature=0.9)
    run = Run(asked, place_of(pair))
    rounds = assembled(told(run))
    ids = pair.encode("the hand", True)
    target = pair.open_target()
    alone = {
        "spec": speculate(
            target, ModelDrafter(pair.open_draft(target)), ids, asked.params, k=3, stop_ids=pair.stop_ids
        ),
        "plain": decode(pair.open_target(), ids, asked.params, stop_ids=pair.stop_ids),
    }
    for lane, expected in alone.items():
        ours = [[(list(Outcome)[e[0]], e[2]) for e in events] for events in rounds[lane]]
        assert ours == [[(event.outcome, event.token_id) for event in round_.events] for round_ in expected]


@pytest.mark.parametrize("seed", range(6))
def test_texts_on_the_page_are_the_decoding_of_all_ids(pair, seed):
    run = Run(request(prompt="the 你 and", seed=seed, temperature=1.5), place_of(pair))
    deltas = told(run)
    prompt = pair.encode("the 你 and", True)
    for lane, rounds in assembled(deltas).items():
        emitted = [event for events in rounds for event in events if list(Outcome)[event[0]].emitted]
        text = "".join(event[1] for event in emitted)
        tail = deltas[-1].get("tail", {}).get(lane, "")
        whole = pair.decode([*prompt, *(event[2] for event in emitted)])
        assert whole in (pair.decode(prompt) + text, pair.decode(prompt) + text + tail)
        kept = "".join(event.text for round_ in run.trace().rounds for event in round_.emitted)
        assert lane != "spec" or pair.decode(prompt) + kept == whole


def test_the_last_delta_says_why_each_lane_ended_and_its_numbers_are_those_of_all_rounds(pair):
    run = Run(request(length=7, seed=1), place_of(pair))
    last = told(run)[-1]
    trace = run.trace()
    assert last["phase"]["name"] == "done"
    for lane, rounds in (("spec", trace.rounds), ("plain", trace.baseline)):
        emitted = [event.token_id for round_ in rounds for event in round_.emitted]
        assert last["phase"][lane] == ("stop" if emitted[-1] in pair.stop_ids else "cap")
        assert last["stats"][lane]["emitted"] == len(emitted) == measure(rounds).emitted
    assert from_json(to_json(trace)) == trace


def test_a_full_context_is_told():
    pair = replace(tiny_pair(max_position_embeddings=48), stop_ids=frozenset())
    run = Run(request(length=400), place_of(pair))
    assert told(run)[-1]["phase"] == {"name": "done", "spec": "context", "plain": "context"}


def test_the_seed_that_was_drawn_is_told_and_runs_the_same_again(pair):
    first = Run(request(seed=None), place_of(pair))
    seed = told(first)[0]["head"]["seed"]
    again = Run(request(seed=seed), place_of(pair))
    told(again)
    ids = [[event.token_id for event in round_.events] for round_ in first.trace().rounds]
    assert ids == [[event.token_id for event in round_.events] for round_ in again.trace().rounds]


def test_updates_come_at_most_once_in_their_interval(pair, monkeypatch):
    monkeypatch.setattr(run_module, "update_s", lambda pair, near: 0.2)
    start = time.monotonic()
    deltas = told(Run(request(length=60), place_of(pair)))
    assert len(deltas) <= 2 + (time.monotonic() - start) / 0.2
    assert assembled(deltas)["spec"]


def test_the_first_delta_comes_before_any_model():
    gate = threading.Event()

    def load(spec, progress):
        progress(0.25, Saying("model_reading", name="it"))
        gate.wait(LIMIT_S)
        return tiny_pair()

    run = Run(request(), Here(load=load))
    deltas = run.deltas()
    first = json.loads(next(deltas))
    assert first["phase"]["name"] == "loading" and first["head"]["prompt"] == "the hand"
    while (phase := json.loads(next(deltas))["phase"])["fraction"] == 0:
        pass
    assert phase == {"name": "loading", "fraction": 0.25, "sentence": everywhere(Saying("model_reading", name="it"))}
    gate.set()
    assert [json.loads(text) for text in deltas][-1]["phase"]["name"] == "done"


def test_a_pair_without_a_chat_template_reads_the_prompt_as_it_is(pair):
    bare = replace(pair, tokenizer=_without_template(pair.tokenizer))
    run = Run(request(chat=True), place_of(bare))
    told(run)
    assert list(run.trace().prompt_ids) == bare.encode("the hand", False)
    assert run.look().chat is False


def _without_template(tokenizer):
    import copy

    bare = copy.deepcopy(tokenizer)
    bare.chat_template = None
    return bare


# -- stopping ---------------------------------------------------------------------------------------------------------


def test_a_stop_is_told_at_once_and_frees_the_machine_within_a_round(pair):
    slow, spies = spied(pair)
    place = place_of(replace(slow, stop_ids=frozenset()))
    run = Run(request(length=400, temperature=1.0), place)
    deltas = run.deltas()
    until(lambda: json.loads(next(deltas)).get("spec"), "the first round")
    run.stop()
    passes = sum(spy.passes for spy in spies)
    rest = [json.loads(text) for text in deltas]
    assert len(rest) == 1 and rest[0]["phase"]["name"] == "stopped"
    until(lambda: not run._worker.is_alive(), "the engine's end")
    assert sum(spy.passes for spy in spies) <= passes + 2, "more than the round that it was in"
    with place.turns.queued("next") as came:
        assert came(LIMIT_S)
    trace = run.trace()
    assert trace.rounds and from_json(to_json(trace)) == trace


def test_closing_the_generator_stops_the_engine(pair):
    slow, spies = spied(pair)
    run = Run(request(length=400), place_of(replace(slow, stop_ids=frozenset())))
    deltas = run.deltas()
    until(lambda: json.loads(next(deltas)).get("spec"), "the first round")
    deltas.close()
    until(lambda: not run._worker.is_alive(), "the engine's end")
    assert run.look().phase.name == "stopped"
    assert sum(spy.passes for spy in spies) < 200


def test_a_stop_does_not_wait_for_a_long_prompt_to_be_read(pair):
    gate = threading.Event()
    slow, _ = spied(pair, at=lambda n: gate.wait(LIMIT_S))
    run = Run(request(), place_of(slow))
    deltas = run.deltas()
    until(lambda: json.loads(next(deltas))["phase"]["name"] == "prompt", "the reading of the prompt")
    run.stop()
    assert [json.loads(text)["phase"]["name"] for text in deltas] == ["stopped"]
    assert run._worker.is_alive(), "the engine is still in its pass, and nobody waited for it"
    gate.set()
    until(lambda: not run._worker.is_alive(), "the engine's end")


def test_a_generator_can_be_closed_at_every_point_and_the_next_run_is_as_ever(pair):
    expected = None
    for closed_after in (1, 2, 3, 5, 8):
        place = place_of(pair)
        run = Run(request(length=60), place)
        deltas = run.deltas()
        for _ in zip(range(closed_after), deltas):
            pass
        deltas.close()
        after = Run(request(), place)
        told(after)
        ids = [event.token_id for round_ in after.trace().rounds for event in round_.events]
        expected = expected or ids
        assert ids == expected


# -- one at a time ----------------------------------------------------------------------------------------------------


def test_a_second_run_waits_says_so_and_then_runs(pair):
    place = place_of(replace(pair, stop_ids=frozenset()))
    first = Run(request(length=400), place)
    running = first.deltas()
    until(lambda: json.loads(next(running)).get("spec"), "the first round")
    second = Run(request(length=4), place)
    waiting = second.deltas()
    until(lambda: json.loads(next(waiting))["phase"] == {"name": "waiting", "ahead": 1, "seconds": None}, "the second run's turn")
    assert not second.look().rounds["spec"]
    running.close()
    assert [json.loads(text) for text in waiting][-1]["phase"]["name"] == "done"


def test_a_run_that_gives_up_waiting_leaves_the_line(pair):
    place, busy, done = place_of(pair), threading.Event(), threading.Event()
    assert place.pairs.get(request().pair).done.wait(LIMIT_S)

    def hold():
        with place.turns.queued("holder") as came:
            came(LIMIT_S)
            busy.set()
            done.wait(LIMIT_S)

    threading.Thread(target=hold, daemon=True).start()
    busy.wait(LIMIT_S)
    run = Run(request(), place)
    deltas = run.deltas()
    until(lambda: json.loads(next(deltas))["phase"]["name"] == "waiting", "the line")
    deltas.close()
    until(lambda: not run._worker.is_alive(), "its leaving")
    assert place.turns.ahead("nobody") == 0 and len(place.turns._line) == 1
    done.set()


def test_turns_come_in_order():
    turns, order, threads, first_in = Turns(), [], [], threading.Event()
    gate = threading.Event()

    def take(n):
        with turns.queued(n) as came:
            came(LIMIT_S)
            first_in.set()
            gate.wait(LIMIT_S)
            order.append(n)

    for n in range(5):
        threads.append(threading.Thread(target=take, args=(n,), daemon=True))
        threads[-1].start()
        until(lambda n=n: len(turns._line) == n + 1, "its place in the line")
    assert [turns.ahead(n) for n in range(5)] == [0, 1, 2, 3, 4]
    gate.set()
    for thread in threads:
        thread.join(LIMIT_S)
    assert order == [0, 1, 2, 3, 4]


# -- faults -----------------------------------------------------------------------------------------------------------


def refuse(passes):
    if passes == 6:
        raise Refusal("prompt_no_tokens")


def crash(passes):
    if passes == 6:
        raise RuntimeError("the cat sat on the cable\nand more")


def out_of_memory(passes):
    if passes == 6:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate …")


@pytest.mark.parametrize(
    ("at", "sentence"),
    [
        (refuse, "The prompt has 0 tokens; it must have at least 1."),
        (crash, "The run failed inside the engine (RuntimeError: the cat sat on the cable)."),
        (out_of_memory, "The device ran out of memory"),
    ],
)
def test_a_fault_becomes_one_sentence_and_the_next_run_is_fine(pair, at, sentence):
    broken, _ = spied(replace(pair, stop_ids=frozenset()), at)
    place = Here(load=lambda spec, progress: broken if spec is request().pair else pair)
    run = Run(request(), place)
    last = told(run)[-1]
    assert last["phase"]["name"] == "failed" and last["phase"]["sentence"]["en"].startswith(sentence)
    assert run.trace().rounds, "what was written before stays"
    assert told(Run(request(pair="gpt2-xl"), place))[-1]["phase"]["name"] == "done"


def test_logits_that_are_no_distribution_are_told(pair):
    class Nan(Spied):
        def feed(self, ids):
            logits = self._model.feed(ids)
            self.passes += 1
            return logits * float("nan") if self.passes == 4 else logits

    broken = replace(pair, target=replace(pair.target, open=lambda: Nan(pair.target.open(), None)))
    last = told(Run(request(), place_of(broken)))[-1]
    assert last["phase"]["name"] == "failed" and "The target's logits" in last["phase"]["sentence"]["en"]


def test_a_failed_load_is_told_and_tried_again_by_the_next_run(pair):
    place = Here(load=loads(LoadError("hub_unknown", name="it"), pair))
    last = told(Run(request(), place))[-1]
    assert last["phase"] == {"name": "failed", "sentence": everywhere(Saying("hub_unknown", name="it"))}
    assert told(Run(request(), place))[-1]["phase"]["name"] == "done"


# -- pairs ------------------------------------------------------------------------------------------------------------


def test_a_pair_is_loaded_once_for_all_who_ask(pair):
    loads = []

    def load(spec, progress):
        loads.append(spec)
        return pair

    place = Here(load=load)
    runs = [Run(request(seed=seed, length=4), place) for seed in range(3)]
    threads = [threading.Thread(target=told, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    assert loads == [CATALOGUE["embedded"]]
    assert all(run.look().phase.name == "done" for run in runs)


def test_only_the_last_pairs_stay_in_memory(pair):
    specs = list(CATALOGUE.values())[:4]
    pairs = Pairs(Turns(), load=lambda spec, progress: pair, keep=2)
    for spec in specs:
        assert pairs.get(spec).done.wait(LIMIT_S)
    assert [pairs.peek(spec) is not None for spec in specs] == [False, False, True, True]


# -- requests ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"prompt": ""}, "The prompt is empty; write at least one word."),
        ({"prompt": " \n "}, "The prompt is empty; write at least one word."),
        ({"prompt": None}, "The prompt is empty; write at least one word."),
        ({"prompt": ["x"]}, "The prompt is empty; write at least one word."),
        ({"prompt": "x" * 20_001}, "The prompt has 20,001 characters; it must have at most 20,000."),
        ({"k": 17}, "K is 17; it must be a whole number from 0 to 16."),
        ({"k": -1}, "K is -1; it must be a whole number from 0 to 16."),
        ({"k": 2.5}, "K is 2.5; it must be a whole number from 0 to 16."),
        ({"k": True}, "K is True; it must be a whole number from 0 to 16."),
        ({"k": "NaN"}, "K is not a number; it must be a whole number from 0 to 16."),
        ({"k": "many"}, "K is 'many'; it must be a whole number from 0 to 16."),
        ({"temperature": -0.1}, "Temperature is -0.1; it must be a number from 0 to 5."),
        ({"temperature": float("nan")}, "Temperature is nan; it must be a number from 0 to 5."),
        ({"temperature": float("inf")}, "Temperature is inf; it must be a number from 0 to 5."),
        ({"temperature": None}, "Temperature is empty; it must be a number from 0 to 5."),
        ({"temperature": {}}, "Temperature is {}; it must be a number from 0 to 5."),
        ({"top_k": -3}, "Top-k is -3; it must be a whole number from 0 to 1,000,000."),
        ({"top_p": 0}, "Top-p is 0; it must be a number above 0 and at most 1."),
        ({"top_p": 1.2}, "Top-p is 1.2; it must be a number above 0 and at most 1."),
        ({"min_p": 2}, "Min-p is 2; it must be a number from 0 to 1."),
        ({"seed": "abc"}, "Seed is 'abc'; it must be a whole number from 0 to 2,147,483,647."),
        ({"seed": -1}, "Seed is -1; it must be a whole number from 0 to 2,147,483,647."),
        ({"seed": 10**400}, "Seed is 1000"),
        ({"length": 0}, "Length is 0; it must be a whole number from 1 to 1,024."),
        ({"length": 4096}, "Length is 4096; it must be a whole number from 1 to 1,024."),
        ({"pair": "nobody"}, "There is no pair called 'nobody'"),
        ({"pair": ["embedded"]}, "There is no pair called ['embedded']"),
        ({"pair": "own", "target": "a"}, "Name both models of your own pair"),
    ],
)
def test_a_request_out_of_range_names_the_value_and_the_range(fields, message):
    with pytest.raises(ValueError) as error:
        request(**fields)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("fields", [{"k": "auto"}, {"k": 3, "auto": True}])
def test_a_run_may_choose_its_k_and_its_trace_says_so(pair, fields):
    run = Run(request(length=40, **fields), place_of(pair))
    first = next(delta["head"] for delta in told(run) if "head" in delta)
    trace = run.trace()
    assert first["k"] is None and trace.k is None and from_json(to_json(trace)) == trace
    pace, last, left = Pace(pair.costs), None, 40
    for round_ in trace.rounds:
        assert round_.k == min(pace(last), left - 1)
        last, left = round_, left - len(round_.emitted)
    shown = Log.of("again", trace).snapshot()
    assert shown["head"]["k"] is None and len(shown["spec"]) == len(trace.rounds)


def test_requests_take_what_a_form_sends():
    asked = request(k=4.0, temperature="0.5", top_k=40.0, seed="12", length=16.0, chat=1)
    assert (asked.k, asked.params.temperature, asked.params.top_k, asked.params.seed) == (4, 0.5, 40, 12)
    assert asked.params.max_new_tokens == 16 and asked.chat is True
    own = request(pair="own", target=" org/big ", draft="./small").pair
    assert (own.target, own.draft) == ("org/big", "./small")
    assert request(seed=0).params.seed == 0


def test_a_prompt_keeps_all_that_is_a_character():
    assert request(prompt="a\ud800b 𝄞 你\u202e\x00 \ud834\udd1e").prompt == "a\ufffdb 𝄞 你\u202e\x00 𝄞"


def test_seeds_that_nobody_chose_differ():
    """20 draws from 2³¹ that are all the same: below 1e-170."""
    assert len({request(seed="").params.seed for _ in range(20)}) > 1


# -- the store, and what a page may ask -------------------------------------------------------------------------------


def test_the_store_forgets_the_oldest_and_the_expired(pair):
    now = [0.0]
    store = Store(capacity=2, lifetime_s=10, clock=lambda: now[0])
    for name in "abc":
        store.put(name, _log(name))
        now[0] += 1
    assert [store.get(name) is not None for name in "abc"] == [False, True, True]
    now[0] = 11.5
    assert [store.get(name) is not None for name in "abc"] == [False, False, True]
    now[0] = 1e6
    assert store.get("c") is None


def test_the_store_forgets_old_runs_when_all_are_too_long(pair):
    store, logs = Store(tokens=100), {name: _log(name) for name in "abcd"}
    for name, rounds in zip("abcd", (30, 30, 30, 200)):
        both = (TokenEvent(0, Outcome.ACCEPTED, 1.0), TokenEvent(0, Outcome.BONUS, 1.0))
        logs[name].rounds["spec"] = [Round(i, 1, both, 0.0, 0.0, 0.0) for i in range(rounds)]
        store.put(name, logs[name])
        kept = [other for other in "abcd" if store.get(other)]
        assert kept == {"a": ["a"], "b": ["b"], "c": ["c"], "d": ["d"]}[name]  # two of 60 are more than 100


def test_a_run_stopped_while_its_pair_loads_does_not_keep_the_pair(pair):
    """Seen: a stopped run held the pair for an hour, long after it was to make room for others."""

    class Heavy:
        pass

    gate, made = threading.Event(), []

    def load(spec, progress):
        gate.wait(LIMIT_S)
        heavy = Heavy()
        made.append(weakref.ref(heavy))
        return heavy

    place = Here(load=load)
    run = Run(request(), place)
    deltas = run.deltas()
    next(deltas)
    until(lambda: place.readiness(request().pair), "the run to ask for its pair")
    deltas.close()
    gate.set()
    until(lambda: made, "the loading to end")
    place.pairs._loadings.clear()
    until(lambda: gc.collect() is not None and made[0]() is None, "nobody to hold the pair")
    assert run.look().phase.name == "stopped"


def _log(name):
    return Log(name, prompt="x", params=request().params, k=1, chat=None, phase=Phase("recorded"))


@pytest.fixture(scope="module")
def session(pair):
    """A session with one finished run, and that run's id."""
    session = Session(place=place_of(replace(pair, stop_ids=frozenset())))
    deltas = [json.loads(text) for text in session.run(prompt="the hand", k=3, length=30, seed=3, temperature=1.0)]
    return session, deltas


def test_a_page_that_missed_rounds_gets_just_these(session):
    session, deltas = session
    run, rounds = deltas[0]["run"], assembled(deltas)
    rest = session.resync({"run": run, "spec": 2, "plain": 5})
    assert [row[0] for row in rest["spec"]] == list(range(2, len(rounds["spec"])))
    assert [row[2] for row in rest["plain"]] == rounds["plain"][5:]
    assert rest["phase"]["name"] == "done" and rest["head"]["prompt"] == "the hand" and rest["stats"]
    json.dumps(rest, allow_nan=False)


@pytest.mark.parametrize("since", [{}, {"spec": -1}, {"spec": "x"}, {"spec": True}, {"spec": None}, {"spec": 10**9}])
def test_a_senseless_resync_is_answered_from_the_start_or_with_nothing_new(session, since):
    session, deltas = session
    rest = session.resync({"run": deltas[0]["run"], **since})
    assert len(rest.get("spec", [])) in (0, len(assembled(deltas)["spec"]))


@pytest.mark.parametrize("run", [None, "", "nobody", 3, ["x"], {}, "__class__"])
def test_an_unknown_run_has_no_answer(session, run):
    session, _ = session
    question = {"run": run, "lane": "spec", "round": 0, "event": 0}
    answers = [ask(question) for ask in (session.resync, session.stop, session.inspect, session.trace)]
    assert answers == [None] * 4


def test_ids_of_runs_cannot_be_guessed(pair):
    """128 bits each: 50 that are not distinct have a chance below 1e-35."""
    ids = {Run(request(), place_of(pair)).id for _ in range(50)}
    assert len(ids) == 50 and all(len(run_id) >= 22 for run_id in ids)


@pytest.mark.parametrize("theme", ["light", "dark", "<b>", None])
def test_every_token_has_figures_and_sentences(session, theme):
    session, deltas = session
    run = deltas[0]["run"]
    for lane, rounds in assembled(deltas).items():
        for index, events in enumerate(rounds):
            for place, event in enumerate(events):
                answer = session.inspect({"run": run, "lane": lane, "round": index, "event": place, "theme": theme})
                outcome = list(Outcome)[event[0]]
                json.dumps(answer, allow_nan=False)
                assert answer["position"]["data"] and answer["sentences"]
                judged = outcome in (Outcome.ACCEPTED, Outcome.REJECTED, Outcome.RESAMPLED)
                assert (answer["coin"] is not None) == judged
                assert (answer["residual"] is not None) == (outcome in (Outcome.REJECTED, Outcome.RESAMPLED))


@pytest.mark.parametrize(
    "address",
    [
        {"lane": "spec", "round": -1, "event": 0},
        {"lane": "spec", "round": 10**6, "event": 0},
        {"lane": "spec", "round": 0, "event": -1},
        {"lane": "spec", "round": 0, "event": 99},
        {"lane": "spec", "round": "0", "event": 0},
        {"lane": "spec", "round": 0, "event": None},
        {"lane": "spec", "round": 0.0, "event": True},
        {"lane": "middle", "round": 0, "event": 0},
        {"lane": ["spec"], "round": 0, "event": 0},
        {},
    ],
)
def test_an_address_without_a_token_has_no_figures(session, address):
    session, deltas = session
    assert session.inspect({"run": deltas[0]["run"], "theme": "light", **address}) is None


def test_fewer_candidates_are_the_same_position(session):
    session, deltas = session
    question = {"run": deltas[0]["run"], "lane": "spec", "round": 0, "event": 0, "theme": "light"}
    few, many = (session.inspect({**question, "shown": shown}) for shown in (3, 10))

    def mass(answer, name):
        return next(float(t["name"].rsplit(" ", 1)[1]) for t in answer["position"]["data"] if name in t["name"])

    assert len(few["position"]["data"][0]["x"]) == 4 and len(many["position"]["data"][0]["x"]) == 11
    for name in ("min(p, q)", "q − p", "p − q"):
        assert mass(few, name) == pytest.approx(mass(many, name), abs=2e-3)


def test_the_trace_of_a_run_reads_back(session):
    session, deltas = session
    trace = from_json(session.trace({"run": deltas[0]["run"]}))
    assert trace.prompt == "the hand" and trace.k == 3 and trace.params.seed == 3
    assert len(trace.rounds) == len(assembled(deltas)["spec"])


def test_a_refused_request_is_one_delta(session):
    session, _ = session
    (refusal,) = map(json.loads, session.run(prompt="the hand", k=99))
    sentence = {
        "en": "K is 99; it must be a whole number from 0 to 16.",
        "zh": "K：99 不可用；允许的值：0 到 16 之间的整数。",
    }
    assert refusal == {"phase": {"name": "failed", "sentence": sentence}}


def test_own_models_can_be_switched_off(pair):
    session = Session(place=place_of(pair), own_models=False)
    (refusal,) = session.run(prompt="the hand", pair="own", target="/etc", draft="/home")
    assert json.loads(refusal)["phase"]["sentence"] == everywhere(Saying("own_off"))


def test_two_runs_at_once_keep_apart(pair):
    session = Session(place=place_of(replace(pair, stop_ids=frozenset())))
    results, alone = {}, {}

    def go(into, prompt):
        rounds = assembled([json.loads(text) for text in session.run(prompt=prompt, length=20, seed=4)])
        into[prompt] = {lane: [[event[:3] for event in events] for events in rounds[lane]] for lane in LANES}

    prompts = ["the hand", "and in"]
    threads = [threading.Thread(target=go, args=(results, prompt)) for prompt in prompts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    for prompt in prompts:
        go(alone, prompt)
    assert results == alone
    assert results["the hand"] != results["and in"]


def test_the_status_follows_the_default_pair(pair):
    gate, half_way = threading.Event(), Saying("model_reading", name="it")

    def load(spec, progress):
        progress(0.5, half_way)
        gate.wait(LIMIT_S)
        return pair

    session = Session(place=Here(load=load))
    assert session.status() == {"state": "idle"}
    session.preload()
    until(lambda: session.status().get("fraction") == 0.5, "the loading")
    assert session.status() == {
        "state": "loading",
        "fraction": 0.5,
        "sentence": everywhere(Saying("model_reading", name="it")),
    }
    gate.set()
    until(lambda: session.status()["state"] == "ready", "the pair")
    assert session.status()["pair"] == pair.describe() and session.status()["notes"] == [everywhere("Random weights.")]

"""Named endpoints for scripts: typed, documented, and with the limits and the sentences of the page.

They go through gradio's queue, so that its clients stream, cancel and list them. A generator is closed when its client
cancels it or goes away, and its work ends with it.
"""

import inspect
import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Literal, get_args

import gradio as gr

from ..models import CATALOGUE
from ..pace import USUAL_K
from ..records import USUAL_TEMPERATURE
from ..session import LANES, Session
from ..session.measurements import Measurements
from ..session.proof import plan
from ..words import ENGLISH
from .answers import Begun, Checked, Offer, Over, Stopped, Written, ended, found, text_of, written

_LOOK_S = 0.3  # between two looks at a check

#: Streams at once: each holds one of the 40 threads that answer all else, too. More of them wait in gradio's queue; who
#: of them runs, and when, is the session's to say, to scripts and pages alike.
_STREAMS = 16


def add_endpoints(session: Session) -> None:
    """To the page that is being built."""
    ours = Endpoints(session)
    for function in (ours.run, ours.check):
        gr.api(function, api_name=function.__name__, concurrency_limit=_STREAMS, concurrency_id="streams")
    for function in (ours.cancel, ours.trace, ours.recordings, ours.pairs):
        gr.api(function, api_name=function.__name__, concurrency_limit=None)


def streamed(function: Callable[..., Iterator[object]]) -> Callable[..., Iterator[object]]:
    """A generator whose signature returns one of its items, as gradio describes it to scripts."""
    signature = inspect.signature(function)
    (item,) = get_args(signature.return_annotation)
    function.__signature__ = signature.replace(return_annotation=item)
    return function


class Endpoints:
    """A method an endpoint. Raises gr.Error with the sentence that the page would show."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._checks = Measurements(session, plan, found)

    @streamed
    def run(
        self,
        prompt: str,
        pair: str = "embedded",
        k: int | Literal["auto"] = USUAL_K,
        temperature: float = USUAL_TEMPERATURE,
        length: int = 128,
        seed: int | None = None,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        chat: bool = True,
        target: str = "",
        draft: str = "",
    ) -> Iterator[Begun | Written | Over]:
        """
        Write with speculative sampling and beside it with the target alone, and stream what happens: first the run's
        id, then each round of either lane as it is done, last the texts and the numbers.

        Parameters:
            prompt: at most 20,000 characters
            pair: a name of `pairs`; "own" for two models of your own, where the server allows it
            k: tokens to draft a round, 0 to 16, or "auto"
            temperature: 0 to 5; 0 is greedy
            length: tokens to write at most, 1 to 1,024
            seed: repeats a run on the same machine; null takes a new one
            top_k: keep so many of the likeliest tokens; 0 keeps all
            top_p: keep the likeliest tokens that hold this mass; 1 keeps all
            min_p: keep tokens this likely relative to the likeliest; 0 keeps all
            chat: the prompt as a turn of the pair's chat, else as a text to be continued
            target: with pair "own": hub id or folder
            draft: with pair "own": hub id or folder
        """
        fields = {name: value for name, value in locals().items() if name != "self"}
        given = dict.fromkeys(LANES, 0)
        run_id, delta = None, {}
        with closing(self._session.run(**fields)) as deltas:
            for delta in map(json.loads, deltas):
                _raise_failure(delta["phase"])
                if run_id is None:
                    run_id = delta["run"]
                    yield {"run": run_id, "seed": delta["head"]["seed"]}
                for lane, rounds in self._session.lanes(run_id).items():
                    yield from (written(lane, round_) for round_ in rounds[given[lane] :])
                    given[lane] = len(rounds)
        text = text_of(self._session.lanes(run_id))
        yield {"run": run_id, **ended(delta["phase"]), "text": text, "stats": delta["stats"]}

    def cancel(self, run: str) -> Stopped:
        """Stop a run by its id. Cancelling the job that streams a run stops it, too."""
        stopped = _kept(self._session.stop({"run": run}))
        return {"run": run, "end": stopped["phase"]["name"]}

    def trace(self, run: str) -> dict:
        """
        All of a run, by its id or that of a recording, as the JSON that the page saves and opens: of every token p, q,
        the coin and the likeliest candidates. A run is kept for an hour at most.
        """
        return json.loads(_kept(self._session.trace({"run": run})))

    def recordings(self) -> list[str]:
        """The ids of the recorded runs that come with the page, for `trace`."""
        return list(self._session.library.ids) if self._session.library else []

    def pairs(self) -> list[Offer]:
        """The pairs that `run` and `check` know by name."""
        return [
            {"name": one.name, "title": one.title, "target": one.target, "draft": one.draft, "note": one.note}
            for one in CATALOGUE.values()
        ]

    @streamed
    def check(
        self,
        prompt: str,
        runs: int = 1000,
        pair: str = "embedded",
        k: int = USUAL_K,
        temperature: float = USUAL_TEMPERATURE,
        seed: int | None = None,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        chat: bool = True,
    ) -> Iterator[Checked]:
        """
        Is it lossless after this prompt? The exact law of every token, and thousands of runs of the engine against the
        target's own probabilities; streams what is found so far.

        Parameters:
            prompt: at most 20,000 characters
            runs: of the engine, at least 1; more than 20,000 count as 20,000
            pair: a name of `pairs`
            k: tokens to draft a round, 1 to 16
            temperature: 0 to 5; 0 is greedy
            seed: repeats a check
            top_k: keep so many of the likeliest tokens; 0 keeps all
            top_p: keep the likeliest tokens that hold this mass; 1 keeps all
            min_p: keep tokens this likely relative to the likeliest; 0 keeps all
            chat: the prompt as a turn of the pair's chat, else as a text to be continued
        """
        fields = {name: value for name, value in locals().items() if name not in ("self", "runs")}
        told = self._checks.start({"fields": fields, "runs": runs})
        _raise_failure(told["phase"])
        check = {"run": told["run"]}
        try:
            while told["phase"]["name"] not in ("done", "stopped"):
                if "shown" in told:
                    yield {"over": False, **told["shown"]}
                time.sleep(_LOOK_S)
                told = _kept(self._checks.look({**check, "news": told["news"]}))
                _raise_failure(told["phase"])
            yield {"over": True, **_found(self._checks.look(check))}
        finally:
            self._checks.stop(check)


def _raise_failure(phase: dict) -> None:
    if phase["name"] == "failed":
        raise gr.Error(phase["sentence"]["en"], print_exception=False)


def _found(told: dict | None) -> dict:
    """What a check that is over has found. Raises gr.Error where it was stopped before that."""
    if "shown" not in _kept(told):
        raise gr.Error(ENGLISH["phase_stopped"], print_exception=False)
    return told["shown"]


def _kept(answer: object) -> object:
    """What is known of a run. Raises gr.Error where it is forgotten."""
    if answer is None:
        raise gr.Error(ENGLISH["runs_forgotten"], print_exception=False)
    return answer

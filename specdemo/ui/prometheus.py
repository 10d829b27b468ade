"""Counts of the server for Prometheus; needs the package prometheus-client."""

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.process_collector import ProcessCollector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from ..records import Outcome
from ..session import Ended, Session

_ENDS = ("done", "stopped", "failed", "refused")
_SECONDS = (0.5, 1, 2, 5, 10, 20, 60, 180, 600)
_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)


class Meters:
    """What has been counted since the server began; a listener of its session."""

    def __init__(self, session: Session) -> None:
        self.registry = here = CollectorRegistry()
        ProcessCollector(registry=here)
        self._runs = Counter("specdemo_runs", "Runs that are over, by how they ended", ["end"], registry=here)
        self._failures = Counter(
            "specdemo_failures", "Runs that failed or were refused, by what was told", ["reason"], registry=here
        )
        self._tokens = Counter("specdemo_tokens", "Tokens, by how they came to be", ["outcome"], registry=here)
        self._seconds = Histogram(
            "specdemo_run_seconds", "From a run's request to its end, waiting included", buckets=_SECONDS, registry=here
        )
        self._acceptance = Histogram(
            "specdemo_run_acceptance", "Share of a run's judged drafts that stayed", buckets=_SHARES, registry=here
        )
        self._gauges(session)
        for end in _ENDS:
            self._runs.labels(end)
        for outcome in Outcome:
            self._tokens.labels(outcome.value)

    def _gauges(self, session: Session) -> None:
        """Looked up when they are asked for."""
        waiting = Gauge("specdemo_waiting", "Runs that wait for their turn", registry=self.registry)
        waiting.set_function(lambda: session.waiting)
        ready = Gauge("specdemo_ready", "1 where a pair is in memory and runs are taken", registry=self.registry)
        ready.set_function(lambda: session.health() == "ready")

    def __call__(self, ended: Ended) -> None:
        self._runs.labels(ended.end).inc()
        if ended.end in ("failed", "refused"):
            self._failures.labels(ended.reason).inc()
        for outcome in Outcome:
            self._tokens.labels(outcome.value).inc(getattr(ended.spec, outcome) + getattr(ended.plain, outcome))
        if ended.end != "refused":
            self._seconds.observe(ended.seconds)
        if ended.spec.acceptance is not None:
            self._acceptance.observe(ended.spec.acceptance)


def routes(session: Session) -> list[BaseRoute]:
    meters = Meters(session)
    session.listeners.append(meters)

    def metrics(request: Request) -> Response:
        return Response(generate_latest(meters.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    return [Route("/metrics", metrics)]

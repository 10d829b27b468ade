"""Work on replicas of Ray Serve: whichever is free does it, and its news come as they are made."""

import logging
import os
import queue
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from types import ModuleType

from ..models import Pair, PairSpec, load_pair
from ..session.phase import Phase
from ..session.place import About, Work
from ..session.turns import MOST_S
from ..words import FOLDER, Saying
from .count import Count
from .replica import Replica

_LOOK_S = 0.05  # between two looks at whether there is news

_ROOT = FOLDER.parents[1]


def described(pair: Pair) -> Iterator[About]:
    yield About.of(pair)


def asking(spec: PairSpec) -> Work:
    """The work of telling what a replica's pair is; it counts as one token."""
    return Work(spec, described, 1)


class Replicas:
    """The `Place` of a page that has replicas do its work; who comes first is Ray Serve's affair.

    address  of a Ray cluster that runs; None starts one on this machine, which ends with `close`
    load     how a replica loads a pair
    most_s   seconds that a run has, as for `Turns`

    Raises ModuleNotFoundError without the package ray, ConnectionError where no cluster answers, ValueError for one
    without a CPU, RuntimeError where no replica can be started.
    """

    def __init__(
        self,
        spec: PairSpec,
        count: Count,
        address: str | None = None,
        load: Callable[..., Pair] = load_pair,
        most_s: float = MOST_S,
    ) -> None:
        self._ray, self._serve = _libraries(own=address is None)
        _connect(self._ray, address)
        try:
            self._name = f"specdemo-{secrets.token_hex(4)}"
            self._handle = self._deployed(count, spec, load, most_s)
        except BaseException:
            self._ray.shutdown()
            raise
        self._known: dict[PairSpec, About | Phase] = {}
        self._line: list[object] = []
        self._lock = threading.Lock()

    def work(self, work: Work) -> Iterator[object]:
        try:
            with closing(self._steps(work)) as news:
                yield from news
        except self._ray.exceptions.RayActorError:
            yield _failed(Saying("replica_died"))
        except Exception as error:  # Ray's own; a replica tells those of the work
            logging.getLogger(__name__).error("Ray did not do a work", exc_info=error)
            yield _failed(Saying("replica_unreachable", error=type(error).__name__))

    def prepare(self, spec: PairSpec) -> None:
        with self._lock:
            known = self._known.get(spec)
            if known is not None and not (isinstance(known, Phase) and known.final):
                return
            self._known[spec] = Phase("loading", {"fraction": 0.0, "sentence": Saying("pair_waiting")})
        threading.Thread(target=self._learn, args=(spec,), name=f"ask {spec.name}", daemon=True).start()

    def readiness(self, spec: PairSpec) -> About | Phase | None:
        """As a replica said that was asked by `prepare`; one that came later may still be loading."""
        return self._known.get(spec)

    def close(self) -> None:
        """End the replicas, and the cluster if it was started here. What still goes on there is told that it died."""
        self._serve.delete(self._name)
        self._ray.shutdown()

    def _learn(self, spec: PairSpec) -> None:
        for news in self.work(asking(spec)):
            if isinstance(news, About) or (isinstance(news, Phase) and news.name in ("loading", "failed")):
                self._known[spec] = news

    def _deployed(self, count: Count, *arguments: object) -> Callable[[Work], object]:
        """What a work is handed to, for a stream of its news; `arguments` as for `Replica`."""
        deployment = self._serve.deployment(Replica).options(
            max_ongoing_requests=1,
            ray_actor_options=count.share(self._ray.cluster_resources()),
            logging_config={"log_level": "WARNING"},
            **count.options(),
        )
        logging.getLogger("ray.serve").setLevel(logging.ERROR)
        self._serve.start(proxy_location="Disabled")  # the page's server is the only way in
        handle = self._serve.run(deployment.bind(*arguments), name=self._name, route_prefix=None)
        return handle.options(method_name="work", stream=True).remote

    def _steps(self, work: Work) -> Iterator[object]:
        response, inbox, ticket = self._handle(work), queue.SimpleQueue(), object()
        with self._lock:
            self._line.append(ticket)
        threading.Thread(target=_relay, args=(response, inbox), name="relay", daemon=True).start()
        try:
            while True:
                try:
                    news = inbox.get(timeout=_LOOK_S)
                except queue.Empty:
                    yield self._waiting(ticket)  # also for who asked to give up in time
                    continue
                self._leave(ticket)
                if isinstance(news, Exception):
                    raise news
                yield news
                if isinstance(news, Phase) and news.final:
                    return
        finally:
            self._leave(ticket)
            response.cancel()

    def _waiting(self, ticket: object) -> Phase | None:
        """Its place among those for whom no replica is free yet; at least one run has to end before it."""
        with self._lock:
            if ticket not in self._line:
                return None
            return Phase("waiting", {"ahead": self._line.index(ticket) + 1, "seconds": None})

    def _leave(self, ticket: object) -> None:
        with self._lock:
            if ticket in self._line:
                self._line.remove(ticket)


def _relay(response: Iterator[object], inbox: queue.SimpleQueue) -> None:
    """Ray's stream cannot be waited for with a limit."""
    try:
        for news in response:
            inbox.put(news)
        inbox.put(EOFError("the stream of a run ended before the run did"))
    except Exception as error:
        inbox.put(error)


def _libraries(own: bool) -> tuple[ModuleType, ModuleType]:
    """ray and ray.serve, told by the environment, at which they look when they are imported, what to do.

    own  whether the cluster is one of our own: it opens ports to the network, and takes nothing without a token that
         only its processes have
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # it would report to its makers
    if own:
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    # Hundreds of megabytes, which only those have who asked for replicas.
    import ray.serve

    return ray, ray.serve


def _connect(ray: ModuleType, address: str | None) -> None:
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is None:
        path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
        ray.init("local", include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": path}}, **quiet)
        return
    # Machines of others have no clone: they get this one, without what git ignores.
    ray.init(address, runtime_env={"working_dir": str(_ROOT), "excludes": [".git", "docs", "tests"]}, **quiet)


def _failed(sentence: Saying) -> Phase:
    return Phase("failed", {"sentence": sentence})

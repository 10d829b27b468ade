"""Work on replicas of Ray Serve: whichever is free does it, and its news come as they are made."""

import logging
import os
import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from types import ModuleType

from ..models import Pair, PairSpec, load_pair
from ..session.phase import Phase
from ..session.place import About, Work, waiting
from ..session.turns import MOST_S, Turns
from ..words import FOLDER, Saying
from .address import check
from .count import Count
from .replica import Replica

_LOOK_S = 0.05  # between two looks at whether there is news
_READY_S = 1.0  # of silence after which no replica is ready: one that was free would have begun

_UNREADY = Phase("loading", {"fraction": 0.0, "sentence": Saying("replica_waiting")})

_ROOT = FOLDER.parents[1]


def described(pair: Pair) -> Iterator[About]:
    yield About.of(pair)


def asking(spec: PairSpec) -> Work:
    """The work of telling what a replica's pair is."""
    return Work(spec, described, 0)


class Replicas:
    """The `Place` of a page that has replicas do its work.

    Runs stand in one line here, for as many turns at a time as there are replicas at most; Ray Serve, which gets no
    more than that at once, says which replica does one. A measurement keeps its replica to its end, since a stream does
    not give way. So where there are several replicas one of them is left to runs.

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
        if address is not None:
            check(address)
        self._ray, self._serve = _libraries(own=address is None)
        _connect(self._ray, address)
        try:
            self._name = f"specdemo-{secrets.token_hex(4)}"
            self._handle = self._deployed(count, spec, load, most_s)
        except BaseException:
            self._ray.shutdown()
            raise
        self.turns = Turns(count.most, most_s)
        self._measurements = Turns(max(1, count.most - 1))
        self._known: dict[PairSpec, About | Phase] = {}
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
        expected = None if work.patient else self.turns.expected(work.spec, work.tokens)
        lines, ticket = [self._measurements, self.turns] if work.patient else [self.turns], object()
        with ExitStack() as stack:
            for turns in lines:
                yield from waiting(turns, ticket, stack.enter_context(turns.queued(ticket, expected)))
            yield from self._turn(work)

    def _turn(self, work: Work) -> Iterator[object]:
        """The news of a work whose turn it is; how long a run took is learnt."""
        began = None
        with closing(self._far(work)) as all_news:
            for news in all_news:
                if began is None and news is not None and not _is("loading", news):
                    began = time.monotonic()
                if _is("done", news) and not work.patient:
                    self.turns.forecast.learn(work.spec, work.tokens, time.monotonic() - began)
                yield news

    def _far(self, work: Work) -> Iterator[object]:
        """The news of a work from a replica, once one is ready; None now and then, so that who asked may give up."""
        response, inbox = self._handle(work), queue.SimpleQueue()
        threading.Thread(target=_relay, args=(response, inbox), name="relay", daemon=True).start()
        silent, since = True, time.monotonic()
        try:
            while True:
                try:
                    news = inbox.get(timeout=_LOOK_S)
                except queue.Empty:
                    yield _UNREADY if silent and time.monotonic() > since + _READY_S else None
                    continue
                silent = False
                if isinstance(news, Exception):
                    raise news
                yield news
                if isinstance(news, Phase) and news.final:
                    return
        finally:
            response.cancel()


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


def _is(name: str, news: object) -> bool:
    return isinstance(news, Phase) and news.name == name


def _failed(sentence: Saying) -> Phase:
    return Phase("failed", {"sentence": sentence})

"""Open the page."""

import argparse
import errno
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from importlib.util import find_spec

from ..models import Pair, PairSpec, load_pair
from ..replicas.count import Count
from ..replicas.place import Replicas
from ..session import Here, Place, Turns
from ..trial import load_recorded
from ..ui.serve import serve
from .faults import Fault
from .load import checked_map, named

#: Where a login may be given instead of on the command line, which everybody on the machine can read.
LOGIN_VARIABLE = "SPECDEMO_AUTH"


#: What --at-once and --most-seconds may be.
_AT_ONCE, _SECONDS = 16, 24 * 3600


def run(args: argparse.Namespace) -> int:
    if args.port is not None and not 1 <= args.port <= 65535:
        raise Fault(f"--port is {args.port}; it must be a whole number from 1 to 65535")
    for name, value, most in (("at-once", args.at_once, _AT_ONCE), ("most-seconds", args.most_seconds, _SECONDS)):
        if not 1 <= value <= most:
            raise Fault(f"--{name} is {value}; it must be a whole number from 1 to {most}")
    if args.metrics and find_spec("prometheus_client") is None:
        raise Fault("--metrics needs the package prometheus-client; try: pip install prometheus-client")
    host = "0.0.0.0" if args.lan else args.host
    _check_address(host, args.port)
    pair, login = named(args.pair), _login(os.environ.get(LOGIN_VARIABLE) if args.auth is None else args.auth)
    with _place(args, pair) as place:
        return serve(
            host=host,
            port=args.port,
            pair=pair,
            place=place,
            login=login,
            metrics=args.metrics,
            log_prompts=args.log_prompts,
            inbrowser=args.open,
        )


def _check_address(host: str, port: int | None) -> None:
    """Raises Fault for what cannot be listened on. Gradio would try a hundred ports, and take an empty host for all."""
    where = f"--host is {host!r}; it must be an address of this machine"
    if not host:
        raise Fault(where)
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port or 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            if os.name == "posix":  # as the server does: what is being closed there is no hindrance
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        if port is not None and error.errno in (errno.EADDRINUSE, errno.EACCES):
            raise Fault(f"--port is {port}; it cannot be had on {host}: {error.strerror}") from error
        raise Fault(f"{where}: {error.strerror}") from error
    except UnicodeError as error:  # no name at all
        raise Fault(where) from error


@contextmanager
def _place(args: argparse.Namespace, pair: PairSpec) -> Iterator[Place]:
    """Where runs run, until the page is closed. Raises Fault."""
    load = partial(load_pair, device_map=checked_map(args.device_map))
    if args.graphs:
        load = partial(load_recorded, load)
    if args.replicas is None and args.ray is None:
        yield Here(load, turns=Turns(args.at_once, args.most_seconds))
        return
    if args.at_once > 1:
        raise Fault("--at-once is for one process; as many runs go on at a time as --replicas says")
    with closing(_replicas(args, pair, load)) as place:
        yield place


def _replicas(args: argparse.Namespace, pair: PairSpec, load: Callable[..., Pair]) -> Replicas:
    try:
        count = Count.of("1" if args.replicas is None else args.replicas)
    except ValueError as error:
        raise Fault(f"--replicas is {error}") from error
    if args.ray is not None and not args.ray.strip():
        raise Fault(f"--ray is {args.ray!r}; it must be the HOST:PORT of a Ray cluster that runs, or auto")
    if find_spec("ray") is None:
        raise Fault("--replicas and --ray need the package ray; try: pip install -r requirements-serve.txt")
    try:
        return Replicas(pair, count, args.ray, load, args.most_seconds)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise Fault(f"no replicas on {args.ray or 'this machine'}: {error}") from error


def _login(text: str | None) -> tuple[str, str] | None:
    """User and password. Raises Fault, which does not repeat them."""
    if text is None:
        return None
    user, colon, password = text.partition(":")
    if not user.strip() or not colon or not password:
        raise Fault("--auth must be USER:PASSWORD, with at least one character on each side of the colon")
    return user.strip(), password

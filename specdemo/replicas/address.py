"""Whether a Ray cluster answers at an address: Ray itself would try for ever, and complain all the while."""

import os
import re
import socket
import subprocess
import sys

#: Seconds for somebody to open the door, and for a cluster to take a process in.
_DOOR_S, _CLUSTER_S = 3.0, 30.0

_HOST_AND_PORT = re.compile(r"\[?(.+?)\]?:(\d+)")

#: By another process, which can be ended in the midst of it.
_JOIN = "import sys, ray; ray.init(sys.argv[1], log_to_driver=False, logging_level=50)"


def check(address: str) -> None:
    """Raises ConnectionError that says why no work could be done there."""
    if address.startswith("ray://"):
        raise ConnectionError("Ray's client cannot stream; give the HOST:PORT of the cluster itself")
    if place := _HOST_AND_PORT.fullmatch(address):
        _knock(place[1], int(place[2]))
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    try:
        command = [sys.executable, "-c", _JOIN, address]
        joined = subprocess.run(command, capture_output=True, text=True, timeout=_CLUSTER_S, env=environment)
    except subprocess.TimeoutExpired as error:
        raise ConnectionError(f"no Ray cluster answered within {_CLUSTER_S:g} s") from error
    if joined.returncode:
        *_, last = ["it cannot be joined", *filter(None, map(str.strip, joined.stderr.splitlines()))]
        raise ConnectionError(last[:300])


def _knock(host: str, port: int) -> None:
    try:
        socket.create_connection((host, port), _DOOR_S).close()
    except (OSError, OverflowError) as error:  # the latter for what is no port
        raise ConnectionError(f"nobody answers there ({getattr(error, 'strerror', None) or error})") from error

"""The files that would travel to a Space: none too large, and no secret among them."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

_MB = 1_000_000

#: Bytes of a file and of all: our own limits, far above what belongs here.
MOST_FILE, MOST_ALL = 50 * _MB, 200 * _MB

_NAMES = re.compile(r"\.env(\..*)?|id_(rsa|dsa|ecdsa|ed25519)|.*\.(pem|p12|pfx|key)")
_SECRETS = {
    "a token of the hub": rb"\bhf_[A-Za-z0-9]{30,}",
    "a token of GitHub": rb"\bgh[pousr]_[A-Za-z0-9]{36,}",
    "an access key of AWS": rb"\bAKIA[0-9A-Z]{16}\b",
    "a private key": rb"-----BEGIN [A-Z ]*PRIVATE KEY-----",
}


def travelling(root: Path) -> list[Path]:
    """What git knows, and what it does not ignore. Raises ValueError outside a clone."""
    words = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(words, capture_output=True)
    if done.returncode:
        raise ValueError(f"{root} is no git clone")
    paths = (root / name for name in done.stdout.decode().split("\0") if name)
    return [path for path in paths if path.is_file()]


def faults(root: Path, paths: list[Path]) -> Iterator[str]:
    """A sentence for each file that should stay at home; no secret is repeated."""
    sizes = {path: path.stat().st_size for path in paths}
    for path, size in sizes.items():
        name = path.relative_to(root).as_posix()
        if size > MOST_FILE:
            yield f"{name} has {size / _MB:.0f} MB; a file may have {MOST_FILE / _MB:.0f}"
            continue
        if _NAMES.fullmatch(path.name):
            yield f"{name} is named like a secret"
        data = path.read_bytes()
        yield from (f"{name} has {what}" for what, pattern in _SECRETS.items() if re.search(pattern, data))
    if sum(sizes.values()) > MOST_ALL:
        yield f"all files have {sum(sizes.values()) / _MB:.0f} MB; they may have {MOST_ALL / _MB:.0f}"

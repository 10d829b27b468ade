"""Where the program keeps what it made once and would rather not make again."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

_HOME = "specdemo"


def cache_folder(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """SPECDEMO_CACHE, else the user's cache folder of the platform. It need not exist yet."""
    if environ.get("SPECDEMO_CACHE"):
        return Path(environ["SPECDEMO_CACHE"]).expanduser()
    if platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / _HOME / "Cache"
    if platform == "darwin":
        return Path.home() / "Library" / "Caches" / _HOME
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / _HOME

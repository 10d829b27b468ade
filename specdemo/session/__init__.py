"""What runs behind the page: pairs loaded once, one thing at a time on the machine, runs told as deltas. No gradio."""

from .ended import Ended
from .library import Library, recording
from .log import LANES, Log
from .pairs import Loading, Pairs
from .phase import Phase
from .place import Here, Place
from .request import Request
from .run import Run
from .session import Session
from .store import Store
from .turns import Turns

__all__ = [
    "LANES",
    "Ended",
    "Here",
    "Library",
    "Loading",
    "Log",
    "Pairs",
    "Phase",
    "Place",
    "Request",
    "Run",
    "Session",
    "Store",
    "Turns",
    "recording",
]

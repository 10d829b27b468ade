"""The command line. A module a command; only what a command needs is imported."""

from .main import main

__all__ = ["main"]

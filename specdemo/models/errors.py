"""The one error of loading."""

from ..words import Spoken


class LoadError(Spoken, RuntimeError):
    """A pair cannot be loaded; it says one clear sentence to the person who asked for it."""

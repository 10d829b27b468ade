"""The one error of loading."""


class LoadError(RuntimeError):
    """A pair cannot be loaded; the message is one clear sentence for the person who asked for it."""

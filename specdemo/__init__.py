"""specdemo: speculative sampling, visible, exact and measurable."""

__version__ = "0.1.0"

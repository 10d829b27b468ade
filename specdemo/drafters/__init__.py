"""Proposals: what turns committed ids into drafted ones and the rows that they were drawn from."""

from .model import ModelDrafter, drawn
from .none import NoDrafter

__all__ = ["ModelDrafter", "NoDrafter", "drawn"]

"""Will a pair fit, and on what? In numbers and in words."""

from dataclasses import dataclass
from typing import NamedTuple

import torch

from ..words import Saying
from .errors import LoadError
from .memory import told_size
from .spread import Spread, listed

#: Tokens of a text that a pair is asked to have room for when it is loaded.
CONTEXT = 4096


class Share(NamedTuple):
    """What a pair takes of one device, in bytes; `free` is None where the system does not tell."""

    device: str
    weights: int
    cache: int
    free: int | None

    @property
    def need(self) -> int:
        return self.weights + self.cache

    @property
    def fits(self) -> bool:
        return self.free is None or self.need <= self.free

    def said(self) -> Saying:
        free = Saying("free_unknown") if self.free is None else told_size(self.free)
        parts = {"weights": told_size(self.weights), "cache": told_size(self.cache)}
        return Saying("memory_share", device=self.device, need=told_size(self.need), free=free, **parts)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What loading a pair, and two lanes of `tokens` each, will take.

    target  where the target's weights go: one device, or parts to several; None where no map holds them
    """

    names: str
    dtype: str
    tokens: int
    shares: tuple[Share, ...]
    target: torch.device | Spread | None

    @property
    def fits(self) -> bool:
        return self.target is not None and all(share.fits for share in self.shares)

    def said(self) -> Saying:
        return Saying("memory_needs", tokens=f"{self.tokens:,}", **self._told())

    def refuse_what_does_not_fit(self) -> None:
        """Raises LoadError with the numbers."""
        if not self.fits:
            raise LoadError("memory_short", tokens=f"{self.tokens:,}", **self._told())

    def _told(self) -> dict[str, object]:
        return {"names": self.names, "dtype": self.dtype, "shares": listed([share.said() for share in self.shares])}

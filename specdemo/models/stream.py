"""The residual stream of a pass, in the form that the processor's norm wants.

Each layer adds to it twice and norms it twice. On a CPU it is kept as the mirrored pair (x, −x) that the norm reads
(see `norm`): an addition to both is one kernel as well, and the two that would make the pair before each norm are
saved. With one token a pass a kernel costs what its start costs, since the weights that stream through leave nothing in
the caches.

Shapes: n tokens of a pass, D the model's width.
"""

from collections.abc import Callable
from functools import cache
from typing import Protocol

import torch

from .norm import mirrored, norm_by, norm_of_mirrored


class Stream(Protocol):
    @property
    def x(self) -> torch.Tensor:
        """What was added up, (n, D)"""

    def add(self, y: torch.Tensor) -> None:
        """y (n, D)"""


StreamNorm = Callable[[Stream], torch.Tensor]


def stream_from(x: torch.Tensor) -> Stream:
    """The stream that begins with x (n, D)."""
    return _kind(x.device)(x)


def stream_norm_by(weight: torch.Tensor, eps: float) -> StreamNorm:
    """The norm of a stream with a layer's own weight (D,), on the weight's device: -> (n, D)"""
    return _kind(weight.device).norm_by(weight, eps)


def _kind(device: torch.device) -> "type[_Mirrored | _Plain]":
    return _Mirrored if device.type == "cpu" else _Plain


class _Mirrored:
    def __init__(self, x: torch.Tensor) -> None:
        self._pair, self._signs = mirrored(x), _signs(x.dtype)

    @property
    def x(self) -> torch.Tensor:
        return self._pair[:, 0]

    def add(self, y: torch.Tensor) -> None:
        # The product with a sign is exact and the sum is rounded once, so this is x + y to the last bit.
        self._pair.addcmul_(y.unsqueeze(1), self._signs)

    @staticmethod
    def norm_by(weight: torch.Tensor, eps: float) -> StreamNorm:
        norm = norm_of_mirrored(len(weight), weight, eps)
        return lambda stream: norm(stream._pair)


class _Plain:
    def __init__(self, x: torch.Tensor) -> None:
        self.x = x

    def add(self, y: torch.Tensor) -> None:
        self.x = self.x + y

    @staticmethod
    def norm_by(weight: torch.Tensor, eps: float) -> StreamNorm:
        norm = norm_by(weight, eps)
        return lambda stream: norm(stream.x)


@cache
def _signs(dtype: torch.dtype) -> torch.Tensor:
    return torch.tensor([[1.0], [-1.0]], dtype=dtype)

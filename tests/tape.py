"""A CUDA graph's manners without a GPU: what a step does is recorded once, and done again on the same memory.

A recording holds operations and the very tensors that they were given. When it is played, no line of the step's own
Python runs: a number that Python held is as it was, a tensor that is not written again holds what it held. Before each
play everything that the step itself had made is spoilt. Like a graph it refuses to ask the device anything.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from unittest import mock

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from specdemo import maths

aten = torch.ops.aten

#: Operations that make the host wait for a device, since a shape or a number of Python's depends on it.
WAITS = {
    aten._local_scalar_dense.default,
    aten.item.default,
    aten.nonzero.default,
    aten.masked_select.default,
    aten._unique2.default,
    aten.is_nonzero.default,
    aten.equal.default,
    aten.resolve_neg.default,  # before a tolist
}


class Waited(AssertionError):
    """A step asked its device for an answer."""


class Tape(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self._calls: list[tuple] = []
        self._made: dict[int, torch.Tensor] = {}  # by their memory

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func in WAITS:
            raise Waited(str(func))
        given = {memory(t) for t in tensors((args, kwargs))}
        out = func(*args, **(kwargs or {}))
        self._calls.append((func, args, kwargs or {}, tensors(out)))
        for tensor in tensors(out):
            if memory(tensor) not in given:
                self._made.setdefault(memory(tensor), tensor)
        return out

    def play(self) -> None:
        for tensor in self._made.values():
            spoil(tensor)
        for func, args, kwargs, made in self._calls:
            for tensor, new in zip(made, tensors(func(*args, **kwargs))):
                if memory(tensor) != memory(new):
                    tensor.copy_(new)


def taped(step, kept: Sequence[torch.Tensor]):
    """Meets `graphs.Capture`. As before a graph's recording, the step is done once beforehand; a recording does not.

    The step does what it does where a question to the device would make the host wait.
    """
    before, tape = [tensor.clone() for tensor in kept], Tape()
    for mode in (nullcontext(), tape):
        with mode, mock.patch.object(maths, "_may_ask", lambda device: False):
            step()
        for tensor, value in zip(kept, before):
            tensor.copy_(value)
    return tape.play


def tensors(tree) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor) and leaf.layout is torch.strided]


def memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata


def spoil(tensor: torch.Tensor) -> None:
    if tensor.dtype.is_floating_point:
        tensor.fill_(torch.nan)
    else:
        tensor.fill_(1 if tensor.dtype is torch.bool else -(10**9))

"""Keys and values in buffers that are written by index and rolled back by setting a length."""

import torch
from transformers.cache_utils import DynamicLayer

_FIRST_ROOM = 256  # tokens


class BufferLayer(DynamicLayer):
    """One attention layer's cache: keys and values (1, heads, room, head_dim), of which the first `length` count.

    The library's own layer copies everything it holds at each step, and cannot roll back a full sliding window. This
    one keeps every key of a sliding layer too: the mask, not the cache, is the window.
    """

    def __init__(self, **_: object) -> None:
        super().__init__()
        self.length = 0
        self._keys: torch.Tensor | None = None
        self._values: torch.Tensor | None = None

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: object, **__: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write (1, heads, n, head_dim) after what is held; all that is held then, as views."""
        end = self.length + key_states.shape[-2]
        self._keys = _with_room(self._keys, key_states, self.length, end)
        self._values = _with_room(self._values, value_states, self.length, end)
        self._keys[..., self.length : end, :] = key_states
        self._values[..., self.length : end, :] = value_states
        self.rewind(end)
        return self.keys, self.values

    def rewind(self, length: int) -> None:
        """Hold the first `length` tokens; the buffers stay as they are."""
        self.length = length
        if self._keys is not None:
            self.keys, self.values = self._keys[..., :length, :], self._values[..., :length, :]
            self.is_initialized = True

    def get_seq_length(self) -> int:
        return self.length


def _with_room(buffer: torch.Tensor | None, new: torch.Tensor, length: int, end: int) -> torch.Tensor:
    """`buffer` if `end` tokens fit, else one of at least twice the room that holds the same `length` tokens."""
    if buffer is not None and end <= buffer.shape[-2]:
        return buffer
    room = max(_FIRST_ROOM, end, 2 * buffer.shape[-2] if buffer is not None else 0)
    larger = new.new_empty(*new.shape[:-2], room, new.shape[-1])
    if buffer is not None:
        larger[..., :length, :] = buffer[..., :length, :]
    return larger

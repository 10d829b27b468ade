"""Memory of a run that is written by index and grows: a row for each token."""

import torch

_FIRST = 256  # rows of a new buffer; it doubles when full


class Rows:
    """A tensor (*lead, rows, width) whose first rows count; how many is for its owner to know."""

    def __init__(self, lead: tuple[int, ...], width: int, dtype: torch.dtype, device: torch.device) -> None:
        self._data = torch.empty(*lead, 0, width, dtype=dtype, device=device)

    def room(self, rows: int) -> torch.Tensor:
        """All of it, (*lead, at least `rows`, width), with what was written before."""
        old = self._data
        if old.shape[-2] < rows:
            size = max(rows, _FIRST, 2 * old.shape[-2])
            self._data = old.new_empty(*old.shape[:-2], size, old.shape[-1])
            self._data[..., : old.shape[-2], :] = old
        return self._data

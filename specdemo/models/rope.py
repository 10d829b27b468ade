"""Rotary embedding (Su et al. 2021, arXiv 2104.09864): the turns of all positions, worked out once."""

import torch

_FIRST = 1024  # positions of a new table; it doubles when a text outgrows it


class Rope:
    """Turns each pair (x_i, x_{i + d/2}) of a head by position · frequency_i.

    frequencies  (d / 2,) in radians a position
    scaling      of the turned vector; 1 but for rotary embeddings that are stretched to longer texts
    """

    def __init__(self, frequencies: torch.Tensor, scaling: float, dtype: torch.dtype) -> None:
        self.frequencies, self._scaling, self._dtype = frequencies.float(), scaling, dtype
        self._table = self._made(_FIRST)

    def at(self, start: int, stop: int) -> tuple[torch.Tensor, torch.Tensor]:
        """cos and sin of positions start … stop − 1, (n, 1, d) each; the first half of sin has its sign turned."""
        table = self._table  # runs on other threads may put a longer one in its place meanwhile
        if table.shape[1] < stop:
            table = self._table = self._made(max(stop, 2 * table.shape[1]))
        cos, sin = table[:, start:stop].unbind()
        return cos, sin

    def _made(self, positions: int) -> torch.Tensor:
        """(2, positions, 1, d)"""
        steps = torch.arange(positions, device=self.frequencies.device).float()
        angles = steps[:, None, None] * self.frequencies
        cos, sin = ((turn * self._scaling).to(self._dtype) for turn in (angles.cos(), angles.sin()))
        return torch.stack([torch.cat([cos, cos], dim=-1), torch.cat([-sin, sin], dim=-1)])

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

    def at(self, start: int, stop: int) -> torch.Tensor:
        """cos and sin of positions start … stop − 1, (2, n, 2, d); the first half of sin has its sign turned.

        The first of the two that a position has is its turn, the second turns nothing.
        """
        table = self._table  # runs on other threads may put a longer one in its place meanwhile
        if table.shape[1] < stop:
            table = self._table = self._made(max(stop, 2 * table.shape[1]))
        return table[:, start:stop]

    def _made(self, positions: int) -> torch.Tensor:
        """(2, positions, 2, d)"""
        steps = torch.arange(positions, device=self.frequencies.device).float()
        angles = steps[:, None] * self.frequencies
        cos, sin = ((turn * self._scaling).to(self._dtype) for turn in (angles.cos(), angles.sin()))
        turn = torch.stack([torch.cat([cos, cos], dim=-1), torch.cat([-sin, sin], dim=-1)])
        none = torch.stack([torch.ones_like(turn[0]), torch.zeros_like(turn[1])])
        return torch.stack([turn, none], dim=2)

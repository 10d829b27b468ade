"""How often a reader is told of a run."""

import pytest
import torch

from specdemo.session import rhythm
from specdemo.session.rhythm import BUSY_S, FREE_S, NEAR_S, update_s

CPU = {"target_device": "cpu"}


@pytest.fixture
def cores(monkeypatch):
    """Sets how many there are; torch's threads stay."""
    return lambda more: monkeypatch.setattr(rhythm, "_cores", lambda: torch.get_num_threads() + more)


def test_where_passes_take_all_cores_updates_come_less_often(cores):
    cores(0)
    assert update_s(CPU, near=True) == NEAR_S > update_s(CPU, near=False) == BUSY_S > FREE_S


@pytest.mark.parametrize("near", [True, False])
@pytest.mark.parametrize(("pair", "more"), [(CPU, 1), ({"target_device": "cuda:0"}, 0), ({}, 0)])
def test_where_updates_cost_the_run_nothing_they_come_often(cores, pair, more, near):
    cores(more)
    assert update_s(pair, near) == FREE_S

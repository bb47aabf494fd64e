"""What tests of Dr. Mario share."""

import numpy as np
import pytest

from fastenv.drmario import planning
from fastenv.drmario.reachability import SPAWN


@pytest.fixture
def planned(monkeypatch):
    """Let the reference plan with the compiled planner, many times as fast as its own."""
    from fastenv.drmario import _reachability

    def costs_of(occupied, parity, gravity, extended, root=SPAWN):
        board = np.frombuffer(occupied, np.uint8)
        return tuple(_reachability.search(board, parity, gravity, root, extended).tolist())

    monkeypatch.setattr(planning, "costs_of", costs_of)

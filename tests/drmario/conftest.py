"""What tests of Dr. Mario share."""

import numpy as np
import pytest

from fastenv.drmario import placement


@pytest.fixture
def planned(monkeypatch):
    """Let the reference plan with the compiled planner, many times as fast as its own."""
    from fastenv.drmario import _reachability

    def costs_of(occupied, parity, gravity, extended):
        board = np.frombuffer(occupied, np.uint8)[None]
        return tuple(_reachability.plan(board, [parity], [gravity], extended)[0].tolist())

    monkeypatch.setattr(placement, "costs_of", costs_of)

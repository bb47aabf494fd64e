"""Hindsight: its modes, which policy learns from each, through what, and how much it counts."""

from __future__ import annotations

from typing import NamedTuple

from fastenv.skullking.tables import NUM_ACTIONS


class Mode(NamedTuple):
    """A way to learn from hindsight.

    ``policy`` is whose it is, ``outputs`` the size of the network's auxiliary head, ``weight`` that
    of the loss beside PPO's.
    """

    policy: str
    outputs: int
    weight: float


# There are as many bids as actions, and as many possible numbers of tricks in a round.
MODES = {
    "value": Mode("worker", 0, 0.25),
    "sil": Mode("worker", 0, 0.1),
    "is": Mode("worker", 0, 0.1),
    "tricks": Mode("manager", NUM_ACTIONS**2, 0.5),
    "bid": Mode("manager", NUM_ACTIONS, 0.5),
}

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


# For each bid there are as many possible numbers of tricks as actions.
MODES = {
    "value": Mode("worker", 0, 0.25),
    "tricks": Mode("manager", NUM_ACTIONS**2, 0.5),
}

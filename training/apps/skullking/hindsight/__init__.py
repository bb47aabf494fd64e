"""Hindsight: its modes, which policy learns from each, through what, and how much it counts."""

from __future__ import annotations

from typing import NamedTuple

BIDS = 11  # 0 to 10; a round has as many possible numbers of tricks


class Mode(NamedTuple):
    """A way to learn from hindsight.

    ``policy`` is whose it is, ``outputs`` the size of the network's auxiliary head, ``weight`` that
    of the loss beside PPO's.
    """

    policy: str
    outputs: int
    weight: float


MODES = {
    "value": Mode("worker", 0, 0.25),
    "sil": Mode("worker", 0, 0.1),
    "is": Mode("worker", 0, 0.1),
    "tricks": Mode("manager", BIDS * BIDS, 0.5),
    "bid": Mode("manager", BIDS, 0.5),
}

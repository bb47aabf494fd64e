"""Sizes of rollouts, and checks that this machine can hold a network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import psutil

from training.run.options import require


def memory() -> int:
    """Return the bytes of memory of this machine."""
    return int(psutil.virtual_memory().total)


def check_network(net_arch: Sequence[int], num_actions: int, name: str, members: int = 1) -> None:
    """Refuse a network that this machine cannot hold, by the fewest bytes that its layers take.

    Each parameter has a gradient and two moments of Adam. An encoder may leave any number of an
    observation to the first layer.

    Parameters
    ----------
    net_arch : sequence of int
    num_actions : int
    name : str
        Of the option.
    members : int
        Networks.

    Raises
    ------
    ConfigError
    """
    widths = [*net_arch, num_actions]
    needed = 16 * max(1, members) * sum(a * b for a, b in pairwise(widths))
    there = memory()
    allowed = (
        f"smaller: the network would take {needed / 2**30:,.0f} GiB, and this machine has "
        f"{there / 2**30:,.0f}"
    )
    require(needed < there, name, list(net_arch), allowed)


@dataclass(frozen=True)
class RolloutSizes:
    """Sizes of a rollout, and what they must be multiples of.

    Parameters
    ----------
    lanes, steps : int
        Decisions of a rollout are their product.
    batch : int
        Samples of a minibatch; divides the rollout, or the part of it that each member has.
    lane_unit, step_unit, batch_unit : int
    members : int
        Networks that share the lanes.
    """

    lanes: int
    steps: int
    batch: int
    lane_unit: int = 1
    step_unit: int = 1
    batch_unit: int = 1
    members: int = 1

    def fitted(self, total: int) -> RolloutSizes:
        """Reduce the rollout to about ``total`` decisions, if it has more.

        It has fewer steps; only if one step of all lanes is more than ``total``, fewer lanes.
        """
        total = max(total, 2 * self.members)  # two samples at least, see below
        undivided = self.lanes % self.lane_unit != 0  # refused by name elsewhere, or left whole
        if undivided or total >= self.lanes * self.steps:
            return self
        steps = min(self.steps, _round_up(total / self.lanes, self.step_unit))
        lanes = self.lanes
        if steps == self.step_unit:
            lanes = min(lanes, _round_up(total / steps, self.lane_unit))
        return replace(self, lanes=lanes, steps=steps, batch=self._find_minibatch(lanes * steps))

    def _find_minibatch(self, rollout: int) -> int:
        """Find the largest minibatch that is not above ours and divides a rollout."""
        rollout //= self.members
        most = min(self.batch, rollout)
        least = min(self.batch, 2)  # of one sample there is no deviation
        fitting = range(most - most % self.batch_unit, least - 1, -self.batch_unit)
        largest = next((size for size in fitting if rollout % size == 0), rollout)
        return rollout if 2 * largest < most else largest  # a few larger rather than many tiny ones


def _round_up(number: float, unit: int) -> int:
    """Round up to the least multiple of ``unit`` that is not below ``number``."""
    return math.ceil(number / unit) * unit

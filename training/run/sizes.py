"""What options ask of this machine."""

from __future__ import annotations

from collections.abc import Sequence
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
    asked = 16 * max(1, members) * sum(a * b for a, b in pairwise(widths))
    there = memory()
    allowed = (
        f"smaller: the network would take {asked / 2**30:,.0f} GiB, and this machine has "
        f"{there / 2**30:,.0f}"
    )
    require(asked < there, name, list(net_arch), allowed)

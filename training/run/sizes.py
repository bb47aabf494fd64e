"""What the options of a run amount to: facts for its summary, and lines for people."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import psutil

from training.run.options import require

if TYPE_CHECKING:  # options ask what is here
    from training.run.config import RunConfig


def facts(config: RunConfig, device: str) -> dict[str, Any]:
    """Return what the summary of a run says of network and rollout.

    Parameters
    ----------
    config : RunConfig
        Of one policy.
    device : str
    """
    net = config.net
    return {
        "ppo_policy_arch": f"mlp-{'x'.join(map(str, net.net_arch))}-{net.activation}",
        "ppo_device": device,
        "ppo_num_envs": config.num_envs,
        "ppo_num_workers": config.env_threads,
        "ppo_vector_backend": "serial" if config.env_threads == 1 else "threads",
        "ppo_rollout_steps": config.iteration_steps,
    }


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


def whole_rollouts(config: RunConfig) -> str | None:
    """Return one line on how long a run really is, None if it is as long as was asked for."""
    steps = config.planned_steps
    if steps == config.total_steps:
        return None
    rollouts, what = steps // config.rollout, config.ITERATION
    return (
        f"total_steps={config.total_steps:,} ends within {'an' if what[0] == 'i' else 'a'} {what} "
        f"of {config.rollout:,} decisions, so {rollouts:,} {what}{'s' * (rollouts != 1)} = "
        f"{steps:,} decisions are trained"
    )

"""What the options of a run amount to: a line for people, and facts for its summary."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import psutil

from training.run.config import RunConfig
from training.run.options.ppo import state_numbers
from training.run.values import require


def facts(config: RunConfig, device: str) -> dict[str, Any]:
    """Return what the summary of a run says of network and rollout.

    Parameters
    ----------
    config : RunConfig
        Of one policy.
    device : str
    """
    net = config.dqn if config.trainer == "dqn" else config.ppo
    return {
        "ppo_policy_arch": f"mlp-{'x'.join(map(str, net.net_arch))}-{net.activation}",
        "ppo_device": device,
        "ppo_num_envs": config.num_envs,
        "ppo_num_workers": config.env_threads,
        "ppo_vector_backend": "serial" if config.env_threads == 1 else "threads",
        "ppo_rollout_steps": config.rollout // config.num_envs,
    }


def rollout_bytes(config: RunConfig, obs_bytes: int, num_actions: int) -> int:
    """Return the bytes of a rollout buffer; see :func:`derived_sizes`."""
    # SB3's buffer keeps mask, action, reward, flag, value, log-probability, advantage and return
    # as 4-byte numbers; the native one masks and flags as bytes, actions as 8.
    native = config.trainer != "sb3"
    return config.rollout * (obs_bytes + (num_actions + 36 if native else 4 * (num_actions + 7)))


def replay_bytes(config: RunConfig, obs_bytes: int, num_actions: int) -> int:
    """Return the bytes of a replay; see :func:`derived_sizes`."""
    dqn = config.dqn
    rows = dqn.rows(config.num_envs)
    # Beside the observation: packed mask, action, reward, discount, end and a running number.
    each = obs_bytes + -(-num_actions // 8) + 2 + 4 + 4 + 1 + 8
    decisions = rows * config.num_envs
    units = decisions // dqn.learnt
    tree = 16 << max(0, units - 1).bit_length() if dqn.prioritized else 0
    states = units * 4 * state_numbers(dqn.recurrent, dqn.recurrent_size)
    return decisions * each + dqn.finals(config.num_envs) * obs_bytes + tree + states


def network_bytes(config: RunConfig, num_actions: int) -> int:
    """Return the fewest bytes that the layers of a network take in a training.

    Each parameter has a gradient and two moments of Adam. An encoder may leave any number of an
    observation to the first layer.
    """
    net = config.dqn if config.trainer == "dqn" else config.ppo
    widths = [*net.net_arch, num_actions]
    return 16 * max(1, len(config.ensemble.seeds)) * sum(a * b for a, b in pairwise(widths))


def check_memory(config: RunConfig, obs_bytes: int, num_actions: int) -> None:
    """Refuse a network, a rollout or a replay that this machine cannot hold.

    Raises
    ------
    ConfigError
    """
    there = psutil.virtual_memory().total
    asked = network_bytes(config, num_actions)
    allowed = (
        f"smaller: the network would take {asked / 2**30:,.0f} GiB, and this machine has "
        f"{there / 2**30:,.0f}"
    )
    section, net = ("dqn", config.dqn) if config.trainer == "dqn" else ("ppo", config.ppo)
    require(asked < there, f"{section}.net_arch", list(net.net_arch), allowed)
    if config.trainer == "dqn":
        check_replay(config, obs_bytes, num_actions, there, copied=config.dqn.save_replay)
        return
    asked = rollout_bytes(config, obs_bytes, num_actions)
    allowed = (
        f"less with num_envs={config.num_envs:,}: a rollout would take {asked / 2**30:,.0f} GiB, "
        f"and this machine has {there / 2**30:,.0f}"
    )
    require(asked < there, "ppo.n_steps", config.ppo.n_steps, allowed)


def check_replay(
    config: RunConfig,
    obs_bytes: int,
    num_actions: int,
    there: int,
    *,
    copied: bool,
    where: str = "this machine",
) -> None:
    """Refuse a replay that does not fit into so many bytes; see :func:`check_memory`.

    Parameters
    ----------
    config : RunConfig
    obs_bytes, num_actions, there : int
    copied : bool
        A checkpoint takes a copy there.
    where : str
    """
    asked = replay_bytes(config, obs_bytes, num_actions)
    twice = ", twice that while it is saved (not with dqn.save_replay=false)" if copied else ""
    allowed = (
        f"less: a replay of {config.dqn.capacity:,} decisions would take "
        f"{asked / 2**30:,.1f} GiB{twice}, and {where} has {there / 2**30:,.1f}"
    )
    require(asked * (1 + copied) < there, "dqn.capacity", config.dqn.capacity, allowed)


def derived_sizes(config: RunConfig, obs_bytes: int, num_actions: int) -> str:
    """Return one line on what the settings amount to.

    Parameters
    ----------
    config : RunConfig
    obs_bytes, num_actions : int
        Bytes of an observation and entries of a mask.
    """
    if config.trainer == "dqn":
        return _replay_sizes(config, obs_bytes, num_actions)
    members = max(1, len(config.ensemble.seeds))
    minibatches = config.rollout // (members * config.ppo.batch_size)
    each = f" for each of {members} networks" if members > 1 else ""
    megabytes = rollout_bytes(config, obs_bytes, num_actions) / 2**20
    rollouts = -(-config.total_steps // config.rollout)
    return (
        f"rollout {config.num_envs} x {config.ppo.n_steps} = {config.rollout:,} decisions, "
        f"{minibatches} minibatch{'es' * (minibatches != 1)} of {config.ppo.batch_size:,}, "
        f"{minibatches * config.ppo.n_epochs} updates a rollout{each}, "
        f"{rollouts} rollout{'s' * (rollouts != 1)}, "
        f"{megabytes:,.0f} MiB of rollout buffer"
    )


def _replay_sizes(config: RunConfig, obs_bytes: int, num_actions: int) -> str:
    dqn = config.dqn
    kept = dqn.rows(config.num_envs) * config.num_envs
    updates = dqn.replay_ratio * config.num_envs / dqn.batch_size
    megabytes = replay_bytes(config, obs_bytes, num_actions) / 2**20
    learns = config.total_steps > dqn.learning_starts
    iterations = -(-config.total_steps // config.rollout)
    idle = "" if learns else "; they end before: nothing is learnt"
    return (
        f"replay of {kept:,} decisions, {megabytes:,.0f} MiB; from {dqn.learning_starts:,} on "
        f"{updates:,.4g} updates of {dqn.batch_size:,} for a decision in each of "
        f"{config.num_envs:,} lanes, {iterations} iteration{'s' * (iterations != 1)} of "
        f"{config.rollout:,} decisions{idle}"
    )


def planned_steps(config: RunConfig) -> int:
    """Return the decisions of a run that is not ended early: those of whole rollouts."""
    if config.trainer == "hier":  # a Manager and a Worker take rollouts of their own in turn
        return config.total_steps
    return -(-config.total_steps // config.rollout) * config.rollout


def whole_rollouts(config: RunConfig) -> str | None:
    """Return one line on how long a run really is, None if it is as long as was asked for."""
    steps = planned_steps(config)
    if steps == config.total_steps:
        return None
    rollouts = steps // config.rollout
    what = "iteration" if config.trainer == "dqn" else "rollout"
    return (
        f"total_steps={config.total_steps:,} ends within {'an' if what[0] == 'i' else 'a'} {what} "
        f"of {config.rollout:,} decisions, so {rollouts:,} {what}{'s' * (rollouts != 1)} = "
        f"{steps:,} decisions are trained"
    )

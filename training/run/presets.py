"""Named starting points for a run, which its game offers, and what its sizes amount to."""

from __future__ import annotations

from typing import Any

from fastenv.errors import ConfigError
from training.run import games
from training.run.config import RunConfig


def preset(name: str) -> dict[str, Any]:
    """Return the values of a preset.

    Raises
    ------
    ConfigError
        For an unknown name.
    """
    presets = games.presets()
    if name not in presets:
        raise ConfigError(f"preset={name!r}: there are {', '.join(presets)}.")
    return {**presets[name], "preset": name}


def derived_sizes(config: RunConfig, obs_bytes: int, num_actions: int) -> str:
    """Return one line on what the settings amount to.

    Parameters
    ----------
    config : RunConfig
    obs_bytes, num_actions : int
        Bytes of an observation and entries of a mask.
    """
    members = max(1, len(config.ensemble.seeds))
    minibatches = config.rollout // (members * config.ppo.batch_size)
    each = f" for each of {members} networks" if members > 1 else ""
    # SB3's buffer keeps mask, action, reward, flag, value, log-probability, advantage and return
    # as 4-byte numbers; the native one masks and flags as bytes, actions as 8.
    native = config.trainer != "sb3"
    decision = obs_bytes + (num_actions + 36 if native else 4 * (num_actions + 7))
    megabytes = config.rollout * decision / 2**20
    return (
        f"rollout {config.num_envs} x {config.ppo.n_steps} = {config.rollout:,} decisions, "
        f"{minibatches} minibatch{'es' * (minibatches != 1)} of {config.ppo.batch_size:,}, "
        f"{minibatches * config.ppo.n_epochs} updates a rollout{each}, "
        f"{-(-config.total_steps // config.rollout)} rollouts, "
        f"{megabytes:,.0f} MiB of rollout buffer"
    )

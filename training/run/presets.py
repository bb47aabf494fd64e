"""Named starting points for a run: Skull King spec, sections 11 and 12; Prospector, section 24."""

from __future__ import annotations

from typing import Any

from fastenv.errors import ConfigError
from training.run.config import RunConfig

# Knobs that change during training, from the given step on (spec 11.2, 11.3).
PHASE_CURRICULUM = [[0, ["late"]], [1_000_000, ["mid", "late"]], [2_000_000, []]]
OPPONENT_CURRICULUM = [
    [0, "random"],  # the published table has three phases of random bots, which know no difficulty
    [250_000, "rule_easy"],
    [400_000, "rule_medium"],
    [600_000, "rule_hard"],
    [850_000, "rule_medium"],
    [1_100_000, "rule_hard"],
]
ABILITY_CURRICULUM = {
    "enable_abilities": [[0, False], [500_000, True]],
    "pirates": [
        [0, []],
        [500_000, ["harry"]],
        [1_000_000, ["harry", "rascal"]],
        [2_000_000, ["rosie", "bendt", "rascal", "jade", "harry"]],
    ],
    "opponents": [[0, "rule_easy"], [3_000_000, "rule_medium"], [4_000_000, "rule_hard"]],
}

_LAYERED = {"n_steps": 1024, "batch_size": 16_384, "gamma": 0.99, "gae_lambda": 0.95}

PRESETS: dict[str, dict[str, Any]] = {
    "flat": {
        "env": "SkullKingFlat-v0",
        "num_envs": 768,
        "total_steps": 10_000_000,
        "schedules": {"opponents": OPPONENT_CURRICULUM},
        "ppo": {
            "n_steps": 2048,
            "batch_size": 32_768,
            "n_epochs": 15,
            "gamma": 0.995,
            "gae_lambda": 0.98,
            "ent_coef": 0.01,
            "net_arch": [512, 512, 256],
        },
    },
    "manager": {
        "env": "SkullKingManager-v0",
        "num_envs": 256,
        "total_steps": 5_000_000,
        "env_options": {"opponents": "rule_medium"},
        "schedules": {"allowed_phases": PHASE_CURRICULUM},
        "ppo": {**_LAYERED, "n_epochs": 25, "ent_coef": 0.02, "net_arch": [2048, 2048, 1024]},
    },
    "worker": {
        "env": "SkullKingWorker-v0",
        "num_envs": 256,
        "total_steps": 5_000_000,
        "env_options": {"opponents": "rule_medium"},
        "schedules": {"allowed_phases": PHASE_CURRICULUM},
        "ppo": {**_LAYERED, "n_epochs": 12, "ent_coef": 0.01, "net_arch": [2048, 2048, 1024]},
    },
    "ability": {
        "env": "SkullKingAbility-v0",
        "num_envs": 256,
        "total_steps": 5_000_000,
        "schedules": ABILITY_CURRICULUM,
        "ppo": {**_LAYERED, "n_epochs": 15, "ent_coef": 0.015, "net_arch": [512, 512, 256]},
    },
    "prospector": {  # 6,144 decisions; the published figure of 6,000 counts ticks
        "env": "Prospector-v0",
        "num_envs": 8,
        "total_steps": 6 * 8 * 128,
        "window_ticks": 2000,
        "ppo": {
            "n_steps": 128,
            "batch_size": 256,
            "n_epochs": 4,
            "learning_rate": 3e-4,
            "gamma": 0.99,
            "gae_lambda": 0.95,
            "clip_range": 0.2,
            "ent_coef": 0.01,
            "vf_coef": 0.5,
            "max_grad_norm": 0.5,
            "net_arch": [256, 256],
            "activation": "tanh",
        },
        "evaluation": {"seed": 7},
    },
    "benchmark": {
        "env": "SkullKingFlat-v0",
        "num_envs": 8,
        "total_steps": 3 * 8 * 256,
        "env_options": {"opponents": "rule_medium"},
        "ppo": {"n_steps": 256, "batch_size": 512, "n_epochs": 4, "net_arch": [256, 256]},
    },
}


def preset(name: str) -> dict[str, Any]:
    """Return the values of a preset.

    Raises
    ------
    ConfigError
        For an unknown name.
    """
    if name not in PRESETS:
        raise ConfigError(f"preset={name!r}: there are {', '.join(PRESETS)}.")
    return {**PRESETS[name], "preset": name}


def derived_sizes(config: RunConfig, obs_dim: int, num_actions: int) -> str:
    """Return one line on what the settings amount to.

    Parameters
    ----------
    config : RunConfig
    obs_dim, num_actions : int
        Floats of an observation and entries of a mask.
    """
    members = max(1, len(config.ensemble.seeds))
    minibatches = config.rollout // (members * config.ppo.batch_size)
    each = f" for each of {members} networks" if members > 1 else ""
    # SB3's buffer keeps observation, mask, action, reward, flag, value, log-probability, advantage
    # and return as 4-byte numbers; the native one masks and flags as bytes, actions as 8.
    native = config.trainer != "sb3"
    decision = 4 * obs_dim + num_actions + 36 if native else 4 * (obs_dim + num_actions + 7)
    megabytes = config.rollout * decision / 2**20
    return (
        f"rollout {config.num_envs} x {config.ppo.n_steps} = {config.rollout:,} decisions, "
        f"{minibatches} minibatch{'es' * (minibatches != 1)} of {config.ppo.batch_size:,}, "
        f"{minibatches * config.ppo.n_epochs} updates a rollout{each}, "
        f"{-(-config.total_steps // config.rollout)} rollouts, "
        f"{megabytes:,.0f} MiB of rollout buffer"
    )

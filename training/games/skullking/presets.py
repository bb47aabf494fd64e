"""Presets of Skull King: docs/skullking.md, 11 and 12."""

from __future__ import annotations

from typing import Any

# Knobs that change during training, from the given step on (docs/skullking.md, 11.2, 11.3).
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
    "flat_dqn": {
        "env": "SkullKingFlat-v0",
        "trainer": "dqn",
        "num_envs": 128,
        "total_steps": 3_000_000,
        "torch_threads": 1,
        "env_options": {
            "opponents": "rule_medium",
            "agent_seat": "rotate",
            "obs_ext": "memory",
            "reward": "points",  # what a game is about
        },
        "dqn": {
            "capacity": 400_000,
            "batch_size": 512,
            "learning_starts": 20_000,
            "replay_ratio": 4.0,
            "gamma": 0.97,  # a round is over after eleven decisions at most
            "learning_rate": 5e-4,
            "lr_schedule": "linear",
            "num_quantiles": 25,
            "target_sync": 500,
            "epsilon_end": 0.02,
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
    "worker_dqn": {
        "env": "SkullKingWorker-v0",
        "trainer": "dqn",
        "num_envs": 256,
        "total_steps": 5_000_000,
        "env_options": {"opponents": "rule_medium"},
        "schedules": {"allowed_phases": PHASE_CURRICULUM},
        # Most of the reward comes with the last trick, up to ten decisions ahead.
        "dqn": {"n_step": 5, "replay_ratio": 4.0, "learning_rate": 3e-4},
    },
    "ability": {
        "env": "SkullKingAbility-v0",
        "num_envs": 256,
        "total_steps": 5_000_000,
        "schedules": ABILITY_CURRICULUM,
        "ppo": {**_LAYERED, "n_epochs": 15, "ent_coef": 0.015, "net_arch": [512, 512, 256]},
    },
    "benchmark": {
        "env": "SkullKingFlat-v0",
        "num_envs": 8,
        "total_steps": 3 * 8 * 256,
        "env_options": {"opponents": "rule_medium"},
        "ppo": {"n_steps": 256, "batch_size": 512, "n_epochs": 4, "net_arch": [256, 256]},
    },
}

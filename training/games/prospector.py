"""Asteroid Prospector: presets, clock and windows of ticks, and how it is evaluated."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from fastenv.prospector.layout import METRICS
from fastenv.prospector.tables import Action
from training.apps.prospector.bots import BOTS, REFERENCE_LINES
from training.apps.prospector.search import SEARCH
from training.run.engine import Engine
from training.run.game_view import GameView
from training.run.games import Column, GameTraining

# docs/howto/train_prospector.md. 6,144 decisions; the published figure of 6,000 counts ticks.
PRESETS = {
    "prospector": {
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
    "prospector_dqn": {
        "env": "Prospector-v0",
        "trainer": "dqn",
        "num_envs": 8,
        "total_steps": 200_000,
        "window_ticks": 2000,
        "dqn": {
            "capacity": 200_000,
            "learning_starts": 5_000,
            "activation": "tanh",
            "replay_ratio": 4.0,
            "target_sync": 200,  # of 3,000 updates
        },
        "evaluation": {"seed": 7},
    },
}


class Prospector(GameTraining):
    """What training must know of Prospector; see :class:`training.run.games.GameTraining`."""

    title = "Prospector"
    presets = PRESETS
    search: ClassVar = SEARCH
    window_metrics = METRICS
    columns: ClassVar = {
        "credits": Column("kept", "credits"),
        "net_profit": Column("measure", "credits"),
        "profit_per_tick": Column("mean", "credits"),
        "survival": Column("share"),
        "overheat_ticks": Column("mean", "ticks"),
        "pirate_encounters": Column("mean"),
        "value_lost_to_pirates": Column("mean", "credits"),
        "scan_count": Column("mean"),
        "mining_ticks": Column("mean", "ticks"),
        "time_remaining": Column("kept", "ticks"),
    }
    bots = BOTS
    draws = True
    fixed_actions: ClassVar = {"hold": int(Action.HOLD), "cash_out": int(Action.CASH_OUT)}

    def config(self, env: str, trainer: str) -> str | None:
        """Return the file that pays for profit; see docs/howto/train_prospector.md."""
        return dict.fromkeys(("native", "expert"), "prospector.yaml").get(trainer)

    def view(self) -> GameView:
        """Return how it is shown as data."""
        from training.apps.prospector.scene import ProspectorView

        return ProspectorView()

    def judging(self) -> Any:
        """Return episodes of a given length, beside the reference lines and all bots."""
        from training.apps.prospector.evaluation import FIRST_SEED, load_benchmark, starts
        from training.evaluation.judging import Judging

        return Judging(
            caption="cash_out ends an episode with its first action: what returns less would "
            "better not have played.",
            reference_lines=REFERENCE_LINES,
            families=BOTS,  # a market timer of another commodity has a longer name
            reported_options=("time_max",),
            first_seed=FIRST_SEED,
            options=("time_max",),
            starts=starts,
            benchmark=load_benchmark,
        )

    def elapsed(self, engine: Engine) -> np.ndarray:
        """Return the ticks since the episode of each lane began, shape (n,)."""
        game: Any = engine.game
        elapsed: np.ndarray = game.config.time_max - engine.info["time_remaining"]
        return elapsed


GAMES = {"Prospector-v0": Prospector()}

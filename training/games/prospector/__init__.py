"""Asteroid Prospector in training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fastenv.prospector.bots import Bot
from fastenv.prospector.tables import Action
from training.run.engine import Engine
from training.run.games import Column, Family, GameTraining

# What play is measured against: cashing out above all.
REFERENCE_LINES = ("cash_out", "hold", "masked_random", "random")
BOTS = tuple(bot.name.lower() for bot in Bot if bot.name.lower() not in REFERENCE_LINES)

# Worth playing for ever, as workloads of benchmarks.
FIXED_ACTIONS = {"hold": int(Action.HOLD), "cash_out": int(Action.CASH_OUT)}


def elapsed(engine: Engine) -> np.ndarray:
    """Count the ticks since the episode of each lane began, shape (n,)."""
    game: Any = engine.game
    ticks: np.ndarray = game.config.time_max - engine.info["time_remaining"]
    return ticks


PROSPECTOR = GameTraining(
    title="Prospector",
    family=Family(
        "Asteroid Prospector",
        "A ship mines asteroids, hauls the ore to its station and sells it, while fuel, heat and "
        "pirates run against it.",
        first="Prospector-v0",
    ),
    about="One voyage: travel, scan, mine, sell, come home.",
    # They pay for profit; see docs/howto/train_prospector.md.
    files=dict.fromkeys(("native", "expert"), "prospector.yaml"),
    presets=Path(__file__).with_name("presets.yaml"),
    bots=BOTS,
    columns={
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
    },
    draws=True,
    capabilities={
        "elapsed": "training.games.prospector:elapsed",
        "fixed_actions": "training.games.prospector:FIXED_ACTIONS",
        "judging": "training.games.prospector.evaluation:ProspectorJudging",
        "search": "training.games.prospector.search:SEARCH",
        "view": "training.games.prospector.scene:ProspectorView",
        "window_metrics": "fastenv.prospector.layout:METRICS",
    },
)

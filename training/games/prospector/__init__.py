"""Asteroid Prospector in training."""

from __future__ import annotations

from pathlib import Path

from fastenv.prospector.bots import Bot
from training.run.games import Column, GameTraining

# What play is measured against: cashing out above all.
REFERENCE_LINES = ("cash_out", "hold", "masked_random", "random")
BOTS = tuple(bot.name.lower() for bot in Bot if bot.name.lower() not in REFERENCE_LINES)

PROSPECTOR = GameTraining(
    title="Prospector",
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
        "elapsed": "training.games.prospector.clock:elapsed",
        "fixed_actions": "training.games.prospector.clock:FIXED_ACTIONS",
        "judging": "training.apps.prospector.evaluation:JUDGING",
        "search": "training.games.prospector.search:SEARCH",
        "view": "training.apps.prospector.scene:ProspectorView",
        "window_metrics": "fastenv.prospector.layout:METRICS",
    },
)

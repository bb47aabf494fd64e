"""Asteroid Prospector in training."""

from __future__ import annotations

from pathlib import Path

from training.apps.prospector.bots import BOTS
from training.run.games import GameTraining

PROSPECTOR = GameTraining(
    title="Prospector",
    # They pay for profit; see docs/howto/train_prospector.md.
    files=dict.fromkeys(("native", "expert"), "prospector.yaml"),
    presets=Path(__file__).with_name("presets.yaml"),
    bots=BOTS,
    episode_columns={
        "credits": "kept",
        "net_profit": "measure",
        "profit_per_tick": "mean",
        "survival": "share",
        "overheat_ticks": "mean",
        "pirate_encounters": "mean",
        "value_lost_to_pirates": "mean",
        "scan_count": "mean",
        "mining_ticks": "mean",
        "time_remaining": "kept",
    },
    draws=True,
    capabilities={
        "elapsed": "training.games.prospector.clock:elapsed",
        "evaluation": "training.apps.prospector.evaluation:ProspectorProtocol",
        "fixed_actions": "training.games.prospector.clock:FIXED_ACTIONS",
        "search": "training.apps.prospector.search:SEARCH",
        "view": "training.apps.prospector.scene:ProspectorView",
        "window_metrics": "fastenv.prospector.layout:METRICS",
    },
)

"""Dr. Mario: its environments in training, alone and in matches, by placements and by frames."""

from __future__ import annotations

from dataclasses import replace

from training.run.games import GameTraining, TableRules

# Scripted players that choose placements, the first above all; `rollouts` takes milliseconds.
PLACING = ("lookahead2", "greedy", "first", "random")
STEERING = PLACING[1:]  # which are asked in every frame

_SHOWN = {
    "observation": "training.games.drmario.observation:parts_of",
    "potentials": "training.games.drmario.goals:POTENTIALS",
    "view": "training.apps.drmario.scene:DrMarioView",
}
_ALONE = {
    **_SHOWN,
    "evaluation": "training.apps.drmario.evaluation:DrMarioProtocol",
    "seeds": "training.games.drmario.goals:seeds_for",
}
_SEARCHED = {"search": "training.games.drmario.search:SEARCH"}

FRAME = GameTraining(
    title="Dr. Mario",
    bots=STEERING,
    episode_columns={
        "reason": "kept",
        "level": "kept",
        "game_seed": "kept",
        "success": "share",
        "spawns": "measure",
        "viruses": "measure",
    },
    table=TableRules(one_record=False),  # which holds what is shown and paid
    capabilities=_ALONE,
)
PLACEMENT = replace(
    FRAME,
    env_options={
        "speed": "medium",
        "obs": "bitplane_bottle_conn_mask",
        "obs_dtype": "uint8",
        "extras": ["pill", "aux", "costs"],
    },
    files=dict.fromkeys(("native", "expert"), "drmario.yaml"),
    bots=PLACING,
    capabilities={
        **_ALONE,
        **_SEARCHED,
        "budgets": "training.games.drmario.goals:BUDGETS",
        "goal_met": "training.games.drmario.goals:MET",
        "player": "training.apps.drmario.evaluator.players:find_lookahead",
        "potential_of_file": "training.apps.drmario.evaluator.potential:find_potential",
        "records": "training.apps.drmario.records:StoreOfRun",
    },
)
VERSUS_FRAME = GameTraining(
    title=FRAME.title,
    bots=STEERING,
    episode_columns={"reason": "kept"},
    capabilities=_SHOWN,
)
VERSUS = replace(VERSUS_FRAME, bots=PLACING, capabilities={**_SHOWN, **_SEARCHED})

"""Dr. Mario: its environments in training, alone and in matches, by placements and by frames."""

from __future__ import annotations

from dataclasses import replace

from fastenv.drmario.tables import Reason
from training.run.games import Column, Family, GameTraining, TableRules

# Scripted players that choose placements, the first above all; `rollouts` takes milliseconds.
PLACING = ("lookahead3", "lookahead2", "greedy", "first", "random")
# Of which the first is whom a match is played against: who attacks beats who looks as far ahead.
MATCHING = ("attack2", *PLACING[1:])
STEERING = PLACING[2:]  # which are asked in every frame

_FAMILY = Family(
    "Dr. Mario",
    "Pills fall into a bottle of viruses: four cells of one colour in a line vanish.",
    first="DrMarioPlacement-v0",
)
_SHOWN = {
    "observation": "training.games.drmario.observation:parts_of",
    "potentials": "training.games.drmario.goals:POTENTIALS",
    "panels": "training.apps.drmario.panels:DrMarioPanels",
    "view": "training.apps.drmario.scene:DrMarioView",
}
_ALONE = {
    **_SHOWN,
    "judging": "training.apps.drmario.evaluation:DrMarioJudging",
    "seeds": "training.games.drmario.goals:seeds_for",
}
_SEARCHED = {"search": "training.games.drmario.search:SEARCH"}

FRAME = GameTraining(
    title="Dr. Mario",
    family=_FAMILY,
    about="Real time: keys move and turn the pill that falls.",
    bots=STEERING,
    columns={
        "reason": Column("kept"),
        "level": Column("kept"),
        "game_seed": Column("kept"),
        "success": Column("share"),
        "spawns": Column("measure", "pills"),
        "viruses": Column("measure", "viruses"),
        # Of one that was given up nobody knows how it would have ended.
        "clear": Column("flag", of=lambda x: (x["reason"] == Reason.CLEAR) & ~x["given_up"]),
        "timeout": Column("flag", of=lambda x: (x["reason"] == Reason.TIMEOUT) | x["given_up"]),
        # Over cleared episodes alone: it says nothing without their share beside it.
        "frames_to_clear": Column(
            "measure", "frames", of=lambda x: x["clear"] * x["ticks"], per="clear"
        ),
    },
    table=TableRules(one_record=False),  # which holds what is shown and paid
    capabilities=_ALONE,
)
PLACEMENT = replace(
    FRAME,
    about="Pill by pill: choose where each comes to lie, with all the time you like.",
    env_options={
        "speed": "medium",
        "obs": "bitplane_bottle_conn_mask",
        "obs_dtype": "uint8",
        "extras": ["pill", "aux", "costs"],
    },
    files={"native": "drmario.yaml", "expert": "drmario_first.yaml"},
    trainer="expert",  # `lookahead3` teaches it
    bots=PLACING,
    capabilities={
        **_ALONE,
        **_SEARCHED,
        "budgets": "training.games.drmario.goals:BUDGETS",
        "goal_met": "training.games.drmario.goals:MET",
        "player": "training.apps.drmario.evaluator.lookahead:lookahead",
        "potential_of_file": "training.apps.drmario.evaluator.model:find_potential",
        "records": "training.apps.drmario.records:RecordsOfRun",
    },
)
VERSUS_FRAME = GameTraining(
    title=FRAME.title,
    family=_FAMILY,
    about="Match in real time: two bottles, and lines send garbage to the other.",
    bots=STEERING,
    columns={"reason": Column("kept")},
    capabilities=_SHOWN,
)
VERSUS = replace(
    VERSUS_FRAME,
    about="Match pill by pill: two bottles, and lines send garbage to the other.",
    bots=MATCHING,
    capabilities={**_SHOWN, **_SEARCHED},
)

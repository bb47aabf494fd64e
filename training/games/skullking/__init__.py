"""Skull King: its environments in training, what agents of a part of a game do in whole ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fastenv.skullking.tables import Phase
from training.apps.skullking.columns import COLUMNS, GOAL_COLUMNS
from training.apps.skullking.rules import SETS
from training.run.games import Family, GameTraining, PartOfGame, TableRules

ON_POLICY = ("native", "expert", "sb3", "ensemble", "rllib")  # they learn by the same options

# A Worker's policy plays the cards of a game, a Manager's bids; rule_hard decides the rest.
_CARDS = PartOfGame(
    column="decision_phase",
    values=(Phase.PLAY, Phase.TIGRESS),
    bot="rule_hard",
    begins=(Phase.BID,),
)
_BIDS = replace(_CARDS, values=(Phase.BID,), whole={"mode": "game"})
TABLE = TableRules(
    env="SkullKingFlat-v0",
    options={"deals": "duplicate"},
    shared=("num_players",),
    one_record=False,
    parts={
        "SkullKingManager-v0": _BIDS,
        "SkullKingWorker-v0": _CARDS,
        "SkullKingAbility-v0": _CARDS,
    },
)

MANAGER = GameTraining(
    title="Skull King",
    family=Family(
        "Skull King",
        "A card game of tricks and secret bids: say how many tricks you will win, then win exactly "
        "as many.",
        first="SkullKingFlat-v0",
    ),
    about="Bids alone: you bid for a whole game, and a rule plays the cards.",
    # Our trainers mask, so an illegal action is a fault that must not hide.
    env_options={"invalid_action": "raise"},
    files={"hier": "hierarchical.yaml"},
    presets=Path(__file__).with_name("presets.yaml"),
    opponent_sets=SETS,
    table=TABLE,
    capabilities={
        "auxiliary": "training.apps.skullking.hindsight.auxiliary:make_run_auxiliary",
        "auxiliary_modes": "training.apps.skullking.hindsight:MODES",
        "critic_view": "training.games.skullking.observation:make_critic_view",
        "judging": "training.apps.skullking.evaluation:SkullKingJudging",
        "milestones": "training.apps.skullking.milestones",
        "observation": "training.games.skullking.observation:parts_of",
        "search": "training.games.skullking.search:SEARCH",
        "view": "training.apps.skullking.scene:SkullKingView",
    },
)
FLAT = replace(
    MANAGER,
    about="Whole game: ten rounds of bids and cards, for 2 to 8 players.",
    files={**MANAGER.files, **dict.fromkeys(ON_POLICY, "main.yaml"), "expert": "skullking.yaml"},
    trainer="expert",  # search teaches it its cards
    columns=COLUMNS,  # of whole games, in which all tiers meet
)
WORKER = replace(
    MANAGER,
    about="Cards alone: one round, whose bid is given.",
    files={**MANAGER.files, **dict.fromkeys(ON_POLICY, "worker.yaml")},
    columns=GOAL_COLUMNS,  # of rounds that are played to a goal
)
ABILITY = replace(  # the same task, with more to decide
    WORKER, about="Cards and pirates: one round, in which you use the abilities of pirates too."
)

"""The Game Boy in training: pixels, a goal, an overworld, Lantern Walk, and two on a cable."""

from __future__ import annotations

from dataclasses import replace

from training.run.games import Column, Family, GameTraining, TableRules

_VIEW = {"view": "training.games.gameboy.scene:GameBoyView"}
_PLAYER = {"player": "training.games.gameboy.players:find_solver"}
_MAP = {"live_map": "training.games.gameboy.live_map:LiveMap"}
_REMARKS = {"remarks": "training.games.gameboy.remarks:remarks"}
_REACHED = Column("flag", of=lambda x: x["terminated"].astype(bool))

_FAMILY = Family(
    "Game Boy",
    "A console of 1989 with games of our own: Lantern Walk, four candles and an old song, and a "
    "duel for two.",
    first="LanternWalk-v0",
)

PIXELS = GameTraining(
    title="Game Boy",
    family=_FAMILY,
    about="Any program: Lantern Walk, or a ROM of yours, as the display shows it.",
    draws=True,
    columns={"reached": _REACHED},
    capabilities={
        **_VIEW,
        **_PLAYER,
        **_MAP,
        **_REMARKS,
        "judging": "training.games.gameboy.evaluation:GoalJudging",
        "observation": "training.games.gameboy.observation:parts_of_frames",
    },
)
GOAL = replace(
    PIXELS,
    title="Game Boy's goal",
    about="A picture to reach: walk until the display shows the goal.",
    files=dict.fromkeys(("native", "expert"), "gameboy.yaml"),
    columns={"dist": Column("measure"), "reached": _REACHED},  # the distance at its end
)
# The memory of the program is known, so what an episode has come across is.
OVERWORLD = replace(
    PIXELS,
    title="Game Boy's overworld",
    about="Exploring: rewards for new places, things and events.",
    columns={
        "items": Column("measure"),
        "events": Column("measure"),
        "cells": Column("measure"),
        "reached": _REACHED,
        # How much of the quest of Lantern Walk an episode has done by its end.
        "four_items": Column("flag", of=lambda x: x["items"] >= 4),
        "first_event": Column("flag", of=lambda x: x["events"] >= 1),
    },
    capabilities={
        **_VIEW,
        **_PLAYER,
        **_MAP,
        **_REMARKS,
        "judging": "training.games.gameboy.evaluation:QuestJudging",
        "observation": "training.games.gameboy.observation:parts_of_overworld",
    },
)
# By PPO its network has a memory: `expert` trains none that has one.
LANTERN_WALK = replace(
    OVERWORLD,
    about="The quest: find four candles, learn the old song, light the lanterns.",
    files={"native": "lantern_walk.yaml", "expert": "lantern_walk_first.yaml"},
    trainer="expert",  # the scripted player `solver` teaches it
)
LINK = GameTraining(
    title="two Game Boys",
    family=_FAMILY,
    about="Two on a cable: Lantern Duel, first to five points.",
    draws=True,
    table=TableRules(one_record=False),
    capabilities={
        "observation": "training.games.gameboy.observation:parts_of_frames",
        "view": "training.games.gameboy.scene:LinkView",
    },
)

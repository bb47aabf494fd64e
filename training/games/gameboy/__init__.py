"""The Game Boy in training: pixels, a goal, an overworld, Lantern Walk, and two on a cable."""

from __future__ import annotations

from dataclasses import replace

from training.run.games import Column, GameTraining, TableRules

_VIEW = {"view": "training.apps.gameboy.scene:GameBoyView"}
_PLAYER = {"player": "training.apps.gameboy.players:find_solver"}
_REACHED = Column("flag", of=lambda x: x["terminated"].astype(bool))

PIXELS = GameTraining(
    title="Game Boy",
    draws=True,
    columns={"reached": _REACHED},
    capabilities={
        **_VIEW,
        **_PLAYER,
        "judging": "training.apps.gameboy.evaluation:JUDGING",
        "observation": "training.games.gameboy.observation:parts_of_frames",
    },
)
GOAL = replace(
    PIXELS,
    title="Game Boy's goal",
    files=dict.fromkeys(("native", "expert"), "gameboy.yaml"),
    columns={"dist": Column("measure"), "reached": _REACHED},  # the distance at its end
)
# The memory of the program is known, so what an episode has come across is.
OVERWORLD = replace(
    PIXELS,
    title="Game Boy's overworld",
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
        "judging": "training.apps.gameboy.evaluation:JUDGING_QUESTS",
        "observation": "training.games.gameboy.observation:parts_of_overworld",
    },
)
# Its network has a memory: `expert` trains none that has one.
LANTERN_WALK = replace(OVERWORLD, files={"native": "lantern_walk.yaml"})
LINK = GameTraining(
    title="two Game Boys",
    draws=True,
    table=TableRules(one_record=False),
    capabilities={
        "observation": "training.games.gameboy.observation:parts_of_frames",
        "view": "training.apps.gameboy.scene:LinkView",
    },
)

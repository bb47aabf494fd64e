"""The Game Boy in training: pixels, a goal, an overworld, Lantern Walk, and two on a cable."""

from __future__ import annotations

from dataclasses import replace

from training.run.games import GameTraining, TableRules

_VIEW = {"view": "training.apps.gameboy.scene:GameBoyView"}
_EVALUATION = {"evaluation": "training.apps.gameboy.evaluation:GameBoyProtocol"}

PIXELS = GameTraining(
    title="Game Boy",
    draws=True,
    capabilities={
        **_VIEW,
        **_EVALUATION,
        "observation": "training.games.gameboy.observation:parts_of_frames",
    },
)
GOAL = replace(
    PIXELS,
    title="Game Boy's goal",
    files=dict.fromkeys(("native", "expert"), "gameboy.yaml"),
    episode_columns={"dist": "measure"},  # the distance at its end
)
# The memory of the program is known, so what an episode has come across is.
OVERWORLD = replace(
    PIXELS,
    title="Game Boy's overworld",
    episode_columns={
        "items": "measure",
        "events": "measure",
        "cells": "measure",
    },
    capabilities={
        **_VIEW,
        **_EVALUATION,
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
        "observation": "training.games.gameboy.observation:parts_of_link",
        "view": "training.apps.gameboy.scene:LinkView",
    },
)

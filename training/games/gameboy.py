"""The Game Boy: the options that learn, and how its episodes are evaluated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from fastenv.gameboy.config import GameBoyConfig
from fastenv.registry import short_id
from training.run.engine import Engine
from training.run.game_view import GameView
from training.run.games import Column, GameTraining, ObservationParts, TableRules

# Files with the options that learn, on states of ours.
WITH_MEMORY = "lantern_walk.yaml"  # of a network: `expert` trains none that has one
LEARNS = {"GameBoyGoal-v0": "gameboy.yaml", "LanternWalk-v0": WITH_MEMORY}


SOLVER, RANDOM_LEGAL = "solver", "random_legal"
REACHED = Column("flag", of=lambda x: x["terminated"].astype(bool))


class GameBoy(GameTraining):
    """What training must know of the Game Boy; see :class:`training.run.games.GameTraining`."""

    title = "Game Boy"
    draws = True
    columns: ClassVar = {"reached": REACHED}

    def config(self, env: str, trainer: str) -> str | None:
        """Return the file with the options that learn."""
        name = LEARNS.get(short_id(env))
        trained = ("native",) if name == WITH_MEMORY else ("native", "expert")
        return name if trainer in trained else None

    def view(self) -> GameView:
        """Return how it is shown as data."""
        from training.apps.gameboy.scene import GameBoyView

        return GameBoyView()

    def player(self, name: str) -> Any:
        """Return what makes the scripted player, who knows Lantern Walk and its memory."""
        from training.apps.gameboy.players import Scripted

        return Scripted if name == SOLVER else None

    def judging(self) -> Any:
        """Return episodes from start states that no training saw, judged by who gets there."""
        from training.apps.gameboy.evaluation import starts
        from training.evaluation.judging import Judging

        shown = ("reached", "four_items", "first_event")
        return Judging(
            shown=tuple(name for name in shown if name in self.columns),
            caption="Reached: the share of episodes that ended at the goal, or with the quest "
            "finished.",
            starts=starts,
            bots=(SOLVER, RANDOM_LEGAL),
        )

    def console(self, engine: Engine) -> Any:
        """Return the options of a console."""
        return getattr(engine.game, "config", None)

    def observation_parts(self, engine: Engine) -> ObservationParts:
        """Say whether frames are packed, four pixels a byte."""
        plain = engine.obs_dtype.names is None
        config = self.console(engine)
        if not isinstance(config, GameBoyConfig) or not config.format.packed:
            return ObservationParts()
        return ObservationParts(fields={"" if plain else "pixels": {"kind": "packed"}})


class Goal(GameBoy):
    """The Game Boy where a picture is to be reached."""

    title = "Game Boy's goal"
    columns: ClassVar = {"dist": Column("measure"), "reached": REACHED}  # the distance at its end


class Overworld(GameBoy):
    """The Game Boy where the memory of the program is known, so what an episode has found is."""

    title = "Game Boy's overworld"
    columns: ClassVar = {
        "items": Column("measure"),
        "events": Column("measure"),
        "cells": Column("measure"),
        "reached": REACHED,
        # How much of the quest of Lantern Walk an episode has done by its end.
        "four_items": Column("flag", of=lambda x: x["items"] >= 4),
        "first_event": Column("flag", of=lambda x: x["events"] >= 1),
    }

    def observation_parts(self, engine: Engine) -> ObservationParts:
        """See :class:`GameBoy`; senses have a bin for each row and column of a map."""
        parts, game = super().observation_parts(engine), engine.game
        if not hasattr(game, "common"):
            return parts
        world: Any = game.common.ram_map
        return replace(parts, fields={**parts.fields, "senses": {"bins": max(world.size)}})


class Link(GameBoy):
    """Two Game Boys on a cable, a player at each."""

    title = "two Game Boys"
    columns: ClassVar = {}
    table: ClassVar = TableRules(one_record=False)

    def view(self) -> GameView:
        """Return how it is shown as data."""
        from training.apps.gameboy.scene import LinkView

        return LinkView()

    def judging(self) -> Any:
        """Return nothing of its own: there are no start states that no training saw."""
        return None

    def console(self, engine: Engine) -> Any:
        """Return the options of a console; both have the same frames."""
        common = getattr(engine.game, "common", None)
        return None if common is None else common.sides[0].config


OVERWORLD = Overworld()
GAMES = {
    "GameBoyPixels-v0": GameBoy(),
    "GameBoyGoal-v0": Goal(),
    "GameBoyOverworld-v0": OVERWORLD,
    "LanternWalk-v0": OVERWORLD,
    "GameBoyLink-v0": Link(),
}

"""Evaluation of the Game Boy: how often the goal is reached, from states that no training saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from rich.console import Console

from training.apps.gameboy.players import Scripted
from training.evaluation.episodes import Comparison, Episodes
from training.evaluation.protocol import EpisodeProtocol, EvaluationResult, Plan
from training.evaluation.shares import share
from training.evaluation.tables import Column
from training.players.player import MakePlayer
from training.players.trained import Trained
from training.run.config import RunConfig
from training.run.envs import with_defaults
from training.run.games import GameTraining
from training.run.sections import EvaluationConfig

REACHED, SOLVER = "reached", "solver"
# Banks of start states by those that are trained on (docs/gameboy.md, 18).
HELD_OUT = {name: f"{name}_held_out" for name in ("lantern_walk", "lantern_walk_dark")}
# Episodes are long enough for all there is to do, however long those of the training are.
LENGTH = {"max_steps": 512}
# Where Lantern Walk begins, and how much of its quest an episode has done by its end: share, column
# of the info, and what it must be at least.
BEGINNING = {"states": "lantern_walk", "start_state": 0}
QUEST = (("four_items", "items", 4), ("first_event", "events", 1))


class GameBoyProtocol(EpisodeProtocol):
    """Episodes from start states that were held out, judged by how many reach their goal.

    Those of an overworld are played from the beginning of Lantern Walk too. On our ROM a scripted
    player, which reads the memory of the game, plays beside the agent.
    """

    caption = (
        f"{EpisodeProtocol.caption} Reached: the share of episodes that ended at the goal, or with "
        "the quest finished."
    )

    def __init__(self, game: GameTraining) -> None:
        super().__init__(game)
        self.shares = (*self.shares, REACHED, *(name for name, _, _ in QUEST))

    def evaluate(
        self,
        console: Console,
        title: str,
        trained: Trained,
        options: EvaluationConfig,
        asked: Mapping[str, Any],
    ) -> EvaluationResult:
        """See :meth:`EpisodeProtocol.evaluate`; a bank that was trained on is exchanged."""
        starts = self.held_out_options(trained.config)
        found = super().evaluate(console, title, trained, options, {**asked, "starts": starts})
        if not (starts and "items" in self._game.episode_columns):
            return found
        where, starts = f"{title}, from the beginning", {**BEGINNING, **LENGTH}
        whole = super().evaluate(console, where, trained, options, {**asked, "starts": starts})
        return replace(found, record={**found.record, "beginning": whole.record["episodes"]})

    def scripted(self, names: Sequence[str] | None = None) -> dict[str, MakePlayer]:
        """See :meth:`EpisodeProtocol.scripted`; with who knows Lantern Walk."""
        found = super().scripted(names)
        return found if names else {SOLVER: Scripted, **found}

    def scripted_player(self, name: str) -> MakePlayer:
        """See :meth:`EpisodeProtocol.scripted_player`."""
        return Scripted if name == SOLVER else super().scripted_player(name)

    def kind(self, name: str) -> str:
        """See :meth:`EpisodeProtocol.kind`."""
        return "bot" if name == SOLVER else super().kind(name)

    def env_options(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the start states of an evaluation, if they are others."""
        return dict(asked.get("starts", {}))

    def held_out_options(self, config: RunConfig) -> dict[str, Any]:
        """See :meth:`EpisodeProtocol.held_out_options`: start states and time."""
        states = held_out(config)
        return {**states, **LENGTH} if states else {}

    def compare(self, played: dict[str, Episodes], plan: Plan) -> Comparison:
        """See :meth:`EpisodeProtocol.compare`; with the share that reached the goal."""
        compared = super().compare(played, plan)
        for name, found in played.items():
            shares = {REACHED: found.columns["terminated"].astype(np.bool_)}
            shares |= {s: found.columns[c] >= n for s, c, n in QUEST if c in found.columns}
            compared.means[name].update({s: share(ends) for s, ends in shares.items()})
        return compared

    def columns(self, what: str) -> list[Column]:
        """See :meth:`Protocol.columns`."""
        own = [s for s, column, _ in QUEST if column in self._game.episode_columns]
        return [self._column(name) for name in (REACHED, *own)] + [*super().columns(what)]


def held_out(config: RunConfig) -> dict[str, str]:
    """Return the option that names the start states of an evaluation, if it differs."""
    states = with_defaults(config.env, config.env_options).get("states")
    return {"states": HELD_OUT[states]} if states in HELD_OUT else {}

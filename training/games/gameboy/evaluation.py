"""Evaluation of the Game Boy: the start states of episodes, which no training saw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from fastenv.gameboy.config import OURS
from training.evaluation.judging import EPISODES, Judging
from training.games.gameboy.players import SOLVER
from training.players.names import RANDOM_LEGAL, AnyPlayer
from training.players.trained import TrainedAgent
from training.run import games
from training.run.config import EvaluationConfig, RunConfig
from training.run.envs import with_defaults

# Banks of start states by those that are trained on (docs/gameboy.md, 18).
HELD_OUT = {name: f"{name}_held_out" for name in ("lantern_walk", "lantern_walk_dark")}
# Episodes are long enough for all there is to do, however long those of the training are.
LENGTH = {"max_steps": 512}
# Where Lantern Walk begins; episodes of an overworld are played from there too.
BEGINNING = {"states": "lantern_walk", "start_state": 0}


def held_out(config: RunConfig) -> dict[str, Any]:
    """Return the option that names the start states of an evaluation, if it differs."""
    states = with_defaults(config.env, config.env_options).get("states")
    return {"states": HELD_OUT[states]} if states in HELD_OUT else {}


class GoalJudging(Judging):
    """How agents that reach goals are judged, or that finish quests."""

    shown: ClassVar[tuple[str, ...]] = ("reached",)
    caption = "Reached: the share of episodes that ended at the goal, or with the quest finished."
    bots = (SOLVER, RANDOM_LEGAL)

    def players_of(
        self, trained: TrainedAgent, options: EvaluationConfig, purpose: str
    ) -> Mapping[str, AnyPlayer]:
        """Return the players by name, without the solver where it does not know the program."""
        players = super().players_of(trained, options, purpose)
        if trained.config.env_options.get("rom", OURS) == OURS:
            return players
        return {name: each for name, each in players.items() if name != SOLVER}

    def starts(
        self, config: RunConfig | None, asked: Mapping[str, Any]
    ) -> dict[str, dict[str, Any]]:
        """Return the start states of a run's episodes; a bank that was trained on is exchanged.

        Episodes that are no run's begin as the environment does. See :class:`Judging`.
        """
        states = {} if config is None else held_out(config)
        if config is None or not states:
            return {EPISODES: {}}
        played = {EPISODES: {**states, **LENGTH}}
        if "items" in games.get_game(config.env).columns:
            played["beginning"] = {**BEGINNING, **LENGTH}
        return played


class QuestJudging(GoalJudging):
    """The same of overworlds, with the parts of the quest."""

    shown = ("reached", "four_items", "first_event")

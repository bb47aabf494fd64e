"""Evaluation of the Game Boy: how often the goal is reached, from states that no training saw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from rich.console import Console

from training.evaluation.bootstrap import Interval, Resamples
from training.evaluation.episodes import Comparison, Episodes
from training.evaluation.protocol import EpisodeProtocol, Evaluated, Plan, Protocol
from training.evaluation.tables import Column
from training.evaluation.trained import Trained
from training.run.envs import with_defaults
from training.run.games import GameTraining
from training.run.options.evaluation import EvaluationConfig

REACHED = "reached"
# Banks of start states by those that are trained on (docs/gameboy.md, 18).
HELD_OUT = {"lantern_walk": "lantern_walk_held_out"}


class GameBoyProtocol(EpisodeProtocol):
    """Episodes from start states that were held out, judged by how many reach their goal."""

    caption = (
        f"{EpisodeProtocol.caption} Reached: the share of episodes that ended at the goal, or with "
        "the quest finished."
    )

    def __init__(self, game: GameTraining) -> None:
        super().__init__(game)
        self.shares = (*self.shares, REACHED)

    def evaluate(
        self,
        console: Console,
        title: str,
        trained: Trained,
        options: EvaluationConfig,
        asked: Mapping[str, Any],
    ) -> Evaluated:
        """See :meth:`EpisodeProtocol.evaluate`; a bank that was trained on is exchanged."""
        return super().evaluate(
            console, title, trained, options, {**asked, **held_out(trained.config)}
        )

    def env_options(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the bank of start states, if there is one for evaluation."""
        return {name: asked[name] for name in ("states",) if name in asked}

    def compare(self, played: dict[str, Episodes], plan: Plan) -> Comparison:
        """See :meth:`EpisodeProtocol.compare`; with the share that reached the goal."""
        compared = super().compare(played, plan)
        for name, found in played.items():
            compared.means[name][REACHED] = reached(found, plan.bootstrap)
        return compared

    def columns(self, what: str) -> list[Column]:
        """See :meth:`Protocol.columns`."""
        return [self._column(REACHED), *super().columns(what)]


def held_out(config: Any) -> dict[str, str]:
    """Return the option that names the start states of an evaluation, if it differs."""
    states = with_defaults(config.env, config.env_options).get("states")
    return {"states": HELD_OUT[states]} if states in HELD_OUT else {}


def reached(found: Episodes, resamples: int) -> Interval:
    """Return the share of episodes that were terminated: those at the goal."""
    ended = found.columns["terminated"].astype(np.float64)[:, None]
    (share,) = Resamples(ended, np.ones_like(ended), resamples, seed=0).intervals()
    return share


def of(game: GameTraining) -> Protocol:
    """Return the protocol of the Game Boy."""
    return GameBoyProtocol(game)

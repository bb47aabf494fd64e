"""Compare a player of Dr. Mario that sees through a camera with the same player on rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import fastenv
from fastenv.drmario.tables import Reason
from training.apps.drmario.reader.network import Reader
from training.apps.drmario.reader.player import ENV, CameraPlayer
from training.evaluation.evaluation import Evaluation, play
from training.evaluation.intervals import RESAMPLES, Resamples, share
from training.evaluation.judging import EPISODES
from training.evaluation.results import Results
from training.players.bots import Bot
from training.players.player import MakePlayer
from training.run.envs import with_defaults
from training.run.options import require
from training.run.seeds import MATCH_SEEDS

LANES = 64
LEVEL = 5  # of bots


@dataclass(frozen=True)
class Plan:
    """What is played.

    Parameters
    ----------
    episodes : int
    max_steps : int
        Decisions of an episode at most.
    level : int or None
        None for that of the training.
    seed : int
    """

    episodes: int = 100
    max_steps: int = 1000
    level: int | None = None
    seed: int = 0


def player_of(who: str) -> tuple[MakePlayer, dict[str, Any]]:
    """Make the factory of a bot or a trained agent, and the options of its environment."""
    if who in fastenv.make_game(ENV).bot_names:
        return partial(Bot, who), with_defaults(ENV, {"level": LEVEL})
    from training.players.load import find
    from training.players.trained import load

    trained = load(*find(Path(who)))
    require(trained.config.env == ENV, "--who", who, f"a bot, or an agent of {ENV}")
    player = next(iter(trained.players().values()))
    return player, with_defaults(ENV, trained.config.env_options)


def compare(who: str, reader: Reader, plan: Plan) -> dict[str, Any]:
    """Play the same games on rows and through pixels.

    Returns
    -------
    dict
        ``players``: shares of clears, viruses left and refused placements; ``difference``: of the
        shares of clears, pixels less rows, with its 95 % interval over games.
    """
    require(plan.episodes >= 2, "--episodes", plan.episodes, "at least 2")
    require(plan.max_steps >= 1, "--max-steps", plan.max_steps, "at least 1")
    player, options = player_of(who)
    if plan.level is not None:
        options["level"] = plan.level
    through_camera: MakePlayer = partial(CameraPlayer, player, reader, options)
    makes = {"rows": player, "pixels": through_camera}
    outcomes: dict[str, Any] = {}
    cleared, first = [], MATCH_SEEDS + plan.seed
    games = Evaluation(
        *(EPISODES, ENV, options),
        seeds=range(first, first + plan.episodes),
        lanes=LANES,
        max_steps=plan.max_steps,
    )
    for name, make in makes.items():
        played = play(games.by({name: make}))
        cleared.append(played["reason"] == Reason.CLEAR)
        outcomes[name] = _summarise(played, cleared[-1])
    values = np.stack(cleared, 1).astype(float)
    gap = Resamples(values, np.ones(values.shape), RESAMPLES, plan.seed).difference(1, 0)
    return {
        "level": options["level"],
        "speed": options["speed"],
        "episodes": plan.episodes,
        "max_steps": plan.max_steps,
        "players": outcomes,
        "difference": gap.to_list(),
    }


def _summarise(played: Results, cleared: np.ndarray) -> dict[str, Any]:
    viruses, frames = played["viruses"][:, None], played["ticks"][cleared][:, None]
    means = [
        Resamples(x, np.ones(x.shape), RESAMPLES, 0).intervals()[0].to_list() if len(x) else None
        for x in (viruses, frames)
    ]
    return {
        "clear": share(cleared).to_list(),
        "viruses": means[0],
        "frames_to_clear": means[1],
        "decisions": int(played["steps"].sum()),
        "refused": float(played["invalid_actions"].sum() / played["steps"].sum()),
    }

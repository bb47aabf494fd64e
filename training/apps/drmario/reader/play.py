"""Compare a player of Dr. Mario that sees through a camera with the same player on rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from training.apps.drmario.players import ENV, find_player
from training.apps.drmario.reader.network import Reader
from training.apps.drmario.reader.player import CameraPlayer
from training.evaluation.evaluation import Evaluation, play
from training.evaluation.judging import EPISODES
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
    """Make the factory of a player by name, and the options of its environment."""
    make, options = find_player(who, flag="--who")
    return make, with_defaults(ENV, {"level": LEVEL}) if options is None else options


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
    first = MATCH_SEEDS + plan.seed
    games = Evaluation(
        *(EPISODES, ENV, options),
        seeds=range(first, first + plan.episodes),
        lanes=LANES,
        max_steps=plan.max_steps,
    )
    played = play(
        games.by({"rows": player, "pixels": partial(CameraPlayer, player, reader, options)})
    )
    drawn = played.estimate(["clear", "viruses", "frames_to_clear"], seed=plan.seed)
    outcomes: dict[str, dict[str, Any]] = {}
    for name, means in drawn.means.items():
        own = played.of(player=name)
        outcomes[name] = {column: mean.to_list() for column, mean in means.items()}
        outcomes[name]["decisions"] = int(own["steps"].sum())
        outcomes[name]["refused"] = float(own["invalid_actions"].sum() / own["steps"].sum())
    return {
        "level": options["level"],
        "speed": options["speed"],
        "episodes": plan.episodes,
        "max_steps": plan.max_steps,
        "players": outcomes,
        "difference": drawn.difference("pixels", "rows", "clear").to_list(),
    }

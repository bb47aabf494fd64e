"""The race as a third game: an id that only tests know, and tiny runs of it.

It has what the real games lack: a ``Dict`` observation of bytes, floats and short integers,
decisions that last, and two agents, the second of which a scripted player plays.
"""

import sys

from fastenv import Game, registry
from fastenv import games as envs
from tests.race import without_scalars
from training.run import games

ENV = "Race-v0"
TINY = {
    "env": ENV,
    "env_options": {"opponent": "random", "goal": 8},
    "num_envs": 8,
    "total_steps": 512,
    "torch_threads": 1,
    "deterministic": True,
    "ppo": {"n_steps": 16, "batch_size": 64, "n_epochs": 2, "net_arch": [32]},
    "checkpoints": {"every": 256},
    "evaluation": {"during": "off", "episodes": 16, "bootstrap": 100},
}


def make_game(**options) -> Game:
    """Return the race, whose clock has an entry: SB3 takes no single numbers."""
    return without_scalars(**options)


class RaceTraining(games.GameTraining):
    """What training knows of the race: what it is called, and who plays it."""

    title = "the race"
    bots = ("slow", "fast")


def register() -> None:
    """Make the id known to this process, to Gymnasium and to training."""
    registry.register_game(lambda: sys.modules[__name__], {ENV: {}})
    envs.register_envs()
    games.register(ENV, RaceTraining())


def unregister() -> None:
    """Forget it."""
    registry.ENVS.pop(ENV, None)
    games.unregister(ENV)

"""The race as a third game: an id that only tests know, and tiny runs of it.

It has what the real games lack: a ``Dict`` observation of bytes, floats and short integers,
decisions that last, and two agents, the second of which a scripted player plays. A second id is the
same race for a game that names its players and the one that plays unless another is named; training
knows nothing of it.
"""

import sys

from fastenv import Game, registry
from fastenv import games as envs
from tests.race import with_spec, without_scalars
from training.run import games

ENV = "Race-v0"
DUEL = "Duel-v0"
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


TINY_DUEL = {**TINY, "env": DUEL, "env_options": {"goal": 8}}


def make_game(duel=False, **options) -> Game:
    """Return the race, whose clock has an entry: SB3 takes no single numbers."""
    game = without_scalars(**options)
    if duel:
        with_spec(game, opponent="slow").bot_names = ("random", "slow", "fast")
    return game


# What training knows of the race: what it is called, and who plays it.
RACE = games.GameTraining(
    title="the race",
    bots=("slow", "fast"),
    table=games.TableRules(one_record=False),  # which holds the length of the way
)


def register() -> None:
    """Make the ids known to this process and to Gymnasium, and the first to training."""
    ids = {ENV: {"duel": False}, DUEL: {"duel": True}}
    registry.register_game(lambda: sys.modules[__name__], ids)
    envs.register_envs()
    games.register(ENV, RACE)


def unregister() -> None:
    """Forget them."""
    registry.ENVS.pop(ENV, None)
    registry.ENVS.pop(DUEL, None)
    games.unregister(ENV)


def known():
    """Make the ids known until the tests are over: a fixture of the modules that need them."""
    register()
    yield
    unregister()

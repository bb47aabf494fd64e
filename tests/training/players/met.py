"""Games of several players that only tests know, and tiny agents of them."""

from fastenv import games as envs
from fastenv import registry
from tests import nim
from tests.training import third_game
from training.run import games

RACE, NIM = third_game.ENV, "Nim-v0"
LSTM = {"native": {"recurrent": "lstm", "recurrent_size": 8, "seq_len": 4}}


def nim_for(players):
    return {"env": NIM, "env_options": {"players": players, "opponent": "random"}}


KINDS = {
    "race": {"env": RACE, "env_options": {"opponent": "random", "goal": 8}},
    "far": {"env": RACE, "env_options": {"opponent": "random", "goal": 30}},
    "wide": {"env": RACE, "env_options": {"opponent": "random", "size": 40}},
    "lstm": {"env": RACE, "env_options": {"opponent": "random", "goal": 8}, **LSTM},
    "nim2": nim_for(2),
    "nim3": nim_for(3),
    "nim4": nim_for(4),
    "again4": {**nim_for(4), "seed": 2},
    "nim8": nim_for(8),
}


def register():
    """Make the ids known to this process, and to training."""
    third_game.register()
    registry.register_game(lambda: nim, {NIM: {}})
    envs.register_envs()


def unregister():
    """Forget them."""
    third_game.unregister()
    registry.ENVS.pop(NIM, None)
    games.unregister(NIM)

"""Games of several players that only tests know, and tiny agents of them."""

import contextlib
import io
import json

from fastenv import games as envs
from fastenv import registry
from tests import nim
from tests.training import third_game
from training.run import games
from training.train import main

RACE, NIM = third_game.ENV, "Nim-v0"
TINY = {
    "num_envs": 8,
    "total_steps": 128,
    "torch_threads": 1,
    "device": "cpu",
    "ppo": {"n_steps": 16, "batch_size": 64, "n_epochs": 1, "net_arch": [8]},
    "evaluation": {"during": "off"},
}
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


def train(runs, kind):
    """Train an agent and return its folder."""
    config = runs / f"{kind}.json"
    config.write_text(json.dumps(TINY | KINDS[kind]))
    return finish(config, runs, kind)


def finish(config, runs, kind):
    """Train to the end without a word, since it may run inside a test that reads its output."""
    flags = ["--config", str(config), "--runs", str(runs), "--name", kind, "--no-evaluation"]
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(flags) == 0
    return runs / kind

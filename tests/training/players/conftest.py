"""Tiny trained agents of every kind, made once."""

import json

import pytest

from . import met

TINY = {
    "env": "SkullKingWorker-v0",
    "num_envs": 8,
    "total_steps": 128,
    "torch_threads": 1,
    "device": "cpu",
    "ppo": {"n_steps": 16, "batch_size": 64, "n_epochs": 1, "net_arch": [8]},
    "evaluation": {"during": "off"},
}
KINDS = {
    "native": {},
    "flat": {"env": "SkullKingFlat-v0"},
    "manager": {"env": "SkullKingManager-v0"},
    "prospector": {"env": "Prospector-v0"},
    "recurrent": {
        "env": "SkullKingFlat-v0",
        "native": {"recurrent": "lstm", "recurrent_size": 8, "seq_len": 4},
    },
    "ssm": {"native": {"recurrent": "ssm", "recurrent_size": 8, "seq_len": 4}},
    "attention": {"native": {"attention": 8, "heads": "phase"}, "env": "SkullKingFlat-v0"},
    "cards": {"native": {"heads": "cards"}, "env": "SkullKingFlat-v0"},
    "sb3": {"trainer": "sb3"},
    "ensemble": {"trainer": "ensemble", "ensemble": {"seeds": [3, 4]}},
    "hier": {
        "trainer": "hier",
        "total_steps": 300,
        "num_envs": 16,
        "ppo": {"n_steps": 4, "batch_size": 16, "net_arch": [8]},
        "hier": {"warm_start": 64},
    },
}


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """Return the folder of a tiny finished run of a kind; not to be changed."""
    runs, made = tmp_path_factory.mktemp("agents"), {}

    def folder(kind):
        if kind not in made:
            if kind == "sb3":
                pytest.importorskip("sb3_contrib")
            config = runs / f"{kind}.json"
            config.write_text(json.dumps(TINY | KINDS[kind]))
            made[kind] = met.finish(config, runs, kind)
        return made[kind]

    return folder


@pytest.fixture(scope="module")
def agent(tmp_path_factory):
    """Return the folder of a tiny agent of a kind of :mod:`met`, as text."""
    runs, made = tmp_path_factory.mktemp("agents"), {}
    met.register()

    def folder(kind):
        if kind not in made:
            made[kind] = str(met.train(runs, kind))
        return made[kind]

    yield folder
    met.unregister()

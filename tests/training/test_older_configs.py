"""Options that older versions have written are read: of agents, of records, and of old keys."""

import json
from functools import reduce
from pathlib import Path

import pytest

from tests.tables import walk
from training.run import registry
from training.run.config import RunConfig
from training.run.config_files import merge
from training.run.folder import RunFolder

ROOT = Path(__file__).resolve().parents[2]
AGENTS = sorted(path.parent for path in ROOT.glob("pretrained/*/config.json"))


def configs(value):
    """Yield the options of runs that a record has."""
    if isinstance(value, dict):
        if {"trainer", "num_envs", "env"} <= value.keys():
            yield value
        for each in value.values():
            yield from configs(each)
    elif isinstance(value, list):
        for each in value:
            yield from configs(each)


ALL = registry.TRAINERS
NEEDED = {"ensemble": {"ensemble": {"seeds": [1, 2], "learning_rates": []}, "num_envs": 512}}
RECORDED = [
    pytest.param(found, id=f"{path.stem}-{k}")
    for path in sorted(ROOT.glob("benchmarks/*.json"))
    for k, found in enumerate(configs(json.loads(path.read_text(encoding="utf-8"))))
]


@walk("folder", AGENTS, ids=lambda path: path.name)
def test_config_of_an_agent_is_read(folder):
    assert RunFolder.open(folder).config.env


def test_there_are_configs_in_records():
    assert len(RECORDED) > 20


@walk("values", RECORDED)
def test_config_of_a_record_is_read_as_it_was(values):
    config = RunConfig.from_mapping(values).to_dict()
    for name in ("env", "trainer", "total_steps", "num_envs", "env_options"):
        assert config[name] == values[name], name
    section = "dqn" if values["trainer"] == "dqn" else "ppo"
    assert {k: v for k, v in values[section].items() if k in config[section]} == config[section]


@walk("trainer", registry.TRAINERS)
def test_config_of_any_trainer_with_the_sections_of_all_is_read(trainer):
    """As every ``config.json`` was while all trainers shared one class of options."""
    every = [registry.OPTIONS.load(name)(**NEEDED.get(name, {})).to_dict() for name in ALL]
    whole = {**reduce(merge, every), "trainer": trainer, "ensemble": {"seeds": []}}
    whole |= NEEDED.get(trainer, {})
    config = RunConfig.from_mapping(json.loads(json.dumps(whole)))
    assert config.trainer == trainer


def test_sections_of_all_trainers_are_read_if_they_are_as_usual():
    """As ``config.json`` had them while all trainers shared one class of options."""
    old = {
        "trainer": "native",
        "env_impl": "native",
        "dqn": {"capacity": 1_048_576, "net_arch": [256, 256]},
        "hier": {"warm_start": 1_000_000, "gate": {"target": None}},
        "ensemble": {"seeds": []},
        "rllib": {"address": None, "env_runners": 0},
        "ppo": {"n_steps": 32, "rollout_buffer": "stock", "algorithm": "stock"},
        "selfplay": None,
    }
    config = RunConfig.from_mapping(old)
    assert (config.backend, config.ppo.n_steps) == ("fast", 32)
    assert not {"dqn", "hier", "ensemble", "rllib"} & config.to_dict().keys()

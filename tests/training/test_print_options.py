"""``train --print-config`` and ``train --print-schema``: the options as a file and as a schema."""

import json
from pathlib import Path

import pytest
import yaml

from tests.tables import walk
from training.run import registry
from training.run.config import RunConfig
from training.run.option_layers import merge_layers, parser
from training.train import main, make_schema

CONFIGS = sorted((Path(__file__).resolve().parents[2] / "training/configs").glob("*.yaml"))
# What a trainer cannot do without.
NEEDED = {"ensemble": {"ensemble": {"seeds": [1, 2]}}}
by_name = pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)


def printed(capsys, *flags):
    """Return what the command prints, which ends well and says nothing else."""
    capsys.readouterr()
    assert main([*map(str, flags)]) == 0
    return capsys.readouterr().out


@by_name
def test_a_printed_config_is_a_file_of_the_same_options(path, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flags = ["--config", str(path), "--set", "checkpoints.every=2M", "--seed", "7"]
    text = printed(capsys, *flags, "--print-config")
    assert list(tmp_path.iterdir()) == []
    wanted = merge_layers(parser().parse_args(flags), {})
    assert list(yaml.safe_load(text)) == list(wanted.to_dict())
    copy = tmp_path / "printed.yaml"
    copy.write_text(text)
    again = merge_layers(parser().parse_args(["--config", str(copy)]), {})
    assert again == wanted
    assert again.sha256() == wanted.sha256()
    assert printed(capsys, "--config", copy, "--print-config") == text


@pytest.mark.parametrize("trainer", registry.TRAINERS)
def test_the_defaults_of_a_trainer_are_printed(trainer, tmp_path, capsys):
    """They are in the order of its model; sections too."""
    config = RunConfig.from_mapping({"trainer": trainer, **NEEDED.get(trainer, {})})
    text = yaml.safe_dump(config.to_dict(), sort_keys=False)
    assert list(yaml.safe_load(text)) == list(type(config).model_fields)
    path = tmp_path / "defaults.yaml"
    path.write_text(text)
    shown = yaml.safe_load(printed(capsys, "--config", path, "--print-config"))
    assert RunConfig.from_mapping(shown) == config


def test_options_of_a_run_that_goes_on_are_its_own(finished, capsys):
    flags = ["--runs", finished.parent, "--name", finished.name, "--resume"]
    shown = yaml.safe_load(printed(capsys, *flags, "--total-steps", "1k", "--print-config"))
    own = json.loads((finished / "config.json").read_text())["config"]
    assert shown == own | {"total_steps": 1000}


def test_a_wrong_option_is_refused_before_it_is_printed(capsys):
    assert main(["--set", "ppo.n_step=3", "--print-config"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "did you mean 'ppo.n_steps'" in shown.err


def test_others_of_torchrun_print_nothing(capsys, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    assert printed(capsys, "--print-config") == ""


# -- the schema ------------------------------------------------------------------------------------


def test_the_schema_tells_trainers_apart(capsys):
    found = json.loads(printed(capsys, "--print-schema"))
    assert found == make_schema()
    assert found["discriminator"]["propertyName"] == "trainer"
    assert set(found["discriminator"]["mapping"]) == set(registry.TRAINERS)
    for trainer in registry.TRAINERS:
        model = registry.OPTIONS.load(trainer)
        one = found["$defs"][model.__name__]
        assert set(one["properties"]) == {
            *(model.model_fields),
            *("without_core", "use_numba", "use_cython"),
        }
        assert one["properties"]["trainer"]["const"] == trainer
        assert ("trainer" in one.get("required", ())) == (trainer != "native")


@pytest.fixture(scope="module")
def valid():
    """Tell whether the schema takes options."""
    jsonschema = pytest.importorskip("jsonschema")
    return jsonschema.Draft202012Validator(make_schema()).is_valid


@by_name
def test_the_schema_takes_every_config(path, valid):
    assert valid(yaml.safe_load(path.read_text(encoding="utf-8")))


@walk("trainer", registry.TRAINERS)
def test_the_schema_takes_what_a_run_writes(trainer, valid):
    config = RunConfig.from_mapping({"trainer": trainer, **NEEDED.get(trainer, {})}).to_dict()
    assert valid(config)
    assert not valid(config | {"trainer": "somebody"})


@walk(
    ("options", "taken"),
    [
        ({}, True),
        ({"total_steps": "2M", "ppo": {"learning_rate": "3e-4"}}, True),
        ({"use_numba": True}, True),
        ({"total_step": 3}, False),
        ({"num_envs": 0}, False),
        ({"ppo": {"net_arch": "wide"}}, False),
        ({"dqn": {"buffer": 3}}, False),
    ],
)
def test_the_schema_refuses_what_is_no_option(options, taken, valid):
    assert valid(options) == taken

"""Options that were removed: left out at the default that they had, else refused by name."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest
import yaml

from fastenv.errors import ConfigError
from tests.tables import walk
from training import train
from training.run import removed
from training.run.config import RunConfig
from training.run.config_files import load_file
from training.run.folder import RunError, RunFolder
from training.run.options import canonical_json

SELF_PLAY = Path("tests/data/runs/native-self-play")
OTHER = {
    "native.env_groups": 2,
    "native.value_clip": "max",
    "native.norm_adv": "batch",
    "native.refresh_states": True,
    "native.obs_device": "cpu",
    "native.clip_schedule": "linear",
    "native.intrinsic_coef": 0.5,
    "native.intrinsic_gamma": 0.9,
    "native.intrinsic_episodic": False,
    "selfplay.weights": "winrate",
}
of_every_option = pytest.mark.parametrize(
    ("section", "name"),
    [(section, name) for section, options in removed.OPTIONS.items() for name in options],
)


def test_the_options_are_those_that_are_tried_here():
    named = {f"{section}.{name}" for section, names in removed.OPTIONS.items() for name in names}
    assert named == OTHER.keys()


@of_every_option
def test_its_old_default_is_left_out(section, name):
    values = {section: {name: removed.OPTIONS[section][name].default}}
    config = RunConfig.from_mapping(values)
    assert name not in config.to_dict()[section]
    assert config == RunConfig.from_mapping({section: {}})


@of_every_option
def test_another_value_is_refused_by_name(section, name):
    value = OTHER[f"{section}.{name}"]
    with pytest.raises(
        ConfigError, match=rf"^{section}\.{name}={value!r} .*was removed"
    ) as refused:
        RunConfig.from_mapping({section: {name: value}})
    assert str(refused.value).count(f"{section}.{name}") == 2
    assert "\n" not in str(refused.value)


@walk("trainer", ["sb3", "dqn", "rllib", "hier"])
def test_configs_of_other_trainers_may_have_them_too(trainer):
    defaults = {name: option.default for name, option in removed.OPTIONS["native"].items()}
    config = RunConfig.from_mapping({"trainer": trainer, "native": defaults})
    assert config == RunConfig.from_mapping({"trainer": trainer})
    with pytest.raises(ConfigError, match=r"^native\.env_groups=2"):
        RunConfig.from_mapping({"trainer": trainer, "native": {**defaults, "env_groups": 2}})


@pytest.mark.parametrize(
    ("value", "default", "is_default"),
    [
        *((1.0, 1, True), (True, 1, False), ("1", 1, False), (1, True, False), (0, False, False)),
        *((0.99, 0.99, True), (None, None, True), (0, None, False), ([], "age", False)),
    ],
)
def test_a_value_of_another_type_is_another_value(monkeypatch, value, default, is_default):
    option = removed.Removed(default, "nothing is done")
    monkeypatch.setattr(removed, "OPTIONS", {"native": {"gone": option}})
    if is_default:
        assert removed.drop_removed({"native": {"gone": value}, "seed": 1}) == {
            "native": {},
            "seed": 1,
        }
    else:
        with pytest.raises(ConfigError, match=r"native\.gone"):
            removed.drop_removed({"native": {"gone": value}})


def test_options_of_a_policy_are_read_as_those_of_a_run():
    from training.apps.skullking.hier import options

    config = RunConfig.from_mapping({"trainer": "hier", "hier": {"worker": {"env_groups": 1}}})
    assert "env_groups" not in options.policy_run(config, "worker").native.to_dict()
    config = RunConfig.from_mapping({"trainer": "hier", "hier": {"manager": {"norm_adv": "off"}}})
    with pytest.raises(ConfigError, match=r"^hier\.manager: native\.norm_adv='off'.*was removed"):
        options.policy_run(config, "manager")


def test_a_file_for_training_may_have_them(tmp_path, capsys):
    file = tmp_path / "old.yaml"
    base = load_file("training/configs/selfplay.yaml")
    base["selfplay"]["weights"] = "age"
    file.write_text(yaml.safe_dump({**base, "native": {"env_groups": 1}}))
    assert train.main(["--config", str(file), "--print-config"]) == 0
    assert not {"weights", "env_groups"} & {*capsys.readouterr().out.replace(":", " ").split()}
    base["selfplay"]["weights"] = "winrate"
    file.write_text(yaml.safe_dump(base))
    assert train.main(["--config", str(file), "--runs", str(tmp_path / "runs")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: selfplay.weights='winrate' is not possible")
    assert error.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_a_stored_run_is_checked_by_its_hash_before_they_are_left_out(tmp_path):
    run = tmp_path / "run"
    shutil.copytree(SELF_PLAY, run)
    record = json.loads((run / "config.json").read_text(encoding="utf-8"))
    assert record["config"]["native"]["env_groups"] == 1
    assert record["config"]["selfplay"]["weights"] == "age"
    assert "env_groups" not in RunFolder.open(run).config.to_dict()["native"]
    del record["config"]["native"]["env_groups"]  # changed, though it says the same
    (run / "config.json").write_text(json.dumps(record))
    with pytest.raises(RunError, match="its hash is wrong"):
        RunFolder.open(run)


def test_a_stored_run_with_another_value_is_refused_by_name(tmp_path):
    run = tmp_path / "run"
    shutil.copytree(SELF_PLAY, run)
    record = json.loads((run / "config.json").read_text(encoding="utf-8"))
    record["config"]["native"]["value_clip"] = "max"
    record["sha256"] = hashlib.sha256(canonical_json(record["config"]).encode()).hexdigest()
    (run / "config.json").write_text(json.dumps(record))
    with pytest.raises(RunError, match=r"native\.value_clip='max' .*'sb3' or left out: .*removed"):
        RunFolder.open(run)


def test_a_sweep_that_was_begun_with_them_goes_on():
    pytest.importorskip("optuna")
    from training.evaluation.trials import _drop_removed_options

    lines = Path("tests/data/runs/sweep.journal").read_text(encoding="utf-8").splitlines()
    asked = json.loads(lines[1])["user_attr"]["asked"]
    assert "env_groups" in asked["base"]
    today = _drop_removed_options(asked)
    known = {**RunConfig.from_mapping(json.loads(asked["base"])).to_dict()}
    del known["name"]
    assert today == {**asked, "base": canonical_json(known)}
    assert _drop_removed_options({"base": 3}) == {"base": 3}

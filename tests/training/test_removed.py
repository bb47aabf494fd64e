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
from training.evaluation import comparison
from training.players.export import export
from training.players.trained import find_run
from training.run import removed
from training.run.config import RunConfig
from training.run.config_files import load_file
from training.run.folder import RunError, RunFolder
from training.run.option_layers import merge_layers, parser
from training.run.options import canonical_json

SELF_PLAY = Path("tests/data/runs/native-self-play")
OTHER = {
    "native.env_groups": 2,
    "native.value_clip": "max",
    "native.clip_range_vf": 0.2,
    "native.norm_adv": "batch",
    "native.refresh_states": True,
    "native.obs_device": "cpu",
    "native.clip_schedule": "linear",
    "native.intrinsic_coef": 0.5,
    "native.intrinsic_gamma": 0.9,
    "native.intrinsic_episodic": False,
    "selfplay.weights": "winrate",
    "native.burn_in": 4,
    "evaluation.goals": "estimate",
    "selfplay.play": "best",
    "gate.futility": False,
    "gate.rehearsal": 0.5,
    "gate.ready": {"at_least": 0.6, "metric": "rounds/hit_rate"},
    "ppo.rollout_buffer": "fast",
    "ppo.algorithm": "batch",
    "dqn.polyak": 0.005,
    "dqn.head_width": 96,
    "dqn.bonus_head": True,
    "dqn.side_weight": 0.05,
    "dqn.goal_weight": 0.1,
    "dqn.warm_start": "runs/first",
    "hier.adaptive_epochs": True,
    "hier.cards": "best",
    "hier.balance": "steps",
    "hier.goals": {"estimate": 0.5, "manager": 0.0, "uniform": 0.5},
    "dqn.noise_groups": 4,
    "evaluation.bids": "heuristic",
}


def test_the_options_are_those_that_are_tried_here():
    named = {f"{section}.{name}" for section, names in removed.OPTIONS.items() for name in names}
    assert named == OTHER.keys()


# -- doors -----------------------------------------------------------------------------------------


def _with(run, section, name, value):
    """Return a folder whose stored options have a value, and the hash of options that have it."""
    record = json.loads((run / "config.json").read_text(encoding="utf-8"))
    record["config"].setdefault(section, {})[name] = value
    record["sha256"] = hashlib.sha256(canonical_json(record["config"]).encode()).hexdigest()
    (run / "config.json").write_text(json.dumps(record))
    return run


def run_folder(folder, *option):
    return RunFolder.open(_with(shutil.copytree(SELF_PLAY, folder), *option)).config.to_dict()


def exported_agent(folder, *option):
    export(RunFolder.open(SELF_PLAY), folder)
    found, _ = find_run(_with(folder, *option))
    return found.config.to_dict()


def config_file(folder, section, name, value):
    folder.mkdir()
    base = load_file("training/configs/selfplay.yaml")
    base.setdefault(section, {})[name] = value
    (folder / "old.yaml").write_text(yaml.safe_dump(base))
    args = parser().parse_args(["--config", str(folder / "old.yaml")])
    return merge_layers(args, {}, say=lambda _: None).to_dict()


def record(folder, section, name, value):
    config = {**RunFolder.open(SELF_PLAY).config.to_dict()}
    config[section] = {**config.get(section, {}), name: value}
    report = {"baseline": "a", "configs": {"a": json.loads(json.dumps(config))}}
    earlier = comparison.EarlierComparison(folder, report)
    return earlier.configs["a"].to_dict()


def journal(_folder, section, name, value):
    trials = pytest.importorskip("training.evaluation.trials")
    lines = Path("tests/data/runs/sweep.journal").read_text(encoding="utf-8").splitlines()
    asked = json.loads(lines[1])["user_attr"]["asked"]
    base = json.loads(asked["base"])
    base[section] = {**(base.get(section) or {}), name: value}
    left = trials._drop_removed_options({**asked, "base": canonical_json(base)})
    played = {**json.loads(asked["evaluation"])}
    assert (played.pop("goals"), played.pop("bids")) == ("uniform", "rule_hard")
    changed = {"base": left["base"], "evaluation": canonical_json(played)}
    assert left == {**asked, **changed}
    return json.loads(left["base"])


DOORS = (run_folder, exported_agent, config_file, record, journal)
of_every_door = walk("door", DOORS)
of_every_option = walk(
    ("section", "name"),
    [(section, name) for section, options in removed.OPTIONS.items() for name in options],
)


@of_every_door
@of_every_option
def test_its_old_default_is_left_out_at_every_door(tmp_path_factory, door, section, name):
    default = removed.OPTIONS[section][name].default
    read = door(tmp_path_factory.mktemp("door") / "run", section, name, default)
    assert name not in read.get(section, {})


@of_every_door
@of_every_option
def test_another_value_is_refused_by_name_at_every_door(tmp_path_factory, door, section, name):
    value = OTHER[f"{section}.{name}"]
    with pytest.raises(
        (ConfigError, RunError), match=rf"{section}\.{name}={value!r} .*was removed"
    ) as refused:
        door(tmp_path_factory.mktemp("door") / "run", section, name, value)
    assert "\n" not in str(refused.value)


def test_a_training_that_is_refused_leaves_nothing(tmp_path, capsys):
    base = load_file("training/configs/selfplay.yaml")
    base["selfplay"]["weights"] = "winrate"
    (tmp_path / "old.yaml").write_text(yaml.safe_dump(base))
    words = ["--config", str(tmp_path / "old.yaml"), "--runs", str(tmp_path / "runs")]
    assert train.main(words) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: selfplay.weights='winrate' is not possible")
    assert error.count("\n") == 1
    assert not (tmp_path / "runs").exists()


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


def test_the_evaluation_of_an_earlier_comparison_is_read_too(tmp_path):
    config = RunFolder.open(SELF_PLAY).config
    report = {"baseline": "a", "configs": {"a": config.to_dict()}, "seeds": [1]}
    played = {**config.evaluation.to_dict(), "goals": "uniform"}
    comparison.EarlierComparison(tmp_path, {**report, "evaluation": played}).check(
        [1], config.evaluation
    )
    earlier = comparison.EarlierComparison(
        tmp_path, {**report, "evaluation": {**played, "goals": "estimate"}}
    )
    with pytest.raises(ConfigError, match=r"evaluation\.goals='estimate' .*was removed"):
        earlier.check([1], config.evaluation)


def test_a_journal_of_something_else_stays_as_it_is():
    trials = pytest.importorskip("training.evaluation.trials")
    assert trials._drop_removed_options({"base": 3}) == {"base": 3}

"""The examples of docs/training.md are options that a run takes."""

import re
from pathlib import Path

import pytest
import yaml

from training.callbacks.of_run import check_environment
from training.dqn.options import DQNConfig
from training.ppo.options import NativeConfig, NativeRun, PPOConfig
from training.run import games
from training.run.config import RunConfig

PAGE = (Path(__file__).resolve().parents[2] / "docs/training.md").read_text(encoding="utf-8")
EXAMPLES = {
    next(iter(values)): values
    for text in re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    if (values := yaml.safe_load(text))
}


def test_there_is_an_example_of_each():
    assert {"evaluation", "trackers", "gate"} <= set(EXAMPLES)


@pytest.mark.parametrize(
    ("name", "env"),
    [
        ("evaluation", "SkullKingWorker-v0"),
        ("trackers", "Prospector-v0"),
        ("gate", "SkullKingWorker-v0"),
        ("shaping", "DrMarioPlacement-v0"),
    ],
)
def test_example_is_accepted(name, env):
    check_environment(RunConfig.from_mapping({"env": env, **EXAMPLES[name]}))


def test_defaults_of_checkpoints_are_those_of_the_table():
    listed = dict(re.findall(r"^\| `checkpoints\.(\w+)` \| ([\w,]+) \|", PAGE, re.MULTILINE))
    config = NativeRun().checkpoints
    shown = {
        name: "null" if value is None else f"{value:,}" for name, value in vars(config).items()
    }
    assert listed == shown


@pytest.mark.parametrize(
    ("section", "options"),
    [("ppo", PPOConfig()), ("native", NativeConfig()), ("dqn", DQNConfig())],
)
def test_options_are_listed_with_their_defaults(section, options):
    listed = dict(re.findall(rf"^\| `{section}\.(\w+)` \| ([^|]+) \|", PAGE, re.MULTILINE))
    assert list(listed) == list(vars(options))
    for name, value in vars(options).items():
        shown = yaml.safe_load(f"[{listed[name]}]")
        given = (
            [list(v) if isinstance(v, tuple) else v for v in value]
            if isinstance(value, tuple)
            else [value]
        )
        assert [False if v == "off" else v for v in given] == shown, name


def test_presets_are_named():
    listed = re.search(r"`--preset` \(([^)]*)\)", PAGE)
    assert listed
    assert re.findall(r"`(\w+)`", listed[1]) == list(games.presets())

"""The examples of docs/training.md are options that a run takes."""

import re
from pathlib import Path

import pytest
import yaml

from training.config import RunConfig
from training.train import check_environment

PAGE = (Path(__file__).resolve().parents[2] / "docs/training.md").read_text(encoding="utf-8")
SECTION = PAGE[PAGE.index("## Runs: checkpoints") :]
EXAMPLES = {
    next(iter(values)): values
    for text in re.findall(r"```yaml\n(.*?)```", SECTION, flags=re.DOTALL)
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
    ],
)
def test_example_is_accepted(name, env):
    check_environment(RunConfig.from_mapping({"env": env, **EXAMPLES[name]}))


def test_defaults_of_checkpoints_are_those_of_the_table():
    listed = dict(re.findall(r"^\| `checkpoints\.(\w+)` \| ([\w,]+) \|", SECTION, re.MULTILINE))
    config = RunConfig().checkpoints
    shown = {
        name: "null" if value is None else f"{value:,}" for name, value in vars(config).items()
    }
    assert listed == shown

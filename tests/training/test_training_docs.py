"""The examples of docs/howto/training.md are options that a run takes."""

import re
from pathlib import Path

import pytest
import yaml

from tools import option_tables
from training.callbacks.run_callbacks import check_config
from training.run import games, trainers
from training.run.config import RunConfig
from training.run.options import Options

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "howto" / "training.md").read_text(encoding="utf-8")
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
    check_config(RunConfig.from_mapping({"env": env, **EXAMPLES[name]}))


def test_page_of_options_is_what_the_models_say():
    assert (DOCS / "reference" / "options.md").read_text(encoding="utf-8") == option_tables.page()


def test_every_option_of_a_run_is_described():
    for trainer in trainers.names():
        for model in (trainers.get_options(trainer), *sections(trainers.get_options(trainer))):
            for name, field in model.model_fields.items():
                assert field.description, f"{model.SECTION}{name}"


def sections(model):
    kinds = [field.annotation for field in model.model_fields.values()]
    return [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Options)]


def test_presets_are_named():
    listed = re.search(r"`--preset` \(([^)]*)\)", PAGE)
    assert listed
    assert re.findall(r"`(\w+)`", listed[1]) == list(games.presets())

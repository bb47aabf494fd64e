"""The examples of docs/howto/ are options that a run takes."""

import re
from pathlib import Path

import yaml

from tests.tables import walk
from tools import option_tables
from training.callbacks.start import check_config
from training.run import trainers
from training.run.config import RunConfig
from training.run.option_layers import read_presets
from training.run.options import Options

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "howto" / "training.md").read_text(encoding="utf-8")
# By page and first option, each example, which may leave out its environment.
EXAMPLES = {
    (page.stem, next(iter(values))): values
    for page in sorted((DOCS / "howto").glob("*.md"))
    for text in re.findall(r"```yaml\n(.*?)```", page.read_text("utf-8"), flags=re.DOTALL)
    if (values := yaml.safe_load(text))
}
ENVS = {
    "several_agents": "DrMarioVersus-v0",
    "agents": "SkullKingFlat-v0",
    "evaluate": "SkullKingWorker-v0",
    "manager_worker": "SkullKingWorker-v0",
    "train_drmario": "DrMarioPlacement-v0",
    "train_skullking": "SkullKingWorker-v0",
    "trackers": "SkullKingWorker-v0",
    ("trackers", "trackers"): "Prospector-v0",
    ("trackers", "shaping"): "DrMarioPlacement-v0",
}


def test_there_is_an_example_of_each():
    wanted = {
        ("evaluate", "evaluation"),
        *(("trackers", x) for x in ("trackers", "gate", "shaping")),
    }
    assert wanted <= set(EXAMPLES)


@walk(("page", "name"), EXAMPLES)
def test_example_is_accepted(page, name):
    env = ENVS.get((page, name)) or ENVS[page]
    check_config(RunConfig.from_mapping({"env": env, **EXAMPLES[page, name]}))


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
    listed = re.search(r"The presets \(([^)]*)\)", PAGE)
    assert listed
    assert re.findall(r"`(\w+)`", listed[1]) == list(read_presets())

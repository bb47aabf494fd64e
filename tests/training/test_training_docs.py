"""The examples of docs/howto/ are options that a run takes."""

import re
from pathlib import Path

import yaml

from tests.tables import walk
from tools import option_tables
from training.callbacks.start import check_config
from training.run import folder, registry
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
    page = option_tables.page()
    assert (DOCS / "reference" / "options.md").read_text(encoding="utf-8") == page
    assert "| None |" not in page  # an option without a description


def test_every_option_of_a_run_is_described():
    for trainer in registry.TRAINERS:
        for model in (registry.OPTIONS.load(trainer), *sections(registry.OPTIONS.load(trainer))):
            for name, field in model.model_fields.items():
                assert field.description, f"{model.SECTION}{name}"


def sections(model):
    kinds = [field.annotation for field in model.model_fields.values()]
    return [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Options)]


def test_what_may_change_at_resume_is_named():
    text = (DOCS / "howto" / "resume.md").read_text(encoding="utf-8")
    listed = re.search(r"You may change ([^.]*)\.", text)
    assert listed
    assert {*re.findall(r"`(\w+)`", listed[1])} == {*folder.MAY_CHANGE} - {"name"}


def test_files_of_a_run_are_those_that_the_module_names():
    page = (DOCS / "howto" / "run_folder.md").read_text(encoding="utf-8")
    rows = page.partition("| file | content |\n|---|---|\n")[2].partition("\n\n")[0].splitlines()
    shown = [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])]
    lines = (folder.__doc__ or "").split("=\n")[1].splitlines()
    described = [name for line in lines for name in re.findall(r"``([^`]+)``", line[:32])]
    assert sorted(shown) == sorted(described)


def test_presets_are_named():
    listed = re.search(r"The presets \(([^)]*)\)", PAGE)
    assert listed
    assert re.findall(r"`(\w+)`", listed[1]) == list(read_presets())

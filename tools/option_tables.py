"""Write ``docs/reference/options.md`` from the models: ``python -m tools.option_tables``."""

from __future__ import annotations

import re
from typing import Any

from training.apps.skullking.hier.options import HierConfig, WorkerGate
from training.callbacks.trackers.archive import ArchiveOptions
from training.callbacks.trackers.growth import GrowthOptions
from training.callbacks.trackers.progress import Event, ProgressOptions
from training.callbacks.trackers.quests import QuestOptions, QuestStage
from training.callbacks.trackers.visits import VisitOptions
from training.dqn.options import DQNConfig
from training.ensemble.options import EnsembleConfig
from training.expert.options import ExpertConfig
from training.ppo.options import NativeConfig, PPOConfig
from training.rllib.options import RLlibConfig
from training.run import machine, registry
from training.run.config import (
    CheckpointConfig,
    DelayedAction,
    EvaluationConfig,
    LiveMapConfig,
    RunConfig,
    SelfPlayConfig,
    ShapingConfig,
)
from training.run.options import Options, allowed_of
from training.search.options import SearchOptions

PAGE = machine.ROOT / "docs" / "reference" / "options.md"
# By heading, the model.
MODELS: tuple[tuple[str, type[Options]], ...] = (
    ("A run", RunConfig),
    ("checkpoints", CheckpointConfig),
    ("evaluation", EvaluationConfig),
    ("mask_schedule", DelayedAction),
    ("live_map", LiveMapConfig),
    ("shaping", ShapingConfig),
    ("selfplay", SelfPlayConfig),
    ("trackers: visits", VisitOptions),
    ("trackers: archive", ArchiveOptions),
    ("trackers: quests", QuestOptions),
    ("a stage of quests", QuestStage),
    ("trackers: growth", GrowthOptions),
    ("trackers: progress", ProgressOptions),
    ("an event of progress", Event),
    ("ppo", PPOConfig),
    ("native", NativeConfig),
    ("expert", ExpertConfig),
    ("ensemble", EnsembleConfig),
    ("hier", HierConfig),
    ("hier.gate", WorkerGate),
    ("dqn", DQNConfig),
    ("rllib", RLlibConfig),
    ("search, in names such as search:PATH,worlds=64", SearchOptions),
)
HEAD = """# Options of a run

All options of `--set`, config files and presets. `python -m tools.option_tables` writes this page \
from the models, which refuse everything else. [Train an agent](../howto/training.md) explains how \
the layers of options combine.

| trainer | sections beside those of every run |
|---|---|
"""
REFUSED = """
## What some trainers refuse

A trainer in this table takes only these values of an option, and refuses others by name. What \
depends on several options is refused too; the message then says on which.

| trainer | option | takes only |
|---|---|---|
"""


def page() -> str:
    """Return the page in Markdown."""
    parts = [HEAD]
    shared = RunConfig.model_fields.keys()
    for trainer in registry.TRAINERS:
        own = [name for name in registry.OPTIONS.load(trainer).model_fields if name not in shared]
        parts.append(f"| `{trainer}` | {', '.join(f'`{name}`' for name in own)} |\n")
    parts.append(REFUSED)
    for trainer in registry.TRAINERS:
        for only in registry.OPTIONS.load(trainer).ONLY:
            taken = ", ".join(_shown(value) for value in only.values)
            parts.append(f"| `{trainer}` | `{only.option}` | {taken} |\n")
    for heading, model in MODELS:
        parts.append(f"\n## {heading}\n\n{' '.join(_says(model).split())}\n\n")
        parts.append(table(model))
    return "".join(parts)


def table(model: type[Options]) -> str:
    """Return the table of a model in Markdown."""
    rows = ["| option | default | allowed | meaning |", "|---|---|---|---|"]
    for name, field in model.model_fields.items():
        default = "needed" if field.is_required() else _shown(model.get_default(name))
        meaning, allowed = _plain(str(field.description)), _plain(_allowed(model, name))
        rows.append(f"| `{model.SECTION}{name}` | {default} | {allowed} | {meaning} |")
    return "\n".join(rows) + "\n"


def _allowed(model: type[Options], name: str) -> str:
    if name == "trainer":
        return ", ".join(registry.TRAINERS)
    allowed = allowed_of(model, name).removeprefix("one of ")
    return re.sub(r"'([\w-]+)'", r"\1", allowed).replace("None", "null")


def _plain(text: str) -> str:
    """Convert the markup of docstrings to Markdown."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text.replace("``", "`"))
    return text.replace("|", "\\|")


def _says(model: type[Options]) -> str:
    return _plain((model.__doc__ or "").partition("\n\n    Attributes")[0].strip())


def _shown(value: Any) -> str:
    if isinstance(value, Options):
        return "a section"
    if isinstance(value, tuple) and value and isinstance(value[0], Options):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, tuple):
        return ", ".join(str(list(v)) if isinstance(v, tuple) else str(v) for v in value) or "none"
    if isinstance(value, dict):
        return "none"
    return (
        f"{value:.8f}".rstrip("0") if isinstance(value, float) and 0 < value < 1e-3 else str(value)
    )


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()

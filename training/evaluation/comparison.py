"""Variants of a training with several seeds: trained or resumed, evaluated, and compared."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from fastenv.errors import ConfigError
from training.evaluation import paired
from training.evaluation.over_seeds import over_seeds, train_to_end
from training.run import files, games, machine
from training.run.config import RunConfig
from training.run.folder import RunFolder
from training.run.options.evaluation import EvaluationConfig


@dataclass(frozen=True)
class Training:
    """One run of a comparison.

    Parameters
    ----------
    variant : str
    config : RunConfig
        Name and seed included.
    command : str
        What trains it alone.
    """

    variant: str
    config: RunConfig
    command: str


def settings(config: RunConfig) -> dict[str, Any]:
    """Return the options that a variant has with every seed."""
    return {k: value for k, value in config.to_dict().items() if k not in ("name", "seed")}


def begun(root: Path, config: RunConfig) -> RunFolder | None:
    """Return the folder of a run that has begun, None for one that has not.

    Raises
    ------
    ConfigError, RunError
        If it was begun with other options, its length included: schedules depend on it.
    """
    path = root / str(config.name)
    if not path.exists():
        return None
    run = RunFolder.open(path)
    steps = run.config.total_steps
    if steps != config.total_steps:
        raise ConfigError(
            f"{path} was begun with total_steps={steps}, not {config.total_steps}: "
            "choose another --name."
        )
    run.continue_with(config)
    return run


def run_comparison(
    trainings: Sequence[Training],
    options: EvaluationConfig,
    root: Path,
    target: Path,
    about: Mapping[str, Any],
) -> dict[str, Any]:
    """Train, evaluate and compare; the report is written anew after every seed.

    Parameters
    ----------
    trainings : sequence of Training
        One a variant and seed, seed by seed.
    options : EvaluationConfig
        What all of them play.
    root : Path
        Folder of the runs.
    target : Path
        JSON file of the report.
    about : mapping
        What the report begins with.

    Returns
    -------
    dict
        The report.

    Raises
    ------
    ConfigError, RunError
        If a run has begun with other options; nothing is trained then.
    """
    before = [begun(root, each.config) for each in trainings]
    variants = list(dict.fromkeys(each.variant for each in trainings))
    baseline = trainings[0].config
    protocol = games.protocol_of(baseline.env)
    about = {
        **about,
        "baseline": variants[0],
        "policy": "highest legal logit",
        "intervals": "of means and differences: 95 %, Student's t over seeds; of runs: 95 %, "
        f"percentile bootstrap over deals or episodes, {options.bootstrap} resamples",
        "evaluation": asdict(options),
        "configs": {each.variant: settings(each.config) for each in trainings[: len(variants)]},
    }
    runs: list[dict[str, Any]] = []
    report: dict[str, Any] = {}
    for each, there in zip(trainings, before, strict=True):
        run = RunFolder.create(root, each.config) if there is None else there
        trained, record = train_to_end(run, resume=there is not None)
        torch.set_num_threads(1)
        results = protocol.paired(trained, options, baseline)
        names = {"variant": each.variant, "command": each.command}
        runs.append({**names, **record, "results": results})
        if each.variant == variants[-1]:
            report = {**about, **_found(runs, variants, protocol.shares)}
            files.write_json(target, report)
    return report


def _found(
    runs: Sequence[Mapping[str, Any]], variants: Sequence[str], shares: Collection[str]
) -> dict[str, Any]:
    """Return what the trainings so far came to, for the report."""
    of = {name: [run for run in runs if run["variant"] == name] for name in variants}
    return {
        "created": machine.now(),
        "seeds": list(dict.fromkeys(run["seed"] for run in runs)),
        "decisions": {name: [run["steps"] for run in of[name]] for name in variants},
        "training_s": {
            name: over_seeds([run["wall_s"] for run in of[name]], least=0.0).to_list()
            for name in variants
        },
        "compared": paired.statistics(runs, variants[0], shares),
        "runs": list(runs),
        **machine.revision(),
        "host": machine.host(),
        "versions": machine.versions(),
    }

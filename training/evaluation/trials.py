"""The trials of a search over options, which Optuna proposes; each is trained with every seed."""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fastenv.errors import ConfigError, FastEnvError, UnknownOptionError
from fastenv.files import open_regular
from training.evaluation.command import evaluation_of, left_to_flags, refuse_options, train_flags
from training.evaluation.comparison import find_begun
from training.evaluation.over_seeds import parse_seeds, train_to_end
from training.evaluation.protocols import get_protocol
from training.evaluation.run_evaluation import play_for_comparison
from training.evaluation.trained import AGENT
from training.run import files, machine, plain_yaml
from training.run.config import RunConfig
from training.run.finite import TrainingError
from training.run.folder import RunFolder
from training.run.layers import merge_layers
from training.run.layers import parser as train_parser
from training.run.options import canonical_json, check_value, require
from training.run.sections import EvaluationConfig

try:
    import optuna
    from optuna.distributions import (
        BaseDistribution,
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend
    from optuna.trial import TrialState
except ImportError as error:
    raise ImportError("A sweep needs Optuna: pip install '.[sweep]'.") from error


LEFT = {"env": "--env", "total_steps": "--total-steps", "seed": "--seeds", "name": "--name"}
MOST_BYTES = 1 << 30  # of a journal


# -- what is varied --------------------------------------------------------------------------------


def space(assignments: list[str]) -> dict[str, BaseDistribution]:
    """Return the options that are varied and between what.

    Parameters
    ----------
    assignments : list of str
        ``OPTION=[A, B]``, ``OPTION=LOW..HIGH`` or ``OPTION=LOW..HIGH,log``.

    Raises
    ------
    ConfigError
        For a text that is none of these, or an option that is there twice or left to a flag.
    """
    found: dict[str, BaseDistribution] = {}
    for text in assignments:
        name, _, values = text.partition("=")
        require(name not in found, "--vary", name, "an option of its own")
        found[name] = _between(text, values)
    require(bool(found), "--vary", None, "given once or more")
    refuse_options(assignments, LEFT)
    return found


def _between(text: str, values: str) -> BaseDistribution:
    wanted = "OPTION=[A, B], OPTION=LOW..HIGH or OPTION=LOW..HIGH,log"
    if values.startswith("["):
        choices = plain_yaml.parse_yaml(values, f"--vary {text}")
        require(len(choices) >= 2, "--vary", text, "two choices or more")
        return CategoricalDistribution([canonical_json(choice) for choice in choices])
    ends, comma, scale = values.partition(",")
    low, high = (_number(end) for end in (*ends.split("..", 1), "")[:2])
    known = low is not None and high is not None and comma + scale in ("", ",log")
    require(known, "--vary", text, wanted)
    assert low is not None  # as was required
    assert high is not None
    log = scale == "log"
    require(low < high and (low > 0 or not log), "--vary", text, "rising, and above 0 with log")
    if isinstance(low, int) and isinstance(high, int):
        return IntDistribution(low, high, log=log)
    return FloatDistribution(low, high, log=log)


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        return value if math.isfinite(value) else None
    return None


def config_of(
    args: argparse.Namespace,
    number: int,
    params: Mapping[str, Any],
    seed: int,
    say: Callable[[str], None] | None = None,
) -> RunConfig:
    """Return the run of a trial with one seed; ``say`` as of :func:`merge_layers`.

    Raises
    ------
    ConfigError
        If its options do not go together.
    """
    options = [*args.set, *(f"{name}={value}" for name, value in params.items())]
    flags = train_flags(args, args.config, options)
    flags += [f"--name={args.name}-{number}-{seed}", f"--seed={seed}"]
    return merge_layers(train_parser().parse_args(flags), {}, say)


def check_space(
    args: argparse.Namespace,
    varied: Mapping[str, BaseDistribution],
    usual: RunConfig,
    check: Callable[[RunConfig], None],
) -> None:
    """Refuse what is no option, and choices or ends that an option cannot have.

    What does not go together with other options fails in its trials: they may vary too.

    Raises
    ------
    ConfigError
    """
    for name, between in varied.items():
        if isinstance(between, CategoricalDistribution):
            values = [json.loads(str(choice)) for choice in between.choices]
        else:
            assert isinstance(between, IntDistribution | FloatDistribution)
            values = [between.low, between.high]
        for value in values:
            check_value(type(usual), name, value)
        params = {name: canonical_json(values[0])}
        try:
            check(config_of(args, 0, params, usual.seed, say=lambda _: None))
        except UnknownOptionError:
            raise
        except ConfigError:
            continue


# -- trials ----------------------------------------------------------------------------------------


def value_of(config: RunConfig, options: EvaluationConfig, root: Path) -> float:
    """Train a run to its end, or go on with it, and return what it is judged by."""
    there = find_begun(root, config)
    run = RunFolder.create(root, config) if there is None else there
    trained, _ = train_to_end(run, resume=there is not None)
    results = play_for_comparison(run, trained, options, config)
    protocol = get_protocol(config.env)
    return statistics.mean(
        players[AGENT][protocol.columns(what)[0][0]][0] for what, players in results.items()
    )


def search(
    args: argparse.Namespace, check: Callable[[RunConfig], None], say: Callable[[str], None]
) -> optuna.Study:
    """Make the trials that are still to be made; return the study.

    Parameters
    ----------
    args : argparse.Namespace
        Of ``python -m training sweep``.
    check : callable
        Refuses a run that could not be trained.
    say : callable
        Takes a line on each trial.

    Raises
    ------
    ConfigError
        For options that no trial could have.
    KeyboardInterrupt
        If it was told to stop.
    """
    require(args.trials >= 1, "--trials", args.trials, "at least 1")
    varied, seeds = space(args.vary), parse_seeds(args.seeds)
    refuse_options(args.set, left_to_flags(args))
    usual = config_of(args, 0, {}, seeds[0])
    require(not usual.members, "trainer", usual.trainer, "one of a single network")
    check(usual)
    options = evaluation_of(args, usual)
    check_space(args, varied, usual, check)
    files.prepare("--name", args.runs / f"{args.name}.json")
    study = open_study(args.runs / f"{args.name}.journal", args.name)
    asked = {
        "base": canonical_json({k: v for k, v in usual.to_dict().items() if k != "name"}),
        "vary": sorted(args.vary),
        "seeds": args.seeds,
        "evaluation": canonical_json(options.to_dict()),
    }
    same = study.user_attrs.get("asked", asked) == asked
    require(same, "--name", args.name, "of a sweep with the same options, or a new one")
    study.set_user_attr("asked", asked)
    # Its generator begins anew in every process, so it may not begin where it has been.
    study.sampler = optuna.samplers.TPESampler(seed=args.sampler_seed + len(study.trials))
    while (trial := _next(study, varied, args.trials)) is not None:
        _make(study, trial, args, options, seeds, say)
    return study


def open_study(path: Path, name: str) -> optuna.Study:
    """Return the study of a journal, which is made if it is not there.

    Raises
    ------
    ConfigError, FileError
        If something else is there, which is left as it is.
    """
    damaged = f"{path} is no journal of a sweep, or damaged: choose another --name."
    try:
        if path.exists():
            with open_regular(path, MOST_BYTES) as file:
                for line in file:  # Optuna does not look at the last one, and writes behind it
                    if not line.endswith(b"\n") or not isinstance(json.loads(line), dict):
                        raise ConfigError(damaged)
        storage = JournalStorage(JournalFileBackend(str(path)))
    except FastEnvError:
        raise
    except (AssertionError, LookupError, TypeError, ValueError) as error:
        raise ConfigError(damaged) from error
    return optuna.create_study(
        storage=storage, study_name=name, direction="maximize", load_if_exists=True
    )


def _next(study: optuna.Study, varied: dict[str, BaseDistribution], trials: int) -> Any:
    """Return the trial to go on with or a new one, None if there are enough."""
    open_trial = next((t for t in study.trials if t.state == TrialState.RUNNING), None)
    if open_trial is not None:
        return open_trial
    return study.ask(varied) if len(study.trials) < trials else None


def _make(
    study: optuna.Study,
    trial: Any,
    args: argparse.Namespace,
    options: EvaluationConfig,
    seeds: tuple[int, ...],
    say: Callable[[str], None],
) -> None:
    words = ", ".join(f"{name}={value}" for name, value in trial.params.items())
    try:
        configs = [config_of(args, trial.number, trial.params, seed) for seed in seeds]
        value = statistics.mean(value_of(config, options, args.runs) for config in configs)
    except (ConfigError, TrainingError) as failure:
        study.tell(trial.number, state=TrialState.FAIL)
        say(f"trial {trial.number}: {words}: {failure}")
        return
    study.tell(trial.number, value)
    say(f"trial {trial.number}: {words}: {value:.4g}; the best so far is {study.best_value:.4g}")


def report_of(study: optuna.Study, command: str) -> dict[str, Any]:
    """Return what a sweep has found, the best trial first."""
    made: list[dict[str, Any]] = [
        {"trial": t.number, "value": t.value, "options": t.params}
        for t in study.trials
        if t.state == TrialState.COMPLETE
    ]
    made.sort(key=lambda each: each["value"], reverse=True)
    return {
        "command": command,
        "created": machine.now(),
        **study.user_attrs["asked"],
        "trials": made,
        "failed": [t.number for t in study.trials if t.state == TrialState.FAIL],
        **machine.revision(),
        "host": machine.host(),
        "versions": machine.versions(),
    }

"""The trials of a search over options, which Optuna proposes; each is trained with every seed."""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from fastenv.errors import ConfigError, UnknownOptionError
from fastenv.files import open_regular
from training.evaluation.judging import get_judging
from training.evaluation.run_evaluation import play_for_comparison
from training.evaluation.seed_flags import (
    evaluation_of,
    left_to_flags,
    prepare_report,
    refuse_options,
    train_flags,
)
from training.evaluation.trainings import parse_seeds, train_or_resume
from training.run import config_files, files, machine, option_layers
from training.run.config import EvaluationConfig, RunConfig
from training.run.folder import BusyError
from training.run.options import canonical_json, check_value, require
from training.run.removed import drop_from_section, drop_removed
from training.run.seating import AGENT
from training.run.trainer import TrainingError

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
    from optuna.trial import FrozenTrial, TrialState, create_trial
except ImportError as error:
    raise ImportError("A sweep needs Optuna: pip install '.[sweep]'.") from error


LEFT = {"env": "--env", "total_steps": "--total-steps", "seed": "--seeds", "name": "--name"}
MOST_BYTES = 1 << 30  # of a journal
BEGINS = b'{"op_code":'  # each of its lines


# -- what is varied --------------------------------------------------------------------------------


def space(assignments: list[str]) -> dict[str, BaseDistribution]:
    """Parse the options that are varied, and their ranges or choices.

    Parameters
    ----------
    assignments : list of str
        ``OPTION=[A, B]``, ``OPTION=LOW..HIGH`` or ``OPTION=LOW..HIGH,log``.

    Raises
    ------
    ConfigError
        For a text that is none of these, or an option that is there twice or left to a flag.
    """
    varied: dict[str, BaseDistribution] = {}
    for text in assignments:
        name, _, values = text.partition("=")
        require(name not in varied, "--vary", name, "an option of its own")
        varied[name] = _parse_range(text, values)
    require(bool(varied), "--vary", None, "given at least once, such as --vary ppo.n_epochs=2..8")
    refuse_options(assignments, LEFT)
    return varied


def _parse_range(text: str, values: str) -> BaseDistribution:
    wanted = "OPTION=[A, B], OPTION=LOW..HIGH or OPTION=LOW..HIGH,log"
    if values.startswith("["):
        choices = config_files.parse_yaml(values, f"--vary {text}")
        require(len(choices) >= 2, "--vary", text, "two choices or more")
        return CategoricalDistribution([canonical_json(choice) for choice in choices])
    ends, comma, scale = values.partition(",")
    low, high = (_parse_number(end) for end in (*ends.split("..", 1), "")[:2])
    valid = low is not None and high is not None and comma + scale in ("", ",log")
    require(valid, "--vary", text, wanted)
    assert low is not None  # as was required
    assert high is not None
    log = scale == "log"
    require(low < high and (low > 0 or not log), "--vary", text, "rising, and above 0 with log")
    if isinstance(low, int) and isinstance(high, int):
        return IntDistribution(low, high, log=log)
    return FloatDistribution(low, high, log=log)


def _parse_number(text: str) -> int | float | None:
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
    """Make the options of the run of a trial with one seed; ``say`` as of :func:`merge_layers`.

    Raises
    ------
    ConfigError
        If its options do not go together.
    """
    options = [*args.set, *(f"{name}={value}" for name, value in params.items())]
    flags = train_flags(args, args.config, options)
    flags += [f"--name={args.name}-{number}-{seed}", f"--seed={seed}"]
    return option_layers.config_of(flags, say)


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
    """Train a run to its end, or go on with it, and return the mean of its decisive measure."""
    run, trained, _ = train_or_resume(root, config)
    results = play_for_comparison(run, trained, options, config)
    decisive = get_judging(config.env).columns[0].name
    return statistics.mean(players[AGENT][decisive][0] for players in results.values())


def search(
    args: argparse.Namespace, check: Callable[[RunConfig], None], say: Callable[[str], None]
) -> optuna.Study:
    """Run the trials that are left; return the study.

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
    allowed = "from 0 to 2**40 - 1"
    require(0 <= args.sampler_seed < 2**40, "--sampler-seed", args.sampler_seed, allowed)
    varied, seeds = space(args.vary), parse_seeds(args.seeds)
    refuse_options(args.set, left_to_flags(args))
    usual = config_of(args, 0, {}, seeds[0])
    require(not usual.members, "trainer", usual.trainer, "one of a single network")
    check(usual)
    options = evaluation_of(args, usual)
    check_space(args, varied, usual, check)
    settings = {
        "base": canonical_json({k: v for k, v in usual.to_dict().items() if k != "name"}),
        "vary": sorted(args.vary),
        "seeds": args.seeds,
        "evaluation": canonical_json(options.to_dict()),
    }
    journal = args.runs / f"{args.name}.journal"
    there = journal.exists()  # and says itself below whether it is of the same options

    def is_ours(report: Mapping[str, Any]) -> bool:
        same = there or settings.items() <= report.items()
        return settings.keys() <= report.keys() and same

    prepare_report(args.runs / f"{args.name}.json", is_ours, "report of this sweep")
    with open_study(journal, args.name) as study:
        same = _drop_removed_options(study.user_attrs.get("asked", settings)) == settings
        require(same, "--name", args.name, "of a sweep with the same options, or a new one")
        study.set_user_attr("asked", settings)
        while (trial := _find_trial(study, varied, args)) is not None:
            _run_trial(study, trial, args, options, seeds, say)
        return study


def _drop_removed_options(settings: Any) -> Any:
    """Copy the settings of a sweep without options that were removed since."""
    try:
        base, played = (dict(json.loads(settings[name])) for name in ("base", "evaluation"))
    except (LookupError, TypeError, ValueError):  # it is that of no sweep
        return settings
    evaluation = drop_from_section("evaluation", played)
    left = {"base": drop_removed(base), "evaluation": evaluation}
    return {**settings, **{name: canonical_json(values) for name, values in left.items()}}


@contextmanager
def open_study(path: Path, name: str) -> Iterator[optuna.Study]:
    """Lock and open the study of a journal, which is made if it is not there.

    A last line that is not whole is removed: its writer was killed, and Optuna would write behind
    it.

    Raises
    ------
    ConfigError, FileError
        If something else is there, which is left as it is.
    BusyError
        If another process has it.
    """
    if path.exists():
        _check_journal(path)
    with ExitStack() as stack:
        try:
            stack.enter_context(files.hold(path))
        except BlockingIOError as error:
            raise BusyError(
                f"{path} is used by another process: wait for it or stop it, or choose another "
                "--name."
            ) from error
        os.truncate(path, _check_journal(path))
        # Optuna's own lock, of a writer that was killed: it would be waited for half a minute.
        path.with_name(f"{path.name}.lock").unlink(missing_ok=True)
        yield _load_study(path, name)


def _load_study(path: Path, name: str) -> optuna.Study:
    try:
        storage = JournalStorage(JournalFileBackend(str(path)))
    except (AssertionError, LookupError, TypeError, ValueError) as error:
        raise _damaged(path) from error
    return optuna.create_study(
        storage=storage, study_name=name, direction="maximize", load_if_exists=True
    )


def _check_journal(path: Path) -> int:
    """Count the bytes of the whole lines of a journal; ConfigError if it is none."""
    whole = 0
    with open_regular(path, MOST_BYTES) as file:
        for line in file:
            if not line.endswith(b"\n"):  # the last one
                if line[: len(BEGINS)] != BEGINS[: len(line)]:
                    raise _damaged(path)
                break
            try:
                record = json.loads(line)
            except ValueError as error:
                raise _damaged(path) from error
            if not isinstance(record, dict) or "op_code" not in record:
                raise _damaged(path)
            whole += len(line)
    return whole


def _damaged(path: Path) -> ConfigError:
    return ConfigError(f"{path} is no journal of a sweep, or damaged: choose another --name.")


def _find_trial(
    study: optuna.Study, varied: dict[str, BaseDistribution], args: argparse.Namespace
) -> FrozenTrial | None:
    """Find the trial to go on with, or add a new one; None if there are enough."""
    trials = study.trials
    for trial in trials:
        if trial.state == TrialState.RUNNING:
            if trial.params.keys() == varied.keys():
                return trial
            study.tell(trial.number, state=TrialState.FAIL)  # killed while it was proposed
    if len(trials) >= args.trials:
        return None
    params = propose(trials, varied, args.sampler_seed)
    # With its options at once: a trial is in the journal whole or not at all.
    study.add_trial(create_trial(state=TrialState.RUNNING, params=params, distributions=varied))
    return study.trials[-1]


def propose(
    trials: Sequence[FrozenTrial], varied: dict[str, BaseDistribution], seed: int
) -> dict[str, Any]:
    """Propose the options of the trial after some others.

    They depend on these trials and the seed alone: a sweep that is resumed makes the trials of one
    that was never interrupted.

    Parameters
    ----------
    trials : sequence of FrozenTrial
    varied : dict of str to BaseDistribution
    seed : int
        Of the search.
    """
    own = np.random.SeedSequence([seed, len(trials)]).generate_state(1)[0]
    aside = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.TPESampler(seed=int(own))
    )
    aside.add_trials(trials)
    return aside.ask(varied).params


def _run_trial(
    study: optuna.Study,
    trial: FrozenTrial,
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
    """Make the report of a sweep, the best trial first."""
    trials: list[dict[str, Any]] = [
        {"trial": t.number, "value": t.value, "options": t.params}
        for t in study.trials
        if t.state == TrialState.COMPLETE
    ]
    trials.sort(key=lambda each: each["value"], reverse=True)
    return {
        "command": command,
        "created": machine.now(),
        **study.user_attrs["asked"],
        "trials": trials,
        "failed": [t.number for t in study.trials if t.state == TrialState.FAIL],
        **machine.built_from(),
    }

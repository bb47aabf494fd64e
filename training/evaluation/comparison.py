"""Variants of a training with several seeds: planned, trained or resumed, and compared."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from fastenv.errors import ConfigError
from training.evaluation.intervals import over_seeds
from training.evaluation.judging import get_judging
from training.evaluation.over_seeds import compare_over_seeds, profiles
from training.evaluation.run_evaluation import play_for_comparison
from training.evaluation.seed_flags import (
    Variant,
    evaluation_of,
    left_to_flags,
    refuse_options,
    train_flags,
)
from training.evaluation.trainings import (
    Training,
    find_begun,
    parse_seeds,
    settings,
    train_or_resume,
)
from training.players.trained import provenance
from training.run import files, machine
from training.run.config import EvaluationConfig, RunConfig
from training.run.folder import MAY_CHANGE
from training.run.option_layers import config_of
from training.run.options import canonical_json, require
from training.run.removed import drop_from_section


@dataclass(frozen=True)
class EarlierComparison:
    """A comparison that further variants are compared with; its runs may be gone.

    Parameters
    ----------
    path : Path
        Of its report.
    report : mapping
    """

    path: Path
    report: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a report.

        Raises
        ------
        ConfigError
            If there is none at that place.
        """
        report = files.read_object(path)
        needed = {"baseline", "configs", "evaluation", "runs", "seeds"}
        complete = needed <= set(report)
        require(complete, "--onto", str(path), "the report of an earlier comparison")
        return cls(path, report)

    @property
    def configs(self) -> dict[str, RunConfig]:
        """The options of each variant, the baseline first."""
        first = self.report["baseline"]
        names = [first, *(name for name in self.report["configs"] if name != first)]
        return {name: RunConfig.from_mapping(self.report["configs"][name]) for name in names}

    def check(self, seeds: Sequence[int], options: EvaluationConfig) -> None:
        """Refuse other seeds than its own, and agents that would play something else.

        Raises
        ------
        ConfigError
        """
        theirs = self.report["seeds"]
        same = list(seeds) == theirs
        require(same, "--seeds", ",".join(map(str, seeds)), f"those of {self.path}: {theirs}")
        evaluation = drop_from_section("evaluation", self.report["evaluation"])
        played = EvaluationConfig.from_mapping(evaluation)
        used = get_judging(next(iter(self.configs.values())).env).uses
        # Of what decides nothing here, reports from before spell out what null stands for.
        unused = {"curve_opponents"} | ({"opponents"} - {*used})
        for name in played.names():
            if name in unused:
                continue
            value, ours = getattr(played, name), getattr(options, name)
            require(ours == value, f"evaluation.{name}", ours, f"{value!r}, as in {self.path}")

    def runs_of(self, seeds: Collection[int]) -> list[dict[str, Any]]:
        """Return the records of its runs with some seeds."""
        return [run for run in self.report["runs"] if run["seed"] in seeds]

    def head(self) -> dict[str, Any]:
        """Return the origin of the report: command, revision, machine and versions."""
        kept = ("command", "created", "git_rev", "dirty", "host", "versions", "onto")
        return {name: self.report[name] for name in kept if name in self.report}


def is_earlier(report: Mapping[str, Any], configs: Mapping[str, RunConfig]) -> bool:
    """Tell whether an object is the report of a comparison that goes on with these variants.

    Some of its variants are among them, and have the same options.

    Parameters
    ----------
    report : mapping
    configs : mapping of str to RunConfig
    """
    before = report.get("configs")
    if not isinstance(before, dict) or "runs" not in report:
        return False
    shared = configs.keys() & before.keys()
    pairs = ((configs[name].to_dict(), before[name]) for name in shared)
    return bool(shared) and all(
        _get_fixed_options(ours) == _get_fixed_options(theirs) for ours, theirs in pairs
    )


def _get_fixed_options(values: Any) -> str:
    """Return the options of a run that may not change when it goes on, to compare them."""
    kept = values.items() if isinstance(values, dict) else ()
    return canonical_json({k: v for k, v in kept if k not in (*MAY_CHANGE, "seed")})


# -- what is trained: each variant with each seed --------------------------------------------------


def plan(
    args: argparse.Namespace,
    check: Callable[[RunConfig], None],
    onto: EarlierComparison | None = None,
) -> list[Training]:
    """Plan all trainings of a command line, seed by seed, and refuse what cannot be compared.

    Parameters
    ----------
    args : argparse.Namespace
        Of ``python -m training compare``.
    check : callable
        Refuses a run that could not be trained.
    onto : EarlierComparison, optional
        What their variants are compared with.

    Raises
    ------
    ConfigError
        For an impossible option, or variants that cannot be told apart or have no game in common.
    """
    names = [variant.name for variant in args.variants]
    configs = {} if onto is None else onto.configs
    for name in names:
        plain = re.fullmatch(r"[A-Za-z0-9._-]+", name) is not None
        require(plain, "--variant", name, "letters, digits, '.', '_' and '-' alone")
        own = [*configs, *names].count(name) == 1
        require(own, "--variant", name, "a name of its own")
    least, words = (2, "at least twice") if onto is None else (1, "at least once")
    allowed = f"given {words}, such as --variant base --variant other --with ppo.n_epochs=2"
    require(len(names) >= least, "--variant", ", ".join(names) or None, allowed)
    equal_time = args.core_seconds is not None
    alone = args.total_steps is None or not equal_time
    require(alone, "--total-steps", args.total_steps, "left out with --core-seconds")
    seeds = parse_seeds(args.seeds, at_least=2)
    trainings = [_make_training(args, variant, seed) for seed in seeds for variant in args.variants]
    if onto is not None:
        onto.check(seeds, evaluation_of(args, trainings[0].config))
    configs |= {each.variant: each.config for each in trainings[: len(names)]}
    first, baseline = next(iter(configs.items()))
    for name, config in configs.items():
        require(not config.members, "trainer", config.trainer, "one of a single network")
        theirs, ours = (get_judging(c.env).name_group(c) for c in (config, baseline))
        if theirs != ours:
            raise ConfigError(
                f"variant {name!r} plays {theirs} and {first!r} {ours}: "
                "only agents of one game can be compared."
            )
        twins = [other for other in configs if settings(configs[other]) == settings(config)]
        if len(twins) > 1:
            raise ConfigError(f"variants {' and '.join(twins)} have the same options.")
        check(config)
    return trainings


def _make_training(args: argparse.Namespace, variant: Variant, seed: int) -> Training:
    file = variant.file or args.config
    assignments = (*args.set, *variant.options)
    timed = {} if args.core_seconds is None else {"total_steps": "--core-seconds"}
    refuse_options(assignments, {**left_to_flags(args), **timed})
    flags = train_flags(args, file, assignments)
    flags += [f"--name={args.name}-{variant.name}-{seed}", f"--seed={seed}", f"--runs={args.runs}"]
    flags.append("--no-evaluation")
    config = config_of(flags)
    return Training(variant.name, config, shlex.join(["python", "-m", "training", "train", *flags]))


# -- training and comparing ------------------------------------------------------------------------


def run_comparison(
    trainings: Sequence[Training],
    options: EvaluationConfig,
    root: Path,
    target: Path,
    about: Mapping[str, Any],
    onto: EarlierComparison | None = None,
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
    onto : EarlierComparison, optional
        A comparison with the same seeds, whose variants stand in the report too; its baseline is
        that of all.

    Returns
    -------
    dict
        The report.

    Raises
    ------
    ConfigError, RunError
        If a run has begun with other options; nothing is trained then.
    """
    for each in trainings:
        find_begun(root, each.config)  # or it is refused before anything is trained
    variants = list(dict.fromkeys(each.variant for each in trainings))
    configs = {} if onto is None else onto.configs
    configs |= {each.variant: each.config for each in trainings[: len(variants)]}
    baseline = next(iter(configs.values()))
    about_columns = get_judging(baseline.env).about
    shares = [name for name, column in about_columns.items() if column.is_part]
    about = {**about, **_describe(configs, options, onto)}
    runs: list[dict[str, Any]] = []
    report: dict[str, Any] = {}
    for each in trainings:
        run, trained, record = train_or_resume(root, each.config)
        results = play_for_comparison(run, trained, options, baseline)
        names = {"variant": each.variant, "command": each.command, "trained": provenance(run)}
        runs.append({**names, **record, "results": results})
        if each.variant == variants[-1]:
            earlier = [] if onto is None else onto.runs_of({run["seed"] for run in runs})
            results = _summarise([*earlier, *runs], list(configs), shares, options.bootstrap)
            report = {**about, **results}
            files.write_json(target, report)
    return report


def _describe(
    configs: Mapping[str, RunConfig], options: EvaluationConfig, onto: EarlierComparison | None
) -> dict[str, Any]:
    """Describe the comparison for the report; the first variant is the baseline."""
    return {
        **({} if onto is None else {"onto": onto.head()}),
        "baseline": next(iter(configs)),
        "policy": "highest legal logit",
        "intervals": "of means: 95 %, of seeds (Student's t) and games together; of differences: "
        "95 %, Student's t over seeds; of interquartile means and probabilities of improvement: "
        "95 %, percentile bootstrap over seeds; of runs: 95 %, percentile bootstrap over deals or "
        f"episodes; {options.bootstrap} resamples",
        "evaluation": options.to_dict(),
        "configs": {name: settings(config) for name, config in configs.items()},
    }


def _summarise(
    runs: Sequence[Mapping[str, Any]],
    variants: Sequence[str],
    shares: Collection[str],
    resamples: int,
) -> dict[str, Any]:
    """Summarise the results of the trainings so far, for the report."""
    compared = compare_over_seeds(runs, variants[0], shares, resamples)
    of = {name: [run for run in runs if run["variant"] == name] for name in variants}
    return {
        "created": machine.now(),
        "seeds": list(dict.fromkeys(run["seed"] for run in runs)),
        "decisions": {name: [run["steps"] for run in of[name]] for name in variants},
        "training_s": {name: _average_seconds(of[name], "wall_s") for name in variants},
        "core_s": {
            name: _average_seconds(of[name], "core_s")
            for name in variants
            if all("core_s" in run for run in of[name])  # older reports are without
        },
        "compared": compared,
        "profiles": profiles(compared),
        "runs": list(runs),
        **machine.built_from(),
    }


def _average_seconds(runs: Sequence[Mapping[str, Any]], which: str) -> list[float | None]:
    return over_seeds([run[which] for run in runs], least=0.0).to_list()

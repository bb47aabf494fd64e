"""Variants of a training with several seeds: trained or resumed, evaluated, and compared."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from fastenv.errors import ConfigError
from training.evaluation import paired
from training.evaluation.over_seeds import over_seeds, train_to_end
from training.evaluation.protocols import get_protocol
from training.evaluation.run_evaluation import play_for_comparison
from training.players.trained import provenance
from training.run import files, machine
from training.run.config import RunConfig
from training.run.folder import MAY_CHANGE, RunFolder
from training.run.options import canonical_json, require
from training.run.sections import EvaluationConfig


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
        known = needed <= set(report)
        require(known, "--onto", str(path), "the report of an earlier comparison")
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
        played = EvaluationConfig.from_mapping(self.report["evaluation"])
        used = get_protocol(next(iter(self.configs.values())).env).options
        # Of what decides nothing here, reports from before spell out what null stands for.
        unused = {"curve_opponents"} | ({"opponents"} - {*used})
        for name in played.names():
            if name in unused:
                continue
            value, ours = getattr(played, name), getattr(options, name)
            require(ours == value, f"evaluation.{name}", ours, f"{value!r}, as in {self.path}")

    def runs_of(self, seeds: Collection[int]) -> list[dict[str, Any]]:
        """Return what its runs came to, of some seeds."""
        return [run for run in self.report["runs"] if run["seed"] in seeds]

    def head(self) -> dict[str, Any]:
        """Return how it came about."""
        kept = ("command", "created", "git_rev", "dirty", "host", "versions", "onto")
        return {name: self.report[name] for name in kept if name in self.report}


def settings(config: RunConfig) -> dict[str, Any]:
    """Return the options that a variant has with every seed."""
    return {k: value for k, value in config.to_dict().items() if k not in ("name", "seed")}


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
    return bool(shared) and all(_fixed(ours) == _fixed(theirs) for ours, theirs in pairs)


def _fixed(values: Any) -> str:
    """Return the options of a run that may not change when it goes on, to compare them."""
    kept = values.items() if isinstance(values, dict) else ()
    return canonical_json({k: v for k, v in kept if k not in (*MAY_CHANGE, "seed")})


def find_begun(root: Path, config: RunConfig) -> RunFolder | None:
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
    onto : Earlier, optional
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
    before = [find_begun(root, each.config) for each in trainings]
    variants = list(dict.fromkeys(each.variant for each in trainings))
    configs = {} if onto is None else onto.configs
    configs |= {each.variant: each.config for each in trainings[: len(variants)]}
    baseline = next(iter(configs.values()))
    protocol = get_protocol(baseline.env)
    about = {**about, **_head(configs, options, onto)}
    runs: list[dict[str, Any]] = []
    report: dict[str, Any] = {}
    for each, there in zip(trainings, before, strict=True):
        run = RunFolder.create(root, each.config) if there is None else there
        trained, record = train_to_end(run, resume=there is not None)
        results = play_for_comparison(run, trained, options, baseline)
        names = {"variant": each.variant, "command": each.command, "trained": provenance(run)}
        runs.append({**names, **record, "results": results})
        if each.variant == variants[-1]:
            known = [] if onto is None else onto.runs_of({run["seed"] for run in runs})
            found = _found([*known, *runs], list(configs), protocol.shares, options.bootstrap)
            report = {**about, **found}
            files.write_json(target, report)
    return report


def _head(
    configs: Mapping[str, RunConfig], options: EvaluationConfig, onto: EarlierComparison | None
) -> dict[str, Any]:
    """Return what is compared, and how, for the report; the first variant is the baseline."""
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


def _found(
    runs: Sequence[Mapping[str, Any]],
    variants: Sequence[str],
    shares: Collection[str],
    resamples: int,
) -> dict[str, Any]:
    """Return what the trainings so far came to, for the report."""
    compared = paired.statistics(runs, variants[0], shares, resamples)
    of = {name: [run for run in runs if run["variant"] == name] for name in variants}
    return {
        "created": machine.now(),
        "seeds": list(dict.fromkeys(run["seed"] for run in runs)),
        "decisions": {name: [run["steps"] for run in of[name]] for name in variants},
        "training_s": {name: _seconds(of[name], "wall_s") for name in variants},
        "core_s": {
            name: _seconds(of[name], "core_s")
            for name in variants
            if all("core_s" in run for run in of[name])  # older reports are without
        },
        "compared": compared,
        "profiles": paired.profiles(compared),
        "runs": list(runs),
        **machine.revision(),
        "host": machine.host(),
        "versions": machine.versions(),
    }


def _seconds(runs: Sequence[Mapping[str, Any]], which: str) -> list[float | None]:
    return over_seeds([run[which] for run in runs], least=0.0).to_list()

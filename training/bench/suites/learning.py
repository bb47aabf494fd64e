"""Check that a fast setting still learns, by trainings of a fixed length over several seeds."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from training.bench.suites.meter import train
from training.run.config_files import merge, parse_assignments
from training.run.folder import RunFolder
from training.run.jsonl import read_lines

LIMIT_S = 3600.0
LATE = 0.75  # of a training: what comes behind it counts


class Trainings:
    """Trainings in fresh processes, each kept in a folder; one that is there is not run again.

    Parameters
    ----------
    folder : Path
    base : dict
        Options of every run: ``env``, ``total_steps``, ``torch_threads``.
    assignments : sequence of str
        More of them, as ``--set`` takes them.
    seeds : sequence of int
    """

    def __init__(
        self, folder: Path, base: dict[str, Any], assignments: Sequence[str], seeds: Sequence[int]
    ) -> None:
        self._folder = folder.resolve()
        self._base, self._assignments, self.seeds = base, assignments, seeds

    def returns(self, knobs: dict[str, Any]) -> list[float | None]:
        """Train a cell; return the mean return late in the training, one for each seed.

        Raises
        ------
        ConfigError
            If a training fails.
        """
        return [late_return(self._run(knobs, seed).metrics) for seed in self.seeds]

    def _run(self, knobs: dict[str, Any], seed: int) -> RunFolder:
        name = f"{knobs['id']}-s{seed}"
        path = self._folder / name
        if (path / "summary.json").exists():
            return RunFolder.open(path)
        command = (sys.executable, "-m", "training.train")
        return train(command, self.config(knobs, seed), self._folder, name, LIMIT_S)[0]

    def config(self, knobs: dict[str, Any], seed: int) -> dict[str, Any]:
        """Return the options of a training with the settings of a cell."""
        values = {
            **self._base,
            "backend": knobs["backend"],
            "num_envs": knobs["num_envs"],
            "env_threads": knobs["env_threads"],
            "seed": seed,
            "ppo": {
                "n_steps": knobs["rollout_steps"],
                "batch_size": knobs["num_envs"] * knobs["rollout_steps"] // knobs["minibatches"],
                "n_epochs": knobs["epochs"],
                "precision": knobs["precision"],
            },
        }
        return merge(parse_assignments(self._assignments), values)


def late_return(metrics: Path) -> float | None:
    """Return the mean return of the episodes late in a training, None if none ended then."""
    records = read_lines(metrics)
    late = [r for r in records if r["step"] > LATE * records[-1]["step"] and "episode" in r]
    episodes = sum(r["episode"]["n"] for r in late)
    if not episodes:
        return None
    return sum(r["episode"]["n"] * r["episode"]["return_mean"] for r in late) / episodes


def compare(
    trainings: Trainings, best: Sequence[dict[str, Any]], default: dict[str, Any]
) -> dict[str, Any]:
    """Return the verdict on each of the best cells, and the first stable one that passes.

    Parameters
    ----------
    trainings : Trainings
    best : sequence of dict
        Records of cells, the best first.
    default : dict
        ``id`` and settings of the cell to compare with.
    """
    usual = trainings.returns(default)
    verdicts: dict[str, dict[str, Any]] = {}
    for cell in best:
        returns = usual if cell["id"] == default["id"] else trainings.returns(cell)
        ours, theirs = _keep_complete(returns), _keep_complete(usual)
        if ours is None or theirs is None:
            verdicts[cell["id"]] = {"pass": False, "why": "a training had no episode to judge by"}
        else:
            verdicts[cell["id"]] = learns_as_well(ours, theirs)
    passed = (c["id"] for c in best if c["stable"] and verdicts[c["id"]]["pass"])
    return {"default": default["id"], "cells": verdicts, "recommended": next(passed, None)}


def learns_as_well(returns: Sequence[float], default: Sequence[float]) -> dict[str, Any]:
    """Test whether a setting reaches the return of the default within 2 standard errors.

    Parameters
    ----------
    returns, default : sequence of float
        Mean return late in training, one value a seed.
    """
    mean, usual = statistics.fmean(returns), statistics.fmean(default)
    error = math.hypot(_standard_error(returns), _standard_error(default))
    return {
        "returns": list(returns),
        "mean": mean,
        "default_mean": usual,
        "standard_error": error,
        "pass": mean >= usual - 2 * error,
    }


def _keep_complete(returns: Sequence[float | None]) -> list[float] | None:
    """Return the values if none is missing, else None."""
    present = [value for value in returns if value is not None]
    return present if len(present) == len(returns) else None


def _standard_error(values: Sequence[float]) -> float:
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0

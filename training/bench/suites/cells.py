"""Cells of the tuning matrix: their design, the order of their runs, and the best."""

from __future__ import annotations

import itertools
import math
import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from training.bench.timing import NOISE
from training.ppo.options import NativeRun

# Factor, its short name in ids, and what a run has unless told otherwise.
_USUAL = NativeRun()
FACTORS: dict[str, tuple[str, Any]] = {
    "backend": ("", "auto"),
    "num_envs": ("ne", _USUAL.num_envs),
    "env_threads": ("et", _USUAL.env_threads),
    "rollout_steps": ("rs", _USUAL.ppo.n_steps),
    "minibatches": ("mb", _USUAL.rollout // _USUAL.ppo.batch_size),
    "epochs": ("ue", _USUAL.ppo.n_epochs),
    "precision": ("", "fp32"),
}
ENV_FACTORS = ("backend", "num_envs", "env_threads")
# 97.5 % points of Student's t for 1, 2, ... degrees of freedom; behind them 2 is close enough.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)


@dataclass(frozen=True)
class Cell:
    """One setting of one mode; a factor that the mode does not have is None.

    Parameters
    ----------
    mode : str
    backend : str
    num_envs, env_threads : int
    rollout_steps, minibatches, epochs : int or None
    precision : str or None
    """

    mode: str
    backend: str
    num_envs: int
    env_threads: int
    rollout_steps: int | None = None
    minibatches: int | None = None
    epochs: int | None = None
    precision: str | None = None

    @property
    def id(self) -> str:
        """Name of the cell: mode and settings."""
        values = ((short, getattr(self, name)) for name, (short, _) in FACTORS.items())
        return "-".join([self.mode, *(f"{s}{v}" for s, v in values if v is not None)])

    def knobs(self) -> dict[str, Any]:
        """Return the settings without the mode."""
        knobs = asdict(self)
        del knobs["mode"]
        return knobs


def product(modes: Sequence[str], factors: Mapping[str, Sequence[Any]]) -> list[Cell]:
    """Return all combinations of all factors for each mode, each once."""
    cells = []
    for mode in modes:
        names = ENV_FACTORS if mode == "env_only" else tuple(factors)
        combinations = itertools.product(*(factors[name] for name in names))
        cells += [Cell(mode, **dict(zip(names, c, strict=True))) for c in combinations]
    return list(dict.fromkeys(cells))


def default_of(factors: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Return the usual value of each factor if it is listed, else the first that is."""
    return {n: FACTORS[n][1] if FACTORS[n][1] in v else v[0] for n, v in factors.items()}


def one_at_a_time(modes: Sequence[str], factors: Mapping[str, Sequence[Any]]) -> list[Cell]:
    """Return the default of each mode, and the cells that differ from it in one factor."""
    default = default_of(factors)
    cells = product(modes, {name: [value] for name, value in default.items()})
    for name, values in factors.items():
        cells += product(modes, {n: values if n == name else [v] for n, v in default.items()})
    return list(dict.fromkeys(cells))


def order(cells: Sequence[Cell], repeats: int, seed: int) -> list[tuple[Cell, int]]:
    """Return every run: all cells once in random order, then all again, and so on.

    A machine that slows down over the hour slows all cells alike.
    """
    rng = random.Random(seed)
    runs = []
    for repeat in range(repeats):
        runs += [(cell, repeat) for cell in rng.sample(list(cells), len(cells))]
    return runs


# -- figures ---------------------------------------------------------------------------------------


def figures(values: Sequence[float], wanted: int) -> dict[str, Any]:
    """Compute the statistics of a cell's repeats.

    Parameters
    ----------
    values : sequence of float
        Steps per second, at least one.
    wanted : int
        Repeats that were asked for.

    Returns
    -------
    dict
        ``mean``, ``min``, ``max``, ``p50``, ``sd``, ``interval`` (95 % of the mean; None of a
        single repeat) and ``stable``: all repeats are there, deviating by at most a tenth.
    """
    n, mean = len(values), statistics.fmean(values)
    sd = statistics.stdev(values) if n > 1 else None
    half = None if sd is None else (_T[n - 2] if n - 2 < len(_T) else 2.0) * sd / math.sqrt(n)
    return {
        "mean": mean,
        "min": min(values),
        "max": max(values),
        "p50": statistics.median(values),
        "sd": sd,
        "interval": None if half is None else [mean - half, mean + half],
        "stable": n >= wanted and (sd is None or sd <= NOISE * mean),
    }


def ranked(cells: Sequence[dict[str, Any]], mode: str) -> list[dict[str, Any]]:
    """Return the measured cells of a mode: stable ones first, then by mean, the first on ties."""
    measured = [c for c in cells if c["mode"] == mode and c["status"] == "ok"]
    return sorted(measured, key=lambda c: (not c["stable"], -c["mean"]))


def mode_summary(
    cells: Sequence[dict[str, Any]], mode: str, safety: float, target: float
) -> dict[str, Any]:
    """Return the verdict on a mode, with the floor that later runs can be held to.

    Parameters
    ----------
    cells : sequence of dict
    mode : str
    safety : float
        Share of the best cell's slowest repeat that is recommended as a floor.
    target : float
        Steps per second.
    """
    top = ranked(cells, mode)[:3]
    summary: dict[str, Any] = {
        "successful_candidates": sum(c["mode"] == mode and c["status"] == "ok" for c in cells),
        "floor_safety_factor": safety,
        "target_steps_per_sec": target,
    }
    if not top:
        return {
            **summary,
            "best_candidate_id": None,
            "target_attained": False,
            "top_candidates": [],
        }
    best = top[0]
    return {
        **summary,
        "best_candidate_id": best["id"],
        "best_is_stable": best["stable"],
        "best_mean_steps_per_sec": best["mean"],
        "best_interval": best["interval"],
        "best_min_steps_per_sec": best["min"],
        "recommended_floor_steps_per_sec": best["min"] * safety,
        "delta_to_target_steps_per_sec": target - best["mean"],
        "target_attained": best["mean"] >= target,
        "top_candidates": [c["id"] for c in top],
    }

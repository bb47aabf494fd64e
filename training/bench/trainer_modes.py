"""The environment in training: the modes ``trainer``, ``trainer_eval`` and ``breakdown``.

The first two are runs as anybody starts them, in a folder that is thrown away, read from the
metrics they write anyway: nothing is added to what is timed. ``breakdown`` is the same trainer
without logs and checkpoints, with a clock around every phase.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import math
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from training.bench import ran
from training.bench.env_modes import measured, medians
from training.bench.timing import Sample, Work, interleaved, sample, spread
from training.callbacks.start import train
from training.evaluation.run_evaluation import evaluate
from training.ppo.diagnostics import PHASES
from training.run import files, machine, registry, schedules
from training.run.config import RunConfig
from training.run.engine import Engine
from training.run.envs import make_lanes, make_trial_lane
from training.run.folder import RunFolder
from training.run.jsonl import read_lines

NEVER = 1 << 62
# Of an entry, what the row of whole runs has too.
KEPT = (
    *("ran", "env", "options", "num_envs", "num_threads", "trainer", "precision"),
    *("torch_threads", "rollout_steps", "minibatch", "epochs", "net_arch", "method"),
    *("ticks_per_step", "noisy", "share_env_all"),
)
ADAPTERS = {"sb3": "BatchVecEnv", "rllib": "RLlib"}  # through what a trainer steps the engine
METHOD = {
    "trainer": (
        "runs of training.train; timed: all iterations but the first of each, with their log; no "
        "checkpoint, no evaluation"
    ),
    "trainer_eval": (
        "runs of training.train; timed: all iterations but the first of each, with their log, "
        "checkpoints and the evaluation behind the last"
    ),
    "breakdown": (
        "the trainer without log and checkpoints; timed: all iterations but the "
        "first, with a clock around each phase"
    ),
}


@dataclass(frozen=True)
class RunFigures:
    """The figures of a run, as its folder reports them.

    Parameters
    ----------
    sample : Sample
        Iterations behind the first one and, if there was one, the evaluation.
    phases : dict
        Seconds of ``env``, ``collect`` (the rest of a rollout), ``update`` and ``between``
        (log, checkpoints, evaluation).
    warmup_s : float
        Wall time until the first iteration was done.
    rss_growth_mb : float
        From the second iteration to the last.
    ticks_per_step : float or None
        Of the whole run; None unless it keeps windows (``window_ticks``), which count them.
    precision : str
        Of the layers; what ``auto`` chose.
    """

    sample: Sample
    phases: dict[str, float]
    warmup_s: float
    rss_growth_mb: float
    ticks_per_step: float | None
    precision: str


def trainer(config: RunConfig, repeats: int, seconds: float, evaluation: bool) -> dict[str, Any]:
    """Return the entry of the mode ``trainer`` or, with ``evaluation``, ``trainer_eval``.

    Parameters
    ----------
    config : RunConfig
        ``total_steps`` and ``name`` are not used.
    repeats : int
        Runs, each with a seed of its own.
    seconds : float
        Timed work of a run, at least.
    evaluation : bool
        Checkpoints as the config says, one at the end, and ``evaluate``.

    Raises
    ------
    ConfigError
        From the environment.
    KeyboardInterrupt
        If a run was told to stop.
    """
    if not evaluation:
        checkpoints = config.checkpoints.replace(every=NEVER)
        config = config.replace(checkpoints=checkpoints)
    with tempfile.TemporaryDirectory(prefix="fastenv-profile-") as folder:
        root = Path(folder)
        first = run_once(config, root, "first", 2, evaluation)
        iteration_s = first.sample.wall_s - first.phases["between"]
        iterations = 1 + max(1, math.ceil(seconds / iteration_s))
        runs = [
            run_once(config.replace(seed=config.seed + k), root, f"r{k}", iterations, evaluation)
            for k in range(repeats)
        ]
    mode = "trainer_eval" if evaluation else "trainer"
    engine = make_trial_lane(config).engines[0]
    samples, phases = [run.sample for run in runs], [run.phases for run in runs]
    counted = [run.ticks_per_step for run in runs if run.ticks_per_step is not None]
    ticks = statistics.fmean(counted) if counted else None
    entry = _make_entry(config, mode, (engine, first.precision), samples, phases, ticks)
    entry["alloc"] = {
        "rss_growth_mb": round(max(run.rss_growth_mb for run in runs), 3),
        **_get_cuda_memory(),
    }
    entry["warmup_s"] = round(first.warmup_s + first.sample.wall_s, 3)
    return entry


def run_once(
    config: RunConfig, root: Path, name: str, iterations: int, evaluation: bool
) -> RunFigures:
    """Train for a number of iterations and return the figures of the run's metrics."""
    config = config.replace(name=name, total_steps=iterations * config.rollout)
    run = RunFolder.create(root, config)
    load = machine.load()
    with contextlib.redirect_stderr(io.StringIO()):  # its lines and bars are not for this table
        outcome = train(run, make_lanes(config))
    if not outcome.finished:
        raise KeyboardInterrupt
    records = read_lines(run.metrics)
    first, timed = records[0], records[1:]
    last = records[-1]["wall_s"]
    pieces = []
    for before, after in zip(records[:-1], timed, strict=True):
        wall = after["wall_s"] - before["wall_s"]
        steps = after["step"] - before["step"]
        inside = steps / after["sps"]
        # What lies between two iterations is one thread's: as much CPU time as wall time.
        pieces.append((steps, wall, steps / after["sps_cpu"] + max(0.0, wall - inside)))
    phases = {k: sum(r["phases"][k] for r in timed) for k in ("env", "collect", "update")}
    if evaluation:
        cpu, begin = time.process_time(), time.perf_counter()
        evaluate(run, config.evaluation, Console(file=io.StringIO()))
        behind = outcome.wall_s - last  # the last checkpoint
        wall = time.perf_counter() - begin + behind
        steps, more = pieces[-1][0], (wall, time.process_time() - cpu + behind)
        pieces[-1] = (steps, pieces[-1][1] + more[0], pieces[-1][2] + more[1])
    timed_sample = sample(pieces, load)
    phases["between"] = timed_sample.wall_s - sum(phases.values())
    grown = timed[-1]["mem"]["rss_mb"] - timed[0]["mem"]["rss_mb"]
    summary = files.read_json(run.path / "summary.json")
    windows = summary.get("windows")
    ticks = windows and windows["env_steps_total"] / windows["agent_steps_total"]
    return RunFigures(timed_sample, phases, first["wall_s"], grown, ticks, summary["precision"])


def breakdown(config: Any, repeats: int, seconds: float) -> dict[str, Any]:
    """Return the entry of the mode ``breakdown``; see :func:`trainer` for the parameters."""
    torch.set_num_threads(config.network_threads)
    timed = config.replace(native=config.native.replace(timers=True))
    trainer = registry.load_trainer(config.trainer).make_trainer(timed)
    schedules.Knobs(trainer.engines, config.schedules).apply(0)
    seen: list[dict[str, float]] = []

    def iterate() -> None:
        seen.append(trainer.iterate()["phases"])

    warmup_s: dict[str, float] = {}
    work = {"breakdown": Work(iterate, config.rollout)}
    (samples,) = interleaved(work, repeats, seconds, warmup_s).values()
    trainer.close()
    later, phases = iter(seen[1:]), []
    for each in samples:
        repeat = list(itertools.islice(later, len(each.pieces)))
        split = {k: sum(one.get(k, 0.0) for one in repeat) for k in PHASES if k != "other"}
        phases.append(split | {"other": each.wall_s - sum(split.values())})
    chosen = trainer.engines[0], trainer.chosen_precision
    entry = _make_entry(config, "breakdown", chosen, samples, phases)
    entry["warmup_s"] = round(warmup_s["breakdown"], 3)
    entry["alloc"] = _get_cuda_memory()
    return entry


def _make_entry(
    config: Any,
    mode: str,
    chosen: tuple[Engine, str],
    samples: Sequence[Sample],
    phases: Sequence[dict[str, float]],
    ticks_per_step: float | None = None,
) -> dict[str, Any]:
    threads = config.network_threads
    single_thread = threads == config.engine_threads == 1 and mode != "trainer_eval"
    shares = [one["env"] / s.wall_s for one, s in zip(phases, samples, strict=True)]
    steps = sum(s.steps for s in samples)
    engine, precision = chosen
    return {
        "mode": mode,
        "ran": described(config, engine, mode, precision),
        **ran.run_fields(config),
        "backend_requested": config.backend,
        "backend_selected": engine.backend,
        "torch_threads": threads,
        "precision": precision,
        "method": METHOD[mode],
        **measured(samples, ticks_per_step, single_thread),
        "share_env": spread(shares),
        "share_env_all": shares,
        "phases_us_per_step": {k: sum(one[k] for one in phases) / steps * 1e6 for k in phases[0]},
    }


def described(config: RunConfig, engine: Engine, mode: str, precision: str) -> ran.Ran:
    """Describe the run of a mode of training."""
    more: dict[str, Any] = {"adapter": ADAPTERS.get(config.trainer, "engine")}
    if mode == "trainer_eval":
        more |= {"evaluation": ran.unusual(config.evaluation)}
        more |= {"checkpoints": ran.unusual(config.checkpoints)}
    timed = {"trainer": "run", "trainer_eval": "run and evaluation"}.get(mode, mode)
    return ran.describe_run(config, engine, timed, precision, **more)


def trained_row(options: Mapping[str, Any], repeats: int, seconds: float) -> dict[str, Any]:
    """Return the row of whole runs, with the environment's share of their wall time.

    Parameters
    ----------
    options : mapping
        Of the run.
    repeats : int
    seconds : float
        Timed work of a run, at least.
    """
    entry = trainer(RunConfig.from_mapping(options), repeats, seconds, evaluation=False)
    every = entry["repeats"]
    return {
        "kind": "trainer",
        **{name: entry[name] for name in KEPT},
        "backend": entry["backend_selected"],
        **medians(entry),
        "steps_per_s_all": [r["steps_per_s"] for r in every],
        "steps_per_cpu_s_all": [r["steps_per_cpu_s"] for r in every],
        "repeats": len(every),
        "load": [every[0]["load_before"], every[-1]["load_after"]],
    }


def _get_cuda_memory() -> dict[str, Any]:
    """Return the most device memory that tensors took so far, nothing without a device."""
    if not torch.cuda.is_available():
        return {}
    return {"device_peak_mb": round(torch.cuda.max_memory_allocated() / 2**20, 1)}

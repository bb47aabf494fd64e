"""The bars of Prospector: one core, masked buffers written, automatic resets included.

Everything is measured by the profiler's own functions; speeds of one core are judged by CPU time,
like those of Skull King, because neighbours on the machine cost wall time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from training.bench.env_modes import REFERENCE_LANES, EnvPlan, env_only
from training.bench.trainer_modes import trainer
from training.bench.verdicts import bar, ratio_bar, speed_bar
from training.run.config import RunConfig

ENV = "Prospector-v0"
LANES = 1024
SPEEDS = {"uniform": 1.5e6, "cash_out": 3e5, "hold": 3.5e6}  # steps a second
THREADS_OVER_ONE = 1.8
OVER_REFERENCE = 300
SINGLE = 1.5e5
ENV_SHARE = 0.05
TRAINING = {
    "env": ENV,
    "trainer": "sb3",
    "num_envs": 512,
    "torch_threads": 2,
    "ppo": {"n_steps": 32, "batch_size": 2048, "net_arch": [64, 64]},
}


def env_rows(repeats: int, seconds: float, lanes: int = LANES) -> list[dict[str, Any]]:
    """Return the environment alone: the workloads, the reference and one environment in turns.

    Parameters
    ----------
    repeats : int
    seconds : float
        Timed work of a repeat.
    lanes : int
    """
    plan = EnvPlan(ENV, num_envs=lanes, workload="uniform", backend="fast")
    plans = {workload: replace(plan, workload=workload) for workload in SPEEDS}
    plans["reference"] = replace(plan, backend="reference", num_envs=min(lanes, REFERENCE_LANES))
    plans["single"] = replace(plan, single=True)
    return [row(entry) for entry in env_only(plans, repeats, seconds, memory=False).values()]


def thread_rows(repeats: int, seconds: float, lanes: int = LANES) -> list[dict[str, Any]]:
    """Return uniform play with one and with two threads, in turns."""
    plan = EnvPlan(ENV, num_envs=lanes, workload="uniform", backend="fast")
    plans = {str(n): replace(plan, num_threads=n) for n in (1, 2)}
    found = env_only(plans, repeats, seconds, memory=False).values()
    return [
        {**row(entry), "scaling": True, "ran": {**entry["ran"], "beside": "threads"}}
        for entry in found
    ]


def trainer_row(
    repeats: int, seconds: float, changes: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return stock MaskablePPO on 512 lanes with a 64x64 network and two threads of torch.

    Parameters
    ----------
    repeats : int
    seconds : float
    changes : dict, optional
        Options of the run that differ from ``TRAINING``.
    """
    config = RunConfig.from_mapping({**TRAINING, **(changes or {})})
    return row(trainer(config, repeats, seconds, evaluation=False))


def row(entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry of ``modes`` as a row of a record."""
    env_only_entry = entry["mode"] == "env_only"
    kept: tuple[str, ...] = ("env", "options", "workload", "single", "num_envs", "num_threads")
    kept += ("info_columns", "trainer", "precision", "torch_threads", "rollout_steps")
    kept += ("minibatch", "epochs", "net_arch")
    kept += ("method", "ticks_per_step", "noisy")
    repeats = entry["repeats"]
    if env_only_entry:
        what = "gymnasium step" if entry.get("single") else "batch"
    else:
        what = {"sb3": "stock MaskablePPO"}.get(entry["trainer"], entry["trainer"])
    found = {
        "kind": "env" if env_only_entry else "trainer",
        "ran": entry["ran"],
        "what": what,
        "tier": "prospector",
        "backend": entry["backend_selected"],
        **{name: entry[name] for name in kept if name in entry},
        "steps_per_s": entry["stats"]["steps_per_s"]["median"],
        "steps_per_cpu_s": entry["stats"]["steps_per_cpu_s"]["median"],
        "steps_per_s_all": [r["steps_per_s"] for r in repeats],
        "steps_per_cpu_s_all": [r["steps_per_cpu_s"] for r in repeats],
        "repeats": len(repeats),
        "load": [repeats[0]["load_before"], repeats[-1]["load_after"]],
    }
    if "share_env" in entry:
        found |= {
            "share_env": entry["share_env"]["median"],
            "share_env_all": entry["share_env_all"],
        }
    return found


def all_rows(repeats: int, seconds: float, lanes: int = LANES) -> list[dict[str, Any]]:
    """Measure everything the bars need."""
    return [
        *env_rows(repeats, seconds, lanes),
        *thread_rows(repeats, seconds, lanes),
        trainer_row(repeats, seconds),
    ]


def bars(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each bar, from the rows of :func:`all_rows`."""
    scaled = {r["num_threads"]: r for r in rows if r.get("scaling")}
    plain = [r for r in rows if r["kind"] == "env" and not r.get("scaling")]
    batch = {r["workload"]: r for r in plain if r["backend"] == "fast" and not r["single"]}
    reference = next(r for r in plain if r["backend"] == "reference")
    single = next(r for r in plain if r["single"])
    training = next(r for r in rows if r["kind"] == "trainer")
    n = batch["uniform"]["num_envs"]
    found = [
        speed_bar(f"prospector: {workload}, n={n}, steps a CPU second", asked, batch[workload])
        for workload, asked in SPEEDS.items()
    ]
    found += [
        ratio_bar(
            "prospector: 2 threads over 1, wall",
            *(THREADS_OVER_ONE, scaled[2], scaled[1], "steps_per_s"),
        ),
        ratio_bar(
            "prospector: uniform, fast over reference",
            *(OVER_REFERENCE, batch["uniform"], reference, "steps_per_cpu_s"),
        ),
        speed_bar("prospector: one env through Gymnasium, steps a CPU second", SINGLE, single),
        bar(
            f"prospector: {training['what']}, 512 lanes, 64x64: env share of wall time",
            *(ENV_SHARE, training["share_env"]),
            most=True,
            every=training["share_env_all"],
            noisy=training["noisy"],
        ),
    ]
    return found

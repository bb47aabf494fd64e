"""Skull King's environments, in turns with only writing as many bytes; records call that fill."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import njit

from fastenv import BatchEngine
from training.bench.env_modes import EnvPlan, prepare
from training.bench.stock import Flags, measure
from training.bench.targets import Row
from training.bench.timing import Work, keep_row, rows, tell_repeat

TIERS = {
    "flat": "SkullKingFlat-v0",
    "manager": "SkullKingManager-v0",
    "worker": "SkullKingWorker-v0",
    "ability": "SkullKingAbility-v0",
}
LANES = 4096
STOCK_STEPS = 16_384  # that are timed of a stock training
OPTIONS = {"opponents": "rule_medium"}
# Batch steps recorded, and played before that so that lanes are spread over their episodes.
RECORDING = {"worker": (128, 20), "ability": (128, 20), "flat": (130, 65), "manager": (16, 1)}
# Stock MaskablePPO on 256 lanes of the Worker with a 256x256 network.
STOCK: dict[str, Any] = {
    **{"use_numba": True, "use_cython": True, "env": TIERS["worker"]},
    **{"n_envs": 256, "n_steps": 32, "batch": 512},
}


def plan_of(tier: str, lanes: int, **changes: Any) -> EnvPlan:
    """Make the plan of a tier's environment."""
    batches, stagger = RECORDING[tier]
    sizes = {"batches": batches, "stagger": stagger, **changes}
    return EnvPlan(TIERS[tier], OPTIONS, num_envs=lanes, **sizes)


def tier_rows(repeats: int, seconds: float, lanes: int = LANES) -> list[Row]:
    """Measure a row for each tier: one thread, in turns with only writing as many bytes.

    In turns with the Worker is also the Worker in plain Python, a row of its own; its speed does
    not depend on the number of lanes.

    Parameters
    ----------
    repeats : int
    seconds : float
        Timed work of a repeat.
    lanes : int
    """
    found = []
    for tier, (batches, _) in RECORDING.items():
        ready = prepare(plan_of(tier, lanes))
        write, size = write_work(ready.engine, batches)
        works = {tier: ready.for_row(tier=tier), "write": write}
        if tier == "worker":
            slow = plan_of(tier, 64, batches=32, backend="reference")
            works["reference"] = prepare(slow).for_row(tier=tier)
        step, written, *others = rows(works, repeats, seconds)
        speeds = (each["steps_per_cpu_s_all"] for each in (written, step))
        over = [a / b for a, b in zip(*speeds, strict=True)]
        beside = {
            **size,
            "state_bytes": ready.engine.spec.state_dtype.itemsize,
            "fill_steps_per_cpu_s": written["steps_per_cpu_s"],
            "fill_steps_per_cpu_s_all": written["steps_per_cpu_s_all"],
            "step_over_fill": statistics.median(over),
            "step_over_fill_all": over,
        }
        found += [step | beside, *others]
    return found


def thread_works(lanes: int = LANES) -> dict[str, Work]:
    """Prepare the Worker tier with one and with two threads."""
    return {
        f"{n} threads": prepare(plan_of("worker", lanes, num_threads=n)).for_row(
            "threads", tier="worker"
        )
        for n in (1, 2)
    }


def single_works() -> dict[str, Work]:
    """Prepare one Worker environment through Gymnasium's ``step``, with both backends."""
    plans = {
        backend: EnvPlan(TIERS["worker"], backend=backend, single=True, batches=1000)
        for backend in ("fast", "reference")
    }
    about = {"what": "gymnasium step", "tier": "worker"}
    return {f"single {name}": prepare(plan).for_row(**about) for name, plan in plans.items()}


def stock_row(values: Mapping[str, Any], repeats: int) -> Row:
    """Measure stock MaskablePPO by flags, with the environment's share of its wall time."""
    flags = Flags(**values)
    runs = []
    for repeat in range(1, repeats + 1):
        runs.append(measure(flags, STOCK_STEPS, 0))
        tell_repeat(repeat, repeats, "stock MaskablePPO", runs[-1]["steps_per_s"])
    names = ("share_env", "steps_per_s", "steps_per_cpu_s")
    widths = "x".join(map(str, flags.net_arch))
    row = {
        "kind": "trainer",
        "what": f"stock MaskablePPO, {flags.n_envs} lanes, {widths}, {flags.epochs} epochs, "
        f"minibatches of {flags.batch}",
        "trainer": "sb3",
        "env": flags.env,
        "backend": flags.backend,
        "precision": "fp32",
        "share_env_all": [run["share_env"] for run in runs],
        "ran": runs[0]["ran"],
        **{name: statistics.median(run[name] for run in runs) for name in names},
        "noisy": any(run["noisy"] for run in runs),
    }
    keep_row(row)
    return row


def all_rows(repeats: int, seconds: float, lanes: int | None = None) -> list[Row]:
    """Measure the environments alone, and in a stock training."""
    lanes = lanes or LANES
    return [
        *tier_rows(repeats, seconds, lanes),
        *rows(thread_works(lanes), repeats, seconds),
        *rows(single_works(), repeats, seconds),
        stock_row(STOCK, repeats),
    ]


# -- the cost of writing the bytes of a step alone -------------------------------------------------


@njit(cache=False, nogil=True)
def _write(
    obs: np.ndarray,
    mask: np.ndarray,
    reward: np.ndarray,
    columns: np.ndarray,
    terminated: np.ndarray,
    truncated: np.ndarray,
    info: np.ndarray,
) -> None:
    """Write a constant into every element, lane after lane, as an engine would."""
    for i in range(obs.shape[0]):
        for j in range(obs.shape[1]):
            obs[i, j] = np.float32(0.3)
        for j in range(mask.shape[1]):
            mask[i, j] = np.uint8(1)
        reward[i] = np.float32(0.3)
        for j in range(columns.shape[1]):
            columns[i, j] = 259
        terminated[i] = np.uint8(0)
        truncated[i] = np.uint8(0)
        for j in range(info.shape[1]):
            info[i, j] = 259


def _view_as_words(records: np.ndarray) -> np.ndarray:
    """Return words that take the bytes of records, shape (n, words of a record)."""
    return np.zeros((len(records), records.dtype.itemsize // 4), np.int32)


def write_work(engine: BatchEngine, batches: int) -> tuple[Work, dict[str, Any]]:
    """Prepare the writing of buffers shaped like an engine's output.

    Parameters
    ----------
    engine : BatchEngine
    batches : int
        Batches in one timed piece of work.

    Returns
    -------
    work : Work
        Its steps are lanes times batches.
    size : dict
        ``bytes_per_step``.
    """
    n = engine.num_envs
    buffers = (
        np.zeros_like(engine.obs),
        np.zeros_like(engine.mask),
        np.zeros_like(engine.reward),
        _view_as_words(engine.terms),
        np.zeros_like(engine.terminated),
        np.zeros_like(engine.truncated),
        _view_as_words(engine.info_records()),
    )

    def run() -> None:
        for _ in range(batches):
            _write(*buffers)

    return Work(run, n * batches), {"bytes_per_step": sum(b.nbytes for b in buffers) // n}

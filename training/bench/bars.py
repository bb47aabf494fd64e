"""The bars of the project: what was asked, what was measured, passed or not."""

from __future__ import annotations

import statistics
from typing import Any

from training.bench.fill import fill_work
from training.bench.play import METHOD, METHOD_SINGLE, Playback, single_env_work
from training.bench.timing import interleaved, summary
from training.bench.trainer import TIERS, Flags, measure
from training.bench.verdicts import bar, ratio_bar, speed_bar
from training.run.envs import make_engine

LANES = 4096
OPTIONS = {"opponents": "rule_medium"}
FILL_TIMES = 12
ENV_SHARE = 0.05
# Batch steps recorded, and played before that so that lanes are spread over their episodes.
RECORDING = {"worker": (128, 20), "ability": (128, 20), "flat": (130, 65), "manager": (16, 1)}
ASKED = {"worker": 2e6, "ability": 2e6, "flat": 1.5e6, "manager": 4e5}


def env_rows(repeats: int, seconds: float, lanes: int = LANES) -> list[dict[str, Any]]:
    """Return a row for each tier: one thread, steps and fills in turns.

    In turns with the Worker is also the Worker in plain Python, a row of its own; its speed does
    not depend on the number of lanes.

    Parameters
    ----------
    repeats : int
    seconds : float
        Timed work of a repeat.
    lanes : int
    """
    rows = []
    for tier, (batches, stagger) in RECORDING.items():
        play = Playback(TIERS[tier], lanes, batches, OPTIONS, stagger=stagger)
        fill, size = fill_work(play.engine, batches)
        works = {"step": play.work(), "fill": fill}
        if tier == "worker":
            slow = Playback(TIERS[tier], 64, 32, OPTIONS, backend="reference", stagger=20)
            works["reference"] = slow.work()
        found = interleaved(works, repeats, seconds)
        step, filled = summary(found["step"]), summary(found["fill"])
        speeds = (each["steps_per_cpu_s_all"] for each in (filled, step))
        over_fill = [a / b for a, b in zip(*speeds, strict=True)]
        rows.append(
            {
                **_env_fields(play, tier, 1),
                **step,
                **size,
                "fill_steps_per_cpu_s": filled["steps_per_cpu_s"],
                "fill_steps_per_cpu_s_all": filled["steps_per_cpu_s_all"],
                "step_over_fill": statistics.median(over_fill),
                "step_over_fill_all": over_fill,
            }
        )
        if tier == "worker":
            rows.append({**_env_fields(slow, tier, 1), **summary(found["reference"])})
    return rows


def thread_rows(repeats: int, seconds: float, lanes: int = LANES) -> list[dict[str, Any]]:
    """Return the Worker tier with one and with two threads, in turns."""
    batches, stagger = RECORDING["worker"]
    plays = {
        threads: Playback(
            TIERS["worker"], lanes, batches, OPTIONS, num_threads=threads, stagger=stagger
        )
        for threads in (1, 2)
    }
    works = {str(threads): play.work() for threads, play in plays.items()}
    found = interleaved(works, repeats, seconds)
    return [
        {**_env_fields(play, "worker", threads, "threads"), **summary(found[str(threads)], threads)}
        for threads, play in plays.items()
    ]


def single_rows(repeats: int, seconds: float) -> list[dict[str, Any]]:
    """Return one Worker environment through Gymnasium's ``step``, both backends in turns."""
    made = {
        backend: single_env_work(TIERS["worker"], backend, 1000)
        for backend in ("fast", "reference")
    }
    found = interleaved({name: work for name, (work, _) in made.items()}, repeats, seconds)
    return [
        {
            "kind": "env",
            "ran": made[backend][1]["ran"],
            "what": "gymnasium step",
            "tier": "worker",
            "env": TIERS["worker"],
            "backend": backend,
            "num_envs": 1,
            "num_threads": 1,
            "method": METHOD_SINGLE,
            **summary(samples),
        }
        for backend, samples in found.items()
    ]


def trainer_row(repeats: int, steps: int) -> dict[str, Any]:
    """Return stock MaskablePPO on 256 lanes of the Worker with a 256x256 network."""
    flags = Flags(
        use_numba=True, use_cython=True, env=TIERS["worker"], n_envs=256, n_steps=32, batch=512
    )
    runs = [measure(flags, steps, games=0) for _ in range(repeats)]
    shares = [run["share_env"] for run in runs]
    return {
        "kind": "trainer",
        "what": "stock MaskablePPO, 256 lanes, 256x256, 4 epochs, minibatches of 512",
        "trainer": "sb3",
        "env": flags.env,
        "backend": flags.backend,
        "precision": "fp32",
        "share_env": statistics.median(shares),
        "share_env_all": shares,
        "ran": runs[0]["ran"],
        "steps_per_s": statistics.median(run["steps_per_s"] for run in runs),
        "steps_per_cpu_s": statistics.median(run["steps_per_cpu_s"] for run in runs),
        "noisy": any(run["noisy"] for run in runs),
    }


def _env_fields(
    play: Playback, tier: str, threads: int, beside: str | None = None
) -> dict[str, Any]:
    engine = play.engine
    return {
        "kind": "env",
        "ran": play.ran(beside=beside),
        "what": "batch",
        "tier": tier,
        "env": TIERS[tier],
        "backend": engine.backend,
        "num_envs": engine.num_envs,
        "num_threads": threads,
        "options": OPTIONS,
        "method": METHOD,
    }


def all_rows(repeats: int, seconds: float, trainer_steps: int, lanes: int) -> list[dict[str, Any]]:
    """Measure everything the bars need."""
    return [
        *env_rows(repeats, seconds, lanes),
        *thread_rows(repeats, seconds, lanes),
        *single_rows(repeats, seconds),
        trainer_row(repeats, trainer_steps),
    ]


def bars(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each bar, from the rows of :func:`all_rows`."""
    env = {
        (r["tier"], r["backend"], r["num_threads"], r["num_envs"] == 1): r
        for r in rows
        if r["kind"] == "env"
    }
    first = {r["tier"]: r for r in rows if r["kind"] == "env" and "step_over_fill" in r}
    one, two = (
        next(r for r in rows if r["kind"] == "env" and _is_thread_row(r, threads))
        for threads in (1, 2)
    )
    slow = env["worker", "reference", 1, False]
    single = {b: env["worker", b, 1, True] for b in ("fast", "reference")}
    trainer = next(r for r in rows if r["kind"] == "trainer")
    state_bytes = make_engine(TIERS["worker"], 1).spec.state_dtype.itemsize
    found = [
        speed_bar(f"{tier}: steps a CPU second, one core", asked, first[tier])
        for tier, asked in ASKED.items()
    ]
    found += [_fill_bar(tier, first[tier]) for tier in ("worker", "ability")]
    return [
        *found,
        ratio_bar("2 threads over 1, wall", 1.8, two, one, "steps_per_s"),
        ratio_bar("worker: fast over reference", 150, first["worker"], slow, "steps_per_cpu_s"),
        bar("state row of 4 players, bytes", 512, state_bytes, most=True),
        ratio_bar(
            "one env through Gymnasium: fast over reference",
            *(10, single["fast"], single["reference"], "steps_per_cpu_s"),
        ),
        bar(
            "stock MaskablePPO, 256 lanes, 256x256: env share of wall time",
            *(ENV_SHARE, trainer["share_env"]),
            most=True,
            every=trainer["share_env_all"],
            noisy=trainer["noisy"],
        ),
    ]


def _fill_bar(tier: str, row: dict[str, Any]) -> dict[str, Any]:
    return bar(
        f"{tier}: step over fill",
        *(FILL_TIMES, row["step_over_fill"]),
        most=True,
        every=row["step_over_fill_all"],
        noisy=row["noisy"],
    )


def _is_thread_row(row: dict[str, Any], threads: int) -> bool:
    batch = row["tier"] == "worker" and row["num_envs"] > 1 and row["backend"] != "reference"
    return batch and row["num_threads"] == threads and "step_over_fill" not in row

"""Benchmarks of Skull King's environments: works, measured rows and targets."""

from __future__ import annotations

import statistics
from typing import Any

from training.bench import progress, targets
from training.bench.env_modes import EnvPlan, prepare
from training.bench.game import GameBenchmark, Searching, Throughput
from training.bench.targets import Row, env_share, ratio, target
from training.bench.timing import Work, interleaved, rows, summary
from training.bench.write_cost import write_work
from training.run.envs import make_engine

TIERS = {
    "flat": "SkullKingFlat-v0",
    "manager": "SkullKingManager-v0",
    "worker": "SkullKingWorker-v0",
    "ability": "SkullKingAbility-v0",
}
LANES = 4096
OPTIONS = {"opponents": "rule_medium"}
WRITE_TIMES = 12
ENV_SHARE = 0.05
# Batch steps recorded, and played before that so that lanes are spread over their episodes.
RECORDING = {"worker": (128, 20), "ability": (128, 20), "flat": (130, 65), "manager": (16, 1)}
ASKED = {"worker": 2e6, "ability": 2e6, "flat": 1.5e6, "manager": 4e5}
# Stock MaskablePPO on 256 lanes of the Worker with a 256x256 network.
STOCK: dict[str, Any] = {
    **{"use_numba": True, "use_cython": True, "env": TIERS["worker"]},
    **{"n_envs": 256, "n_steps": 32, "batch": 512},
}
REPLAY: dict[str, dict[str, Any]] = {
    "Skull King": {
        "env": "SkullKingFlat-v0",
        "num_envs": 128,
        "env_options": {"opponents": "rule_medium", "obs_ext": "memory", "reward": "points"},
        "dqn": {
            **{"net_arch": [256, 256], "num_quantiles": 25, "n_step": 3, "gamma": 0.97},
            **{"batch_size": 512, "replay_ratio": 4.0, "iteration_steps": 32},
        },
    },
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
    rows = []
    for tier, (batches, _) in RECORDING.items():
        ready = prepare(plan_of(tier, lanes))
        write, size = write_work(ready.engine, batches)
        works = {"step": ready.for_row(tier=tier), "write": write}
        if tier == "worker":
            slow = plan_of(tier, 64, batches=32, backend="reference")
            works["reference"] = prepare(slow).for_row(tier=tier)
        samples = interleaved(works, repeats, seconds)
        step, written = summary(samples["step"]), summary(samples["write"])
        speeds = (each["steps_per_cpu_s_all"] for each in (written, step))
        over = [a / b for a, b in zip(*speeds, strict=True)]
        beside = {
            **size,
            "fill_steps_per_cpu_s": written["steps_per_cpu_s"],
            "fill_steps_per_cpu_s_all": written["steps_per_cpu_s_all"],
            "step_over_fill": statistics.median(over),
            "step_over_fill_all": over,
        }
        step_row = works["step"].row() | step | beside
        rows.append(step_row)
        if tier == "worker":
            rows.append(works["reference"].row() | summary(samples["reference"]))
            progress.keep(rows[-1])
        progress.keep(step_row)
    return rows


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
    return {backend: prepare(plan).for_row(**about) for backend, plan in plans.items()}


def all_rows(repeats: int, seconds: float, lanes: int | None = None) -> list[Row]:
    """Measure the environments alone."""
    lanes = lanes or LANES
    return [
        *tier_rows(repeats, seconds, lanes),
        *rows(thread_works(lanes), repeats, seconds),
        *rows(single_works(), repeats, seconds),
    ]


def judge(measured: list[Row], max_mem_delta: int = 0) -> list[Row]:
    """Return one row for each target, from the rows of :func:`all_rows` and ``STOCK``."""
    envs = [row for row in measured if row["kind"] == "env"]
    first = {row["tier"]: row for row in envs if "step_over_fill" in row}
    one, two = (row for row in envs if row["ran"].get("beside") == "threads")
    slow = next(row for row in envs if row["backend"] == "reference" and not row["single"])
    single = {row["backend"]: row for row in envs if row["single"]}
    trainer = next(row for row in measured if row["kind"] == "trainer")
    state_bytes = make_engine(TIERS["worker"], 1).spec.state_dtype.itemsize
    share = "stock MaskablePPO, 256 lanes, 256x256: env share of wall time"
    return [
        *(
            targets.speed(f"{tier}: steps a CPU second, one core", least, first[tier])
            for tier, least in ASKED.items()
        ),
        *(
            targets.at_most(
                f"{tier}: step over fill",
                WRITE_TIMES,
                first[tier]["step_over_fill_all"],
                first[tier],
            )
            for tier in ("worker", "ability")
        ),
        ratio("2 threads over 1, wall", 1.8, two, one, "steps_per_s"),
        ratio("worker: fast over reference", 150, first["worker"], slow),
        target("state row of 4 players, bytes", 512, state_bytes, most=True),
        ratio(
            "one env through Gymnasium: fast over reference",
            *(10, single["fast"], single["reference"]),
        ),
        env_share(share, ENV_SHARE, trainer),
    ]


def measure_search(repeats: int, seconds: float) -> list[Row]:
    """Measure the rows of worlds, rollouts and a searcher's decisions."""
    from training.apps.skullking import search_rows  # torch

    return search_rows.rows(repeats, seconds)


def judge_search(measured: list[Row]) -> list[Row]:
    """Return the targets of these rows."""
    from training.apps.skullking import search_rows  # torch

    return search_rows.judge(measured)


def whole_games(logits: Any, env: str, played: int) -> dict[str, float]:
    """Return the means of whole games that a network plays."""
    from training.apps.skullking import pair_benchmark  # torch

    return pair_benchmark.play_games(logits, env, played)


def two_tiers(flags: Any, steps: int, played: int) -> Row:
    """Return the measured fields of Manager and Worker."""
    from training.apps.skullking import pair_benchmark  # torch

    return pair_benchmark.measure_flags(flags, steps, played)


GAME = GameBenchmark(
    name="skullking",
    title="Skull King",
    envs=("SkullKing",),
    throughput=Throughput(all_rows, judge, "3 rule_medium opponents", stock=STOCK),
    config_env=TIERS["flat"],
    opponents=True,
    learned=TIERS,
    share_at_most={"manager": 0.06},  # a decision is a whole round
    pieces={TIERS["manager"]: 32},
    limited=True,
    replay_settings=REPLAY,
    search=Searching(measure_search, judge_search),
    whole_games=whole_games,
    two_tiers=two_tiers,
)

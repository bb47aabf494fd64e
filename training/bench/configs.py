"""The configurations of the benchmark (docs/skullking.md, 14), and their rows."""

from __future__ import annotations

import statistics
from dataclasses import asdict, replace
from typing import Any

from fastenv.errors import ConfigError
from training.bench import hierarchical
from training.bench.play import Playback
from training.bench.timing import interleaved, summary
from training.bench.trainer import Flags, measure

CONFIGS: dict[str, Flags] = {
    "baseline": Flags(),
    "numba": Flags(use_numba=True),
    "cython": Flags(use_cython=True),
    "large_net": Flags(net_arch=(1024, 512, 256)),
    "hierarchical": Flags(use_hierarchical=True, use_numba=True, use_cython=True),
    "fast": Flags(use_numba=True, use_cython=True),
}
MEASURED = (
    *("steps_per_s", "collect_steps_per_s", "update_steps_per_s", "env_only_steps_per_s"),
    *("share_env", "share_forward", "share_update", "share_other"),
    *("cpu_seconds_per_step", "peak_rss_mb"),
    *("points_before", "points_after", "trained_steps", "noisy"),
)


def row(name: str, flags: Flags, steps: int, repeats: int, games: int) -> dict[str, Any]:
    """Return the row of a configuration: medians over the repeats, and all their values.

    One that cannot run here has the reason as ``status``, and nulls.
    """
    fields = {"kind": "config", "config": name, "flags": asdict(flags), "backend": flags.backend}
    seeded = [replace(flags, seed=flags.seed + k) for k in range(repeats)]
    if flags.use_hierarchical:
        try:
            configs = [hierarchical.settings(each) for each in seeded]
        except ConfigError as error:
            return {**fields, "status": str(error), **dict.fromkeys(MEASURED)}
        runs = [hierarchical.measure(config, steps, games) for config in configs]
        alone = None  # two environments in turns: there is no such thing as the one
    else:
        runs = [measure(each, steps, games) for each in seeded]
        alone = env_only(flags, repeats)
    found = {key: _median([run[key] for run in runs]) for key in runs[0]}
    found["env_only_steps_per_s"] = alone
    measured = {key: found.get(key) for key in MEASURED}
    return {**fields, "status": "measured", **measured, "all": runs}


def env_only(flags: Flags, repeats: int) -> float:
    """Return the median steps a second of random legal play, no network."""
    batches = 64 if flags.backend == "reference" else 256
    play = Playback(
        flags.env,
        flags.n_envs,
        batches,
        {"opponents": flags.opponent},
        backend=flags.backend,
        num_threads=flags.threads,
    )
    return summary(interleaved({"env": play.work()}, repeats, 0.2)["env"])["steps_per_s"]


def _median(values: list[Any]) -> Any:
    if any(v is None for v in values):
        return None
    if isinstance(values[0], bool):
        return any(values)
    return statistics.median(values)

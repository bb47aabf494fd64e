"""The configurations of the benchmark (docs/skullking.md, 14), and their rows."""

from __future__ import annotations

import statistics
from dataclasses import asdict, replace
from typing import Any

from fastenv.errors import ConfigError
from training.bench import hierarchical, ran
from training.bench.play import Playback
from training.bench.timing import interleaved, summary
from training.bench.trainer import Flags, measure

# Each differs from the first in what it is named after, and in nothing else.
CONFIGS: dict[str, Flags] = {
    "baseline": Flags(),
    "numba": Flags(use_numba=True),
    "cython": Flags(use_cython=True),
    "fast": Flags(use_numba=True, use_cython=True),
    "large_net": Flags(net_arch=(1024, 512, 256)),
    "dummy": Flags(vec="dummy"),
    "hierarchical": Flags(use_hierarchical=True, use_numba=True, use_cython=True),
}
# The environment of each game; rollouts of those whose reference is slow are short.
ENVS = {
    "skullking": "SkullKingFlat-v0",
    "prospector": "Prospector-v0",
    "drmario": "DrMarioPlacement-v0",
    "gameboy": "GameBoyPixels-v0",
}
_SHORT: dict[str, dict[str, int]] = {
    "DrMario": {"n_steps": 8, "batch": 64},
    "GameBoy": {"n_envs": 2, "n_steps": 2, "batch": 4},
    "LanternWalk": {"n_envs": 2, "n_steps": 2, "batch": 4},
}
ROLLOUTS, SHORT_ROLLOUTS = 3, 1  # that are timed of a repeat
PIECE = 1024  # decisions of random play of a slow backend, of rollouts that are not short
MEASURED = (
    *("steps_per_s", "steps_per_cpu_s"),
    *("collect_steps_per_s", "update_steps_per_s", "env_only_steps_per_s"),
    *("share_env", "share_forward", "share_update", "share_other"),
    *("cpu_seconds_per_step", "peak_rss_mb"),
    *("reward_before", "reward_after", "reward_per_hour"),
    *("points_before", "points_after", "trained_steps", "noisy"),
)


def of_env(name: str, env: str) -> Flags:
    """Return a configuration in an environment, with rollouts that its reference can play.

    Raises
    ------
    ConfigError
        If the environment is unknown, or not for this configuration.
    """
    sizes = next((each for start, each in _SHORT.items() if env.startswith(start)), {})
    changes: dict[str, Any] = {"env": env, **sizes}
    return replace(CONFIGS[name], **changes)


def row(name: str, flags: Flags, steps: int, repeats: int, games: int) -> dict[str, Any]:
    """Return the row of a configuration: medians over the repeats, and all their values.

    One that cannot run here has the reason as ``status``, and nulls.

    Parameters
    ----------
    name : str
        Of the configuration.
    flags : Flags
    steps : int
        Timed steps of a repeat, at least.
    repeats, games : int
        See :func:`training.bench.trainer.measure`.
    """
    fields = {"kind": "config", "config": name, "flags": asdict(flags), "backend": flags.backend}
    seeded = [replace(flags, seed=flags.seed + k) for k in range(repeats)]
    try:
        if flags.use_hierarchical:
            configs = [hierarchical.settings(each) for each in seeded]
            runs = [hierarchical.measure(config, steps, games) for config in configs]
            alone = None  # two environments in turns: there is no such thing as the one
        else:
            runs = [measure(each, steps, games) for each in seeded]
            alone = env_only(flags, repeats)
    except ConfigError as error:
        return {**fields, "status": str(error), **dict.fromkeys(MEASURED)}
    described = runs[0]["ran"]
    found = {key: _median([run[key] for run in runs]) for key in runs[0] if key != "ran"}
    found["env_only_steps_per_s"] = alone
    about = {"ran": described, "name": name_of(described), "status": "measured"}
    return {**fields, **about, **{key: found.get(key) for key in MEASURED}, "all": runs}


def name_of(described: ran.Ran) -> str:
    """Return what ran in a configuration, as far as configurations differ."""
    widths = "x".join(map(str, described["net_arch"]))
    parts = (described[name] for name in ("trainer", "env", "backend", "adapter"))
    return ", ".join([*parts, widths])


def env_only(flags: Flags, repeats: int) -> float:
    """Return the median steps a second of random legal play, no network."""
    slow = flags.backend != "fast"  # half of it is plain Python, whichever half
    rollout = min(PIECE, flags.n_envs * flags.n_steps)
    play = Playback(
        flags.env,
        flags.n_envs,
        max(1, rollout // (2 * flags.n_envs)) if slow else 256,
        flags.options,
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

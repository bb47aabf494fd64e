"""The configurations of the benchmark, each with one thing changed, and their rows."""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from typing import Any

from rich.console import Group

from fastenv.errors import BackendUnavailableError, ConfigError
from training.bench import games, learning, ran, timing
from training.bench.env_modes import EnvPlan, prepare
from training.bench.runner import SHORT_S, BenchmarkOptions, Suite
from training.bench.stock import Flags, measure
from training.bench.tables import config_table, plan_table
from training.bench.targets import Row
from training.run import config_files

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
ROLLOUTS, SHORT_ROLLOUTS = 3, 1  # that are timed of a repeat
PIECE = 1024  # decisions of random play of a slow backend, of rollouts that are not short
MEASURED = (
    *("steps_per_s", "steps_per_cpu_s"),
    *("collect_steps_per_s", "update_steps_per_s", "env_only_steps_per_s"),
    *("share_env", "share_forward", "share_update", "share_other"),
    *("cpu_seconds_per_step", "peak_rss_mb"),
    *("cpu_share", "gpu_share", "reward_before", "reward_after"),
    *("reward_per_hour", "reward_per_hour_noise", "reward_per_million"),
    *("reward_per_million_noise", "goal", "seconds_to_goal", "repeats_at_goal", "trained_s"),
    *("points_before", "points_after", "trained_steps", "noisy"),
)


def of_env(name: str, env: str) -> Flags:
    """Return a configuration in an environment, with rollouts that its reference can play.

    Raises
    ------
    ConfigError
        If the environment is unknown, or not for this configuration.
    """
    return replace(CONFIGS[name], env=env, **games.of(env).small)


def row(
    name: str,
    flags: Flags,
    steps: int,
    repeats: int,
    played: int,
    seconds: float = 0.0,
    until: float = math.inf,
) -> dict[str, Any]:
    """Measure the row of a configuration: medians over the repeats, and all their values.

    One that cannot run here has the reason as ``status``, and nulls.

    Parameters
    ----------
    name : str
        Of the configuration.
    flags : Flags
    steps : int
        Timed steps of a repeat, at least.
    repeats, played : int
    seconds : float
        See :func:`training.bench.stock.measure`.
    until : float
        By ``time.perf_counter``: there are fewer repeats, but one at least, if they took longer.
    """
    fields: Row = {"kind": "config", "config": name, "flags": asdict(flags)}
    fields |= {"backend": flags.backend, "games": played}
    seeded = [replace(flags, seed=flags.seed + k) for k in range(repeats)]
    try:
        two_tiers = games.of(flags.env).find("two_tiers") if flags.use_hierarchical else None
        runs = []
        for repeat, each in enumerate(seeded, 1):
            begin = time.perf_counter()
            if two_tiers:
                runs.append(two_tiers(each, steps, played))
            else:
                runs.append(measure(each, steps, played, seconds))
            # Each is on the disk as soon as it was measured; the row behind them has all of them.
            about = {"kind": "repeat", "config": name, "env": flags.env, "repeat": repeat}
            timing.keep_row(about | runs[-1])
            timing.tell_repeat(repeat, repeats, f"{name} of {flags.env}", runs[-1]["steps_per_s"])
            now = time.perf_counter()
            if now + (now - begin) > until:  # another one would take as long
                break
        # Two environments in turns: there is no such thing as the one alone.
        alone = None if two_tiers else env_only(flags, repeats)
    except (ConfigError, BackendUnavailableError) as error:
        return {**fields, "repeats": 0, "status": str(error), **dict.fromkeys(MEASURED)}
    described = runs[0]["ran"]
    medians = {key: _get_median([run[key] for run in runs]) for key in runs[0] if key != "ran"}
    medians["env_only_steps_per_s"] = alone
    medians |= learning.summarise(runs, learning.find_goal(flags.env))
    about = {"ran": described, "name": name_of(described), "status": "measured"}
    about["repeats"] = len(runs)
    return {**fields, **about, **{key: medians.get(key) for key in MEASURED}, "all": runs}


def name_of(described: ran.Ran) -> str:
    """Name a configuration by the parts of its description in which they differ."""
    widths = "x".join(map(str, described["net_arch"]))
    parts = (described[name] for name in ("trainer", "env", "backend", "adapter"))
    return ", ".join([*parts, widths])


def env_only(flags: Flags, repeats: int) -> float:
    """Measure the median steps a second of random legal play, no network."""
    slow = flags.backend != "fast"  # half of it is plain Python, whichever half
    rollout = min(PIECE, flags.n_envs * flags.n_steps)
    plan = EnvPlan(
        flags.env,
        flags.options,
        flags.n_envs,
        flags.threads,
        flags.backend,
        batches=max(1, rollout // (2 * flags.n_envs)) if slow else 256,
    )
    work = prepare(plan).work
    timings = timing.interleaved({"the environment alone": work}, repeats, 0.2)
    (samples,) = timings.values()
    return float(timing.summary(samples, work.threads)["steps_per_s"])


def _get_median(values: list[Any]) -> Any:
    if any(v is None for v in values):
        return None
    if isinstance(values[0], bool):
        return any(values)
    return statistics.median(values)


# -- what a command line asks for ------------------------------------------------------------------


def with_flags(flags: Flags, assignments: list[str]) -> Flags:
    """Return flags with some changed.

    Raises
    ------
    ConfigError
        For an unknown flag or a value it cannot have.
    """
    types = {f.name: type(getattr(flags, f.name)) for f in fields(flags)}
    changes: dict[str, Any] = {}
    for text in assignments:
        name, _, value = text.partition("=")
        if name not in types:
            raise ConfigError(f"{name!r} is not a flag; flags: {', '.join(types)}.")
        read = config_files.parse_yaml(value, f"{name}={value!r}")
        changes[name] = tuple(read) if isinstance(read, list) else read
        if type(changes[name]) is not types[name]:
            raise ConfigError(f"{name}={value!r}: must be of type {types[name].__name__}.")
    return replace(flags, **changes)


def chosen(args: argparse.Namespace) -> list[tuple[str, Flags]]:
    """Return the configurations that are to be measured, each with the name it goes by.

    They are those of ``--game``, or of the environment of ``--set env``; without either those of
    the usual environment, or with ``--only configs`` those of every game.

    Raises
    ------
    ConfigError
        For a flag or a configuration that is not possible.
    """
    for name in args.config or ():
        if name not in CONFIGS:
            raise ConfigError(f"--config {name!r}: must be among {', '.join(CONFIGS)}.")
    every = [game.config_env for game in games.GAMES.values()]
    envs = every if args.only == "configs" else [Flags.env]
    envs = [games.GAMES[args.game].config_env] if args.game else envs
    named = [text.partition("=")[2] for text in args.set if text.startswith("env=")]
    envs = named[-1:] or envs
    configs = []
    for env in envs:
        for name in args.config or CONFIGS:
            possible = games.of(env).find("two_tiers") or not CONFIGS[name].use_hierarchical
            if possible or (args.config and len(envs) == 1):
                configs.append((name, with_flags(of_env(name, env), args.set)))
    return configs


def tables(rows: Sequence[Row]) -> Group:
    """Return the table of all games, and one of the parts of the time for each environment."""
    envs = dict.fromkeys(row["flags"]["env"] for row in rows)
    parts = [config_table([r for r in rows if r["flags"]["env"] == env]) for env in envs]
    return Group(*parts, plan_table(rows))


def measure_chosen(options: BenchmarkOptions) -> list[Row]:
    """Measure the rows that a command line asks for."""
    args = options.args
    rollouts = SHORT_ROLLOUTS if args.short else ROLLOUTS
    played = args.games if args.games is not None else (40 if args.short else 200)
    asked = chosen(args)
    end = find_end(args, len({each.env for _, each in asked}))
    rows = []
    for place, (name, each) in enumerate(asked):
        steps = args.steps or rollouts * each.n_envs * each.n_steps
        seconds = 0.0 if args.steps and not args.seconds else options.seconds
        now = time.perf_counter()
        until = now + (end - now) / (len(asked) - place)  # an equal part of what is left
        rows.append(row(name, each, steps, args.repeats, played, seconds, until))
        timing.keep_row(rows[-1])
    return rows


def find_end(args: argparse.Namespace, envs: int) -> float:
    """Find when the configurations of so many environments are to be done; a record takes all."""
    limited = args.short and not args.record
    return time.perf_counter() + envs * SHORT_S if limited else math.inf


SUITE = Suite(measure_chosen, check=chosen, tables=(tables,), seconds=30.0, short_seconds=5.0)

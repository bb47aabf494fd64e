"""Benchmarks of the environment alone: play of recorded actions, and entries of its figures.

A workload says which actions. Where they depend on the masks they are recorded once and replayed:
the engine is deterministic, so they are legal again from the same position on. All others are
simply played on, round and round, with episodes ending where they will. What is timed is
``step_many`` alone, exactly as a trainer calls it: checks, opponents, rules, rewards, automatic
resets, observations, masks and info columns.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import gymnasium
import numpy as np

import fastenv
from fastenv import BatchEngine
from fastenv.errors import ConfigError
from fastenv.registry import short_id
from training.bench import ran
from training.bench.choices import WORKLOADS
from training.bench.timing import Sample, Work, interleaved, noisy, rss_mb, spread
from training.run import games

PIECE_STEPS = 1 << 18  # of a compiled backend: a good tenth of a second
SLOW_PIECE_STEPS = 1 << 10  # of one that steps in Python
REFERENCE_LANES = 64  # its speed does not depend on their number
METHOD = (
    "random legal actions recorded beforehand and replayed from the same positions; timed: "
    "step_many with checks, opponents, autoreset, observation, mask, reward, info"
)
METHOD_ON = (
    "actions made beforehand, lanes spread over their episodes and played on; timed: step_many "
    "with checks, autoreset, observation, mask, reward, info"
)
METHOD_SINGLE = (
    "gymnasium.make without its passive checker; recorded actions; timed: step, and reset where an "
    "episode ended"
)


@dataclass(frozen=True)
class EnvPlan:
    """The play that is measured.

    Parameters
    ----------
    env : str
    options : mapping
    num_envs, num_threads : int
    backend : str
        As asked for.
    workload : str
        See ``WORKLOADS``.
    info_columns : tuple of str or None
        None: those of the game.
    single : bool
        One environment through Gymnasium's ``step`` instead of a batch.
    stagger : int
        Batch steps played before, in which each lane is reset once, at a time of its own:
        otherwise all lanes would be in the same round at the same time.
    seed : int
    batches : int or None
        Batch steps of a piece of work (steps, if ``single``); None fits them to backend and lanes.
    """

    env: str
    options: Mapping[str, Any] = field(default_factory=dict)
    num_envs: int = 512
    num_threads: int = 1
    backend: str = "auto"
    workload: str = "masked_uniform"
    info_columns: tuple[str, ...] | None = None
    single: bool = False
    stagger: int = 65
    seed: int = 0
    batches: int | None = None

    @property
    def piece(self) -> int:
        """Batch steps of a piece of work."""
        if self.batches is not None:
            return self.batches
        slow = self.backend != "fast"
        if self.backend == "auto":
            slow = fastenv.make_engine(self.env, 1, **self.options).backend != "fast"
        if self.single:
            return 300 if slow else 3000
        steps = SLOW_PIECE_STEPS if slow else PIECE_STEPS
        return min(max(steps // self.num_envs, 16), 1024)


def fixed_actions(env: str) -> dict[str, int]:
    """Find the workloads of an environment that are one action for ever, and that action."""
    return dict(games.find(env, "fixed_actions") or {})


def check_workload(env: str, workload: str, options: Mapping[str, Any] | None = None) -> None:
    """Refuse a workload that makes no sense in an environment.

    Raises
    ------
    ConfigError
    """
    if workload not in WORKLOADS:
        raise ConfigError(f"workload {workload!r}: must be one of {', '.join(WORKLOADS)}.")
    if workload in ("hold", "cash_out") and workload not in fixed_actions(env):
        raise ConfigError(
            f"workload {workload!r} is an action that {short_id(env)} does not have: take "
            "masked_uniform."
        )
    if workload == "uniform":
        engine = fastenv.make_engine(env, 1, backend="reference", **(options or {}))
        engine.reset_many(seeds=0)
        if not (engine.spec.action_codec is not None or engine.mask.all()):
            raise ConfigError(
                f"workload 'uniform' needs a game in which every action is a move, which those of "
                f"{short_id(env)} are not: take masked_uniform."
            )


class Playback:
    """The play of a plan, whose actions are recorded when it is made.

    Options of the environment are its own defaults where there are none: what somebody who plays it
    meets.

    Parameters
    ----------
    plan : EnvPlan

    Attributes
    ----------
    engine : BatchEngine
    actions : list of ndarray
        Of each batch step.
    work : Work
    method : str
        How it is timed, in words.
    built_s : float
        Seconds of making it: compilation, recording, spreading of the lanes.

    Raises
    ------
    ConfigError
        A workload that makes no sense here, or what the environment refuses.
    BackendUnavailableError
    """

    def __init__(self, plan: EnvPlan) -> None:
        begin = time.perf_counter()
        check_workload(plan.env, plan.workload, plan.options)
        self.plan, self.actions = plan, list[np.ndarray]()
        self._replays = plan.workload == "masked_uniform"
        self.method = METHOD if self._replays else METHOD_ON
        self._make()
        self.built_s = time.perf_counter() - begin

    def _make(self) -> None:
        """Make the engine, record the actions, and prepare the work."""
        plan = self.plan
        columns = None if plan.info_columns is None else tuple(plan.info_columns)
        shown: dict[str, Any] = {} if columns is None else {"info_columns": columns}
        sizes: dict[str, Any] = {"backend": plan.backend, "num_threads": plan.num_threads, **shown}
        self.engine = fastenv.make_engine(plan.env, plan.num_envs, **sizes, **plan.options)
        # All backends play alike, so the fastest makes the actions of a slow one.
        player = self.engine
        if plan.backend in ("reference", "numba", "cython"):
            player = fastenv.make_engine(plan.env, plan.num_envs, **plan.options)
        rng = np.random.default_rng(plan.seed)
        self._lead: list[np.ndarray] = []
        player.reset_many(seeds=plan.seed)
        for t in range(plan.stagger):
            self._lead.append(self._choose_actions(player, rng))
            self._lead_step(player, t)
        # Rows that are read out are complete, so a game that completes them as it goes begins anew.
        anew = player is self.engine and player.completes_rows
        self._rows = None if anew else player.get_states()
        for _ in range(plan.piece):
            self.actions.append(self._choose_actions(player, rng))
            if self._replays:  # the next mask depends on it
                player.step_many(self.actions[-1])
        if player is not self.engine:
            self.engine.reset_many(seeds=plan.seed)
            self.rewind()
        steps = plan.num_envs * len(self.actions)
        self.work = Work(self._play, steps, self.rewind if self._replays else None)

    def _choose_actions(self, engine: BatchEngine, rng: np.random.Generator) -> np.ndarray:
        """Return the next actions of all lanes, int32."""
        workload = self.plan.workload
        if workload == "masked_uniform":
            return fastenv.sample_legal(engine.mask, rng)
        if workload == "uniform":
            return rng.integers(0, engine.num_actions, engine.num_envs, np.int32)
        return np.full(engine.num_envs, fixed_actions(self.plan.env)[workload], np.int32)

    def _lead_step(self, engine: BatchEngine, t: int) -> None:
        """Take step ``t`` of those before the stretch, in which each lane is reset once."""
        engine.step_many(self._lead[t])
        engine.reset_many(np.arange(engine.num_envs) % self.plan.stagger == t)

    def _play(self) -> None:
        engine = self.engine
        for batch in self.actions:
            engine.step_many(batch)

    def rewind(self) -> None:
        """Go back to where the stretch begins."""
        if self._rows is not None:
            self.engine.set_states(self._rows)
            return
        self.engine.reset_many(seeds=self.plan.seed)
        for t in range(len(self._lead)):
            self._lead_step(self.engine, t)

    def ticks(self) -> float:
        """Compute the mean ticks of the game in a step; untimed.

        1 for games that have no ticks besides the decisions.
        """
        has_dt, has_tau = "dt" in self.engine.spec.info_columns, self.engine.spec.has_tau
        if not (has_dt or has_tau):
            return 1.0
        columns = ("dt",) if has_dt else ()
        fast = replace(self.plan, backend="auto", num_threads=1, info_columns=columns)
        twin = Playback(replace(fast, batches=len(self.actions)))
        twin.rewind()
        engine, total = twin.engine, 0.0
        for batch in twin.actions:
            engine.step_many(batch)
            if not has_dt:
                total += float(engine.tau.sum())
                continue
            done = engine.terminated | engine.truncated
            dt = np.where(done, engine.final_info["dt"], engine.info["dt"])
            total += float(dt.sum())
        return total / (len(twin.actions) * engine.num_envs)

    def ran(self, timed: str = "step_many") -> ran.Ran:
        """Describe this play and the part of it that is timed."""
        how: dict[str, Any] = {"workload": self.plan.workload, "stagger": self.plan.stagger}
        return ran.describe_engine(self.engine, timed, batch_steps=len(self.actions), **how)

    def about(self) -> dict[str, Any]:
        """Describe the plan for a row or an entry, without figures."""
        plan = self.plan
        return {
            "ran": self.ran(),
            "env": plan.env,
            "options": dict(plan.options),
            "workload": plan.workload,
            "single": plan.single,
            "num_envs": 1 if plan.single else plan.num_envs,
            "num_threads": plan.num_threads,
            "info_columns": None if plan.info_columns is None else list(plan.info_columns),
            "method": self.method,
        }

    def for_row(self, beside: str | None = None, **fields: Any) -> Work:
        """Return the work with the fields of its row.

        Parameters
        ----------
        beside : str, optional
            What it is compared with in the same turns, where that tells it from other figures.
        **fields
            More of the row.
        """
        row = {"kind": "env", "what": "batch", **self.about(), "backend": self.engine.backend}
        if beside is not None:
            row["ran"] |= {"beside": beside}
        return replace(self.work, row=lambda: row | fields, threads=self.plan.num_threads)


class SinglePlayback(Playback):
    """The play of one environment of ``gymnasium.make``; see :class:`Playback`.

    Gymnasium's passive checker is off: it belongs to development.
    """

    def _make(self) -> None:
        plan, steps = self.plan, self.plan.piece
        self.method = METHOD_SINGLE
        name = f"fastenv/{short_id(plan.env)}"
        flags = {"disable_env_checker": True, **plan.options}
        columns = None if plan.info_columns is None else tuple(plan.info_columns)
        shown: dict[str, Any] = {} if columns is None else {"info_columns": columns}
        self._env = gymnasium.make(name, backend=plan.backend, **shown, **flags)
        self.engine = self._env.get_wrapper_attr("engine")
        player = gymnasium.make(name, backend="auto", **flags)
        engine, rng = player.get_wrapper_attr("engine"), np.random.default_rng(plan.seed)
        masks = player.get_wrapper_attr("action_masks")
        always = fixed_actions(plan.env).get(plan.workload)
        player.reset(seed=plan.seed)
        self._script: list[int | None] = []  # None: reset
        ticks = 0.0
        for _ in range(steps):
            if plan.workload == "masked_uniform":
                action = int(rng.choice(np.flatnonzero(masks())))
            else:
                action = int(rng.integers(engine.num_actions)) if always is None else always
            _, _, terminated, truncated, info = player.step(action)
            ticks += float(info.get("dt", 1))
            self._script.append(action)
            if terminated or truncated:
                player.reset()
                self._script.append(None)
        self._ticks = ticks / steps
        self.work = Work(self._play, steps, self.rewind)

    def _play(self) -> None:
        for action in self._script:
            if action is None:
                self._env.reset()
            else:
                self._env.step(action)

    def rewind(self) -> None:
        """Begin the first episode again."""
        self._env.reset(seed=self.plan.seed)

    def ticks(self) -> float:
        """Return the mean ticks of the game in a step."""
        return self._ticks

    def ran(self, timed: str = "step") -> ran.Ran:
        """Describe this play and the part of it that is timed."""
        how: dict[str, Any] = {"workload": self.plan.workload, "steps": self.work.steps}
        return ran.describe_engine(self.engine, timed, adapter="gymnasium", **how)


def prepare(plan: EnvPlan) -> Playback:
    """Make the play of a plan, and with it all that is not timed."""
    return SinglePlayback(plan) if plan.single else Playback(plan)


def env_only(
    plans: Mapping[str, EnvPlan],
    repeats: int,
    seconds: float,
    memory: bool = True,
    more: Callable[[Playback, Sequence[Sample]], dict[str, Any]] | None = None,
) -> dict[str, dict[str, Any]]:
    """Measure several plans in turns.

    Parameters
    ----------
    plans : mapping of str to EnvPlan
    repeats : int
    seconds : float
        Timed work of a repeat, at least.
    memory : bool
        Look for growing memory in a pass of its own, behind all timing.
    more : callable, optional
        Returns what a game adds to an entry.

    Returns
    -------
    dict
        Name to an entry of ``modes`` of an artefact.
    """
    ready = {name: prepare(plan) for name, plan in plans.items()}
    first: dict[str, float] = {}
    samples = interleaved({n: r.work for n, r in ready.items()}, repeats, seconds, first)
    return {
        name: _make_entry(one, samples[name], one.built_s + first[name], memory)
        | (more(one, samples[name]) if more else {})
        for name, one in ready.items()
    }


def _make_entry(
    ready: Playback, samples: Sequence[Sample], warmup_s: float, memory: bool
) -> dict[str, Any]:
    plan = ready.plan
    return {
        "mode": "env_only",
        **ready.about(),
        "backend_requested": plan.backend,
        "backend_selected": ready.engine.backend,
        **measured(samples, ready.ticks(), plan.num_threads == 1),
        "phases_us_per_step": {},
        "alloc": memory_pass(ready.work) if memory else {},
        "warmup_s": round(warmup_s, 3),
    }


def measured(
    samples: Sequence[Sample], ticks_per_step: float | None, single_thread: bool
) -> dict[str, Any]:
    """Make the part of an entry that every mode has: repeats and their statistics.

    Parameters
    ----------
    samples : sequence of Sample
    ticks_per_step : float or None
        None if nobody counted them.
    single_thread : bool
        See :func:`noisy`.
    """
    speeds = [s.per_s for s in samples]
    iterations = [steps / wall for s in samples for steps, wall, _ in s.pieces]
    stats = {
        "steps_per_s": spread(speeds),
        "steps_per_cpu_s": spread([s.per_cpu_s for s in samples]),
        "iteration_steps_per_s": spread(iterations),
        "wall_s": spread([s.wall_s for s in samples]),
        "cpu_s": spread([s.cpu_s for s in samples]),
    }
    if ticks_per_step is not None:
        stats["ticks_per_s"] = spread([speed * ticks_per_step for speed in speeds])
    return {
        "repeats": [s.record() for s in samples],
        "stats": stats,
        "ticks_per_step": ticks_per_step,
        "iterations": len(iterations),
        "noisy": noisy(samples, single_thread),
    }


def medians(entry: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of an entry by their medians, as a row has them."""
    figures = {name: entry["stats"][name]["median"] for name in ("steps_per_s", "steps_per_cpu_s")}
    if "share_env" in entry:
        figures["share_env"] = entry["share_env"]["median"]
    return figures


def memory_pass(work: Work) -> dict[str, Any]:
    """Run a piece of work under ``tracemalloc``, which slows it several times: never timed.

    Returns
    -------
    dict
        ``rss_growth_mb`` of two untraced pieces, ``python_growth_bytes`` and
        ``python_peak_bytes`` of a traced one.
    """
    prepare = work.prepare or (lambda: None)
    gc.collect()
    before = rss_mb()
    for _ in range(2):
        prepare()
        work.run()
    gc.collect()
    grown = rss_mb() - before
    prepare()
    tracemalloc.start()
    try:
        work.run()  # fills caches of the interpreter that a traced run meets empty
        prepare()
        start, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        work.run()
        end, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return {
        "rss_growth_mb": round(grown, 3),
        "python_growth_bytes": end - start,
        "python_peak_bytes": peak - start,
    }

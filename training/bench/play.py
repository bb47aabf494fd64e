"""Play of recorded actions: nothing but the environment is in the timed region.

A workload says which actions. Where they depend on the masks they are recorded once and replayed:
the engine is deterministic, so they are legal again from the same position on. All others are
simply played on, round and round, with episodes ending where they will. What is timed is
``step_many`` alone, exactly as a trainer calls it: checks, opponents, rules, rewards, automatic
resets, observations, masks and info columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np

import fastenv
from fastenv import BatchEngine
from fastenv.errors import ConfigError
from training.bench import ran
from training.bench.timing import Work
from training.run import games

WORKLOADS = {
    "masked_uniform": "random legal actions",
    "uniform": "random actions, legal or not",
    "hold": "the action that does nothing, always",
    "cash_out": "the action that ends the episode, always: a new world every step",
}
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


def short_id(env: str) -> str:
    """Return an environment id without its namespace."""
    return env.rpartition("/")[2]


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
    """A stretch of play whose actions are recorded when it is built.

    Parameters
    ----------
    env : str
    num_envs : int
    steps : int
        Batch steps of the stretch.
    options : mapping, optional
        Options of the environment, its own defaults where there are none: what somebody who plays
        it meets.
    workload : str
        See ``WORKLOADS``.
    backend : str
    num_threads : int
    info_columns : sequence of str, optional
        Info columns to write; default those of the game.
    stagger : int
        Batch steps played before, in which each lane is reset once, at a time of its own: otherwise
        all lanes would be in the same round at the same time.
    seed : int
    """

    def __init__(
        self,
        env: str,
        num_envs: int,
        steps: int,
        options: Mapping[str, Any] | None = None,
        *,
        workload: str = "masked_uniform",
        backend: str = "auto",
        num_threads: int = 1,
        info_columns: Sequence[str] | None = None,
        stagger: int = 65,
        seed: int = 0,
    ) -> None:
        check_workload(env, workload, options)
        self._built_with = (env, num_envs, steps, options)
        self._chosen: dict[str, Any] = {"workload": workload, "stagger": stagger, "seed": seed}
        self.engine = make_engine(env, num_envs, options, backend, num_threads, info_columns)
        # All backends play alike, so the fastest makes the actions of a slow one.
        player = self.engine
        if backend in ("reference", "numba", "cython"):
            player = make_engine(env, num_envs, options, "auto", 1)
        rng = np.random.default_rng(seed)
        self._lead: list[np.ndarray] = []
        player.reset_many(seeds=seed)
        for t in range(stagger):
            self._lead.append(_choose_actions(player, env, workload, rng))
            self._lead_step(player, t)
        self._replays = workload == "masked_uniform"
        # Rows that are read out are complete, so a game that completes them as it goes begins anew.
        anew = player is self.engine and player.completes_rows
        self._rows = None if anew else player.get_states()
        self._actions = []
        for _ in range(steps):
            self._actions.append(_choose_actions(player, env, workload, rng))
            if self._replays:  # the next mask depends on it
                player.step_many(self._actions[-1])
        if player is not self.engine:
            self.engine.reset_many(seeds=seed)
            self.rewind()

    def _lead_step(self, engine: BatchEngine, t: int) -> None:
        """Take step ``t`` of those before the stretch, in which each lane is reset once."""
        engine.step_many(self._lead[t])
        engine.reset_many(np.arange(engine.num_envs) % self._chosen["stagger"] == t)

    def rewind(self) -> None:
        """Go back to where the stretch begins."""
        if self._rows is not None:
            self.engine.set_states(self._rows)
            return
        self.engine.reset_many(seeds=self._chosen["seed"])
        for t in range(len(self._lead)):
            self._lead_step(self.engine, t)

    @property
    def actions(self) -> list[np.ndarray]:
        """The actions of each batch step."""
        return self._actions

    @property
    def rows(self) -> np.ndarray:
        """The rows of the position in which the stretch begins."""
        self.rewind()
        return self.engine.get_states()

    @property
    def method(self) -> str:
        """The method of timing, in words."""
        return METHOD if self._replays else METHOD_ON

    def ran(self, timed: str = "step_many", **more: Any) -> ran.Ran:
        """Describe this play, the part that is timed, and all else that tells it apart."""
        chosen = {name: self._chosen[name] for name in ("workload", "stagger")}
        more |= {"batch_steps": len(self._actions)}
        return ran.describe_engine(self.engine, timed, **chosen, **more)

    def work(self) -> Work:
        """Make the work of the play."""
        engine, actions = self.engine, self._actions

        def run() -> None:
            for batch in actions:
                engine.step_many(batch)

        steps = engine.num_envs * len(actions)
        return Work(run, steps, self.rewind if self._replays else None)

    def ticks_per_step(self) -> float:
        """Compute the mean ticks of the game in a step; untimed.

        1 for games that have no ticks besides the decisions.
        """
        has_dt, has_tau = "dt" in self.engine.spec.info_columns, self.engine.spec.has_tau
        if not (has_dt or has_tau):
            return 1.0
        columns = ("dt",) if has_dt else ()
        twin = Playback(*self._built_with, backend="auto", info_columns=columns, **self._chosen)
        twin.rewind()
        total = 0.0
        for batch in twin._actions:
            twin.engine.step_many(batch)
            if not has_dt:
                total += float(twin.engine.tau.sum())
                continue
            done = (twin.engine.terminated | twin.engine.truncated) != 0
            dt = np.where(done, twin.engine.final_info["dt"], twin.engine.info["dt"])
            total += float(dt.sum())
        return total / (len(twin._actions) * twin.engine.num_envs)


def make_engine(
    env: str,
    num_envs: int,
    options: Mapping[str, Any] | None,
    backend: str,
    num_threads: int,
    info_columns: Sequence[str] | None = None,
) -> BatchEngine:
    """Return an engine with the environment's own defaults; trainers ask for others."""
    chosen: dict[str, Any] = {} if info_columns is None else {"info_columns": tuple(info_columns)}
    return fastenv.make_engine(
        env, num_envs, backend=backend, num_threads=num_threads, **chosen, **(options or {})
    )


def _choose_actions(
    engine: BatchEngine, env: str, workload: str, rng: np.random.Generator
) -> np.ndarray:
    """Return the next actions of all lanes, int32."""
    if workload == "masked_uniform":
        return fastenv.sample_legal(engine.mask, rng)
    if workload == "uniform":
        return rng.integers(0, engine.num_actions, engine.num_envs, np.int32)
    return np.full(engine.num_envs, fixed_actions(env)[workload], np.int32)


def single_env_work(
    env: str,
    backend: str,
    steps: int,
    options: Mapping[str, Any] | None = None,
    *,
    workload: str = "masked_uniform",
    info_columns: Sequence[str] | None = None,
    seed: int = 0,
) -> tuple[Work, dict[str, Any]]:
    """Prepare play of one environment of ``gymnasium.make``, its actions recorded beforehand.

    Gymnasium's passive checker is off: it belongs to development.

    Returns
    -------
    work : Work
    about : dict
        ``engine``, ``ticks_per_step`` and ``ran``.
    """
    check_workload(env, workload, options)
    name = f"fastenv/{short_id(env)}"
    flags = {"disable_env_checker": True, **(options or {})}
    chosen: dict[str, Any] = {} if info_columns is None else {"info_columns": tuple(info_columns)}
    single = gymnasium.make(name, backend=backend, **chosen, **flags)
    player = gymnasium.make(name, backend="auto", **flags)
    rng = np.random.default_rng(seed)
    masks = player.get_wrapper_attr("action_masks")
    space: Any = player.action_space
    always, num_actions = fixed_actions(env).get(workload), int(space.n)
    player.reset(seed=seed)
    script: list[int | None] = []  # None: reset
    ticks = 0.0
    for _ in range(steps):
        if workload == "masked_uniform":
            action = int(rng.choice(np.flatnonzero(masks())))
        else:
            action = int(rng.integers(num_actions)) if always is None else always
        _, _, terminated, truncated, info = player.step(action)
        ticks += float(info.get("dt", 1))
        script.append(action)
        if terminated or truncated:
            player.reset()
            script.append(None)

    def run() -> None:
        for action in script:
            if action is None:
                single.reset()
            else:
                single.step(action)

    def rewind() -> None:
        single.reset(seed=seed)

    engine = single.get_wrapper_attr("engine")
    how = {"workload": workload, "steps": steps}
    described = ran.describe_engine(engine, "step", adapter="gymnasium", **how)
    about = {"engine": engine, "ticks_per_step": ticks / steps, "ran": described}
    return Work(run, steps, rewind), about

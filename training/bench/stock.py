"""Stock trainers timed phase by phase: MaskablePPO by flags, and any of Stable-Baselines3."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

import fastenv
from fastenv import FastEnv
from fastenv.adapters.sb3 import BatchVecEnv
from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError
from fastenv.registry import short_id
from training.bench import games, learning, ran
from training.bench.games import GameBenchmark
from training.bench.learning import Curve, Use
from training.nets.actor_critic import make_logits
from training.run import machine
from training.run.envs import make_engine, with_seating
from training.sb3.options import SB3Run
from training.sb3.policy import LogitsNet, check
from training.sb3.trainer import build
from training.sb3.vec import LENT, TrainerVecEnv

ADAPTERS = {"native": "BatchVecEnv", "dummy": "DummyVecEnv"}


class Iteration(NamedTuple):
    """One rollout and its update; times are in seconds.

    Parameters
    ----------
    wall_s, cpu_s : float
    collect_s : float
        Wall time of the rollout; the update is the rest.
    env_s, forward_s : float
        Of the environment, and of the policy's passes.
    reward : float
        Mean reward of a decision.
    """

    wall_s: float
    cpu_s: float
    collect_s: float
    env_s: float
    forward_s: float
    reward: float


class Stopwatch(BaseCallback):
    """Takes iterations of a trainer one by one, and times them.

    Parameters
    ----------
    trainer : BaseAlgorithm
        On-policy.
    vec : TrainerVecEnv

    Attributes
    ----------
    steps : int
        Decisions of an iteration.
    iterations : list of Iteration
    """

    def __init__(self, trainer: Any, vec: TrainerVecEnv) -> None:
        super().__init__()
        self._trainer, self._vec = trainer, vec
        self._paid: list[float] = []  # mean reward of each step of the rollout
        self.steps, self._forward_s = trainer.n_steps * vec.num_envs, 0.0
        self.iterations: list[Iteration] = []
        trainer.policy.register_forward_pre_hook(self._begin_forward)
        trainer.policy.register_forward_hook(self._end_forward)

    def iterate(self) -> None:
        """Take an iteration."""
        self._paid.clear()
        self._vec.busy_s = self._forward_s = 0.0
        wall, cpu = time.perf_counter(), time.process_time()
        self._trainer.learn(self.steps, callback=self, reset_num_timesteps=False)
        collect, reward = self._collected - wall, statistics.fmean(self._paid)
        spent = time.perf_counter() - wall, time.process_time() - cpu, collect
        self.iterations.append(Iteration(*spent, self._vec.busy_s, self._forward_s, reward))

    def _begin_forward(self, *_: Any) -> None:
        self._begun = time.perf_counter()

    def _end_forward(self, *_: Any) -> None:
        self._forward_s += time.perf_counter() - self._begun

    def _on_step(self) -> bool:
        # As the environment pays: SB3 adds values of truncated episodes to those in its buffer.
        self._paid.append(float(np.mean(self.locals["rewards"])))
        return True

    def _on_rollout_end(self) -> None:
        self._collected = time.perf_counter()

    def curve(self) -> Curve:
        """Return the rewards of all rollouts, the first one's included."""
        walls = [each.wall_s for each in self.iterations]
        seconds = [0.0, *itertools.accumulate(walls[:-1])]
        steps = [self.steps * k for k in range(len(walls))]
        return Curve(steps, seconds, [each.reward for each in self.iterations])


def time_stock(
    learner: Callable[..., Any],
    trainer: str,
    engine: BatchEngine,
    sizes: Mapping[str, Any],
    repeats: int,
) -> dict[str, Any]:
    """Train a stock trainer on one thread; return its speed and the share of the env.

    Parameters
    ----------
    learner : callable
        Makes the trainer for a ``VecEnv`` and ``sizes``.
    trainer : str
        Who trains, with its network.
    engine : BatchEngine
    sizes : mapping
        Arguments of the trainer that differ from its own defaults.
    repeats : int
        Iterations that are timed.
    """
    torch.set_num_threads(1)
    vec = TrainerVecEnv(BatchVecEnv(engine, **LENT))
    model = learner(vec, device="cpu", seed=0, **sizes)
    model.set_logger(Logger(None, []))
    watch, load = Stopwatch(model, vec), machine.load()
    for _ in range(1 + repeats):
        watch.iterate()
    vec.close()
    _, *iterations = watch.iterations
    fixed: dict[str, Any] = {"precision": "fp32", "device": "cpu", "torch_threads": 1}
    shares = [i.env_s / i.wall_s for i in iterations]
    how: dict[str, Any] = {"adapter": "BatchVecEnv", "trainer": trainer, "config": dict(sizes)}
    return {
        "ran": ran.describe_engine(engine, "iterations", **how, **fixed),
        "backend": engine.backend,
        "steps_per_s": statistics.median(watch.steps / i.wall_s for i in iterations),
        "steps_per_cpu_s": statistics.median(watch.steps / i.cpu_s for i in iterations),
        "share_env": statistics.median(shares),
        "share_env_all": shares,
        "load": [load, machine.load()],
        "noisy": max(load, machine.load()) > machine.physical_cores(),
    }


# -- MaskablePPO by the flags of a configuration ---------------------------------------------------


@dataclass(frozen=True)
class Flags:
    """Flags of a configuration; they combine freely.

    Parameters
    ----------
    use_numba, use_cython : bool
        The backend: kernels of observation, mask and reward; the compiled state core.
    net_arch : tuple of int
        Hidden layers of policy and value, separate networks.
    use_hierarchical : bool
        Two agents, one that decides what the other is to reach, instead of one.
    env : str
        Any id of one agent that SB3 can take; see :func:`training.sb3.policy.check`.
    n_envs, n_steps, batch, epochs : int
    vec : {"native", "dummy"}
        ``BatchVecEnv`` over one engine, or SB3's own over environments one by one.
    device : {"cpu", "cuda"}
        ``cuda`` is untested.
    threads : int
        Threads of torch and of the engine.
    opponent : str
        Of the other seats, in a game that has them.
    seed : int
    """

    use_numba: bool = False
    use_cython: bool = False
    net_arch: tuple[int, ...] = (256, 256)
    use_hierarchical: bool = False
    env: str = "SkullKingFlat-v0"
    n_envs: int = 8
    vec: str = "native"
    n_steps: int = 256
    batch: int = 512
    epochs: int = 4
    device: str = "cpu"
    threads: int = 1
    opponent: str = "rule_medium"
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        for name, allowed in {
            "env": tuple(map(short_id, fastenv.list_envs())),
            "vec": tuple(ADAPTERS),
            "device": ("cpu", "cuda"),
        }.items():
            value = getattr(self, name)
            if value not in allowed:
                raise ConfigError(f"{name}={value!r}: must be one of {', '.join(allowed)}")
        for name in ("n_envs", "n_steps", "batch", "epochs", "threads"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}={getattr(self, name)!r}: must be at least 1")

        if self.use_hierarchical and not (self.game.find("two_tiers") and self.vec == "native"):
            which = ", ".join(g.title for g in games.GAMES.values() if g.find("two_tiers"))
            raise ConfigError(
                f"use_hierarchical=True is for {which} on vec='native', not for {self.env} on "
                f"vec={self.vec!r}."
            )

    @property
    def backend(self) -> str:
        """Name of the backend the two flags stand for."""
        return fastenv.Backend(self.use_numba, self.use_cython).name

    @property
    def game(self) -> GameBenchmark:
        """The game of its environment."""
        return games.of(self.env)

    @property
    def options(self) -> dict[str, Any]:
        """Options of the environment."""
        own = {"opponents": self.opponent} if self.game.opponents else {}
        return with_seating(self.env, own)

    @property
    def config(self) -> SB3Run:
        """The run of the stock trainer that learns by these flags."""
        rollout = self.n_envs * self.n_steps
        sizes = {"n_steps": self.n_steps, "batch_size": rollout, "n_epochs": self.epochs}
        run = SB3Run.from_mapping(
            {
                "trainer": "sb3",
                "env": self.env,
                "num_envs": self.n_envs,
                "env_threads": self.threads if self.vec == "native" else 1,
                "torch_threads": self.threads,
                "device": self.device,
                "seed": self.seed,
                "ppo": {**sizes, "net_arch": list(self.net_arch)},
            }
        )
        # Stock PPO also takes minibatches that do not divide the rollout, which a run refuses.
        ppo = run.ppo.model_copy(update={"batch_size": self.batch})
        return run.model_copy(update={"ppo": ppo})


def make_vec_env(flags: Flags) -> VecEnv:
    """Return the environment of a configuration.

    Raises
    ------
    ConfigError
        If SB3 cannot take it.
    """
    if flags.vec == "native":
        engine = make_engine(
            flags.env, flags.n_envs, flags.options, backend=flags.backend, num_threads=flags.threads
        )
        check(engine)
        return BatchVecEnv(engine, **LENT)

    def one() -> Monitor:
        return Monitor(FastEnv(flags.env, backend=flags.backend, **flags.options))

    check(make_engine(flags.env, 1, flags.options, backend=flags.backend))
    return DummyVecEnv([one] * flags.n_envs)


def described(flags: Flags, vec: VecEnv) -> ran.Ran:
    """Describe the run of a configuration."""
    inner: Any = vec.unwrapped
    engine = inner.engine if flags.vec == "native" else inner.get_attr("engine", 0)[0]
    adapter = ADAPTERS[flags.vec]
    return ran.describe_run(flags.config, engine, "iterations", "fp32", adapter=adapter)


def measure(flags: Flags, steps: int, played: int, seconds: float = 0.0) -> dict[str, Any]:
    """Train once under the stopwatch and return the measured fields of a row.

    Parameters
    ----------
    flags : Flags
    steps : int
        Steps to time, after a first iteration that is not.
    played : int
        Whole games before and after, where the game has such; 0 plays none.
    seconds : float
        Wall time of those steps, at least.
    """
    torch.set_num_threads(flags.threads)
    vec = TrainerVecEnv(make_vec_env(flags))
    about = described(flags, vec)
    model = build(flags.config, vec)
    watch = Stopwatch(model, vec)
    try:
        before = play_games(model, flags, played)
        load = machine.load()
        with Use(gpu=flags.device == "cuda") as use:
            watch.iterate()
            wall, timed = 0.0, 0
            while timed < steps or wall < seconds:
                watch.iterate()
                wall, timed = wall + watch.iterations[-1].wall_s, timed + watch.steps
        after = play_games(model, flags, played)
    finally:
        vec.close()
    wall, cpu, collect, env, forward, _ = map(sum, zip(*watch.iterations[1:], strict=True))
    share = {"env": env, "forward": forward, "update": wall - collect}
    share["other"] = wall - sum(share.values())
    seconds_of = {"wall": wall, "cpu": cpu, "collect": collect, "update": wall - collect}
    return {
        "ran": about,
        **learning.describe_speed(timed, seconds_of, share, use),
        "points_before": before.get("points"),
        "points_after": after.get("points"),
        **learning.describe(watch.curve(), learning.find_goal(flags.env)),
        "trained_steps": model.num_timesteps,
        "noisy": max(load, machine.load()) > machine.physical_cores(),
    }


def play_games(model: MaskablePPO, flags: Flags, played: int) -> dict[str, float]:
    """Return the means of whole games that a policy plays, none where the game has no such."""
    whole_games = flags.game.find("whole_games") if played else None
    if whole_games is None:
        return {}
    figures: dict[str, float] = whole_games(make_logits(LogitsNet(model.policy)), flags.env, played)
    return figures

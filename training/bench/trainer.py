"""Time stock MaskablePPO by the flags of a configuration."""

from __future__ import annotations

import resource
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv

import fastenv
from fastenv import FastEnv
from fastenv.adapters.sb3 import BatchVecEnv
from fastenv.errors import ConfigError
from fastenv.registry import short_id
from training.bench import games, ran
from training.bench.games import GameBenchmark
from training.bench.stock import Stopwatch
from training.ppo.options import PPOConfig
from training.run import machine
from training.run.envs import make_engine, with_seating
from training.sb3.policy import check, logits_of, policy_kwargs
from training.sb3.vec import LENT, TimedVecEnv

ADAPTERS = {"native": "BatchVecEnv", "dummy": "DummyVecEnv", "subproc": "SubprocVecEnv"}


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
    vec : {"native", "dummy", "subproc"}
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
    makers: list[Callable[[], Any]] = [one] * flags.n_envs
    if flags.vec == "dummy":
        return DummyVecEnv(makers)
    return SubprocVecEnv(makers, start_method="forkserver")


def described(flags: Flags, vec: VecEnv) -> ran.Ran:
    """Describe the run of a configuration."""
    inner: Any = vec.unwrapped
    engine = inner.engine if flags.vec == "native" else inner.get_attr("engine", 0)[0]
    return ran.describe_engine(
        engine,
        "iterations",
        adapter=ADAPTERS[flags.vec],
        num_envs=vec.num_envs,
        trainer="sb3",
        device=flags.device,
        precision="fp32",
        torch_threads=flags.threads,
        rollout_steps=flags.n_steps,
        minibatch=flags.batch,
        epochs=flags.epochs,
        net_arch=flags.net_arch,
        activation=PPOConfig().activation,
    )


def make_model(flags: Flags, vec: VecEnv) -> MaskablePPO:
    """Make stock MaskablePPO by the flags of a configuration."""
    ppo = PPOConfig(net_arch=flags.net_arch, batch_size=flags.batch)
    several = isinstance(vec.observation_space, spaces.Dict)
    model = MaskablePPO(
        "MultiInputPolicy" if several else "MlpPolicy",
        vec,
        n_steps=flags.n_steps,
        batch_size=flags.batch,
        n_epochs=flags.epochs,
        policy_kwargs=policy_kwargs(ppo),
        seed=flags.seed,
        device=flags.device,
    )
    model.set_logger(Logger(None, []))
    return model


def measure(flags: Flags, steps: int, played: int) -> dict[str, Any]:
    """Train once under the stopwatch and return the measured fields of a row.

    Parameters
    ----------
    flags : Flags
    steps : int
        Steps to time, after a first iteration that is not.
    played : int
        Whole games before and after, where the game has such; 0 plays none.
    """
    torch.set_num_threads(flags.threads)
    vec = TimedVecEnv(make_vec_env(flags))
    about = described(flags, vec)
    model = make_model(flags, vec)
    watch = Stopwatch(vec, lambda seen: sum(i.steps for i in seen) >= steps)
    try:
        before = play_games(model, flags, played)
        load = machine.load()
        model.learn(total_timesteps=1 << 40, callback=watch)
        after = play_games(model, flags, played)
    finally:
        vec.close()
    timed, wall, collect, cpu = (
        sum(getattr(i, name) for i in watch.iterations)
        for name in ("steps", "wall_s", "collect_s", "cpu_s")
    )
    share = {k: sum(i.phases[k] for i in watch.iterations) for k in ("env", "forward")}
    share["update"] = wall - collect
    share["other"] = wall - sum(share.values())
    return {
        "ran": about,
        "steps_per_s": timed / wall,
        "steps_per_cpu_s": timed / cpu,
        "collect_steps_per_s": timed / collect,
        "update_steps_per_s": timed / (wall - collect),
        **{f"share_{name}": seconds / wall for name, seconds in share.items()},
        "cpu_seconds_per_step": cpu / timed,
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "points_before": before.get("points"),
        "points_after": after.get("points"),
        **watch.reward_change(),
        "trained_steps": model.num_timesteps,
        "noisy": max(load, machine.load()) > machine.physical_cores(),
    }


def play_games(model: MaskablePPO, flags: Flags, played: int) -> dict[str, float]:
    """Return the means of whole games that a policy plays, none where the game has no such."""
    whole_games = flags.game.find("whole_games") if played else None
    return {} if whole_games is None else whole_games(logits_of(model.policy), flags.env, played)

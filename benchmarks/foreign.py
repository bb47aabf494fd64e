"""Our PPO in CartPole beside Stable-Baselines3's: same net, batches and epochs, timed in turns.

The environment alone is timed too, stepped by hand: what is left of both is the work of the
trainers.
"""

from __future__ import annotations

import statistics
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

from benchmarks.learners import Timed
from training.bench.runner import Options, Suite
from training.bench.tables import Column, rows_table, span
from training.bench.targets import Row
from training.bench.timing import Sample, Work, interleaved, summary
from training.run.config import RunConfig
from training.run.config_files import merge
from training.run.layers import find_best_options

ENV = "CartPole-v1"
LANES = (8, 64)
OURS, STOCK, ALONE = "native", "SB3 PPO, DummyVecEnv", "environment alone"


def make_config(lanes: int) -> Any:
    """Make the run of a row: the options of foreign environments, in float32 on one thread."""
    _, usual = find_best_options(ENV, "native")
    own = {"env": ENV, "num_envs": lanes, "total_steps": 1 << 40, "device": "cpu"}
    return RunConfig.from_mapping(
        merge(usual, {**own, "torch_threads": 1, "ppo": {"precision": "fp32", "batch_size": 256}})
    )


def make_stock(config: Any) -> Work:
    """Make the work of an iteration of SB3's PPO with the options of a run."""
    ppo, lanes = config.ppo, config.num_envs
    activation = {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU}[ppo.activation]
    model = PPO(
        "MlpPolicy",
        make_vec_env(ENV, n_envs=lanes, seed=1),
        learning_rate=ppo.learning_rate,
        n_steps=ppo.n_steps,
        batch_size=ppo.batch_size,
        n_epochs=ppo.n_epochs,
        gamma=ppo.gamma,
        gae_lambda=ppo.gae_lambda,
        policy_kwargs={"net_arch": list(ppo.net_arch), "activation_fn": activation},
        seed=1,
        device="cpu",
    )

    def iterate() -> None:
        model.learn(config.rollout, reset_num_timesteps=False)

    return Work(iterate, config.rollout, lambda: torch.set_num_threads(1))


def make_alone(lanes: int) -> Work:
    """Make the work of stepping the environments by hand, with recorded actions."""
    envs = [gymnasium.make(ENV) for _ in range(lanes)]
    actions = np.random.default_rng(0).integers(2, size=(256, lanes)).tolist()
    for k, env in enumerate(envs):
        env.reset(seed=k)

    def play() -> None:
        for batch in actions:
            for env, action in zip(envs, batch, strict=True):
                _, _, terminated, truncated, _ = env.step(action)
                if terminated or truncated:
                    env.reset()

    return Work(play, 256 * lanes)


def measure(options: Options) -> list[Row]:
    """Time both trainers and the environment, with few lanes and with many."""
    measured: list[Row] = []
    for lanes in LANES:
        config = make_config(lanes)
        ours = Timed(config)
        works = {OURS: ours.work(), STOCK: make_stock(config), ALONE: make_alone(lanes)}
        samples = interleaved(works, options.repeats, options.seconds)
        own, stock, alone = (_spent(samples[name]) for name in (OURS, STOCK, ALONE))
        less = [(b - c) / (a - c) for a, b, c in zip(own, stock, alone, strict=True)]
        whole = [b / a for a, b in zip(own, stock, strict=True)]
        row = ours.row(samples[OURS]) | {"name": OURS}
        row |= {"ratio_per_cpu_s": statistics.median(whole), "ratio_per_cpu_s_all": whole}
        row |= {"ratio_without_env": statistics.median(less), "ratio_without_env_all": less}
        measured.append(row)
        for name in (STOCK, ALONE):
            ran = {"timed": name, "env": ENV, "num_envs": lanes, "beside": OURS}
            timed = {"kind": "trainer", "mode": "train", "name": name, "ran": ran, "env": ENV}
            measured.append(timed | {"num_envs": lanes} | summary(samples[name], 1))
        ours.trainer.close()
    return measured


def _spent(samples: list[Sample]) -> list[float]:
    """Return the CPU seconds of a decision in each repeat."""
    return [1 / each.per_cpu_s for each in samples]


COLUMNS: dict[str, Column] = {
    "what": "{name}",
    "lanes": "{num_envs}",
    "per CPU-s": "{steps_per_cpu_s:,.0f}",
    "times SB3": lambda row: f"{row['ratio_per_cpu_s']:.2f}" if row["name"] == OURS else "",
    "without the environment": (
        lambda row: f"{row['ratio_without_env']:.2f}" if row["name"] == OURS else ""
    ),
    "min..max": lambda row: (
        span("ratio_without_env_all", ".2f")(row) if row["name"] == OURS else ""
    ),
}
SUITE = Suite(
    measure,
    tables=(
        lambda rows: rows_table(f"{ENV}, decisions a CPU second, in turns", COLUMNS, rows, left=1),
    ),
    title="Bars of foreign environments; medians of {repeats}",
    targets=("foreign",),
    seconds=4.0,
    short_seconds=1.0,
)

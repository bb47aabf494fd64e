"""Our PPO in CartPole beside Stable-Baselines3's, and the 8-puzzle in plain Python and ported.

CartPole: same net, batches and epochs, timed in turns. The environment alone is timed too, stepped
by hand: what is left of both is the work of the trainers.

The 8-puzzle of ``docs/examples/`` is the same game three times: an environment of Gymnasium, a
reference of fastenv, and that in Numba. Each is stepped with the same actions from the same seeds,
and trained by the same options.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

import fastenv
from benchmarks.learners import Timed
from fastenv.testing.factories import Source
from training.bench.ran import describe_engine
from training.bench.runner import BenchmarkOptions, Suite
from training.bench.targets import Row
from training.bench.timing import Sample, Work, interleaved, summary
from training.run.config import RunConfig
from training.run.config_files import merge
from training.run.option_layers import find_usual_options

ENV = "CartPole-v1"
LANES = (8, 64)
OURS, STOCK, ALONE = "native", "SB3 PPO, DummyVecEnv", "environment alone"
# The 8-puzzle: environment and backend of each way to write it, the plain one first.
PLAIN = "plain Gymnasium"
WAYS = {
    PLAIN: ("docs.examples.eight_puzzle:EightPuzzle", "auto"),
    "fastenv, reference": ("EightPuzzle-v0", "reference"),
    "fastenv, Numba": ("EightPuzzle-v0", "fast"),
}
STEPPED, TRAINED = "stepped", "trained"
BATCHES = 256  # of recorded actions


def make_config(lanes: int, env: str = ENV, backend: str = "auto") -> Any:
    """Make the run of a row: the options of foreign environments, in float32 on one thread."""
    _, usual = find_usual_options(ENV, "native")
    own = {"env": env, "num_envs": lanes, "total_steps": 1 << 40, "device": "cpu"}
    own |= {"backend": backend, "torch_threads": 1}
    ppo = {"precision": "fp32", "batch_size": 256}
    return RunConfig.from_mapping(merge(usual, {**own, "ppo": ppo}))


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


def make_actions(lanes: int, count: int) -> Any:
    """Draw actions of all lanes, legal or not, the same ones every time."""
    return np.random.default_rng(0).integers(count, size=(BATCHES, lanes))


def make_alone(make: Callable[[], Any], lanes: int, masked: bool = False) -> Work:
    """Make the work of stepping environments by hand, and of asking for masks if they have any."""
    envs = [make() for _ in range(lanes)]
    actions = make_actions(lanes, envs[0].action_space.n).tolist()
    for k, env in enumerate(envs):
        env.reset(seed=k)

    def play() -> None:
        for batch in actions:
            for env, action in zip(envs, batch, strict=True):
                _, _, terminated, truncated, _ = env.step(action)
                if terminated or truncated:
                    env.reset()
                if masked:
                    env.action_masks()

    return Work(play, BATCHES * lanes)


def make_stepped(engine: fastenv.BatchEngine) -> Work:
    """Make the work of stepping all lanes of an engine, with the same seeds and actions."""
    actions = make_actions(engine.num_envs, engine.num_actions)
    engine.reset_many(seeds=0)

    def play() -> None:
        for batch in actions:
            engine.step_many(batch)

    return Work(play, BATCHES * engine.num_envs)


def measure(options: BenchmarkOptions) -> list[Row]:
    """Time both parts, with few lanes and with many."""
    return [*measure_trainers(options), *(r for n in LANES for r in measure_puzzle(options, n))]


def measure_trainers(options: BenchmarkOptions) -> list[Row]:
    """Time both trainers and the environment."""
    measured: list[Row] = []
    for lanes in LANES:
        config = make_config(lanes)
        ours = Timed(config)
        alone_work = make_alone(partial(gymnasium.make, ENV), lanes)
        works = {OURS: ours.work(), STOCK: make_stock(config), ALONE: alone_work}
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


def measure_puzzle(options: BenchmarkOptions, lanes: int) -> list[Row]:
    """Time the 8-puzzle in each way, stepped and trained, in turns."""
    works: dict[str, Work] = {}
    rows: dict[str, Callable[[list[Sample]], Row]] = {}
    learners = []
    for way, (env, backend) in WAYS.items():
        stepped, trained = (f"{way}, {what}" for what in (STEPPED, TRAINED))
        learner = Timed(make_config(lanes, env, backend))
        learners.append(learner)
        works[trained], rows[trained] = learner.work(), learner.row
        if way == PLAIN:
            works[stepped] = make_alone(Source(env).make, lanes, masked=True)
            ran: Row = {"timed": "step and action_masks", "env": env, "num_envs": lanes}
        else:
            engine = fastenv.make_engine(env, lanes, backend=backend)
            works[stepped], ran = make_stepped(engine), describe_engine(engine, "step_many")
        rows[stepped] = partial(_row_of_steps, ran)
    samples = interleaved(works, options.repeats, options.seconds)
    for learner in learners:
        learner.trainer.close()
    measured = []
    for name in works:
        way, _, what = name.rpartition(", ")
        plain = samples[f"{PLAIN}, {what}"]
        over = [a.per_cpu_s / b.per_cpu_s for a, b in zip(samples[name], plain, strict=True)]
        row = rows[name](samples[name]) | {"name": name, "way": way, "what": what}
        measured.append(row | {"over_plain": statistics.median(over), "over_plain_all": over})
    return measured


def _row_of_steps(ran: Row, samples: list[Sample]) -> Row:
    """Return the row of lanes that were stepped."""
    about = {"kind": "env", "ran": ran, "env": ran["env"], "num_envs": ran["num_envs"]}
    return about | summary(samples, 1)


def _spent(samples: list[Sample]) -> list[float]:
    """Return the CPU seconds of a decision in each repeat."""
    return [1 / each.per_cpu_s for each in samples]


SUITE = Suite(
    measure,
    title="Bars of foreign environments; medians of {repeats}",
    targets=("foreign",),
    seconds=4.0,
    short_seconds=1.0,
)

"""The replay family: its store, its trainer beside SB3's DQN, and pixels.

Rows of :func:`all_rows` are one a work; all of a target are timed in turns.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from benchmarks.learners import Timed, in_turns
from training.bench import ran, timing
from training.bench.runner import Suite
from training.bench.targets import Row
from training.bench.timing import Work, summary
from training.dqn.priorities import Priorities
from training.dqn.replay import ReplayLanes, TensorReplay
from training.nets.precision import cpu_has_bf16
from training.run.config import RunConfig
from training.run.envs import make_engine

LANES, CAPACITY, BATCH = 512, 1 << 20, 256
ENV = RunConfig.get_default("env")
PIXELS: dict[str, Any] = {  # frames of which both families learn
    "env": "GameBoyPixels-v0",
    "env_options": {"pixels": "84x84", "stack_k": 4, "states": "lantern_walk"},
}
DRAWS = 200  # of a piece of work
SB3_STEPS, STARTS = 4096, 1024


def all_rows(repeats: int, seconds: float) -> list[Row]:
    """Measure everything the targets need, on one thread.

    Parameters
    ----------
    repeats : int
    seconds : float
        Timed work of a repeat, at least.
    """
    torch.set_num_threads(1)
    stored = with_difference(timing.rows(store_works(), repeats, seconds))
    others = timing.rows(end_to_end_works(), repeats, seconds)
    acting = timing.rows(acting_works(), repeats, seconds)
    acting[-1]["judged"] = True  # in bf16, where the processor has it
    return [*stored, *others, *acting, *share_rows(repeats, seconds)]


def with_difference(rows: list[Row]) -> list[Row]:
    """Add to the row of drawing by priority the microseconds that it takes beyond the uniform."""
    row = {each["name"]: each for each in rows}
    every = (row[name]["steps_per_cpu_s_all"] for name in ("uniform", "prioritised"))
    beyond = [1e6 / more - 1e6 / less for less, more in zip(*every, strict=True)]
    row["prioritised"]["us_beyond_uniform"] = statistics.median(beyond)
    row["prioritised"]["us_beyond_uniform_all"] = beyond
    return rows


def _make_row(described: Callable[[], ran.Ran]) -> Row:
    return {"kind": "replay", "ran": described()}


def store_works(capacity: int = CAPACITY, lanes: int = LANES) -> dict[str, Work]:
    """Prepare writing rows of decisions, and sampling a full replay uniformly and by priority.

    Writing includes that of the observation, which an engine would write into the replay itself.
    """
    engine = make_engine(ENV, lanes)
    engine.reset_many(seeds=0)
    replay = TensorReplay(engine, lanes, capacity, n_step=3)
    part, action = ReplayLanes(replay, 0, engine), torch.zeros(lanes, dtype=torch.int64)
    part.legal[:] = engine.mask

    def write() -> None:
        for _ in range(DRAWS):
            part.destination(behind=True)[:] = engine.obs
            part.store(action)
            replay.advance()

    for _ in range(replay.rows // DRAWS + 1):
        write()
    priorities = Priorities(replay.rows * lanes, 0.6)
    draws = np.random.default_rng(0)
    priorities.add(0, replay.rows * lanes)
    every = np.arange(replay.rows * lanes)
    priorities.update(every, draws.exponential(size=len(every)))
    for age in range(replay.n_step):  # rows whose windows are not finished
        priorities.remove((replay.head - age) % replay.rows * lanes, lanes)
    error = torch.from_numpy(draws.exponential(size=BATCH)).float()

    def uniform() -> None:
        for _ in range(DRAWS):
            replay.sample(BATCH)

    def prioritised() -> None:
        for _ in range(DRAWS):
            replay.update_priorities(replay.sample(BATCH, 0.4).index, error)

    def work(run: Callable[[], None], steps: int, order: Priorities | None, timed: str) -> Work:
        sizes = {"capacity": capacity, "n_step": replay.n_step}
        how: dict[str, Any] = {"adapter": "TensorReplay", "config": sizes}
        about = partial(ran.describe_engine, engine, timed, torch_threads=1, minibatch=BATCH, **how)
        choose = partial(setattr, replay, "priorities", order)
        return Work(run, steps, choose, partial(_make_row, about))

    return {
        "write": work(write, DRAWS * lanes, None, "decisions stored"),
        "uniform": work(uniform, DRAWS, None, "minibatches by chance"),
        "prioritised": work(prioritised, DRAWS, priorities, "minibatches by priority"),
    }


def dqn_config(lanes: int) -> Any:
    """Make the run of our DQN with network and batches of SB3's, in the precision it chooses."""
    return RunConfig.from_mapping(
        {
            **{"env": ENV, "trainer": "dqn", "num_envs": lanes, "torch_threads": 1},
            **{"total_steps": 10**9, "device": "cpu"},
            "env_options": {"invalid_action": "penalty", "opponents": "rule_medium"},
            "dqn": {
                **{"capacity": 100_000, "batch_size": BATCH, "learning_starts": STARTS},
                **{"replay_ratio": 8.0, "iteration_steps": SB3_STEPS // lanes, "n_step": 1},
                **{"double": False, "dueling": False, "num_quantiles": 1, "precision": "auto"},
            },
        }
    )


def end_to_end_works() -> dict[str, Work]:
    """Prepare SB3's DQN on one env, and ours on one lane and on 64, with equal updates a step."""
    from stable_baselines3 import DQN

    import fastenv

    env = fastenv.make(ENV, invalid_action="penalty", opponents="rule_medium")
    model = DQN(
        "MlpPolicy",
        env,
        learning_rate=1e-4,
        buffer_size=100_000,
        learning_starts=STARTS,
        batch_size=BATCH,
        train_freq=BATCH // 8,
        gradient_steps=1,
        target_update_interval=2000,
        policy_kwargs={"net_arch": [256, 256]},
        device="cpu",
        seed=0,
    )
    learn = partial(model.learn, SB3_STEPS, reset_num_timesteps=False)
    config = dqn_config(1)
    theirs = {"trainer": "SB3's DQN", "adapter": "DummyVecEnv"}
    engine: Any = env.unwrapped
    about = partial(ran.describe_run, config, engine.engine, "iterations", "fp32", **theirs)
    name = "SB3's DQN, one env"
    works = {name: Work(learn, SB3_STEPS, row=partial(_make_row, about))}
    for lanes in (1, 64):
        name, timed = f"ours, lanes {lanes}", Timed(dqn_config(lanes))
        works[name] = replace(timed.work(), row=partial(_make_row, timed.ran))
    return works


def acting_works() -> dict[str, Work]:
    """Prepare choosing actions alone, in fp32 and, where the processor has it, bf16."""
    works = {}
    for precision in ("fp32", "bf16") if cpu_has_bf16() else ("fp32",):
        config = dqn_config(LANES)
        config = config.replace(dqn=config.dqn.replace(precision=precision))
        timed, name = Timed(config), f"acting {precision}"
        trainer = timed.trainer
        trainer.start()

        def act(trainer: Any = trainer) -> None:
            for _ in range(DRAWS):
                trainer.choose(0.05)

        about = partial(ran.describe_run, config, timed.engine, "actions chosen", precision)
        works[name] = Work(act, DRAWS * LANES, row=partial(_make_row, about))
    return works


def share_rows(repeats: int, seconds: float) -> list[Row]:
    """Measure PPO and DQN on frames of 84 x 84 x 4, with the environment's share of wall time."""
    ppo = {"n_steps": 16, "batch_size": 256, "n_epochs": 4, "net_arch": [512]}
    native = {"trunk": "shared", "encoder": "conv"}
    dqn = {"capacity": 4096, "learning_starts": 1024, "iteration_steps": 16, "net_arch": [512]}
    sizes = {"num_envs": 64, "total_steps": 10**9, "torch_threads": 1, **PIXELS}
    learners = {
        "PPO": Timed(RunConfig.from_mapping({**sizes, "ppo": ppo, "native": native})),
        "DQN": Timed(RunConfig.from_mapping({**sizes, "trainer": "dqn", "dqn": dqn})),
    }
    learners["DQN"].trainer.iterate()  # up to where it learns
    samples = in_turns(learners, repeats, seconds)
    return [
        {"name": f"pixels {name}"} | _make_row(each.ran) | each.share() | summary(samples[name])
        for name, each in learners.items()
    ]


SUITE = Suite(
    lambda options: all_rows(options.repeats, options.seconds),
    title="Bars of the replay; CPU time, medians of {repeats}",
    targets=("replay",),
    short_seconds=0.5,
)

"""The replay family: its store, its trainer beside SB3's DQN, and pixels.

Rows of :func:`all_rows` are one a work; all of a target are timed in turns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from training.bench import games, ran, timing
from training.bench.learners import Timed, in_turns
from training.bench.suite import Suite
from training.bench.targets import Row, at_most, env_share, ratio, speed, time_of_step
from training.bench.timing import Work, summary
from training.dqn.priorities import Priorities
from training.dqn.replay import ReplayLanes, TensorReplay
from training.nets.precision import cpu_has_bf16
from training.run.config import RunConfig
from training.run.envs import make_engine

LANES, CAPACITY, BATCH = 512, 1 << 20, 256
ENV = RunConfig.get_default("env")
WRITE, SAMPLE_US, PRIORITY_US = 5_000_000, 200.0, 60.0
OVER_SB3, ACTING, PIXEL_SHARE = 4.0, 100_000, 0.05
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
    parts = (store_works, end_to_end_works, acting_works)
    rows = [row for works in parts for row in timing.rows(works(), repeats, seconds)]
    return rows + share_rows(repeats, seconds)


def _make_row(name: str, described: Callable[[], ran.Ran]) -> Row:
    return {"kind": "replay", "name": name, "ran": described()}


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

    def work(
        name: str, run: Callable[[], None], steps: int, order: Priorities | None, timed: str
    ) -> Work:
        sizes = {"capacity": capacity, "n_step": replay.n_step}
        how: dict[str, Any] = {"adapter": "TensorReplay", "config": sizes}
        about = partial(ran.describe_engine, engine, timed, torch_threads=1, minibatch=BATCH, **how)
        choose = partial(setattr, replay, "priorities", order)
        return Work(run, steps, choose, partial(_make_row, name, about))

    return {
        "write": work("write", write, DRAWS * lanes, None, "decisions stored"),
        "uniform": work("uniform", uniform, DRAWS, None, "minibatches by chance"),
        "prioritised": work(
            "prioritised", prioritised, DRAWS, priorities, "minibatches by priority"
        ),
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
    works = {name: Work(learn, SB3_STEPS, row=partial(_make_row, name, about))}
    for lanes in (1, 64):
        name, timed = f"ours, lanes {lanes}", Timed(dqn_config(lanes))
        works[name] = replace(timed.work(), row=partial(_make_row, name, timed.ran))
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
        works[name] = Work(act, DRAWS * LANES, row=partial(_make_row, name, about))
    return works


def share_rows(repeats: int, seconds: float) -> list[Row]:
    """Measure PPO and DQN on frames of 84 x 84 x 4, with the environment's share of wall time."""
    ppo = {"n_steps": 16, "batch_size": 256, "n_epochs": 4, "net_arch": [512]}
    native = {"trunk": "shared", "encoder": "conv"}
    dqn = {"capacity": 4096, "learning_starts": 1024, "iteration_steps": 16, "net_arch": [512]}
    sizes = {"num_envs": 64, "total_steps": 10**9, "torch_threads": 1, **games.pixels()}
    learners = {
        "PPO": Timed(RunConfig.from_mapping({**sizes, "ppo": ppo, "native": native})),
        "DQN": Timed(RunConfig.from_mapping({**sizes, "trainer": "dqn", "dqn": dqn})),
    }
    learners["DQN"].trainer.iterate()  # up to where it learns
    samples = in_turns(learners, repeats, seconds)
    return [
        _make_row(f"pixels {name}", each.ran) | each.share() | summary(samples[name])
        for name, each in learners.items()
    ]


def judge(rows: list[Row]) -> list[Row]:
    """Return the targets of :func:`all_rows`."""
    row = {one["name"]: one for one in rows}
    fewer, more = (
        [1e6 / x for x in row[name]["steps_per_cpu_s_all"]] for name in ("uniform", "prioritised")
    )
    beyond = [b - a for a, b in zip(fewer, more, strict=True)]
    what = f"batch {BATCH}, 3-step, of {CAPACITY:,}: us"
    acting, sb3 = row.get("acting bf16", row["acting fp32"]), row["SB3's DQN, one env"]
    return [
        speed(f"replay: transitions written, {LANES} lanes", WRITE, row["write"]),
        time_of_step(f"replay: uniform sample, {what}", SAMPLE_US, row["uniform"]),
        at_most(
            f"replay: priorities beyond uniform, {what}", PRIORITY_US, beyond, row["prioritised"]
        ),
        speed(f"{acting['name']}, {LANES} lanes, 256x256", ACTING, acting),
        *(
            ratio(
                f"DQN, {lanes} lanes, over SB3's DQN on one env, replay ratio 8",
                *(OVER_SB3, row[f"ours, lanes {lanes}"], sb3),
            )
            for lanes in (1, 64)
        ),
        *(
            env_share(
                f"{name} on pixels 84x84x4, 64 lanes: env share",
                *(PIXEL_SHARE, row[f"pixels {name}"]),
            )
            for name in ("PPO", "DQN")
        ),
    ]


SUITE = Suite(
    name="replay",
    rows=all_rows,
    judge=judge,
    title=lambda options: f"Bars of the replay; CPU time, medians of {options.repeats}",
    short_seconds=0.5,
)

"""What a GPU is checked for: tests, bars of training, captured graphs, the device replay."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from training.bench import cuda
from training.bench.timing import Work, interleaved, summary
from training.dqn.options import DQNConfig
from training.dqn.run import DQNLearner
from training.ppo.parts import NativeLearner
from training.run import machine
from training.run.config import RunConfig

LANES = 8192
DQN_LANES = 256
TESTS = (sys.executable, "-m", "pytest", "-q", "-m", "gpu", "tests")


def tests() -> bool:
    """Run the tests of a CUDA device, untested as long as no record says so; tell if all passed."""
    return subprocess.run(TESTS, cwd=machine.ROOT, check=False).returncode == 0


def check(repeats: int, seconds: float, lanes: int = LANES) -> dict[str, Any]:
    """Return what was measured, as JSON values.

    Parameters
    ----------
    repeats : int
    seconds : float
        Of a repeat, at least.
    lanes : int
    """
    rows = cuda.rows(repeats, seconds, lanes)
    return {
        "kind": "gpu check",
        "created_utc": machine.now(),
        **machine.revision(),
        "host": machine.host(),
        "versions": machine.versions(),
        "gpu": machine.gpu(),
        "cuda": torch.version.cuda,
        "rows": rows,
        "bars": cuda.bars(rows),
        "compile": timed(graphs(lanes), repeats, seconds),
        "replay": timed(replays(DQN_LANES), repeats, seconds),
    }


def graphs(lanes: int) -> dict[str, RunConfig]:
    """Return the setting of the bars, in one group, with each way to compile."""
    config = cuda.setting(epochs=4, lanes=lanes)
    return {
        how: replace(config, native=replace(config.native, env_groups=1, compile=how))
        for how in ("off", "default", "reduce-overhead")
    }


def replays(lanes: int) -> dict[str, RunConfig]:
    """Return DQN on the same environment, with its replay on the device and in host memory."""
    return {
        where: RunConfig(
            trainer="dqn",
            num_envs=lanes,
            total_steps=1 << 40,
            torch_threads=1,
            device="cuda",
            env_options={"opponents": "rule_medium"},
            dqn=DQNConfig(
                capacity=1024 * lanes,
                learning_starts=32 * lanes,
                batch_size=16 * lanes,
                iteration_steps=16,
                replay_device=where,
            ),
        )
        for where in ("auto", "cpu")
    }


def timed(
    configs: Mapping[str, RunConfig], repeats: int, seconds: float
) -> dict[str, dict[str, Any]]:
    """Time whole iterations of trainers, in turns; return a summary of each, by name."""
    learners: dict[str, Any] = {
        name: (DQNLearner if config.trainer == "dqn" else NativeLearner)(config)
        for name, config in configs.items()
    }

    def iterate(name: str) -> Callable[[], None]:
        def work() -> None:
            learners[name].trainer.iterate()
            torch.cuda.synchronize()  # the update of the last iteration belongs to it

        return work

    works = {name: Work(iterate(name), config.rollout) for name, config in configs.items()}
    samples = interleaved(works, repeats, seconds)
    for learner in learners.values():
        learner.close()
    return {name: summary(samples[name]) for name in configs}

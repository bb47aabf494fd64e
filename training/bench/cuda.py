"""The native trainer on a GPU: speed, how busy the GPU is, and where the time of a step goes."""

from __future__ import annotations

import statistics
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from training.bench import trainers
from training.bench.timing import Work, interleaved
from training.bench.verdicts import bar, unmeasured_bar
from training.ppo.options import NativeConfig, PPOConfig
from training.ppo.parts import NativeLearner
from training.run import machine
from training.run.config import RunConfig

MODE = "cuda"
LANES = 8192
SPEED = {4: 500_000, 1: 1_000_000}  # epochs to steps a second
BUSY = 80.0
NO_DEVICE = "this machine has no CUDA device"


def setting(epochs: int, lanes: int = LANES) -> RunConfig:
    """Return what is trained: the Worker, 256-256; two groups of lanes keep CPU and GPU at work."""
    cores = machine.physical_cores()
    return RunConfig(
        num_envs=lanes,
        total_steps=1 << 40,
        env_threads=max(1, cores - 1),
        torch_threads=1,
        device="cuda",
        env_options={"opponents": "rule_medium"},
        ppo=PPOConfig(n_steps=32, batch_size=4 * lanes, n_epochs=epochs, activation="tanh"),
        native=NativeConfig(env_groups=2),
    )


def rows(repeats: int, seconds: float, lanes: int = LANES) -> list[dict[str, Any]]:
    """Return a row for each number of epochs, timed in turns.

    Parameters
    ----------
    repeats : int
    seconds : float
    lanes : int
    """
    configs = {epochs: setting(epochs, lanes) for epochs in SPEED}
    learners = {epochs: NativeLearner(config) for epochs, config in configs.items()}
    busy: dict[int, list[float]] = {epochs: [] for epochs in SPEED}

    def iterate(epochs: int) -> None:
        with Utilisation() as seen:
            learners[epochs].trainer.iterate()
            torch.cuda.synchronize()
        busy[epochs] += seen.values

    works = {
        str(epochs): Work(lambda epochs=epochs: iterate(epochs), config.rollout)  # type: ignore[misc]
        for epochs, config in configs.items()
    }
    samples = interleaved(works, repeats, seconds)
    found = []
    for epochs, config in configs.items():
        chosen = learners[epochs].engines[0], learners[epochs].precision
        row = trainers.row("native", config, *chosen, samples[str(epochs)], MODE)
        percent = statistics.fmean(busy[epochs]) if busy[epochs] else None
        found.append(row | {"gpu_busy_percent": percent, "us_per_step": split(config)})
        learners[epochs].close()
    return found


def split(config: RunConfig) -> dict[str, float]:
    """Return the microseconds of each phase of a step; timers wait for the GPU at each boundary."""
    learner = NativeLearner(replace(config, native=NativeConfig(timers=True)))
    learner.trainer.iterate()
    phases = learner.trainer.iterate()["phases"]
    learner.close()
    return {name: seconds / config.rollout * 1e6 for name, seconds in phases.items()}


class Utilisation:
    """Asks, ten times a second while it is entered, how busy the GPU has been.

    Attributes
    ----------
    values : list of float
        Per cent; empty without NVIDIA's management library (``nvidia-ml-py``).
    """

    def __init__(self) -> None:
        self.values: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Utilisation:
        """Begin to ask."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        try:
            while not self._over.wait(0.1):
                self.values.append(float(torch.cuda.utilization()))
        except (ModuleNotFoundError, RuntimeError):
            return


def bars(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the bars of a GPU: not measured without one."""
    found = {r["epochs"]: r for r in rows if r["mode"] == MODE}
    judged = []
    for epochs, asked in SPEED.items():
        what = f"GPU, worker, 256-256, {LANES} lanes, epochs {epochs}: steps a second"
        if epochs not in found:
            judged.append(unmeasured_bar(what, asked, NO_DEVICE))
            continue
        row = found[epochs]
        every, speed = row["steps_per_s_all"], row["steps_per_s"]
        judged.append(bar(what, asked, speed, every=every, wall=speed, noisy=row["noisy"]))
    what = "GPU busy, epochs 4, per cent"
    percent = found[4]["gpu_busy_percent"] if found else None
    if percent is None:
        reason = "nvidia-ml-py is not installed" if found else NO_DEVICE
        return [*judged, unmeasured_bar(what, BUSY, reason)]
    return [*judged, bar(what, BUSY, percent, noisy=found[4]["noisy"])]

"""Benchmark of the native trainer on a GPU: speed, utilisation, and the phases of a step."""

from __future__ import annotations

import statistics
import threading
from collections.abc import Sequence
from typing import Any

import torch

from training.bench.learners import Timed, in_turns
from training.bench.targets import Row, target, unmeasured
from training.run import machine
from training.run.config import RunConfig

MODE = "cuda"
LANES = 8192
SPEED = {4: 500_000, 1: 1_000_000}  # epochs to steps a second
BUSY = 80.0
NO_DEVICE = "this machine has no CUDA device"


def setting(epochs: int, lanes: int = LANES) -> Any:
    """Make the run that is trained: the Worker, 256-256."""
    ppo = {"n_steps": 32, "batch_size": 4 * lanes, "n_epochs": epochs, "activation": "tanh"}
    return RunConfig.from_mapping(
        {
            "num_envs": lanes,
            "total_steps": 1 << 40,
            "env_threads": max(1, machine.physical_cores() - 1),
            "torch_threads": 1,
            "device": "cuda",
            "env_options": {"opponents": "rule_medium"},
            "ppo": ppo,
        }
    )


class OnDevice(Timed):
    """A learner on a GPU: an iteration ends when the GPU has done its part.

    Parameters
    ----------
    config : RunConfig

    Attributes
    ----------
    busy : list of float
        How busy the GPU was, in per cent.
    """

    def __init__(self, config: RunConfig) -> None:
        super().__init__(config)
        self.busy: list[float] = []

    def iterate(self) -> None:
        """Take one iteration."""
        with Utilisation() as seen:
            super().iterate()
            torch.cuda.synchronize()  # the update of the last iteration belongs to it
        self.busy += seen.values


def rows(repeats: int, seconds: float, lanes: int = LANES) -> list[Row]:
    """Measure a row for each number of epochs, timed in turns.

    Parameters
    ----------
    repeats : int
    seconds : float
    lanes : int
    """
    learners = {str(epochs): OnDevice(setting(epochs, lanes)) for epochs in SPEED}
    samples = in_turns(learners, repeats, seconds)
    measured = []
    for epochs, each in learners.items():
        percent = statistics.fmean(each.busy) if each.busy else None
        row = each.row(samples[epochs], MODE) | {"gpu_busy_percent": percent}
        measured.append(row | {"us_per_step": split(each.config)})
        each.trainer.close()
    return measured


def split(config: Any) -> dict[str, float]:
    """Measure microseconds of each phase of a step; timers wait for the GPU at each boundary."""
    timed = Timed(config.replace(native=config.native.replace(timers=True)))
    for _ in range(2):
        timed.iterate()
    timed.trainer.close()
    return {name: s / config.rollout * 1e6 for name, s in timed.phases[-1].items()}


class Utilisation:
    """Reads, ten times a second while it is entered, the utilisation of the GPU.

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


def judge(rows: Sequence[Row]) -> list[Row]:
    """Return the targets of a GPU: not measured without one."""
    by_epochs = {r["epochs"]: r for r in rows if r["mode"] == MODE}
    judged = []
    for epochs, least in SPEED.items():
        what = f"GPU, worker, 256-256, {LANES} lanes, epochs {epochs}: steps a second"
        if epochs not in by_epochs:
            judged.append(unmeasured(what, least, NO_DEVICE))
            continue
        row = by_epochs[epochs]
        every, speed = row["steps_per_s_all"], row["steps_per_s"]
        judged.append(target(what, least, speed, every=every, wall=speed, noisy=row["noisy"]))
    what = "GPU busy, epochs 4, per cent"
    percent = by_epochs[4]["gpu_busy_percent"] if by_epochs else None
    if percent is None:
        reason = "nvidia-ml-py is not installed" if by_epochs else NO_DEVICE
        return [*judged, unmeasured(what, BUSY, reason)]
    return [*judged, target(what, BUSY, percent, noisy=by_epochs[4]["noisy"])]

"""A CUDA device: the trainer's speed on it, the phases of a step, and the check of the whole.

The check runs the tests of a GPU, times training with and without captured graphs, and DQN with its
replay on the device and in host memory.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from benchmarks.learners import Timed, in_turns
from training.bench.choices import check_numbers
from training.bench.targets import Row, judge
from training.bench.timing import summary
from training.bench.trainer_modes import breakdown
from training.run import files, machine
from training.run.config import RunConfig

MODE = "cuda"
LANES = 8192
EPOCHS = (4, 1)
DQN_LANES = 256
TESTS = (sys.executable, "-m", "pytest", "-q", "-m", "gpu", "tests")


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
    learners = {str(epochs): OnDevice(setting(epochs, lanes)) for epochs in EPOCHS}
    samples = in_turns(learners, repeats, seconds)
    measured = []
    for epochs, each in learners.items():
        percent = statistics.fmean(each.busy) if each.busy else None
        row = each.row(samples[epochs], MODE) | {"gpu_busy_percent": percent}
        each.trainer.close()
        phases = breakdown(each.config, 1, seconds)["phases_us_per_step"]
        measured.append(row | {"us_per_step": phases})
    return measured


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


# -- the whole check -------------------------------------------------------------------------------


def run(args: argparse.Namespace, console: Console) -> int:
    """Check the device by the options of a command line; return the exit status."""
    check_numbers(args, repeats=1, lanes=1)
    out = args.out or Path("runs") / datetime.now(UTC).strftime("gpu-%Y%m%d-%H%M%S.json")
    files.prepare("--out", out)
    passed = None if args.no_tests else tests()
    record = check(args.repeats, args.seconds, args.lanes) | {"tests_passed": passed}
    files.write_json(out, record)
    show(record, console)
    print(f"record in {out}")
    return 1 if passed is False else 0


def tests() -> bool:
    """Run the tests of a CUDA device, untested as long as no record says so; tell if all passed."""
    return subprocess.run(TESTS, cwd=machine.ROOT, check=False).returncode == 0


def check(repeats: int, seconds: float, lanes: int = LANES) -> dict[str, Any]:
    """Measure the device; return the record as JSON values.

    Parameters
    ----------
    repeats : int
    seconds : float
        Of a repeat, at least.
    lanes : int
    """
    measured = rows(repeats, seconds, lanes)
    return {
        "kind": "gpu check",
        "created_utc": machine.now(),
        **machine.revision(),
        "host": machine.host(),
        "versions": machine.versions(),
        "gpu": machine.gpu(),
        "cuda": torch.version.cuda,
        "rows": measured,
        "bars": judge("gpu", measured),
        "compile": timed(graphs(lanes), repeats, seconds),
        "replay": timed(replays(DQN_LANES), repeats, seconds),
    }


def graphs(lanes: int) -> dict[str, RunConfig]:
    """Make the runs of the targets with each way to compile."""
    config = setting(epochs=4, lanes=lanes)
    return {
        how: config.replace(native=config.native.replace(compile=how))
        for how in ("off", "default", "reduce-overhead")
    }


def replays(lanes: int) -> dict[str, RunConfig]:
    """Make runs of DQN on the same environment, its replay on the device and in host memory."""
    sizes = {"capacity": 1024 * lanes, "learning_starts": 32 * lanes, "batch_size": 16 * lanes}
    common = {
        "trainer": "dqn",
        "num_envs": lanes,
        "total_steps": 1 << 40,
        "torch_threads": 1,
        "device": "cuda",
        "env_options": {"opponents": "rule_medium"},
    }
    return {
        where: RunConfig.from_mapping(
            {**common, "dqn": {**sizes, "iteration_steps": 16, "replay_device": where}}
        )
        for where in ("auto", "cpu")
    }


def timed(
    configs: Mapping[str, RunConfig], repeats: int, seconds: float
) -> dict[str, dict[str, Any]]:
    """Time whole iterations of trainers, in turns; return a summary of each, by name."""
    learners = {name: OnDevice(config) for name, config in configs.items()}
    samples = in_turns(learners, repeats, seconds)
    for each in learners.values():
        each.trainer.close()
    return {name: summary(samples[name]) for name in configs}


def show(record: dict[str, Any], console: Console) -> None:
    """Print the figures of a record."""
    console.print(f"{record['gpu']}, tests passed: {record['tests_passed']}")
    for bar in record["bars"]:
        console.print(f"{bar['what']}: {bar['measured']} (asked {bar['asked']}): {bar['pass']}")
    for part in ("compile", "replay"):
        speeds = {name: round(row["steps_per_s"]) for name, row in record[part].items()}
        console.print(f"{part}, steps a second: {json.dumps(speeds)}")
    for row in record["rows"]:
        split = {name: round(value, 3) for name, value in row["us_per_step"].items()}
        console.print(f"epochs {row['epochs']}, us a step: {json.dumps(split)}")

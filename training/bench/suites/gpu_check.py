"""Check a GPU: its tests, targets of training, captured graphs, the device replay."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from training.bench.learners import in_turns
from training.bench.suites import cuda
from training.bench.timing import summary
from training.run import files, machine
from training.run.config import RunConfig

LANES = cuda.LANES
DQN_LANES = 256
TESTS = (sys.executable, "-m", "pytest", "-q", "-m", "gpu", "tests")


def run(args: argparse.Namespace, console: Console) -> int:
    """Check the device by the options of a command line; return the exit status."""
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
        "bars": cuda.judge(rows),
        "compile": timed(graphs(lanes), repeats, seconds),
        "replay": timed(replays(DQN_LANES), repeats, seconds),
    }


def graphs(lanes: int) -> dict[str, RunConfig]:
    """Make the runs of the targets with each way to compile."""
    config = cuda.setting(epochs=4, lanes=lanes)
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
    learners = {name: cuda.OnDevice(config) for name, config in configs.items()}
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

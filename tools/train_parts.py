"""What the parts of a training with a search take, and how many cores that can use.

``python -m tools.train_parts --out FILE`` trains some iterations of ``make train`` on one thread
each, and takes the CPU time of collecting, of learning, and of the search that runs beside them.
It writes a record. CPU time is what a busy machine distorts least; still, take it on a quiet one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from tools.command import new_parser, refusing
from training.expert.options import ExpertRun
from training.expert.run import make_trainer
from training.run import files, machine
from training.run.config import ROWS
from training.run.option_layers import config_of

CONFIG = "training/configs/skullking.yaml"
COLLECT, LEARN, SEARCH, REST = PARTS = "collect", "learn", "search", "rest"
METHODS = {"collect": COLLECT, "update": LEARN}
WARMUP = 2  # iterations; with them everything is compiled, and a search is on its way


class Clock:
    """Adds up the CPU time of this thread by part, and that of all others.

    Parameters
    ----------
    trainer : PPOTrainer
        Its methods are timed from now on.
    """

    def __init__(self, trainer: Any) -> None:
        self._trainer, self._spent = trainer, dict.fromkeys(METHODS.values(), 0.0)
        for name, part in METHODS.items():
            setattr(trainer, name, self._timed(getattr(trainer, name), part))

    def _timed(self, method: Callable[..., Any], part: str) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            begin = time.thread_time()
            found = method(*args)
            self._spent[part] += time.thread_time() - begin
            return found

        return call

    def measure(self, iterations: int) -> dict[str, float]:
        """Train; return the CPU seconds of each part. What other threads do is the search."""
        self._spent = dict.fromkeys(METHODS.values(), 0.0)
        own, every = time.thread_time(), time.process_time()
        for _ in range(iterations):
            self._trainer.iterate()
        own, every = time.thread_time() - own, time.process_time() - every
        return {**self._spent, SEARCH: every - own, REST: own - sum(self._spent.values())}


def estimate_speedup(parts: dict[str, float], cores: int, network: int) -> float:
    """Estimate the speed-up on some cores by Amdahl's law: what is spread is divided evenly.

    The search runs beside the rest, and the network on at most so many threads. Nobody waits for
    memory, and a thread more costs nothing: an upper bound.

    Parameters
    ----------
    parts : dict of str to float
        CPU seconds.
    cores : int
    network : int
        Threads that the network may use.
    """
    every = sum(parts.values())
    if cores == 1:
        return 1.0
    seconds = [
        max(
            parts[SEARCH] / (cores - threads),
            every - parts[SEARCH] - parts[LEARN] * (1 - 1 / threads),
        )
        for threads in range(1, min(network, cores - 1) + 1)
    ]
    return every / min(seconds)


@refusing
def main(argv: Sequence[str] | None = None) -> int:
    """Write the record; return the exit status."""
    parse = new_parser("train_parts", __doc__)
    parse.add_argument("--iterations", type=int, default=4, help="of each repeat; default 4")
    parse.add_argument("--repeats", type=int, default=3, help="default 3")
    parse.add_argument("--out", type=Path, required=True, help="record to write")
    args = parse.parse_args(argv)
    threads = ("--set", "env_threads=1", "--torch-threads", "1")
    config = config_of(["--config", CONFIG, *threads])
    assert isinstance(config, ExpertRun)
    torch.set_num_threads(1)
    trainer = make_trainer(config)
    clock = Clock(trainer)
    clock.measure(WARMUP)
    found = []
    for repeat in range(1, args.repeats + 1):
        found.append(clock.measure(args.iterations))
        print(f"repeat {repeat} of {args.repeats}: {found[-1]}", flush=True)
    record = {
        **machine.taken_on(),
        "config": CONFIG,
        "decisions": args.iterations * config.rollout,
        "precision": trainer.chosen_precision,
        "network_threads": config.ppo.batch_size // ROWS,  # at most; see `torch_threads`
        "cpu_s": {part: [each[part] for each in found] for part in PARTS},
        "load": machine.load(),
    }
    files.write_json(args.out, record)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Train in environments of other packages over seeds, beside Stable-Baselines3, and write a record.

``python -m tools.foreign_learning`` trains each task with each seed by the options of
``training/configs/foreign.yaml``, one run after the other, each on one core. Where a task is
compared, Stable-Baselines3's PPO trains too: as many decisions, with the same hidden layers,
batches and epochs. It flattens images, where ours have convolutions. A run that has been evaluated
is not trained again, one that was stopped goes on, and the record is written after every run.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools import train_seeds
from tools.command import new_parser, refusing
from training.evaluation.trainings import parse_seeds
from training.run import files, machine
from training.run.options import require

RECORD = Path("benchmarks/foreign-learning.json")
CONFIG = "training/configs/foreign.yaml"
OURS, STOCK = "native", "sb3"


@dataclass(frozen=True)
class Task:
    """What is learnt.

    Parameters
    ----------
    flags : str
        Of each training, beside the options for environments of other packages.
    asked : str
        What a seed should come to.
    compared : bool
        Stable-Baselines3 trains too.
    """

    flags: str
    asked: str
    compared: bool = False

    def flags_of(self, trainer: str) -> str:
        """Return the flags of a training by a trainer."""
        return f"{self.flags} --trainer {trainer}" if trainer != OURS else self.flags


NOT_BELOW = "mean of all seeds not below the interval of Stable-Baselines3"
PURSUIT = {"n_pursuers": 2, "n_evaders": 6, "x_size": 8, "y_size": 8, "max_cycles": 100}
TASKS = {
    "cartpole": Task("--env CartPole-v1", "return of 475 in 60 core-seconds"),
    "connect_four": Task(
        "--env pettingzoo.classic.connect_four.connect_four:env",
        "95 % of games against random in 120 core-seconds",
    ),
    "acrobot": Task("--env Acrobot-v1", NOT_BELOW, compared=True),
    "minigrid": Task("--env docs.examples.mini_grid:make_images", NOT_BELOW, compared=True),
    "pursuit": Task(
        "--env pettingzoo.sisl.pursuit_v5:parallel_env --set env_options.n_catch=1 "
        + " ".join(f"--set env_options.{name}={value}" for name, value in PURSUIT.items()),
        NOT_BELOW,
        compared=True,
    ),
}


def list_trainings(tasks: list[str]) -> list[tuple[str, str]]:
    """List tasks and trainers, those of a task one after the other."""
    return [
        (name, trainer)
        for name in tasks
        for trainer in (OURS, STOCK)
        if trainer == OURS or TASKS[name].compared
    ]


def add(record: dict[str, Any], name: str, trainer: str, seed: int, runs: Path) -> dict[str, Any]:
    """Train a task with a seed, unless the record has it, and return its row."""
    flags, label = TASKS[name].flags_of(trainer), f"{name}, {trainer}"
    kept = record["tasks"].get(label)
    if kept is None or str(seed) not in kept["runs"]:
        run = train_seeds.train(CONFIG, seed, runs / f"{name}-{trainer}", flags)
        kept = train_seeds.record(CONFIG, {seed: run}, flags, kept)
        record["tasks"][label] = {**kept, "asked": TASKS[name].asked}
    row: dict[str, Any] = kept["runs"][str(seed)]
    return row


def reached(row: dict[str, Any]) -> str:
    """Say what a seed came to: the return of episodes, or the wins of matches by opponents."""
    if train_seeds.PLAYED in row:
        return f"return {row[train_seeds.PLAYED]['trained']['return'][0]:.4g}"
    return ", ".join(
        f"win {players['trained'][0]:.1%} against {opponents}"
        for opponents, players in row["win"].items()
    )


@refusing
def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parse = new_parser("foreign_learning", __doc__)
    about = f"tasks, separated by commas; default {','.join(TASKS)}"
    parse.add_argument("--tasks", default=",".join(TASKS), metavar="TASK,TASK", help=about)
    about = "training seeds; default 1,2,3,4,5"
    parse.add_argument("--seeds", default="1,2,3,4,5", metavar="SEED,SEED", help=about)
    about = "folder of the runs"
    parse.add_argument("--runs", type=Path, default=Path("runs/foreign"), metavar="DIR", help=about)
    parse.add_argument("--out", type=Path, default=RECORD, metavar="FILE", help="record to write")
    args = parse.parse_args(argv)
    chosen = args.tasks.split(",")
    require(set(chosen) <= set(TASKS), "--tasks", args.tasks, f"some of {', '.join(TASKS)}")
    files.prepare("--out", args.out)
    record = files.read_json(args.out) if args.out.exists() else {"tasks": {}}
    for name, trainer in list_trainings(chosen):
        for seed in parse_seeds(args.seeds):
            row = add(record, name, trainer, seed, args.runs)
            files.write_json(args.out, {**record, **machine.taken_on()})
            print(
                f"{name}, {trainer}, seed {seed}: {row['cpu_s']:.0f} s of a core; {reached(row)}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())

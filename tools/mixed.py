"""Measure self-play in small games of hidden information: exploitability over decisions and seeds.

``python -m tools.mixed`` trains each game by the command of the
page "Mixed strategies", one seed after the other, and computes the exact exploitability of the
averaged policy at every checkpoint. A run that has ended is not trained again, one that was stopped
goes on, and the record is written after every run, so that it can grow.
"""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import fastenv
from tools import train_seeds
from tools.command import new_parser, refusing
from training import load_policy
from training.evaluation import exploitability
from training.evaluation.trainings import parse_seeds, seconds_of
from training.players.contest_table import ContestTable
from training.players.export import export
from training.run import checkpoint, files, machine
from training.run.folder import RunFolder
from training.run.options import require

RECORD = Path("benchmarks/mixed-seeds.json")
GAMES = {"kuhn": "KuhnPoker-v0", "leduc": "LeducPoker-v0", "liars_dice": "LiarsDice-v0"}
EVERY = 1_000_000  # decisions between checkpoints that are measured
COMMAND = (
    "python -m training train --env {env} --set selfplay={{}} --seed {seed} --name {name} "
    f"--set checkpoints.every={EVERY} --set checkpoints.keep_every={EVERY} --no-evaluation"
)


def command_of(name: str, seed: int | str, flags: str) -> str:
    """Return the command that trains a game with a seed."""
    command = COMMAND.format(env=GAMES[name], seed=seed, name=f"{name}-{seed}")
    return f"{command} {flags}".rstrip()


def measure_run(run: RunFolder, levels: list[exploitability.HistoryLevel]) -> dict[str, Any]:
    """Compute what a training cost, and the exploitability of its average at each checkpoint.

    Parameters
    ----------
    run : RunFolder
    levels : list of HistoryLevel
        All histories of its game.
    """
    table = ContestTable(run.config.env, {})
    curve = []
    with tempfile.TemporaryDirectory() as folder:
        for path in checkpoint.list_whole(run.checkpoints):
            agent = Path(folder) / path.name
            export(run, agent, path.name, average=True)
            strategy = exploitability.strategy_of(load_policy(agent), table)
            found = exploitability.measure(levels, strategy).mean
            curve.append([checkpoint.steps_of(path), round(found, 5)])
    summary, config = (files.read_json(run.path / f"{each}.json") for each in ("summary", "config"))
    return {
        "git_rev": config["git_rev"],
        "dirty": config["dirty"],
        "steps": summary["steps"],
        "cpu_s": round(seconds_of(run)[summary["steps"]]["cpu_s"], 1),
        "wall_s": round(summary["wall_s"], 1),
        "curve": curve,
    }


@refusing
def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parse = new_parser("mixed", __doc__)
    about = f"games, separated by commas; default {','.join(GAMES)}"
    parse.add_argument("--games", default=",".join(GAMES), metavar="GAME,GAME", help=about)
    about = "training seeds; default 1,2,3,4,5"
    parse.add_argument("--seeds", default="1,2,3,4,5", metavar="SEED,SEED", help=about)
    parse.add_argument(
        "--runs", type=Path, default=Path("runs/mixed"), metavar="DIR", help="folder of the runs"
    )
    parse.add_argument("--flags", default="", help="further flags of each training, as one word")
    parse.add_argument("--out", type=Path, default=RECORD, metavar="FILE", help="record to write")
    args = parse.parse_args(argv)
    chosen = args.games.split(",")
    require(set(chosen) <= set(GAMES), "--games", args.games, f"some of {', '.join(GAMES)}")
    seeds = parse_seeds(args.seeds)
    files.prepare("--out", args.out)
    record = files.read_json(args.out) if args.out.exists() else {"games": {}}
    for name in chosen:
        env = GAMES[name]
        game = fastenv.make_game(env)
        levels = exploitability.list_histories(env, game)
        uniform = exploitability.measure(levels, partial(ones, actions=game.spec.num_actions))
        rows = record["games"].get(name, {}).get("runs", {})
        for seed in seeds:
            if str(seed) in rows:
                continue
            command, folder = command_of(name, seed, args.flags), args.runs / f"{name}-{seed}"
            run = train_seeds.train_run(command, folder, "summary.json")
            rows[str(seed)] = measure_run(run, levels)
            record["games"][name] = {
                "env": env,
                "histories": sum(len(level.rows) for level in levels),
                "uniform": round(uniform.mean, 5),
                "runs": dict(sorted(rows.items(), key=lambda each: int(each[0]))),
            }
            record["games"][name]["command"] = command_of(name, "SEED", args.flags)
            files.write_json(args.out, {**record, **machine.taken_on()})
            last = rows[str(seed)]
            reached, spent = last["curve"][-1][1], last["cpu_s"]
            print(f"{env}, seed {seed}: {reached:.4f} after {spent:.0f} s of a core")
    return 0


def ones(rows: np.ndarray, actions: int) -> np.ndarray:
    """Return equal weights of all actions of rows: uniform play, (k, A)."""
    return np.ones((len(rows), actions))


if __name__ == "__main__":
    sys.exit(main())

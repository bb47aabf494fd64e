"""Train a config over seeds, and write the record.

``python -m tools.train_seeds CONFIG --out FILE`` trains with each seed by its command, one after
the other, and gathers what the runs have written. A run that has been evaluated already
is not trained again, and one that was stopped goes on. A seed whose row stands in FILE is kept,
so that a record can grow; FILE is written after every seed. The default config is that of
`make train`, whose record is ``benchmarks/make-train-5-seeds.json``. What stands in ``--flags``
follows behind each command.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from fastenv.errors import FastEnvError
from tools.command import new_parser, refusing
from training.evaluation.trainings import parse_seeds, seconds_of
from training.run import files, machine
from training.run.folder import RunFolder

MAIN = "training/configs/skullking.yaml"
COMMAND = "python -m training train --config {0} --seed {1} --name s{1}"
MATCHES = (
    "whole games that the trained agent plays, and scripted players in its seat on the same deals; "
    "equal players win one of as many games as there are players"
)
EPISODES = "what the trained agent and scripted players come to in the same episodes"
PLAYED = "episodes"
MEASURES = ("win_rate", "win", "points", "bid_hit")  # of matches; of episodes all there are


def command_of(config: str, seed: int | str, flags: str) -> str:
    """Return the command that trains with a seed."""
    return f"{COMMAND.format(config, seed)} {flags}".rstrip()


def train(config: str, seed: int, runs: Path, flags: str = "") -> RunFolder:
    """Train and evaluate with a seed, unless that was done; go on where it stopped.

    Returns
    -------
    RunFolder
        The run.
    """
    return train_run(command_of(config, seed, flags), runs / f"s{seed}", "evaluation.json")


def train_run(command: str, run: Path, last: str) -> RunFolder:
    """Train by a command, unless that was done; go on where it stopped.

    Parameters
    ----------
    command : str
        Names the run as its folder is called.
    run : Path
        Folder of the run.
    last : str
        File of the folder that is written last.

    Raises
    ------
    FastEnvError
        If the training fails.
    """
    if not (run / last).exists():
        _, *words = shlex.split(command)
        if (run / "config.json").exists():
            words = ["-m", "training", "train", "--name", run.name, "--resume"]
        typed = [sys.executable, *words, "--runs", str(run.parent)]
        if subprocess.run(typed, check=False).returncode != 0:
            raise FastEnvError(f"{shlex.join(typed)} failed")
    return RunFolder.open(run)


def row(run: RunFolder) -> dict[str, Any]:
    """Return the cost of a training, and the results of its evaluation."""
    summary, evaluation = (
        files.read_json(run.path / name) for name in ("summary.json", "evaluation.json")
    )
    return {
        "steps": summary["steps"],
        "precision": summary["precision"],
        "wall_s": round(summary["wall_s"], 1),
        "cpu_s": round(seconds_of(run)[summary["steps"]]["cpu_s"], 1),
        "evaluation_s": evaluation["wall_s"],
        **_results(evaluation),
    }


def _results(evaluation: dict[str, Any]) -> dict[str, Any]:
    """Return the results of matches by measure, opponents and player; of episodes by player."""
    if "matches" not in evaluation:
        policies = evaluation["episodes"]["policies"]
        return {PLAYED: {player: own["intervals"] for player, own in policies.items()}}
    results = evaluation["matches"]["results"]
    return {
        measure: {
            opponents: {player: own[measure] for player, own in players.items()}
            for opponents, players in results.items()
        }
        for measure in MEASURES
        if all(measure in own for players in results.values() for own in players.values())
    }


def record(
    config: str, runs: dict[int, RunFolder], flags: str = "", kept: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the record of the runs of a config by seed.

    Parameters
    ----------
    config : str
    runs : dict of int to RunFolder
        At least one.
    flags : str
        Further flags of each training.
    kept : dict, optional
        The record so far; its rows of other seeds are kept.

    Raises
    ------
    FastEnvError
        If they were not all trained and evaluated at the same commit by the same command.
    """
    parts = ("config.json", "evaluation.json")
    heads = [files.read_json(run.path / part) for run in runs.values() for part in parts]
    revisions = {(head["git_rev"], head["dirty"]) for head in heads}
    rows = {str(seed): row(run) for seed, run in runs.items()}
    commands = [command_of(config, "SEED", flags)]
    if kept is not None:
        require_same_command(kept, commands)
        revisions.add((kept["git_rev"], kept["dirty"]))
        rows = kept["runs"] | rows
    if len(revisions) > 1:
        raise FastEnvError(f"the runs are of several commits: {sorted(map(str, revisions))}")
    ((git_rev, dirty),) = revisions
    last = heads[-1]
    return {
        "created": machine.now(),
        "commands": commands,
        "git_rev": git_rev,
        "dirty": dirty,
        "host": last["host"],
        "versions": last["versions"],
        **_protocol(last),
        "wall_s": "of the training; evaluation_s of the games behind it",
        "cpu_s": "of the training, over its iterations",
        "runs": dict(sorted(rows.items(), key=lambda each: int(each[0]))),
    }


def require_same_command(kept: dict[str, Any], commands: list[str]) -> None:
    """Refuse to add seeds to the record of another command."""
    if kept["commands"] != commands:
        raise FastEnvError(f"--out is of {kept['commands'][0]!r}, not of {commands[0]!r}")


def _protocol(evaluation: dict[str, Any]) -> dict[str, Any]:
    """Return the protocol of an evaluation: the games, and how they were played."""
    if "matches" in evaluation:
        played = evaluation["matches"]
        names: tuple[str, ...] = ("protocol", "players", "games", "first_seed")
        rates = "value, and 95 % interval over deals"
        return {"what": MATCHES, **{name: played[name] for name in names}, "rates": rates}
    played = evaluation["episodes"]
    rates = "value, and 95 % interval over episodes"
    names = ("protocol", "count", "base_seed")
    return {"what": EPISODES, **{name: played[name] for name in names}, "rates": rates}


@refusing
def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parse = new_parser("train_seeds", __doc__)
    parse.add_argument("config", nargs="?", default=MAIN, metavar="CONFIG", help="YAML file")
    about = "training seeds; default 1,2,3,4,5"
    parse.add_argument("--seeds", default="1,2,3,4,5", metavar="SEED,SEED", help=about)
    parse.add_argument(
        "--runs", type=Path, metavar="DIR", help="folder of the runs; default runs/seeds/CONFIG"
    )
    parse.add_argument("--flags", default="", help="further flags of each training, as one word")
    parse.add_argument("--out", type=Path, required=True, help="JSON file to write")
    args = parse.parse_args(argv)
    files.prepare("--out", args.out)
    folder = args.runs or Path("runs/seeds") / Path(args.config).stem
    kept = files.read_json(args.out) if args.out.exists() else None
    if kept is not None:
        require_same_command(kept, [command_of(args.config, "SEED", args.flags)])
    for seed in parse_seeds(args.seeds):
        if kept is None or str(seed) not in kept["runs"]:
            run = train(args.config, seed, folder, args.flags)
            kept = record(args.config, {seed: run}, args.flags, kept)
            files.write_json(args.out, kept)
    assert kept is not None  # some seed is always asked for
    for seed, of in kept["runs"].items():
        wins = ", ".join(
            f"{100 * players['trained'][0]:.1f} % of games against 3 x {opponents}"
            for opponents, players in of.get("win_rate", {}).items()
        )
        reached = f"wins {wins}" if wins else f"return {of[PLAYED]['trained']['return'][0]:.4g}"
        print(f"seed {seed}: {of['cpu_s']:.0f} s of a core; {reached}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""How well Dr. Mario's bots play: ``python -m tools.drmario_bots --out FILE``.

Every bot plays the same games of a level and speed to their ends, on the seeds for reports
(``training/apps/drmario/splits.py``). So does a trained agent, which the path of its folder names.
A rate has its 95 % interval by Wilson's score.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import binomtest

import fastenv
from fastenv import BatchEngine, Game
from fastenv.drmario import tables as t
from fastenv.errors import FastEnvError
from training.apps.drmario.splits import draw_seeds
from training.evaluation.loop import Loop
from training.players.load import load_policy
from training.players.names import make_player
from training.players.policy import Policy
from training.run import files, machine

ENV = "DrMarioPlacement-v0"
LEVELS, SPEEDS = (0, 5, 10, 15, 20, 24), ("low", "medium", "high")
CELLS = [f"{level}:{speed}" for level in LEVELS for speed in SPEEDS]
BOTS = ["lookahead3", "lookahead2", "greedy", "first", "random"]
MOST_PILLS = 1000  # of a game
SEEN = ("obs", "obs_dtype", "extras")  # options of what an agent sees
DRAWS = 0  # seed of the draws of game seeds
QUANTILES = (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class Played:
    """What became of games, by game.

    Parameters
    ----------
    cleared : ndarray of bool
    left : ndarray of float
        Viruses left, as a share of those at first.
    pills, frames : ndarray of int
    cpu_us : float
        CPU microseconds a decision, steps included.
    """

    cleared: np.ndarray
    left: np.ndarray
    pills: np.ndarray
    frames: np.ndarray
    cpu_us: float


def engine_of(game: Game, seeds: np.ndarray) -> BatchEngine:
    """Return an engine whose lanes play these seeds of the game's own generator."""
    engine = BatchEngine(game, len(seeds), info_columns=("viruses", "reason"))
    for lane, seed in enumerate(seeds.tolist()):
        engine.configure("game_seed", seed, lane)
    return engine


def player_of(who: str) -> str | Policy:
    """Return the agent of a folder, which thinks on one core, or the bot of that name."""
    if not Path(who).is_dir():
        return who
    torch.set_num_threads(1)
    return load_policy(who)


def trained_of(folder: Path) -> dict[str, Any]:
    """Return what an agent is: seed and decisions of its training, its commit, its options."""
    policy = load_policy(folder)
    head = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return {
        "steps": policy.steps,
        "seed": policy.config.seed,
        "checkpoint": policy.path.name,
        **{name: head[name] for name in ("git_rev", "dirty")},
        "config_sha256": head["sha256"],
    }


def game_of(level: int, speed: str, player: str | Policy) -> Game:
    """Return the game of a level as the player sees it; a bot looks at the rows."""
    seen: dict[str, Any] = {"obs": "none"}
    if isinstance(player, Policy):
        seen = {name: player.env_spec.options[name] for name in SEEN}
    return fastenv.make_game(ENV, level=level, speed=speed, **seen)


def play(engine: BatchEngine, player: str | Policy, most_pills: int) -> Played:
    """Let a player play one game in every lane, until each has ended or used its pills.

    Parameters
    ----------
    engine : BatchEngine
        Of :func:`engine_of`.
    player : str or Policy
        A bot by its name, or an agent.
    most_pills : int
    """
    n = engine.num_envs
    first, pills, frames = (np.zeros(n, np.int64) for _ in range(3))

    def count_viruses(engine: BatchEngine, lanes: np.ndarray, numbers: np.ndarray) -> None:
        first[numbers] = engine.info["viruses"][lanes]

    seated = [make_player(player, engine)]
    begun = time.process_time()
    for step in Loop(engine, seated, np.arange(n), limit=most_pills, begun=count_viruses):
        pills[step.lanes] += 1
        frames[step.lanes] += engine.tau[step.lanes]
    left, cleared = engine.info["viruses"].astype(int), engine.info["reason"] == t.Reason.CLEAR
    cpu_us = 1e6 * (time.process_time() - begun) / pills.sum()
    return Played(cleared, left / first, pills, frames, cpu_us)


def measure(level: int, speed: str, bots: Sequence[str], episodes: int) -> dict[str, Any]:
    """Return what bots reach at a level and speed."""
    seeds = draw_seeds("reports", episodes, np.random.default_rng([DRAWS, level]))
    found = {}
    for bot in bots:
        player = player_of(bot)
        played = play(engine_of(game_of(level, speed, player), seeds), player, MOST_PILLS)
        found[bot] = {
            "cleared": rate_of(played.cleared),
            "viruses_left": float(played.left.mean()),
            "pills": spread_of(played.pills[played.cleared]),
            "frames": spread_of(played.frames[played.cleared]),
            "cpu_us_per_decision": round(played.cpu_us, 1),
        }
    return found


def rate_of(happened: np.ndarray) -> list[float]:
    """Return the share of what happened, with its interval."""
    test = binomtest(int(happened.sum()), len(happened))
    interval = test.proportion_ci(method="wilson")
    return [float(happened.mean()), float(interval.low), float(interval.high)]


def spread_of(values: np.ndarray) -> dict[str, Any] | None:
    """Return mean, standard error and quantiles; None for no values."""
    if not len(values):
        return None
    error = float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else None
    quantiles = [float(x) for x in np.quantile(values, QUANTILES)]
    return {"mean": float(values.mean()), "error": error, "quantiles": quantiles}


def listed(text: str) -> list[str]:
    """Return the names of a list with commas."""
    return [name for name in text.split(",") if name]


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = argparse.ArgumentParser(prog="python -m tools.drmario_bots", description=__doc__)
    parse.add_argument(
        "--episodes", type=int, default=1000, help="games per level and speed; default 1000"
    )
    parse.add_argument(
        "--cells", type=listed, default=CELLS, help="LEVEL:SPEED, separated by commas"
    )
    parse.add_argument(
        "--bots", type=listed, default=BOTS, help="bots or agent folders, separated by commas"
    )
    parse.add_argument("--out", type=Path, required=True, help="JSON file to write")
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    words = sys.argv[1:] if argv is None else argv
    args = parser().parse_args(words)
    try:
        files.prepare("--out", args.out)
        found: dict[str, Any] = {}
        for level, _, speed in (cell.partition(":") for cell in args.cells):
            measured = measure(int(level), speed, args.bots, args.episodes)
            found.setdefault(level, {})[speed] = measured
            show(level, speed, measured)
        record = {
            "what": "Dr. Mario's bots on the same games",
            "command": shlex.join(["python", "-m", "tools.drmario_bots", *words]),
            "created": machine.now(),
            **machine.revision(),
            "host": machine.host(),
            "versions": machine.versions(),
            "episodes": args.episodes,
            "cleared": "rate, and its 95 % interval by Wilson's score",
            "pills, frames": f"of cleared games: mean, standard error, quantiles {QUANTILES}",
            "agents": {who: trained_of(Path(who)) for who in args.bots if Path(who).is_dir()},
            "levels": found,
        }
        files.write_json(args.out, record)
    except FastEnvError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def show(level: str, speed: str, measured: dict[str, Any]) -> None:
    """Print what was measured."""
    for bot, each in measured.items():
        rate, low, high = (100 * x for x in each["cleared"])
        frames = "" if each["frames"] is None else f", {each['frames']['mean']:,.0f} frames"
        print(
            f"level {level}, {speed}, {bot}: {rate:.1f} % [{low:.1f}, {high:.1f}] cleared{frames}, "
            f"{each['cpu_us_per_decision']:.0f} us a decision",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())

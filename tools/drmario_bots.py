"""How well Dr. Mario's bots play: ``python -m tools.drmario_bots --out FILE``.

Every bot plays the same games to their ends, at medium speed. Their seeds have odd numbers; the
weights of ``greedy`` were found on even ones (``tools/drmario_weights.py``). A rate has its 95 %
interval by Wilson's score.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fastenv import BatchEngine
from fastenv.drmario import DrMarioGame, make_game
from fastenv.drmario import tables as t
from fastenv.engine import rng_streams
from fastenv.errors import FastEnvError
from training.run import files, machine

LEVELS = (0, 5, 10, 15)
BOTS = ("greedy", "first", "random")
MOST_PILLS = 1000  # of a game
DRAWS = 0  # seed of the draws of game seeds


@dataclass(frozen=True)
class Played:
    """What became of games, by game.

    Parameters
    ----------
    cleared : ndarray of bool
    left : ndarray of float
        Viruses left, as a share of those at first.
    pills, frames : ndarray of int
    """

    cleared: np.ndarray
    left: np.ndarray
    pills: np.ndarray
    frames: np.ndarray


def engine_of(game: DrMarioGame, seeds: np.ndarray) -> BatchEngine:
    """Return an engine whose lanes play these seeds of the game's own generator."""
    engine = BatchEngine(game, len(seeds), info_columns=("viruses", "reason"))
    for lane, seed in enumerate(seeds.tolist()):
        engine.configure("game_seed", seed, lane)
    return engine


def draw_seeds(rng: np.random.Generator, count: int, odd: bool) -> np.ndarray:
    """Draw different seeds with odd or with even numbers."""
    numbers = np.arange(t.FIRST_SEED + odd, t.LAST_SEED + 1, 2)
    return rng.choice(numbers, count, replace=False)


def play(engine: BatchEngine, bot: str, most_pills: int) -> Played:
    """Let a bot play one game in every lane, until each has ended or used its pills.

    Parameters
    ----------
    engine : BatchEngine
        Of :func:`engine_of`.
    bot : str
    most_pills : int
    """
    n = engine.num_envs
    engine.reset_many(seeds=0)
    first = engine.info["viruses"].astype(int)
    left, running, words = first.copy(), np.ones(n, np.bool_), rng_streams(0, n)
    cleared, pills, frames = np.zeros(n, np.bool_), np.zeros(n, np.int64), np.zeros(n, np.int64)
    for _ in range(most_pills):
        engine.step_many(engine.bot_actions(bot, words), select=running, autoreset=False)
        pills += running
        frames += running * engine.tau
        left = np.where(running, engine.info["viruses"], left)
        cleared |= running & (engine.info["reason"] == t.Reason.CLEAR)
        running &= ~engine.ended
        if not running.any():
            break
    return Played(cleared, left / first, pills, frames)


def wilson(successes: int, count: int) -> list[float]:
    """Return a rate and its 95 % interval by Wilson's score."""
    z, rate = 1.959964, successes / count
    scale = 1 + z * z / count
    middle = (rate + z * z / (2 * count)) / scale
    half = z / scale * math.sqrt(rate * (1 - rate) / count + (z / (2 * count)) ** 2)
    return [rate, max(0.0, middle - half), min(1.0, middle + half)]


def measure(level: int, episodes: int) -> dict[str, Any]:
    """Return what each bot reaches on a level."""
    game = make_game(level=level, obs="bitplane_bottle", obs_dtype="uint8")
    seeds = draw_seeds(np.random.default_rng([DRAWS, level]), episodes, odd=True)
    engine, found = engine_of(game, seeds), {}
    for bot in BOTS:
        played = play(engine, bot, MOST_PILLS)
        cleared = played.cleared
        found[bot] = {
            "cleared": wilson(int(cleared.sum()), episodes),
            "viruses_left": float(played.left.mean()),
            "pills_to_clear": float(played.pills[cleared].mean()) if cleared.any() else None,
            "frames_to_clear": float(played.frames[cleared].mean()) if cleared.any() else None,
        }
    return found


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parse = argparse.ArgumentParser(prog="python -m tools.drmario_bots", description=__doc__)
    parse.add_argument("--episodes", type=int, default=200, help="of each level")
    parse.add_argument("--out", type=Path, required=True, help="JSON file")
    args = parse.parse_args(argv)
    try:
        files.prepare("--out", args.out)
        record = {
            "what": "Dr. Mario's bots on the same games, medium speed",
            "command": f"python -m tools.drmario_bots --episodes {args.episodes}",
            "created": machine.now(),
            **machine.revision(),
            "host": machine.host(),
            "versions": machine.versions(),
            "episodes": args.episodes,
            "cleared": "rate, and its 95 % interval by Wilson's score",
            "levels": {str(level): measure(level, args.episodes) for level in LEVELS},
        }
        files.write_json(args.out, record)
    except FastEnvError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for level, found in record["levels"].items():
        for bot, each in found.items():
            rate, low, high = (100 * x for x in each["cleared"])
            print(f"level {level}, {bot}: {rate:.1f} % [{low:.1f}, {high:.1f}] cleared")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""How well Dr. Mario's bots play: ``python -m tools.drmario_bots --out FILE``.

Every bot plays the same games of a level and speed to their ends, on the seeds for reports
(``training/games/drmario/splits.py``). So does a trained agent, which the path of its folder names.
A rate has its 95 % interval by Wilson's score.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tools.command import new_parser, refusing
from training.apps.drmario.compare import load_player, play_games
from training.evaluation.intervals import share
from training.games.drmario.splits import draw_seeds
from training.players.trained import load_policy
from training.run import files, machine

LEVELS, SPEEDS = (0, 5, 10, 15, 20, 24), ("low", "medium", "high")
CELLS = [f"{level}:{speed}" for level in LEVELS for speed in SPEEDS]
BOTS = ["lookahead3", "lookahead2", "greedy", "first", "random"]
MOST_PILLS, MOST_FRAMES = 1000, 10**9  # of a game
DRAWS = 0  # seed of the draws of game seeds
QUANTILES = (0.1, 0.5, 0.9)


def trained_of(folder: Path) -> dict[str, Any]:
    """Return an agent's training: seed and decisions, its commit, the hash of its options."""
    policy = load_policy(folder)
    head = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return {
        "steps": policy.steps,
        "seed": policy.config.seed,
        "checkpoint": policy.path.name,
        **{name: head[name] for name in ("git_rev", "dirty")},
        "config_sha256": head["sha256"],
    }


def measure(level: int, speed: str, bots: Sequence[str], episodes: int) -> dict[str, Any]:
    """Measure the results of bots at a level and speed."""
    seeds = draw_seeds("reports", episodes, np.random.default_rng([DRAWS, level]))
    games = [(level, speed, seed) for seed in seeds.tolist()]
    found = {}
    for bot in bots:
        player, options = load_player(bot)
        played = play_games(player, games, options, t_max=MOST_FRAMES, max_steps=MOST_PILLS)
        cleared = played["clear"]
        found[bot] = {
            "cleared": share(cleared).to_list(),
            "pills": spread_of(played["steps"][cleared]),
            "frames": spread_of(played["ticks"][cleared]),
            "cpu_us_per_decision": round(1000 * played.costs["player"].cpu_ms, 1),
        }
    return found


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
    parse = new_parser("drmario_bots", __doc__)
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


@refusing
def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    files.prepare("--out", args.out)
    torch.set_num_threads(1)
    found: dict[str, Any] = {}
    for level, _, speed in (cell.partition(":") for cell in args.cells):
        measured = measure(int(level), speed, args.bots, args.episodes)
        found.setdefault(level, {})[speed] = measured
        show(level, speed, measured)
    record = {
        "what": "Dr. Mario's bots on the same games",
        **machine.taken_on(),
        "episodes": args.episodes,
        "cleared": "rate, and its 95 % interval by Wilson's score",
        "pills, frames": f"of cleared games: mean, standard error, quantiles {QUANTILES}",
        "agents": {who: trained_of(Path(who)) for who in args.bots if Path(who).is_dir()},
        "levels": found,
    }
    files.write_json(args.out, record)
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

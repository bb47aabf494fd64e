"""Find the weights of Dr. Mario's bot ``greedy``: ``python -m tools.drmario_weights``.

The cross-entropy method: candidates are drawn from a normal distribution, each weight by itself,
and play the same games. Mean and spread of the best quarter are those of the next generation, which
plays other games; all have seeds with even numbers, as ``tools/drmario_bots.py`` evaluates on odd
ones. A candidate is worth, level by level, its share of cleared games less the share of viruses
left and what the pills cost.

It prints the mean of each generation. The last one is ``GREEDY`` in ``fastenv/drmario/tables.py``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from fastenv.drmario import DrMarioGame, make_game
from tools.drmario_bots import draw_seeds, engine_of, play

# By level: games of a candidate, and pills that cost as much as half a cleared game.
LEVELS = {0: (48, 30), 10: (24, 120), 20: (24, 240)}
MOST_PILLS = 400
ELITE = 4  # the best of a generation are one in so many
# Where the search begins, by hand; that of a virus is the unit, and stays.
START = {
    "virus": 1000,
    "half": -10,
    "row_pair": 20,
    "row_triple": 60,
    "column_pair": 60,
    "column_triple": 120,
    "virus_row": 20,
    "virus_column": 60,
    "gap": -10,
    "cover": -100,
    "change": -20,
    "neck": -30,
    "frame": -5,
}


class Candidate(DrMarioGame):
    """Dr. Mario with other weights of ``greedy``."""

    weights: Mapping[str, int]

    def bot(self, name: str) -> Any:
        """Return the player with the weights of this candidate."""
        row = super().bot(name)
        for weight, value in self.weights.items():
            row[weight] = value
        return row


def worths(candidates: list[dict[str, int]], rng: np.random.Generator) -> list[float]:
    """Return what candidates are worth on games that are drawn for them."""
    total = [0.0] * len(candidates)
    for level, (games, pills) in LEVELS.items():
        options = {"level": level, "obs": "bitplane_bottle", "obs_dtype": "uint8"}
        game = Candidate(make_game(**options).config)
        engine = engine_of(game, draw_seeds(rng, games, odd=False))
        for i, weights in enumerate(candidates):
            game.weights = weights
            played = play(engine, "greedy", MOST_PILLS)
            worth = played.cleared.mean() - played.left.mean() - played.pills.mean() / (2 * pills)
            total[i] += float(worth) / len(LEVELS)
    return total


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parse = argparse.ArgumentParser(prog="python -m tools.drmario_weights", description=__doc__)
    parse.add_argument("--generations", type=int, default=10)
    parse.add_argument("--candidates", type=int, default=16)
    parse.add_argument("--seed", type=int, default=0, help="of all draws")
    args = parse.parse_args(argv)
    rng, mean = np.random.default_rng(args.seed), np.array([*START.values()], float)
    spread = np.abs(mean)
    spread[0] = 0.0
    for generation in range(args.generations):
        drawn = np.rint(rng.normal(mean, spread, (args.candidates, len(mean)))).astype(int)
        candidates = [dict(zip(START, row, strict=True)) for row in drawn.tolist()]
        scores = worths(candidates, rng)
        best = drawn[np.argsort(scores)[::-1][: args.candidates // ELITE]]
        mean, spread = best.mean(axis=0), best.std(axis=0) + spread / 10
        found = dict(zip(START, np.rint(mean).astype(int).tolist(), strict=True))
        print(f"{generation}: {np.mean(scores):.3f}, best {max(scores):.3f}: {found}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

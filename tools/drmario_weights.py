"""Find the weights of a bot of Dr. Mario: ``python -m tools.drmario_weights BOT``.

The cross-entropy method: candidates are drawn from a normal distribution, each weight by itself,
and play the same games. Mean and spread of the best quarter lead to those of the next generation,
which plays other games, all on seeds for tuning (``training/games/drmario/splits.py``). A candidate
is worth the frames until its games are cleared, at the highest speed; one that is not counts as
``LOST``.

It begins with the weights that the bot has, and prints the mean of each generation. The last ones
are ``GREEDY`` and ``LOOKAHEAD`` in ``fastenv/drmario/tables.py``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from fastenv import BatchEngine
from fastenv.drmario import DrMarioGame, make_game
from fastenv.drmario import tables as t
from tools.command import new_parser
from training.apps.drmario.best_times import ENV
from training.evaluation.evaluation import Evaluation, play
from training.games.drmario.splits import draw_seeds

LEVEL, SPEED = 20, "high"
MOST_PILLS = 400
LOST = 24_000.0  # frames
ELITE = 4  # the best of a generation are one in so many
KEPT = 0.5  # of the mean, and of the spread, in the next generation
LEAST = 0.03  # spread, as a share of the mean


class Candidate(DrMarioGame):
    """Dr. Mario with other weights of a bot."""

    weights: Mapping[str, int]

    def bot(self, name: str) -> Any:
        """Return the player with the weights of this candidate."""
        row = super().bot(name)
        for weight, value in self.weights.items():
            row[weight] = value
        return row


def worths(
    bot: str, candidates: list[dict[str, int]], games: int, rng: np.random.Generator
) -> np.ndarray:
    """Return each candidate's mean frames over drawn games; one not cleared counts ``LOST``."""
    game = Candidate(make_game(level=LEVEL, speed=SPEED, obs="none").config)
    game.env_id = ENV  # whose results have columns
    engine, found = BatchEngine(game, games, info_columns=("reason",)), []
    for lane, seed in enumerate(draw_seeds("tuning", games, rng).tolist()):
        engine.configure("game_seed", seed, lane)
    every = Evaluation("games", ENV, who=[bot], seeds=range(games), max_steps=MOST_PILLS)
    for weights in candidates:
        game.weights = weights
        played = play(every, engine)
        found.append(np.where(played["clear"], played["ticks"], LOST).mean())
    return np.array(found)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parse = new_parser("drmario_weights", __doc__)
    parse.add_argument("bot", choices=("greedy", *t.LOOKING_AHEAD), help="bot to tune")
    parse.add_argument("--generations", type=int, default=40, help="generations; default 40")
    about = "candidates per generation; default 16"
    parse.add_argument("--candidates", type=int, default=16, help=about)
    parse.add_argument("--games", type=int, default=64, help="games per candidate; default 64")
    parse.add_argument("--seed", type=int, default=0, help="seed of all draws; default 0")
    args = parse.parse_args(argv)
    start = t.GREEDY if args.bot == "greedy" else t.LOOKAHEAD
    rng, mean = np.random.default_rng(args.seed), np.array([*start.values()], float)
    spread = 0.3 * np.abs(mean) + 4.0
    spread[0] = 0.0  # a virus is the unit
    for generation in range(args.generations):
        drawn = np.rint(rng.normal(mean, spread, (args.candidates, len(mean)))).astype(int)
        candidates = [dict(zip(start, row, strict=True)) for row in drawn.tolist()]
        scores = worths(args.bot, candidates, args.games, rng)
        best = drawn[np.argsort(scores)[: args.candidates // ELITE]]
        least = LEAST * np.abs(mean) + 1.0
        least[0] = 0.0
        mean = KEPT * mean + (1 - KEPT) * best.mean(axis=0)
        spread = KEPT * spread + (1 - KEPT) * np.maximum(best.std(axis=0), least)
        found = dict(zip(start, np.rint(mean).astype(int).tolist(), strict=True))
        told = f"{generation}: {scores.mean():,.0f} frames, the best {scores.min():,.0f}"
        print(f"{told}: {json.dumps(found)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Fit the chance to win a game of Skull King: ``python -m tools.fit_win_chance --out FILE``.

Four of a kind meet, a trained agent in half of the games and a bot in the others: where the players
differ, a lead also tells who is better. Half of the games tell the scales
(:mod:`training.apps.skullking.win_chance`), the other half whether what they say comes true: the
log loss of a game, and how often seats won whose chance was said to be in each tenth.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from fastenv.errors import FastEnvError
from training.apps.skullking.win_chance import SCALES
from training.evaluation.contest import load_players, table_of
from training.evaluation.loop import Loop
from training.players.names import make_player
from training.run import files, machine

LOWEST, HIGHEST = 1.0, 1000.0  # points
NARROW = 60  # halvings of the bracket of a scale
BINS = 10


def play(names: list[str], games: int, seed: int) -> np.ndarray:
    """Play whole games of the classic schedule, each by four of one of the players.

    Returns
    -------
    ndarray of float64, shape (games, rounds + 1, P)
        Totals before each round, and in the end; games of the players in turn.
    """
    entrants = load_players(names)
    engine = table_of(entrants).make(games)
    game: Any = engine.game
    number, kinds = np.arange(games), len(entrants)
    loop = Loop(
        engine,
        [make_player(entrant.who, engine) for entrant in entrants],
        seed + number,
        seating=np.repeat(number[:, None] % kinds, game.num_seats, axis=1),
        draws=[seed + k + number for k in range(kinds)],
    )
    totals = np.zeros((games, len(game.config.hand_sizes()) + 1, game.num_seats))
    for _ in loop:
        rows = engine.get_states()
        totals[number, rows["rounds_done"]] = game.outcomes(rows)
    return totals


def fit_scale(totals: np.ndarray, shares: np.ndarray) -> float:
    """Return the scale under which shares of wins are likeliest.

    The likelihood is concave in ``1 / scale``, so that its slope has one zero.
    """
    low, high = 1 / HIGHEST, 1 / LOWEST
    for _ in range(NARROW):
        middle = (low + high) / 2
        expected = _softmax(totals * middle)
        slope = ((shares - expected) * totals).sum()
        low, high = (middle, high) if slope > 0 else (low, middle)
    return float(2 / (low + high))


def _softmax(x: np.ndarray) -> np.ndarray:
    weights = np.exp(x - x.max(1, keepdims=True))
    found: np.ndarray = weights / weights.sum(1, keepdims=True)
    return found


def log_loss(expected: np.ndarray, shares: np.ndarray) -> float:
    """Return the mean of the cross entropy of a game."""
    return float(-(shares * np.log(np.maximum(expected, 1e-12))).sum(1).mean())


def reliability(expected: np.ndarray, shares: np.ndarray) -> list[dict[str, float]]:
    """Return, for seats whose chance is in each tenth, chance and wins on the mean."""
    which = np.minimum((expected * BINS).astype(int), BINS - 1).ravel()
    found = []
    for k in np.unique(which):
        here = which == k
        said, came = expected.ravel()[here], shares.ravel()[here]
        error = float(came.std() / np.sqrt(here.sum()))
        figures = {"from": k / BINS, "seats": int(here.sum()), "said": float(said.mean())}
        found.append({**figures, "won": float(came.mean()), "standard_error": error})
    return found


def measure(totals: np.ndarray) -> dict[str, Any]:
    """Fit half of the games and judge by the others; return what belongs into the record."""
    best = totals[:, -1] == totals[:, -1].max(1, keepdims=True)
    shares = best / best.sum(1, keepdims=True)
    rounds, half = totals.shape[1] - 1, len(totals) // 2
    table, all_expected, all_shares = [], [], []
    for left in range(1, rounds):
        now = totals[:, rounds - left]
        scale = fit_scale(now[:half], shares[:half])
        cards = sum(range(rounds - left + 1, rounds + 1))  # of the classic schedule
        expected = _softmax(now[half:] / scale)
        figures = {"rounds_left": left, "cards_left": cards, "scale": round(scale, 1)}
        figures["log_loss"] = log_loss(expected, shares[half:])
        table.append({**figures, "reliability": reliability(expected, shares[half:])})
        all_expected.append(expected)
        all_shares.append(shares[half:])
    together = reliability(np.concatenate(all_expected), np.concatenate(all_shares))
    return {"equal_chances": float(np.log(totals.shape[2])), "table": table, "all": together}


def main(argv: list[str] | None = None) -> int:
    """Play, fit, print the table and, if asked to, write the record."""
    parser = argparse.ArgumentParser(prog="python -m tools.fit_win_chance", description=__doc__)
    parser.add_argument("--players", nargs="+", default=["pretrained/skullking-ppo", "heuristic"])
    parser.add_argument("--games", type=int, default=8000, help="half of them are fitted")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="JSON file of the record")
    args = parser.parse_args(argv)
    try:
        totals = play(args.players, args.games, args.seed)
        found = measure(totals)
    except FastEnvError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for row in found["table"]:
        used = SCALES.get(row["cards_left"])
        print(f"{row['cards_left']}: {row['scale']},  # in use {used}, loss {row['log_loss']:.3f}")
    for row in found["all"]:
        said, won, doubt = (100 * row[name] for name in ("said", "won", "standard_error"))
        print(f"said {said:.1f} %: won {won:.1f} +- {doubt:.1f} % of {row['seats']} seats")
    if args.out is not None:
        record = {
            "what": "chance to win a game of Skull King: softmax of totals over a scale",
            "command": f"python -m tools.fit_win_chance --games {args.games} --seed {args.seed}",
            "created": machine.now(),
            **machine.revision(),
            "host": machine.host(),
            "versions": machine.versions(),
            "players": args.players,
            "games": args.games,
            **found,
        }
        files.write_json(args.out, record)
    return 0


if __name__ == "__main__":
    sys.exit(main())

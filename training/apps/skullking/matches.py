"""Whole games on duplicate deals, replayed with the agent in each seat.

Luck of the deal falls on all seats alike, and players can be compared on equal deals. The measures
are those of docs/howto/train_skullking.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastenv import BatchEngine
from fastenv.skullking.config import PHASE_ROUNDS
from training.evaluation.bootstrap import Interval, Resamples
from training.evaluation.loop import Loop
from training.players.player import MakePlayer
from training.run.envs import make_engine

ENV = "SkullKingFlat-v0"
_ROUND_COLUMNS = ("cards", "bid", "won", "points", "bonus", "alliances")


@dataclass(frozen=True)
class Games:
    """What happened in ``deals * players`` games; game ``d * players + s`` has deal d, seat s.

    Parameters
    ----------
    players : int
    totals : ndarray, shape (games, players)
        Official points of all seats.
    seat : ndarray, shape (games,)
        The agent's.
    shaped : ndarray, shape (games,)
        Shaped return; not a measure of strength.
    rounds : dict of str to ndarray, shape (games, rounds)
        The agent's cards, bid, won, points, bonus, alliances.
    """

    players: int
    totals: np.ndarray
    seat: np.ndarray
    shaped: np.ndarray
    rounds: dict[str, np.ndarray]


def match_options(opponents: str, players: int) -> dict[str, Any]:
    """Return the options of a match; official rules."""
    return {"opponents": opponents, "num_players": players, "deals": "duplicate"}


def match_engine(
    deals: int, opponents: str, players: int = 4, options: Mapping[str, Any] | None = None
) -> BatchEngine:
    """Return an engine with a lane for each deal and seat; official rules."""
    config = match_options(opponents, players)
    engine = make_engine(ENV, deals * players, {**(options or {}), **config})
    for seat in range(players):
        engine.configure("agent_seat", seat, np.arange(deals) * players + seat)
    return engine


def play(
    engine: BatchEngine, make: MakePlayer, seed: int, players: int = 4, draws: int = 0
) -> Games:
    """Play one match: a game in every lane of :func:`match_engine`.

    Parameters
    ----------
    engine : BatchEngine
    make : callable
        Makes the player.
    seed : int
        Deal ``d`` has seed ``seed + d``.
    players : int
    draws : int
        Of what the player draws in the first game; the next has one more.
    """
    n = engine.num_envs
    number = np.arange(n, dtype=np.int64)
    game: Any = engine.game
    num_rounds = len(game.config.hand_sizes())
    rounds = {name: np.zeros((n, num_rounds), np.int32) for name in _ROUND_COLUMNS}
    totals, seat = np.zeros((n, players), np.int64), np.zeros(n, np.int64)
    shaped = np.zeros(n)
    info = engine.info
    for step in Loop(engine, [make(engine)], seed + number // players, draws=[draws + number]):
        ended = step.lanes[info["ended_round"][step.lanes] > 0]
        where = ended, info["ended_round"][ended] - 1
        for name in _ROUND_COLUMNS:
            column = "points" if name == "points" else f"ended_{name}"
            rounds[name][where] = info[column][ended]
        over = step.over
        if over.size:
            rows = engine.get_states(over)
            totals[over], seat[over] = rows["total"][:, :players], rows["agent"]
            shaped[over] = engine.ep_return[over]
    return Games(players, totals, seat, shaped, rounds)


def measures(games: Games) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the measures as sums: name to (numerator, denominator), one entry a deal.

    Shared wins count 1/k; a tie shares the better rank.
    """
    totals, n = games.totals, len(games.totals)
    own = totals[np.arange(n), games.seat][:, None]
    best = totals.max(1, keepdims=True)
    win = (own == best)[:, 0] / (totals == best).sum(1)
    per_game = {
        "points": own[:, 0],
        "margin": own[:, 0] - (totals.sum(1) - own[:, 0]) / (games.players - 1),
        "win_rate": win,
        "rank": 1 + (totals > own).sum(1),
        "bonus": games.rounds["bonus"].sum(1),
        "alliances": games.rounds["alliances"].sum(1),
        "shaped_return": games.shaped,
    }
    sums = {name: (value, np.ones(n)) for name, value in per_game.items()}
    sums |= _bid_measures(games)
    return {
        name: (_per_deal(above, games.players), _per_deal(below, games.players))
        for name, (above, below) in sums.items()
    }


def _bid_measures(games: Games) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    bid, won = games.rounds["bid"], games.rounds["won"]
    hit, zero, one = bid == won, bid == 0, np.ones(bid.shape)
    found = {
        "bid_hit": (hit.sum(1), one.sum(1)),
        "won_minus_bid": ((won - bid).sum(1), one.sum(1)),
        "zero_bids": (zero.sum(1), one.sum(1)),
        "zero_bid_success": ((zero & hit).sum(1), zero.sum(1)),
    }
    number = np.arange(bid.shape[1]) + 1
    for phase, (low, high) in PHASE_ROUNDS.items():
        part = (number >= low) & (number <= high)
        found[f"bid_hit_{phase}"] = (hit[:, part].sum(1), one[:, part].sum(1))
    for r in number:
        found[f"bid_hit_round_{r}"] = (hit[:, r - 1], one[:, r - 1])
        found[f"points_round_{r}"] = (games.rounds["points"][:, r - 1], one[:, r - 1])
    return found


def _per_deal(values: np.ndarray, players: int) -> np.ndarray:
    sums: np.ndarray = np.asarray(values, np.float64).reshape(-1, players).sum(1)
    return sums


def intervals(games: Games, resamples: int, seed: int) -> dict[str, Interval]:
    """Return every measure with its 95 % interval over deals."""
    sums = measures(games)
    numerators = np.stack([pair[0] for pair in sums.values()], axis=1)
    denominators = np.stack([pair[1] for pair in sums.values()], axis=1)
    found = Resamples(numerators, denominators, resamples, seed).intervals()
    return dict(zip(sums, found, strict=True))

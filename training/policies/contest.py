"""Policies and bots against each other at one table, on duplicate deals (``evaluate --against``).

Every deal is played once in each rotation of the seats, so luck falls on all alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from training.evaluation.bootstrap import Interval, Resamples
from training.evaluation.tables import format_interval
from training.policies.load import load_policy
from training.policies.policy import Policy
from training.run import games
from training.run.games import Guest
from training.run.options import require
from training.run.seeds import MATCH_SEEDS
from training.selfplay.ratings import fit


@dataclass(frozen=True)
class Player:
    """Who plays.

    Parameters
    ----------
    name : str
        In tables.
    who : Policy or str
        A trained one, or the name of a bot.
    """

    name: str
    who: Policy | str


@dataclass(frozen=True)
class Standing:
    """How a player did, with 95 % intervals over deals.

    Parameters
    ----------
    name : str
    seats : int
        It had at the table.
    points : Interval
        Mean of a game, for each seat.
    wins : Interval
        Share of games won, for each seat; shared wins count 1/k.
    rating : Interval
        Elo, 1000 on the mean, from all comparisons of two seats in a game.
    """

    name: str
    seats: int
    points: Interval
    wins: Interval
    rating: Interval


@dataclass(frozen=True)
class Contest:
    """Who met, and how they did.

    Parameters
    ----------
    standings : tuple of Standing
        Best first.
    deals, num_players : int
        Games are their product.
    first_seed : int
        Of the deals.
    """

    standings: tuple[Standing, ...]
    deals: int
    num_players: int
    first_seed: int

    def record(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "protocol": "one table, duplicate deals, every rotation of the seats",
            "deals": self.deals,
            "games": self.deals * self.num_players,
            "first_seed": self.first_seed,
            "players": [
                {
                    "name": one.name,
                    "seats": one.seats,
                    "points": one.points.to_list(),
                    "win_share": one.wins.to_list(),
                    "rating": one.rating.to_list(),
                }
                for one in self.standings
            ],
        }


def game_of(players: Sequence[Player]) -> str:
    """Return the environment of the first trained player.

    Raises
    ------
    ConfigError
        If all are bots.
    """
    envs = [player.who.env for player in players if isinstance(player.who, Policy)]
    names = [player.name for player in players]
    require(bool(envs), "players", names, "one trained agent, at least: its game is played")
    return envs[0]


def load_players(names: Sequence[str], runs: Path = Path("runs")) -> list[Player]:
    """Return players by name: trained policies by a path or the name of a run, or else bots.

    Raises
    ------
    RunError, CheckpointError
        If a path is no trained agent.
    """
    found: list[Player] = []
    for name in names:
        path = Path(name) if Path(name).exists() else runs / name
        is_path = path.exists() or "/" in name
        taken = sum(player.name.partition("#")[0] == _short_name(name) for player in found)
        label = _short_name(name) if not taken else f"{_short_name(name)}#{taken + 1}"
        found.append(
            Player(label, load_policy(path if path.exists() else name) if is_path else name)
        )
    return found


def _short_name(name: str) -> str:
    parts = [p for p in Path(name).parts if p not in ("checkpoints", "runs", "..", "/")]
    return "/".join(parts[-2:]) if parts else name


def seat_count(players: Sequence[Player]) -> int:
    """Return the seats of the table that trained players are used to."""
    sizes = {
        player.name: int(player.who.config.env_options.get("num_players", 4))
        for player in players
        if isinstance(player.who, Policy)
    }
    require(len(set(sizes.values())) <= 1, "num_players", sizes, "the same for all players")
    return next(iter(sizes.values()), 4)


def play_table(
    engine: Any, guests: Sequence[Guest], seating: np.ndarray, seeds: np.ndarray
) -> np.ndarray:
    """Play one game in every lane.

    Parameters
    ----------
    engine : BatchEngine
        Of :meth:`training.run.games.GameTraining.table`.
    guests : sequence of Guest
    seating : ndarray of int, shape (n, P)
        Guest in every seat.
    seeds : ndarray of int64, shape (n,)

    Returns
    -------
    ndarray of int, shape (n, P)
        Points of all seats.
    """
    n = engine.num_envs
    engine.reset_many(seeds=seeds)
    for guest in guests:
        guest.begin(np.arange(n))
    running, points = np.ones(n, np.bool_), np.zeros(seating.shape, np.int64)
    while running.any():
        lanes = np.flatnonzero(running)
        seat = engine.get_actors(lanes)
        asked, actions = seating[lanes, seat], np.zeros(n, np.int32)
        for k, guest in enumerate(guests):
            own = lanes[asked == k]
            if own.size:
                actions[own] = guest.act(engine, own)
        engine.step_many(actions, select=running, autoreset=False)
        over = np.flatnonzero(running & engine.ended)
        if over.size:
            points[over] = engine.get_outcomes(over)
            running[over] = False
    return points


def contest(
    players: Sequence[Player], num_games: int = 1000, *, seed: int = 0, resamples: int = 2000
) -> Contest:
    """Let players meet; see the module.

    Parameters
    ----------
    players : sequence of Player
        One is trained, at least. If they are fewer than the seats, they take several, in turns.
    num_games : int
        At least; a multiple of the seats is played.
    seed : int
        First evaluation seed.
    resamples : int
        Of the intervals.

    Raises
    ------
    ConfigError
        If there are too many of them, or one cannot sit at this table.
    """
    env, count = game_of(players), seat_count(players)
    names = [player.name for player in players]
    require(2 <= len(players) <= count, "players", names, f"2 to {count}, as the table has seats")
    require(num_games >= 1, "games", num_games, "at least 1")
    require(0 <= seed < 2**40, "seed", seed, "from 0 to 2**40 - 1")
    deals, game = -(-num_games // count), games.get_game(env)
    engine = game.table(deals * count, count)
    require(engine is not None, "env", env, "of a game in which players meet")
    assert engine is not None
    who = [k % len(players) for k in range(count)]  # player of each guest
    guests = [game.guest(players[k].who, engine, seed + 1 + g) for g, k in enumerate(who)]
    turn = np.arange(deals * count)[:, None] % count
    seating = (np.arange(count) + turn) % count
    first = MATCH_SEEDS + seed
    seeds = np.repeat(np.arange(deals, dtype=np.int64) + first, count)
    points = play_table(engine, guests, seating, seeds)
    by_guest = np.zeros_like(points)
    np.put_along_axis(by_guest, seating, points, axis=1)
    by_guest = by_guest.reshape(deals, count, count)
    return Contest(standings(players, who, by_guest, resamples, seed), deals, count, first)


def standings(
    players: Sequence[Player], who: Sequence[int], points: np.ndarray, resamples: int, seed: int
) -> tuple[Standing, ...]:
    """Return how players did, best first.

    Parameters
    ----------
    players : sequence of Player
    who : sequence of int
        Player of each guest.
    points : ndarray, shape (deals, games of a deal, guests)
    resamples, seed : int
    """
    k, member = len(players), np.eye(len(players))[list(who)]  # (guests, players)
    best = points == points.max(2, keepdims=True)
    wins = best / best.sum(2, keepdims=True)
    deals = np.ones((len(points), k)) * points.shape[1] * member.sum(0)
    totals = np.concatenate([points.sum(1) @ member, wins.sum(1) @ member], axis=1)
    found = Resamples(totals, np.concatenate([deals, deals], axis=1), resamples, seed).intervals()
    beats = (points[..., :, None] > points[..., None, :]) + 0.5 * (
        points[..., :, None] == points[..., None, :]
    )
    score = member.T @ beats.sum(1) @ member  # of each deal, (deals, players, players)
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(len(points), np.full(len(points), 1 / len(points)), resamples)
    value = fit(score.sum(0))
    low, high = np.percentile(fit(np.tensordot(drawn, score, 1)), (2.5, 97.5), axis=0)
    ranked = np.argsort(-value, kind="stable")
    return tuple(
        Standing(
            players[i].name,
            int(member[:, i].sum()),
            found[i],
            found[k + i],
            Interval(float(value[i]), float(low[i]), float(high[i])),
        )
        for i in ranked
    )


def show(console: Console, found: Contest) -> None:
    """Print the standings."""
    count = found.deals * found.num_players
    table = Table(
        title=f"{count:,} games of {found.num_players} on duplicate deals, every rotation",
        caption="Means of a seat and game with 95 % intervals over deals; shared wins count 1/k; "
        "Elo from every two seats of a game, 1000 in the mean.",
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("player", overflow="fold")
    for heading in ("points", "wins %", "Elo"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in found.standings:
        cells = [
            format_interval(one.points, 0),
            format_interval(one.wins, 1, 100),
            format_interval(one.rating, 0),
        ]
        seats = f" ({one.seats} seats)" if one.seats > 1 else ""
        table.add_row(escape(one.name) + seats, *cells)
    console.print(table)

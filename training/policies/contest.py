"""Policies and bots against each other at one table, on duplicate deals (``evaluate --against``).

A deal is what games of equal seeds have in common. Every deal is played once in each rotation of
the seats, so luck falls on all alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Printed

from training.evaluation.bootstrap import Interval, Resamples
from training.evaluation.tables import format_interval
from training.policies import skill
from training.policies.guests import Guest, Table, find_table, make_guest
from training.policies.load import load_policy
from training.policies.policy import Policy
from training.run.options import require
from training.run.seeds import MATCH_SEEDS
from training.selfplay.ratings import fit

MAX_DECISIONS = 100_000  # of all seats, after which a game is given up as it stands


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
    draws : Interval
        Share of games whose win a seat shared.
    rating : Interval
        Elo, 1000 on the mean, from all comparisons of two seats in a game.
    skill : Interval or None
        By openskill (:mod:`training.policies.skill`); None where two sit at the table.
    """

    name: str
    seats: int
    points: Interval
    wins: Interval
    draws: Interval
    rating: Interval
    skill: Interval | None = None


@dataclass(frozen=True)
class Contest:
    """Who met, and how they did.

    Parameters
    ----------
    env : str
        Its id.
    standings : tuple of Standing
        Best first.
    deals, num_players : int
        Games are their product.
    first_seed : int
        Of the deals.
    given_up : int
        Games that were cut off after ``MAX_DECISIONS``.
    scores : tuple of tuple of float
        Of each deal, the mean points of every player, in the order of the standings: what other
        statistics of players on the same deals begin with.
    """

    env: str
    standings: tuple[Standing, ...]
    deals: int
    num_players: int
    first_seed: int
    given_up: int = 0
    scores: tuple[tuple[float, ...], ...] = ()

    def record(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "protocol": "one table, duplicate deals, every rotation of the seats",
            "env": self.env,
            "deals": self.deals,
            "games": self.deals * self.num_players,
            "given_up": self.given_up,
            "first_seed": self.first_seed,
            "players": [
                {
                    "name": one.name,
                    "seats": one.seats,
                    "points": one.points.to_list(),
                    "win_share": one.wins.to_list(),
                    "draw_share": one.draws.to_list(),
                    "rating": one.rating.to_list(),
                    "openskill": None if one.skill is None else one.skill.to_list(),
                }
                for one in self.standings
            ],
        }


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


def table_of(
    players: Sequence[Player], env: str | None = None, options: Mapping[str, Any] | None = None
) -> Table:
    """Return where players meet; see :func:`training.policies.guests.find_table`.

    Raises
    ------
    ConfigError
        If all are bots and no ``env`` is named, or if players do not meet in it.
    """
    policies = [player.who for player in players if isinstance(player.who, Policy)]
    allowed = "one trained agent at least, or bots of a named environment (--env)"
    known = bool(policies) or env is not None
    require(known, "players", [player.name for player in players], allowed)
    return find_table(policies, env, options)


def play_table(
    engine: Any,
    guests: Sequence[Guest],
    seating: np.ndarray,
    seeds: np.ndarray,
    max_decisions: int = MAX_DECISIONS,
) -> np.ndarray:
    """Play one game in every lane.

    Parameters
    ----------
    engine : BatchEngine
        Of :meth:`training.policies.guests.Table.make`. Games that are given up have not ended.
    guests : sequence of Guest
        Each has one seat in every lane.
    seating : ndarray of int, shape (n, P)
        Guest in every seat.
    seeds : ndarray of int64, shape (n,)
    max_decisions : int
        After which a game is given up.

    Returns
    -------
    ndarray of float64, shape (n, P)
        What each seat has reached.
    """
    n = engine.num_envs
    engine.reset_many(seeds=seeds)
    for guest in guests:
        guest.begin(np.arange(n))
    running = np.ones(n, np.bool_)
    for _ in range(max_decisions):
        lanes = np.flatnonzero(running)
        asked, actions = seating[lanes, engine.get_actors(lanes)], np.zeros(n, np.int32)
        for k, guest in enumerate(guests):
            own = lanes[asked == k]
            if own.size:
                actions[own] = guest.act(engine, own)
        engine.step_many(actions, select=running, autoreset=False)
        running &= ~engine.ended
        if not running.any():
            break
    outcomes: np.ndarray = engine.get_outcomes()
    return outcomes


def contest(
    players: Sequence[Player],
    num_games: int = 1000,
    *,
    env: str | None = None,
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    resamples: int = 2000,
) -> Contest:
    """Let players meet; see the module.

    Parameters
    ----------
    players : sequence of Player
        If they are fewer than the seats, they take several, in turns.
    num_games : int
        At least; a multiple of the seats is played.
    env : str, optional
        Id of the environment; default that of the first trained player.
    options : mapping, optional
        Of the environment, over those of the first trained player.
    seed : int
        First evaluation seed.
    resamples : int
        Of the intervals, but for those of openskill.

    Raises
    ------
    ConfigError
        If there are too many of them, or one cannot sit at this table.
    """
    table = table_of(players, env, options)
    trial, names = table.make(1), [player.name for player in players]
    count = table.seats.count
    allowed = f"{'2 to ' * (count > 2)}{count}, as the table has seats"
    require(2 <= len(players) <= count, "players", names, allowed)
    require(num_games >= 1, "games", num_games, "at least 1")
    require(0 <= seed < 2**40, "seed", seed, "from 0 to 2**40 - 1")
    deals, who = -(-num_games // count), [k % len(players) for k in range(count)]
    for player in players:  # a table of one tells who cannot come, before many are set up
        make_guest(player.who, trial, 0)
    engine = table.make(deals * count)
    guests = [make_guest(players[k].who, engine, seed + 1 + g) for g, k in enumerate(who)]
    turn = np.arange(deals * count)[:, None] % count
    seating = (np.arange(count) + turn) % count
    first = MATCH_SEEDS + seed
    seeds = np.repeat(np.arange(deals, dtype=np.int64) + first, count)
    reached = play_table(engine, guests, seating, seeds)
    by_guest = np.zeros_like(reached)
    np.put_along_axis(by_guest, seating, reached, axis=1)
    by_guest = by_guest.reshape(deals, count, count)
    found = standings(players, who, by_guest, resamples, seed)
    place = {player.name: k for k, player in enumerate(players)}
    order = [place[one.name] for one in found]
    scores = (by_guest.mean(1) @ _membership(who))[:, order]
    given_up = int((~engine.ended).sum())
    rows = tuple(map(tuple, scores.tolist()))
    return Contest(table.env, found, deals, count, first, given_up, rows)


def _membership(who: Sequence[int]) -> np.ndarray:
    """Return weights with which guests (rows) give the means of their players (columns)."""
    member = np.eye(max(who) + 1)[list(who)]
    weights: np.ndarray = member / member.sum(0)
    return weights


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
    draws = best & (best.sum(2, keepdims=True) > 1)
    games = np.ones((len(points), k)) * points.shape[1] * member.sum(0)
    totals = np.concatenate([each.sum(1) @ member for each in (points, wins, draws)], axis=1)
    found = Resamples(totals, np.tile(games, 3), resamples, seed).intervals()
    ratings = _elo(points, member, resamples, seed)
    skills = skill.rate(points, who, seed) if points.shape[2] > 2 else [None] * k
    ranked = np.argsort([-one.value for one in ratings], kind="stable")
    return tuple(
        Standing(
            players[i].name,
            int(member[:, i].sum()),
            found[i],
            found[k + i],
            found[2 * k + i],
            ratings[i],
            skills[i],
        )
        for i in ranked
    )


def _elo(points: np.ndarray, member: np.ndarray, resamples: int, seed: int) -> list[Interval]:
    """Return the Elo rating of every player with its interval over deals."""
    beats = (points[..., :, None] > points[..., None, :]) + 0.5 * (
        points[..., :, None] == points[..., None, :]
    )
    score = member.T @ beats.sum(1) @ member  # of each deal, (deals, players, players)
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(len(points), np.full(len(points), 1 / len(points)), resamples)
    value = fit(score.sum(0))
    low, high = np.percentile(fit(np.tensordot(drawn, score, 1)), (2.5, 97.5), axis=0)
    return [Interval(*map(float, each)) for each in zip(value, low, high, strict=True)]


# -- in a terminal ---------------------------------------------------------------------------------

_NAME = 24  # letters of a name that a table has room for, where it is asked
_DIGITS = ((1, 3), (10, 2), (50, 1))  # of points up to a size; beyond it none


def show(console: Console, found: Contest) -> None:
    """Print the standings, in as many tables as the terminal is too narrow for one."""
    seats = [f" ({one.seats} seats)" if one.seats > 1 else "" for one in found.standings]
    names = [escape(one.name) + more for one, more in zip(found.standings, seats, strict=True)]
    columns = _columns(found.standings)
    count = found.deals * found.num_players
    title = f"{count:,} games of {found.num_players} on duplicate deals, every rotation"
    for part in _split(columns, console.width - 4 - min(_NAME, max(map(len, names)))):
        table = Printed(title=title if "points" in part else None, title_justify="left")
        table.add_column("player", overflow="fold")
        for heading in part:
            table.add_column(heading, justify="right", no_wrap=True)
        for k, name in enumerate(names):
            table.add_row(name, *(columns[heading][k] for heading in part))
        console.print(table)
    for line in _remarks(found, list(columns)):
        console.print(line, style="dim")


def _split(columns: Mapping[str, Sequence[str]], room: int) -> list[list[str]]:
    """Return the headings of columns that fit side by side, from the left to the right."""
    parts: list[list[str]] = [[]]
    left = room
    for heading, cells in columns.items():
        width = 3 + max(map(len, (heading, *cells)))
        if parts[-1] and width > left:
            parts.append([])
            left = room
        parts[-1].append(heading)
        left -= width
    return parts


def _columns(standings: Sequence[Standing]) -> dict[str, list[str]]:
    """Return the cells of each column by its heading."""
    ends = [abs(end) for one in standings for end in (one.points.low, one.points.high)]
    decimals = next((digits for size, digits in _DIGITS if max(ends) <= size), 0)
    columns = {
        "points": [format_interval(one.points, decimals) for one in standings],
        "wins %": [format_interval(one.wins, 1, 100) for one in standings],
    }
    if any(one.draws.value for one in standings):
        columns["drawn %"] = [format_interval(one.draws, 1, 100) for one in standings]
    columns["Elo"] = [format_interval(one.rating, 0) for one in standings]
    skills = [one.skill for one in standings if one.skill is not None]
    if skills:
        columns["openskill"] = [format_interval(each, 1) for each in skills]
    return columns


def _remarks(found: Contest, columns: Sequence[str]) -> list[str]:
    """Return what the columns are, a sentence or two a line."""
    drawn = ", which are those drawn" if "drawn %" in columns else ""
    lines = [
        "Means of a seat and game with 95 % intervals over deals; shared wins count 1/k" + drawn,
        "Elo from every two seats of a game, 1000 in the mean",
    ]
    if "openskill" in columns:
        lines.append(
            "openskill: mu by Plackett and Luce, 25 at first; the mean over "
            f"{skill.ORDERS} random orders of the games"
        )
    if found.given_up:
        lines.append(
            f"{found.given_up} games were given up after {MAX_DECISIONS:,} decisions, and count as "
            "they stood"
        )
    return [f"{line}." for line in lines]

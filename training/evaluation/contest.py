"""Policies and bots against each other at one table, on duplicate deals (``evaluate --against``).

A deal is what games of equal seeds have in common. Every deal is played once in each rotation of
the seats, so luck falls on all alike. If more players come than the table has seats, every group of
as many plays all deals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np

from training.evaluation import skill
from training.evaluation.evaluation import Entrant, Evaluation, play
from training.evaluation.intervals import Interval, Resamples
from training.evaluation.loop import MAX_DECISIONS, Cost
from training.evaluation.results import MEETING, Results, join
from training.evaluation.statistics import table_statistics
from training.players.names import load_who, make_player
from training.players.network import draws
from training.players.policy import Policy
from training.players.table import Table, find_table
from training.run.games import Column
from training.run.names import is_search
from training.run.options import require
from training.run.seeds import MATCH_SEEDS

POINTS = "points"  # a measure that ranks
MAX_GROUPS, MAX_GAMES = 50, 100_000


@dataclass(frozen=True)
class Standing:
    """The results of a player, with 95 % intervals over deals.

    Parameters
    ----------
    name : str
    seats : int
        Seats that it had at a table.
    points : Interval
        Mean points of a game, per seat.
    wins : Interval
        Share of games won, per seat; shared wins count 1/k.
    draws : Interval
        Share of games whose win a seat shared.
    skill : Interval
        By openskill (:mod:`training.evaluation.skill`).
    over : mapping of str to Interval
        By opponent, points minus the opponent's, paired by deal.
    """

    name: str
    seats: int
    points: Interval
    wins: Interval
    draws: Interval
    skill: Interval
    over: Mapping[str, Interval] = field(default_factory=dict)


@dataclass(frozen=True)
class Contest:
    """A contest and its results.

    Parameters
    ----------
    env : str
        Its id.
    standings : tuple of Standing
        Best first: by their points, or by openskill.
    deals, num_players, groups : int
        Games are their product.
    first_seed : int
        Of the deals.
    given_up : int
        Games that were cut off after ``MAX_DECISIONS``.
    statistics : mapping
        By player, the interquartile mean of points over deals, and how probable it is that it comes
        to more than another on a deal (:mod:`training.evaluation.statistics`).
    judged_by : str
        What ranks players of this game: ``points``, else that they win, which openskill sums up.
    drawn : tuple of str
        Trained players whose actions are drawn; others take their best one.
    measures : mapping
        By player and column, means of what the game itself measures of each seat.
    about : mapping of str to Column
        These columns.
    cpu_ms : mapping
        By player, milliseconds of CPU time a decision: of all but bots, whose loop takes no note of
        them, and only where somebody searches.
    """

    env: str
    standings: tuple[Standing, ...]
    deals: int
    num_players: int
    first_seed: int
    groups: int = 1
    given_up: int = 0
    statistics: Mapping[str, Any] = field(default_factory=dict)
    judged_by: str = "win"
    drawn: tuple[str, ...] = ()
    measures: Mapping[str, Mapping[str, Interval]] = field(default_factory=dict)
    about: Mapping[str, Column] = field(default_factory=dict)
    cpu_ms: Mapping[str, float] = field(default_factory=dict, compare=False)

    @property
    def games(self) -> int:
        """Games that were played."""
        return self.deals * self.num_players * self.groups

    def _record_cost(self, name: str) -> dict[str, float]:
        measured = name in self.cpu_ms
        return {"cpu_ms_per_decision": round(self.cpu_ms[name], 4)} if measured else {}

    def record(self) -> dict[str, Any]:
        """Return the contest as JSON values."""
        return {
            "protocol": "one table, duplicate deals, every rotation of the seats",
            "env": self.env,
            "deals": self.deals,
            "groups": self.groups,
            "games": self.games,
            "given_up": self.given_up,
            "first_seed": self.first_seed,
            "judged_by": self.judged_by,
            "players": [
                {
                    "name": one.name,
                    "seats": one.seats,
                    "drawn": one.name in self.drawn,
                    "points": one.points.to_list(),
                    "points_over": {name: x.to_list() for name, x in one.over.items()},
                    "win_share": one.wins.to_list(),
                    "draw_share": one.draws.to_list(),
                    "openskill": one.skill.to_list(),
                    **{n: x.to_list() for n, x in self.measures.get(one.name, {}).items()},
                    **self.statistics.get(one.name, {}),
                    **self._record_cost(one.name),
                }
                for one in self.standings
            ],
        }


def load_players(names: Sequence[str], runs: Path = Path("runs")) -> list[Entrant]:
    """Load players by name: trained policies by a path or the name of a run, or else bots.

    Both search if ``search:`` stands before their names (``training/search/agent.py``).

    Raises
    ------
    RunError, CheckpointError
        If a path is no trained agent.
    """
    players: list[Entrant] = []
    for name in names:
        shown = name if is_search(name) else _shorten_name(name)
        taken = sum(player.name.partition("#")[0] == shown for player in players)
        players.append(Entrant(f"{shown}#{taken + 1}" if taken else shown, load_who(name, runs)))
    return players


def _shorten_name(name: str) -> str:
    parts = [p for p in Path(name).parts if p not in ("checkpoints", "runs", "..", "/")]
    return "/".join(parts[-2:]) if parts else name


def table_of(
    players: Sequence[Entrant], env: str | None = None, options: Mapping[str, Any] | None = None
) -> Table:
    """Find the table of a contest; see :func:`training.players.table.find_table`.

    Raises
    ------
    ConfigError
        If all are bots and no ``env`` is named, or if ``env`` is no game of several players.
    """
    policies = [base for player in players if isinstance(base := player.base, Policy)]
    allowed = "one trained agent at least, or bots of a named environment (--env)"
    has_env = bool(policies) or env is not None
    require(has_env, "players", [player.name for player in players], allowed)
    return find_table(policies, env, options)


def contest(
    players: Sequence[Entrant],
    num_games: int = 1000,
    *,
    env: str | None = None,
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    resamples: int = 2000,
    sample: bool = False,
) -> Contest:
    """Let players meet; see the module.

    Parameters
    ----------
    players : sequence of Entrant
        If they are fewer than the seats, they take several, in turns; if they are more, every
        group of as many plays.
    num_games : int
        Of each group, at least; a multiple of the seats is played.
    env : str, optional
        Id of the environment; default that of the first trained player.
    options : mapping, optional
        Of the environment, over those of the first trained player.
    seed : int
        First evaluation seed.
    resamples : int
        Of the intervals, but for those of openskill.
    sample : bool
        Trained players draw their actions.

    Raises
    ------
    ConfigError
        If there are too many of them, or one cannot sit at this table.
    """
    table = table_of(players, env, options)
    trial, names = table.make(1), [player.name for player in players]
    count = table.seats.count
    require(len(players) >= 2, "players", names, "2 at least")
    groups = comb(len(players), count) if len(players) > count else 1
    allowed = f"at most {MAX_GROUPS} groups of {count}, and not {groups:,}"
    require(groups <= MAX_GROUPS, "players", names, allowed)
    allowed = f"from 1 to {MAX_GAMES:,}"
    require(1 <= num_games <= MAX_GAMES, "--games", num_games, allowed)
    require(0 <= seed < 2**40, "seed", seed, "from 0 to 2**40 - 1")
    for player in players:  # a table of one tells who cannot come, before many are set up
        make_player(player.who, trial)
    deals = -(-num_games // count)
    plans = plan(table, players, deals, seed)
    costs: dict[str, Cost] = {}
    played = [play(each, costs=costs, sample=sample) for each in plans.values()]
    met = [
        (who, by_member(results["points"], results))
        for who, results in zip(plans, played, strict=True)
    ]
    rows, per_deal = standings(players, met, resamples, seed, table.judged_by)
    every = join(played)
    own = [name for name in every.measured if name not in ("steps", *MEETING)]
    return Contest(
        *(table.env, rows, deals, count, MATCH_SEEDS + seed, len(met)),
        given_up=int(every.of(seat=0)["given_up"].sum()),
        statistics=table_statistics(per_deal, resamples, seed).record(names),
        judged_by=table.judged_by,
        drawn=_name_drawn(players, sample),
        measures=every.estimate(own, resamples=resamples, seed=seed).means if own else {},
        about={name: every.about[name] for name in own},
        cpu_ms=_measure_cpu_ms(players, costs),
    )


def plan(
    table: Table, players: Sequence[Entrant], deals: int, seed: int
) -> dict[tuple[int, ...], Evaluation]:
    """Plan the evaluation of each group of players, by their numbers.

    Few players take several seats in turns, and of many all groups meet.

    Parameters
    ----------
    table : Table
    players : sequence of Entrant
    deals : int
        Each is played in every rotation of the seats.
    seed : int
        First evaluation seed.
    """
    seats = table.seats.count
    groups = [tuple(k % len(players) for k in range(seats))]
    if len(players) > seats:
        groups = [*combinations(range(len(players)), seats)]
    first = MATCH_SEEDS + seed
    usual = Evaluation(
        *("table", table.env, table.options),
        seeds=range(first, first + deals),
        rotations=seats,
        at_table=True,
        draws=seed + 1,
        max_steps=MAX_DECISIONS,
        decides=table.judged_by,
    )
    return {who: replace(usual, who=[players[k] for k in who]) for who in groups}


def by_member(values: np.ndarray, results: Results) -> np.ndarray:
    """Order a column of results of a table by the members of the group.

    Parameters
    ----------
    values : ndarray, shape (rows,)
    results : Results
        Of one group.

    Returns
    -------
    ndarray, shape (deals, rotations, members)
    """
    seats = int(results["member"].max()) + 1
    order = np.argsort(results["member"].reshape(-1, seats), axis=1)
    sorted_ = np.take_along_axis(values.reshape(-1, seats), order, axis=1)
    return sorted_.reshape(-1, seats, seats)


def share_wins(points: np.ndarray) -> np.ndarray:
    """Return the share of each member in the wins, 1/k for the k best; games count as they stand.

    Parameters
    ----------
    points : ndarray, shape (deals, rotations, members)
    """
    best = points == points.max(2, keepdims=True)
    wins: np.ndarray = best / best.sum(2, keepdims=True)
    return wins


def _name_drawn(players: Sequence[Entrant], sample: bool) -> tuple[str, ...]:
    """Return the names of the players whose actions are drawn."""
    return tuple(p.name for p in players if isinstance(p.who, Policy) and draws(p.who, sample))


def _measure_cpu_ms(players: Sequence[Entrant], costs: Mapping[str, Cost]) -> dict[str, float]:
    """Return milliseconds of CPU time a decision, of all but bots and only where one searches."""
    if not any(is_search(player.name) for player in players):
        return {}
    spent = ((p.name, costs[p.name]) for p in players if not isinstance(p.who, str))
    return {name: 1000 * cost.cpu_s / max(cost.decisions, 1) for name, cost in spent}


def standings(
    players: Sequence[Entrant],
    met: Sequence[tuple[Sequence[int], np.ndarray]],
    resamples: int,
    seed: int,
    judged_by: str = "win",
) -> tuple[tuple[Standing, ...], np.ndarray]:
    """Rank the players, best first; return that and the mean points of each on each deal.

    Parameters
    ----------
    players : sequence of Entrant
    met : sequence of (sequence of int, ndarray of shape (deals, games of a deal, members))
        Of each group the player that every member is, and what the members reached.
    resamples, seed : int
    judged_by : str
        Players are ranked by ``points``, or else by openskill.

    Returns
    -------
    tuple of Standing
    ndarray of float64, shape (deals, players)
        In the order of ``players``.
    """
    k, deals = len(players), len(met[0][1])
    totals, games = np.zeros((3, deals, k)), np.zeros((deals, k))
    for who, points in met:
        member = np.eye(k)[list(who)]  # (members, players)
        wins = share_wins(points)
        draws = (wins > 0) & (wins < 1)
        totals += [each.sum(1) @ member for each in (points, wins, draws)]
        games += points.shape[1] * member.sum(0)
    drawn = Resamples(np.hstack([*totals]), np.tile(games, 3), resamples, seed)
    means = drawn.intervals()
    skills = _rate_skills(met, seed)
    ranks = means[:k] if judged_by == POINTS else skills
    ranked = np.argsort([-one.value for one in ranks], kind="stable")
    seats = [max(list(who).count(i) for who, _ in met) for i in range(k)]
    rows = tuple(
        Standing(
            *(players[i].name, seats[i], means[i], means[k + i], means[2 * k + i], skills[i]),
            {players[j].name: drawn.difference(i, j) for j in range(k) if j != i},
        )
        for i in ranked
    )
    return rows, totals[0] / games


def _rate_skills(met: Sequence[tuple[Sequence[int], np.ndarray]], seed: int) -> list[Interval]:
    """Rate players by openskill: of one group by seat, of several by player."""
    if len(met) == 1:
        who, points = met[0]
        return skill.rate(points, who, seed)
    points = np.concatenate([each for _, each in met], axis=1)
    seated = np.concatenate([np.tile(who, (each.shape[1], 1)) for who, each in met])
    return skill.rate(points, range(seated.max() + 1), seed, seated)

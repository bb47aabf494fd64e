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
from training.evaluation.intervals import RESAMPLES, Interval
from training.evaluation.loop import MAX_DECISIONS
from training.evaluation.results import CLUSTER, MEETING, Results, join
from training.evaluation.statistics import improvement_on_deals, iqm_interval
from training.players.contest_table import ContestTable, find_table
from training.players.names import load_who, make_player
from training.players.network import draws
from training.players.player import Cost
from training.players.policy import Policy
from training.run.games import Column
from training.run.options import require
from training.run.seating import is_search
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
    iqm : Interval
        Interquartile mean of points over deals.
    ahead : mapping of str to Interval
        By opponent, how probable it is that it comes to more on a deal.
    measures : mapping of str to Interval
        By column, means of what the game itself measures of each seat.
    wins_on_deals : tuple of float
        Share of games won on each deal, in their order.
    drawn : bool
        It is a trained player whose actions are drawn; others take their best one.
    cpu_ms : float or None
        Milliseconds of CPU time a decision; None for bots, and where nobody searches.
    """

    name: str
    seats: int
    points: Interval
    wins: Interval
    draws: Interval
    skill: Interval
    over: Mapping[str, Interval]
    iqm: Interval
    ahead: Mapping[str, Interval]
    measures: Mapping[str, Interval]
    wins_on_deals: tuple[float, ...] = ()
    drawn: bool = False
    cpu_ms: float | None = field(default=None, compare=False)

    def record(self) -> dict[str, Any]:
        """Return the standing as JSON values."""
        cost = {} if self.cpu_ms is None else {"cpu_ms_per_decision": round(self.cpu_ms, 4)}
        return {
            "name": self.name,
            "seats": self.seats,
            "drawn": self.drawn,
            "points": self.points.to_list(),
            "points_over": {name: x.to_list() for name, x in self.over.items()},
            "win_share": self.wins.to_list(),
            "draw_share": self.draws.to_list(),
            "openskill": self.skill.to_list(),
            **{name: x.to_list() for name, x in self.measures.items()},
            "iqm": self.iqm.to_list(),
            "probability_of_improvement": {name: x.to_list() for name, x in self.ahead.items()},
            **cost,
        }


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
    judged_by : str
        What ranks players of this game: ``points``, else that they win, which openskill sums up.
    about : mapping of str to Column
        Of the measures of the game itself.
    """

    env: str
    standings: tuple[Standing, ...]
    deals: int
    num_players: int
    first_seed: int
    groups: int = 1
    given_up: int = 0
    judged_by: str = "win"
    about: Mapping[str, Column] = field(default_factory=dict)

    @property
    def games(self) -> int:
        """Games that were played."""
        return self.deals * self.num_players * self.groups

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
            "players": [one.record() for one in self.standings],
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
) -> ContestTable:
    """Find the table of a contest; see :func:`training.players.contest_table.find_table`.

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
    resamples: int = RESAMPLES,
    sample: bool | None = None,
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
    sample : bool, optional
        Whether trained players draw their actions; default as is usual in their games.

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
    met = {who: play(each, sample=sample) for who, each in plans.items()}
    every = join([*met.values()])
    own = [name for name in every.measured if name not in ("steps", *MEETING)]
    cpu_ms = _measure_cpu_ms(players, every.costs)
    rows = [
        replace(
            one,
            drawn=isinstance(player.who, Policy) and draws(player.who, sample),
            cpu_ms=cpu_ms.get(player.name),
        )
        for player, one in zip(
            players, make_standings(names, met, own, resamples, seed), strict=True
        )
    ]
    return Contest(
        *(table.env, rank(rows, table.judged_by), deals, count, MATCH_SEEDS + seed, len(met)),
        given_up=int(every.of(seat=0)["given_up"].sum()),
        judged_by=table.judged_by,
        about={name: every.about[name] for name in own},
    )


def plan(
    table: ContestTable, players: Sequence[Entrant], deals: int, seed: int
) -> dict[tuple[int, ...], Evaluation]:
    """Plan the evaluation of each group of players, by their numbers.

    Few players take several seats in turns, and of many all groups meet.

    Parameters
    ----------
    table : ContestTable
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


def _measure_cpu_ms(players: Sequence[Entrant], costs: Mapping[str, Cost]) -> dict[str, float]:
    """Return milliseconds of CPU time a decision, of all but bots and only where one searches."""
    if not any(is_search(player.name) for player in players):
        return {}
    return {p.name: costs[p.name].cpu_ms for p in players if not isinstance(p.who, str)}


def make_standings(
    names: Sequence[str],
    met: Mapping[tuple[int, ...], Results],
    own: Sequence[str] = (),
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[Standing]:
    """Estimate the standing of each player, in the order of their names.

    Parameters
    ----------
    names : sequence of str
    met : mapping
        Results of each group, by the numbers of its players.
    own : sequence of str
        Columns of the game itself.
    resamples, seed : int
    """
    every = join([*met.values()])
    drawn = every.estimate(("points", "win", "draw", *own), resamples=resamples, seed=seed)
    deals = {name: _average_deals(every.of(player=name)) for name in names}
    rows = []
    for k, (name, skill_of) in enumerate(zip(names, _rate_skills(met, seed), strict=True)):
        means, others = drawn.means[name], [other for other in names if other != name]
        rows.append(
            Standing(
                name=name,
                seats=max(list(who).count(k) for who in met),
                points=means["points"],
                wins=means["win"],
                draws=means["draw"],
                skill=skill_of,
                over={other: drawn.difference(name, other, "points") for other in others},
                iqm=iqm_interval(deals[name], resamples, seed),
                ahead={other: improvement_on_deals(deals[name], deals[other]) for other in others},
                measures={column: means[column] for column in own},
                wins_on_deals=tuple(_average_deals(every.of(player=name), "win").tolist()),
            )
        )
    return rows


def rank(standings: Sequence[Standing], judged_by: str) -> tuple[Standing, ...]:
    """Order players, the best first: by mean ``points``, or else by openskill."""
    by_points = judged_by == POINTS
    return tuple(sorted(standings, key=lambda x: -(x.points if by_points else x.skill).value))


def _average_deals(own: Results, column: str = "points") -> np.ndarray:
    """Average a column of a player on each deal, float64 (deals,)."""
    _, deal = np.unique(own[CLUSTER], return_inverse=True)
    means: np.ndarray = np.bincount(deal, own[column]) / np.bincount(deal)
    return means


def _rate_skills(met: Mapping[tuple[int, ...], Results], seed: int) -> list[Interval]:
    """Rate players by openskill: of one group by seat, of several by player."""
    points = [_order_points(results) for results in met.values()]
    if len(met) == 1:
        (who,) = met
        return skill.rate(points[0], who, seed)
    games = points[0].shape[1]
    seated = np.concatenate([np.tile(who, (games, 1)) for who in met])
    return skill.rate(np.concatenate(points, axis=1), range(seated.max() + 1), seed, seated)


def _order_points(results: Results) -> np.ndarray:
    """Order the points of a group by its members, (deals, rotations, members)."""
    seats = int(results["member"].max()) + 1
    order = np.argsort(results["member"].reshape(-1, seats), axis=1)
    points = np.take_along_axis(results["points"].reshape(-1, seats), order, axis=1)
    deals = len(np.unique(results[CLUSTER]))
    return points.reshape(deals, -1, seats)

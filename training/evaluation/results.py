"""The table of results: one row for each episode and seat, its means and its records.

Whoever plays (:mod:`training.evaluation.evaluation`), it comes to such a table, and means,
differences, records, terminals and curves are made of it. :data:`COMMON` and :data:`MEETING` are
the columns of every game, and :attr:`training.run.games.GameTraining.columns` those of one: a
metric is an entry there, and nowhere else.

Rows with equal seeds have equal luck, such as the cards of a deal that is played in each rotation
of the seats: ``seed`` says which belong together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from training.evaluation.intervals import RESAMPLES, Interval, Resamples, share
from training.evaluation.loop import Step
from training.players.player import Cost
from training.run import games
from training.run.engine import first_column
from training.run.games import Column

CLUSTER = "seed"  # the column that says which rows have equal luck
INVALID_RATE = "invalid_action_rate"


def _ones(engine: Any, lanes: np.ndarray) -> np.ndarray:
    return np.ones(len(lanes))


def _zeros(engine: Any, lanes: np.ndarray) -> np.ndarray:
    return np.zeros(len(lanes))


def _ticks(engine: Any, lanes: np.ndarray) -> np.ndarray:
    """Return the ticks that the decision of each lane has lasted."""
    column: np.ndarray = engine.info.get("dt", engine.tau)
    return column[lanes]


def _refused(engine: Any, lanes: np.ndarray) -> np.ndarray:
    """Tell which decisions were invalid."""
    column = engine.info.get("invalid_action")
    return np.zeros(len(lanes)) if column is None else first_column(column)[lanes]


def _points(engine: Any, lanes: np.ndarray) -> np.ndarray:
    reached: np.ndarray = engine.get_outcomes(lanes)
    return reached


def _wins(engine: Any, lanes: np.ndarray) -> np.ndarray:
    """Return the share of each seat in the win, (k, P): 1/k for the k best, 0 if given up."""
    reached = _points(engine, lanes)
    best = (reached == reached.max(axis=1, keepdims=True)) & engine.ended[lanes][:, None]
    parts: np.ndarray = best / np.maximum(best.sum(axis=1, keepdims=True), 1)
    return parts


def _draws(engine: Any, lanes: np.ndarray) -> np.ndarray:
    wins = _wins(engine, lanes)
    return (wins > 0) & (wins < 1)


def _seats(engine: Any, lanes: np.ndarray) -> np.ndarray:
    count = _points(engine, lanes).shape[1]
    return np.tile(np.arange(count), (len(lanes), 1))


# Of every game, in the order of records. ``ticks`` equal ``steps`` in games that count none.
COMMON: Mapping[str, Column] = {
    "steps": Column("count", "decisions", read=_ones, when="step"),
    "ticks": Column("count", "ticks", read=_ticks, when="step"),
    "return": Column("measure", read=lambda engine, lanes: engine.reward[lanes], when="step"),
    "terminated": Column("kept", read=lambda engine, lanes: engine.terminated[lanes]),
    "truncated": Column("kept", read=lambda engine, lanes: engine.truncated[lanes]),
    "given_up": Column("kept", read=lambda engine, lanes: ~engine.ended[lanes]),
    "invalid_actions": Column("kept", "decisions", read=_refused, when="step"),
    INVALID_RATE: Column("share", read=_zeros),  # made of both at the end; in no table
}
# Of episodes in which players meet; behind those of the game.
MEETING: Mapping[str, Column] = {
    "seat": Column("kept", read=_seats),
    "points": Column("measure", read=_points),
    "win": Column("flag", read=_wins, shared=True),
    "draw": Column("flag", read=_draws),
}
_LENGTHS = ("steps", "ticks", INVALID_RATE)
# Columns of COMMON that an engine has not for each seat where all are played from outside.
_OF_ONE = ("ticks", "return", "invalid_actions", INVALID_RATE)
_WHOLE = ("steps", "ticks", "invalid_actions", "seat")
_TRUTHS = ("terminated", "truncated", "given_up", "draw")
# Names of columns in records, which are older than the names here.
RECORDED = {
    "against": "opponent",
    "player": "bot",
    "ticks": "dt_total",
    "return": "return_total",
    "given_up": "guard_truncated",
}


@dataclass(frozen=True)
class Results:
    """The results of a number of episodes, as columns.

    Parameters
    ----------
    columns : dict of str to ndarray, shape (rows,)
        ``player``, ``seed`` and those that ``about`` tells of; ``against``, who had the other
        seats, where that was somebody; at a table ``member``, the number of the player there.
    about : mapping of str to Column
        Of the columns that are there and of those that follow from them.
    actions : tuple of ndarray of int32, or None
        Of each row, if they were to be kept.
    costs : mapping of str to Cost
        By player, of all decisions in the episodes that were played.
    """

    columns: dict[str, np.ndarray]
    about: Mapping[str, Column] = field(default_factory=dict)
    actions: tuple[np.ndarray, ...] | None = None
    costs: Mapping[str, Cost] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.columns[CLUSTER])

    def __getitem__(self, name: str) -> np.ndarray:
        """Return a column, recorded or not.

        Raises
        ------
        KeyError
            If it is not there, or what it is made of is not.
        """
        if name in self.columns:
            return self.columns[name]
        compute = self.about[name].of
        if compute is None:
            raise KeyError(name)
        return np.asarray(compute(self))  # type: ignore[arg-type]

    def __contains__(self, name: object) -> bool:
        """Tell whether there is such a column."""
        try:
            self[str(name)]
        except KeyError:
            return False
        return True

    @property
    def players(self) -> list[str]:
        """The names of those who played, in the order in which they did."""
        return list(dict.fromkeys(self.columns["player"].tolist()))

    @property
    def measured(self) -> list[str]:
        """The columns whose means have intervals; counts, and what follows from others, last."""
        names = [name for name, each in self.about.items() if each.is_measured and name in self]
        return sorted(names, key=lambda name: (self.about[name].of is not None, name in _LENGTHS))

    def of(self, **equal: Any) -> Self:
        """Select the rows in which columns have these values, such as ``player="rule_hard"``."""
        where = np.ones(len(self), np.bool_)
        for name, value in equal.items():
            where &= self[name] == value
        chosen = np.flatnonzero(where)
        kept = None if self.actions is None else tuple(self.actions[k] for k in chosen.tolist())
        return replace(self, columns={n: x[chosen] for n, x in self.columns.items()}, actions=kept)

    def with_column(self, name: str, value: Any) -> Self:
        """Copy the results with one more recorded column in front: a value for all, or an array."""
        values = np.broadcast_to(np.asarray(value), len(self))
        others = {key: column for key, column in self.columns.items() if key != name}
        return replace(self, columns={name: values, **others})

    # -- means and differences ---------------------------------------------------------------------

    def estimate(
        self,
        columns: Iterable[str] | None = None,
        *,
        cluster: str = CLUSTER,
        resamples: int = RESAMPLES,
        seed: int = 0,
    ) -> Estimates:
        """Estimate means of columns of all players, from equal resamples of the clusters.

        Parameters
        ----------
        columns : iterable of str, optional
            Default those that are measured.
        cluster : str
            Rows with equal values are drawn together.
        resamples, seed : int
            Of the bootstrap.
        """
        names = self.measured if columns is None else list(columns)
        cells = [(player, name) for player in self.players for name in names]
        return Estimates(self, cells, cluster, resamples, seed)

    def mean(self, column: str) -> Interval:
        """Estimate the mean of a column over all rows, with its 95 % interval over clusters."""
        alone = replace(self, columns={**self.columns, "player": np.full(len(self), "")})
        return alone.estimate([column]).means[""][column]

    def difference(self, a: str, b: str, column: str) -> Interval:
        """Estimate the mean of player ``a`` less that of ``b``, paired by what they both played."""
        return self.estimate([column]).difference(a, b, column)

    def summary(self) -> dict[str, Any]:
        """Return counts and means over the rows, as JSON values."""
        steps, refused = (int(self[name].sum()) for name in ("steps", "invalid_actions"))
        summary: dict[str, Any] = {
            "episode_count": len(self),
            "guard_truncated_count": int(self["given_up"].sum()),
            "steps_total": steps,
            "dt_total": int(self["ticks"].sum()),
        }
        for name in self._of_kind("measure"):
            summary[f"{name}_mean"] = float(self[name].mean())
            summary[f"{name}_median"] = float(np.median(self[name]))
        for name in self._of_kind("share", "flag"):
            summary[f"{name}_rate"] = float(self[name].mean())
        for name in self._of_kind("mean"):
            summary[f"{name}_mean"] = float(self[name].mean())
        summary[f"{INVALID_RATE}_mean"] = float(self[INVALID_RATE].mean())
        summary[f"{INVALID_RATE}_global"] = float(refused / steps)
        return summary

    def _of_kind(self, *kinds: str) -> Iterator[str]:
        """Yield the recorded columns of some kinds but for the counts of the steps."""
        columns = ((name, self.about[name]) for name in self.columns if name in self.about)
        return (name for name, each in columns if each.kind in kinds and name != INVALID_RATE)

    # -- records -----------------------------------------------------------------------------------

    def record(self) -> list[dict[str, Any]]:
        """Return one plain record a row, the lines of ``episodes.jsonl``."""
        names = [RECORDED.get(name, name) for name in self.columns]
        rows = zip(*(column.tolist() for column in self.columns.values()), strict=True)
        return [dict(zip(names, row, strict=True)) for row in rows]

    @classmethod
    def read(cls, rows: Sequence[Mapping[str, Any]], env: str) -> Self:
        """Read what :meth:`record` returned, of episodes of an environment.

        Parameters
        ----------
        rows : sequence of mapping
            At least one; of a version of before too.
        env : str
            Its id, with or without the namespace.
        """
        names = {recorded: name for name, recorded in RECORDED.items()}
        columns = {names.get(name, name): np.array([row[name] for row in rows]) for name in rows[0]}
        about = list_columns(games.get_game(env).columns)
        present = {n: c for n, c in about.items() if n in columns or c.of is not None}
        return cls(columns, present)


def join(tables: Sequence[Results]) -> Results:
    """Join the rows of several tables, with the columns that all of them have."""
    first = tables[0]
    names = [name for name in first.columns if all(name in each.columns for each in tables)]
    columns = {name: np.concatenate([each.columns[name] for each in tables]) for name in names}
    kept = None
    if any(each.actions is not None for each in tables):
        nothing = np.zeros(0, np.int32)
        kept = tuple(a for each in tables for a in each.actions or (nothing,) * len(each))
    costs = add_costs(pair for each in tables for pair in each.costs.items())
    return Results(columns, first.about, kept, costs)


def add_costs(costs: Iterable[tuple[str, Cost]]) -> dict[str, Cost]:
    """Add up the costs of each player by name."""
    total: dict[str, Cost] = {}
    for name, cost in costs:
        total.setdefault(name, Cost()).add(cost)
    return total


class Estimates:
    """Means of players in columns with 95 % intervals, all from the same resamples.

    Those of flags are Wilson's where the rows of a player are independent; all
    others are percentile bootstrap intervals over clusters.

    Parameters
    ----------
    results : Results
    cells : sequence of (str, str)
        Player and column.
    cluster : str
        Column; rows with equal values are drawn together.
    resamples, seed : int

    Attributes
    ----------
    means : dict of str to dict of str to Interval
        Player to column to mean.
    """

    def __init__(
        self,
        results: Results,
        cells: Sequence[tuple[str, str]],
        cluster: str,
        resamples: int,
        seed: int,
    ) -> None:
        groups = np.unique(results[cluster])
        of = {name: results.of(player=name) for name in dict.fromkeys(who for who, _ in cells)}
        sums = [_sum_clusters(of[player], name, cluster, groups) for player, name in cells]
        above, below = (np.stack(each, axis=1) for each in zip(*sums, strict=True))
        self._drawn = Resamples(above, below, resamples, seed)
        self._at = {cell: k for k, cell in enumerate(cells)}
        self.means: dict[str, dict[str, Interval]] = {player: {} for player in of}
        for (player, name), interval in zip(cells, self._drawn.intervals(), strict=True):
            own, about = of[player], results.about.get(name)
            alone = about is not None and about.kind == "flag" and about.per is None
            alone = alone and len(np.unique(own[cluster])) == len(own)
            self.means[player][name] = share(own[name]) if alone else interval

    def record(self) -> dict[str, dict[str, list[float | None]]]:
        """Return player to column to value, low and high, as JSON values."""
        return {
            player: {column: mean.to_list() for column, mean in means.items()}
            for player, means in self.means.items()
        }

    def difference(self, a: str, b: str, column: str) -> Interval:
        """Return the mean of player ``a`` less that of ``b``, clusters paired."""
        return self._drawn.difference(self._at[a, column], self._at[b, column])

    def gaps(self, baseline: str, column: str) -> dict[str, Interval]:
        """Return the differences of all others to the baseline."""
        others = (player for player in self.means if player != baseline)
        return {player: self.difference(player, baseline, column) for player in others}


def _sum_clusters(
    own: Results, name: str, cluster: str, groups: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sum a column in each cluster, and its divisors, both (clusters,)."""
    where = np.searchsorted(groups, own[cluster])
    per = None if name not in own.about else own.about[name].per
    counted = np.ones(len(own)) if per is None else own[per]
    above, below = (
        np.bincount(where, np.asarray(values, np.float64), len(groups))
        for values in (own[name], counted)
    )
    return above, below


@dataclass(frozen=True)
class EvaluationReport:
    """The results of evaluations.

    Parameters
    ----------
    record : dict
        As JSON values: of each evaluation by its name or, where players meet, of all in
        ``matches``.
    rows : list of dict, optional
        Lines of ``episodes.jsonl``.
    played : Results, optional
        Those of the first evaluation; of a run's agent with its actions.
    env_options : mapping
        Options of the environment of the first evaluation.
    costs : dict of str to Cost
        What the decisions of each player cost, in all evaluations.
    """

    record: dict[str, Any]
    rows: list[dict[str, Any]] | None = None
    played: Results | None = None
    env_options: Mapping[str, Any] = field(default_factory=dict)
    costs: Mapping[str, Cost] = field(default_factory=dict)


# -- recording -------------------------------------------------------------------------------------


class Recorder:
    """Makes a table of the steps of a loop.

    Parameters
    ----------
    engine : BatchEngine
    seeds : ndarray of int64, shape (episodes,)
    names : sequence of str
        Of the players.
    seating : ndarray of int, shape (episodes, P), optional
        The player in each seat: there is a row for each of them. Default the first player alone,
        in the seat that the engine shows.
    keep_actions : bool
    """

    def __init__(
        self,
        engine: Any,
        seeds: np.ndarray,
        names: Sequence[str],
        seating: np.ndarray | None = None,
        keep_actions: bool = False,
    ) -> None:
        self._seeds, self._names, self._seating = seeds, names, seating
        self._about = columns_of(engine, at_table=seating is not None)
        self._shape = (len(seeds),) if seating is None else seating.shape
        self._columns = {
            name: np.zeros(self._shape, _get_dtype(name))
            for name, column in self._about.items()
            if column.of is None
        }
        self._keeps, self._taken = keep_actions, [(np.zeros(0, np.int64), np.zeros(0, np.int32))]

    def begun(self, engine: Any, lanes: np.ndarray, episodes: np.ndarray) -> None:
        """Record episodes that begin in lanes."""
        for name in self._list_columns("begin"):
            self._set(name, engine, lanes, episodes)

    def note(self, engine: Any, step: Step) -> None:
        """Record a step."""
        lanes, episodes = step.lanes, step.episode[step.lanes]
        for name in self._list_columns("step"):
            values = self._read(name, engine, lanes)
            if values is not None and self._seating is not None and values.ndim == 1:
                self._columns[name][episodes, step.seats] += values.astype(_get_dtype(name))
            elif values is not None:
                self._columns[name][episodes] += values.astype(_get_dtype(name))
        if self._keeps:
            self._taken.append((episodes, step.actions[lanes]))
        over = step.over
        if over.size and "return" in self._columns:
            self._columns["return"][step.episode[over]] = engine.ep_return[over]  # doubles
        finished = step.finished
        if finished.size:
            for name in self._list_columns("end"):
                self._set(name, engine, finished, step.episode[finished])

    def _list_columns(self, when: str) -> list[str]:
        return [n for n, c in self._about.items() if c.when == when and n in self._columns]

    def _set(self, name: str, engine: Any, lanes: np.ndarray, episodes: np.ndarray) -> None:
        values = self._read(name, engine, lanes)
        if values is None:
            return
        if self._seating is not None and values.ndim == 1:
            values = values[:, None]
        self._columns[name][episodes] = values

    def _read(self, name: str, engine: Any, lanes: np.ndarray) -> np.ndarray | None:
        """Read values of a column; None, and never again, where seats have none of their own."""
        read = self._about[name].read
        values = engine.info[name][lanes] if read is None else read(engine, lanes)
        if self._seating is None:
            if values.ndim > 1:
                own = 0 if read is None else engine.get_agents(lanes)
                values = values[np.arange(len(lanes)), own]
        elif values.ndim == 1 and name not in COMMON:
            del self._columns[name]
            return None
        return np.asarray(values)

    def results(self) -> Results:
        """Return the table."""
        rows, seats = len(self._seeds), 1 if self._seating is None else self._shape[1]
        who = np.zeros(rows, np.int64) if self._seating is None else self._seating.ravel()
        columns = {"player": np.array(self._names)[who], CLUSTER: np.repeat(self._seeds, seats)}
        if self._seating is not None:
            columns["member"] = who
        columns |= {name: column.ravel() for name, column in self._columns.items()}
        kept = {n: c for n, c in self._about.items() if n in columns or c.of is not None}
        if INVALID_RATE in columns:
            rate = columns["invalid_actions"] / np.maximum(columns["steps"], 1)
            columns[INVALID_RATE] = rate
        return Results(columns, kept, self._split_actions())

    def _split_actions(self) -> tuple[np.ndarray, ...] | None:
        """Split the actions by episode, if they were kept."""
        if not self._keeps:
            return None
        episodes, actions = map(np.concatenate, zip(*self._taken, strict=True))
        actions = actions[np.argsort(episodes, kind="stable")]
        lengths = np.bincount(episodes, minlength=len(self._seeds))
        return tuple(np.split(actions, np.cumsum(lengths)[:-1]))


def list_columns(own: Mapping[str, Column]) -> dict[str, Column]:
    """List all columns that episodes of a game may have, given its own."""
    meeting = {name: each for name, each in MEETING.items() if name not in own}
    return {**COMMON, **own, **meeting}


def columns_of(engine: Any, at_table: bool = False) -> dict[str, Column]:
    """Return the columns of the episodes of an engine, in the order of records.

    Parameters
    ----------
    engine : BatchEngine
    at_table : bool
        All seats are played from outside.
    """
    own = {
        name: column
        for name, column in games.get_engine_game(engine).columns.items()
        if column.read is not None or column.of is not None or name in engine.info
    }
    if at_table:
        common = {name: each for name, each in COMMON.items() if name not in _OF_ONE}
        return {**common, **own, **MEETING}
    meets = engine.spec.num_agents > 1 and engine.asks_outside
    meeting = {n: c for n, c in MEETING.items() if n not in own} if meets else {}
    return {**COMMON, **own, **meeting}


def _get_dtype(name: str) -> Any:
    if name in _TRUTHS:
        return np.bool_
    return np.int64 if name in _WHOLE else np.float64

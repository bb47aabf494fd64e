"""Evaluation of Dr. Mario over seeds of the registry, one row a game (docs/howto/train_drmario.md).

A game is the same every time; who plays it may draw. The time T is a cost: it is the frames to the
clear, and ``t_max`` where an episode was not cleared by then.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fastenv.drmario.seeds import registry_seeds, seed_id
from fastenv.drmario.tables import Reason
from training.apps.drmario.best_times import Clear
from training.apps.drmario.seed_plan import Plan
from training.evaluation import replays
from training.evaluation.evaluation import Evaluation
from training.evaluation.evaluation import play as play_episodes
from training.evaluation.results import Results
from training.players.bots import Bot
from training.players.network import Network
from training.players.player import MakePlayer
from training.players.trained import Trained
from training.run import files
from training.run.games import Column
from training.run.options import require

LANES = 256  # episodes that are played at once
TAILS = (5, 25)  # percent of the worst episodes that a CVaR is the mean of
NAMED = ("level", "speed", "seed", "seed_id", "risk_tau")  # what tells rows apart
SLOW = 3.0  # standard deviations above the mean, from which a clear is an anomaly
TYPES = {
    "level": "int8",
    "speed": "string",
    "seed": "int32",
    "seed_id": "string",
    "risk_tau": "float64",  # quantile that placements were judged by
    "episodes": "int32",
    "success_rate": "float64",
    "frames_mean": "float64",  # over successes, as the next
    "frames_var": "float64",
    "timeout_rate": "float64",
    "within_rate": "float64",
    **{f"cvar_{tail}": "float64" for tail in TAILS},
    "spawns_mean": "float64",
    "return_mean": "float64",
}


def columns(t_max: int) -> dict[str, Column]:
    """Return the columns of episodes that follow from those of Dr. Mario.

    Parameters
    ----------
    t_max : int
        Frames by which a bottle is to be cleared.
    """
    return {
        "cleared": Column(
            "flag", of=lambda x: (x["reason"] == Reason.CLEAR) & (x["ticks"] <= t_max)
        ),
        # Neither is so where the bottle got full.
        "timed_out": Column("flag", of=lambda x: ~x["cleared"] & (x["reason"] != Reason.TOPOUT)),
        "cost": Column(
            "measure", "frames", of=lambda x: np.where(x["cleared"], x["ticks"], float(t_max))
        ),
    }


def player_of(who: str | Trained, deterministic: bool) -> MakePlayer:
    """Make the factory of a bot by name, or of an agent, which samples unless ``deterministic``."""
    if isinstance(who, str):
        return partial(Bot, who)
    if deterministic:
        return next(iter(who.players().values()))
    return partial(Network, who.logits, sample=True)


# -- playing ---------------------------------------------------------------------------------------


class _Registry:
    """Sets the games of the registry, and gives up episodes that last too long.

    Parameters
    ----------
    games : sequence of (int, str, int)
        Level, speed and number in the registry of each episode.
    lanes : int
    t_max : int
        Frames after which an episode is given up.
    """

    def __init__(self, games: Sequence[tuple[int, str, int]], lanes: int, t_max: int) -> None:
        self._games, self._t_max = games, t_max
        self._frames = np.zeros(lanes, np.int64)

    def prepare(self, engine: Any, lanes: np.ndarray, numbers: np.ndarray) -> None:
        """Set the games of episodes that begin."""
        self._frames[lanes] = 0
        for lane, number in zip(lanes.tolist(), numbers.tolist(), strict=True):
            level, speed, index = self._games[number]
            engine.configure("level", level, [lane])
            engine.configure("speed", speed, [lane])
            engine.configure("game_seed", int(registry_seeds()[level, index]), [lane])

    def is_late(self, engine: Any) -> np.ndarray:
        """Count a step; return where the frames are used up, bool (n,)."""
        self._frames += engine.tau  # of lanes that wait too, which nobody asks for
        late: np.ndarray = self._frames >= self._t_max
        return late


def play(env: str, options: Mapping[str, Any], make: MakePlayer, plan: Plan) -> Results:
    """Play all episodes of all games.

    Parameters
    ----------
    env : str
        An environment of one player.
    options : mapping
        Of the environment; its level, speed and seed are those of the plan.
    make : callable
        Makes the player.
    plan : Plan

    Returns
    -------
    Results
        With actions, and the column ``game``: the number of the game in :meth:`Plan.games`.
    """
    games = [game for game in plan.games() for _ in range(plan.episodes)]
    every = Evaluation(
        *("seeds", env, options),
        seeds=range(plan.seed, plan.seed + len(games)),
        lanes=LANES,
        max_steps=plan.t_max,  # a decision takes a frame at least
    ).by({"player": make})
    engine = every.make_engine()
    require(engine.num_agents == 1, "env", env, "one of one player")
    registry = _Registry(games, engine.num_envs, plan.t_max)
    played = play_episodes(
        *(every, engine),
        keep_actions=("player",),
        prepare=registry.prepare,
        give_up=registry.is_late,
    )
    about = {**played.about, **columns(plan.t_max)}
    return replace(played, about=about).with_column("game", np.arange(len(games)) // plan.episodes)


# -- figures ---------------------------------------------------------------------------------------


def cvar(costs: np.ndarray, share: float) -> float:
    """Return the mean of the worst, that is largest, share of costs.

    Parameters
    ----------
    costs : ndarray, shape (n,)
    share : float
        Above 0 and at most 1; an episode that is only partly in the share counts so.
    """
    ranked, worst = np.sort(costs)[::-1], share * len(costs)
    whole = math.floor(worst)
    rest = worst - whole
    total = ranked[:whole].sum() + (rest * ranked[whole] if rest > 0 else 0.0)
    return float(total / worst)


def row_of(game: tuple[int, str, int], episodes: Results, plan: Plan) -> dict[str, Any]:
    """Compute the figures of a game; those of clears are None without any."""
    level, speed, index = game
    cleared, frames = episodes["cleared"], episodes["ticks"].astype(float)
    times = frames[cleared]
    return {
        "level": level,
        "speed": speed,
        "seed": int(registry_seeds()[level, index]),
        "seed_id": seed_id(level, index),
        "episodes": len(episodes),
        "success_rate": float(cleared.mean()),
        "frames_mean": float(times.mean()) if len(times) else None,
        "frames_var": float(times.var(ddof=1)) if len(times) > 1 else None,
        "timeout_rate": float(episodes["timed_out"].mean()),
        "within_rate": float((cleared & (frames <= plan.within)).mean()),
        **{f"cvar_{tail}": cvar(episodes["cost"], tail / 100) for tail in TAILS},
        "spawns_mean": float(episodes["spawns"].mean()),
        "return_mean": float(episodes["return"].mean()),
    }


def anomalies(episodes: Results) -> list[tuple[int, str]]:
    """Return the episodes of a game that are not like the others, and why.

    They ended otherwise than most, or were cleared far more slowly than the mean.
    """
    cleared, frames = episodes["cleared"], episodes["ticks"].astype(float)
    rate = cleared.mean()
    odd = []
    if 0.5 < rate < 1:
        odd = [(k, "not cleared") for k in np.flatnonzero(~cleared).tolist()]
    elif 0 < rate < 0.5:
        odd = [(k, "cleared") for k in np.flatnonzero(cleared).tolist()]
    if cleared.sum() > 1:
        limit = frames[cleared].mean() + SLOW * frames[cleared].std()
        odd += [(k, "slow") for k in np.flatnonzero(cleared & (frames > limit)).tolist()]
    return odd


def clears(plan: Plan, played: Results) -> list[Clear]:
    """Return the cleared episodes as records of the store of best times, each once."""
    assert played.actions is not None
    games, clears = list(plan.games()), []
    for k in np.flatnonzero(played["cleared"]).tolist():
        number, frames, spawns = (int(played[name][k]) for name in ("game", "ticks", "spawns"))
        level, speed, index = games[number]
        seed, actions = int(registry_seeds()[level, index]), played.actions[k].tolist()
        clears.append(Clear(level, speed, seed, frames, spawns, tuple(actions)))
    return list(dict.fromkeys(clears))


# -- files -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SeedReport:
    """Rows and anomalies of an evaluation over seeds.

    Parameters
    ----------
    rows : list of dict
        One a game.
    odd : list of dict
        One an anomaly.
    """

    rows: list[dict[str, Any]]
    odd: list[dict[str, Any]] = field(default_factory=list)


def write(
    folder: Path,
    env: str,
    options: Mapping[str, Any],
    plan: Plan,
    played: Mapping[float | None, Results],
) -> SeedReport:
    """Write ``seeds.csv``, ``seeds.parquet``, ``anomalies.csv`` and recordings of anomalies.

    Parameters
    ----------
    folder : Path
    env, options
        Where it was played.
    plan : Plan
    played : mapping of float or None to Results
        What :func:`play` returned, by the quantile that the player went by; None for one that goes
        by none.

    Raises
    ------
    ImportError
        Without pyarrow.
    """
    report = SeedReport([])
    every = [
        (risk_tau, game, results.of(game=number))
        for risk_tau, results in played.items()
        for number, game in enumerate(plan.games())
    ]
    for risk_tau, game, episodes in every:
        row = row_of(game, episodes, plan) | {"risk_tau": risk_tau}
        report.rows.append(row)
        named = {name: row[name] for name in NAMED}
        kept = {name: row[name] for name in ("level", "speed")} | {"game_seed": row["seed"]}
        for number, what in anomalies(episodes)[: plan.traces]:
            assert episodes.actions is not None
            actions = episodes.actions[number].tolist()
            replay = replays.record(env, {**options, **kept}, 0, actions)
            path = replays.save(replay, folder / "anomalies")
            about = {"episode": number, "what": what, "frames": int(episodes["ticks"][number])}
            report.odd.append({**named, **about, "file": str(path.relative_to(folder))})
    files.write_bytes(folder / "seeds.csv", as_csv(report.rows, list(TYPES)))
    files.write_bytes(folder / "seeds.parquet", as_parquet(report.rows))
    names = [*NAMED, "episode", "what", "frames", "file"]
    files.write_bytes(folder / "anomalies.csv", as_csv(report.odd, names))
    return report


def as_csv(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> bytes:
    """Return rows as CSV with a head; what is None is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def as_parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Return rows as Parquet, with the types of :data:`TYPES`."""
    pyarrow, parquet = pyarrow_modules()
    schema = pyarrow.schema([(name, getattr(pyarrow, kind)()) for name, kind in TYPES.items()])
    written = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(list(rows), schema), written)
    return written.getvalue()


def pyarrow_modules() -> tuple[Any, Any]:
    """Return ``pyarrow`` and ``pyarrow.parquet``.

    Raises
    ------
    ImportError
        They are not installed; the message says how.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Parquet needs pyarrow: pip install '.[parquet]'.") from error
    return pyarrow, pyarrow.parquet

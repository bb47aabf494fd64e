"""Evaluation of Dr. Mario over seeds of the registry, one row a game (docs/howto/train_drmario.md).

A game is the same every time; who plays it may draw. What the games of a level come to by quantile
of risk is :mod:`training.apps.drmario.costs`.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from fastenv.drmario.seeds import registry_seeds, seed_id
from training.apps.drmario.best_times import BestTimes, Clear, prepare, set_game
from training.apps.drmario.costs import columns, compare, cvar
from training.apps.drmario.evaluation import clears_of
from training.apps.drmario.evaluator.lookahead import DEPTH, is_lookahead
from training.apps.drmario.evaluator.model import Measure
from training.apps.drmario.players import ENV, find_player
from training.apps.drmario.seed_plan import Plan
from training.evaluation import replays
from training.evaluation.evaluation import Evaluation
from training.evaluation.evaluation import play as play_episodes
from training.evaluation.intervals import Interval
from training.evaluation.results import Results
from training.evaluation.tables import format_interval, make_table
from training.players.player import MakePlayer
from training.run import files, machine
from training.run.options import require

LANES = 256  # episodes that are played at once
TAILS = (5, 25)  # percent of the worst episodes that a CVaR is the mean of
RESAMPLES = 1000
COSTS: dict[str, Callable[[np.ndarray], Any]] = {
    "cost": np.mean,
    **{f"cvar_{tail}": partial(cvar, share=tail / 100) for tail in TAILS},
}
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
# Options of the environment that the plan decides, and what says them here.
PLANNED = {
    "level": "--levels",
    "speed": "--speeds",
    "game_seed": "--seeds",
    "seed_registry": "--seeds",
}
COLUMNS = {
    "seed_id": "game",
    "speed": "speed",
    "risk_tau": "quantile",
    "success_rate": "clear",
    "frames_mean": "frames",
    "timeout_rate": "timeout",
    "within_rate": "within",
    "cvar_25": "CVaR 25",
    "cvar_5": "CVaR 5",
    "spawns_mean": "pills",
    "return_mean": "return",
}
LEVEL_COLUMNS = {
    "clear": "clear %",
    "frames_to_clear": "frames to clear",
    "cvar_25": "CVaR 25",
    "cvar_5": "CVaR 5",
}


# -- playing ---------------------------------------------------------------------------------------


def play(options: Mapping[str, Any], make: MakePlayer, plan: Plan) -> Results:
    """Play all episodes of all games.

    Parameters
    ----------
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
        *("seeds", ENV, options),
        seeds=range(plan.seed, plan.seed + len(games)),
        lanes=LANES,
        max_steps=plan.t_max,  # a decision takes a frame at least
    )
    engine = every.make_engine()
    frames = np.zeros(engine.num_envs, np.int64)

    def prepare(engine: Any, lanes: np.ndarray, numbers: np.ndarray) -> None:
        frames[lanes] = 0
        for lane, number in zip(lanes.tolist(), numbers.tolist(), strict=True):
            level, speed, index = games[number]
            set_game(engine, lane, level, speed, int(registry_seeds()[level, index]))

    def is_late(engine: Any) -> np.ndarray:
        frames[:] += engine.tau  # of lanes that wait too, which nobody asks for
        late: np.ndarray = frames >= plan.t_max
        return late

    played = play_episodes(
        *(every.by({"player": make}), engine),
        keep_actions=("player",),
        prepare=prepare,
        give_up=is_late,
    )
    about = {**played.about, **columns(plan.t_max)}
    return replace(played, about=about).with_column("game", np.arange(len(games)) // plan.episodes)


# -- figures ---------------------------------------------------------------------------------------


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
    games = list(plan.games())
    cleared = played.of(cleared=True)
    speeds = [games[number][1] for number in cleared["game"].tolist()]
    return list(dict.fromkeys(clears_of(cleared, speeds)))


def by_level(plan: Plan, played: Mapping[float | None, Results]) -> list[dict[str, Any]]:
    """Return a record for each level, speed and quantile, with 95 % intervals over games.

    Parameters
    ----------
    plan : Plan
    played : mapping of float or None to Results
        See :func:`write`; the first is what the others are compared with.

    Returns
    -------
    list of dict
        ``level``, ``speed``, ``risk_tau``, ``games``, ``episodes``, and what
        :func:`training.apps.drmario.costs.compare` returns of cost, ``cvar_25`` and ``cvar_5``.
    """
    levels = dict.fromkeys((level, speed) for level, speed, _ in plan.games())
    records = []
    for k, (level, speed) in enumerate(levels):
        here = {
            tau: each.with_column("part", each["game"] // plan.seeds).of(part=k)
            for tau, each in played.items()
        }
        for tau, figures in compare(here, COSTS, game="game", resamples=RESAMPLES):
            head = {"level": level, "speed": speed, "risk_tau": tau}
            records.append(head | {"games": plan.seeds, "episodes": plan.episodes} | figures)
    return records


# -- files -----------------------------------------------------------------------------------------


def write(
    folder: Path,
    options: Mapping[str, Any],
    plan: Plan,
    played: Mapping[float | None, Results],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Write ``seeds.csv``, ``seeds.parquet``, ``anomalies.csv`` and recordings of anomalies.

    Parameters
    ----------
    folder : Path
    options : mapping
        Of the environment.
    plan : Plan
    played : mapping of float or None to Results
        What :func:`play` returned, by the quantile that the player went by; None for one that goes
        by none.

    Returns
    -------
    rows, odd : list of dict
        A row a game, and one an anomaly.

    Raises
    ------
    ImportError
        Without pyarrow.
    """
    rows, odd = [], []
    for risk_tau, results in played.items():
        for game_number, game in enumerate(plan.games()):
            episodes = results.of(game=game_number)
            row = row_of(game, episodes, plan) | {"risk_tau": risk_tau}
            rows.append(row)
            kept = {"level": row["level"], "speed": row["speed"], "game_seed": row["seed"]}
            for number, what in anomalies(episodes)[: plan.traces]:
                assert episodes.actions is not None
                actions = episodes.actions[number].tolist()
                replay = replays.record(ENV, {**options, **kept}, 0, actions)
                file = replays.save(replay, folder / "anomalies").relative_to(folder)
                about = {"episode": number, "what": what, "frames": int(episodes["ticks"][number])}
                odd.append({**{name: row[name] for name in NAMED}, **about, "file": str(file)})
    files.write_csv(folder / "seeds.csv", rows, list(TYPES))
    files.write_bytes(folder / "seeds.parquet", as_parquet(rows))
    names = [*NAMED, "episode", "what", "frames", "file"]
    files.write_csv(folder / "anomalies.csv", odd, names)
    return rows, odd


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


# -- the command -----------------------------------------------------------------------------------


def run(args: argparse.Namespace, console: Console) -> None:
    """Play, write and print."""
    values = {name: getattr(args, name) for name in asdict(Plan())}
    plan = Plan(**{name: value for name, value in values.items() if value is not None})
    pyarrow_modules()  # before minutes of play
    options, players = _find_players(args)
    files.prepare("--out", args.out / "seeds.csv")
    if args.best_times is not None:
        prepare(args.best_times, options)
    played = {tau: play(options, each, plan) for tau, each in players.items()}
    rows, odd = write(args.out, options, plan, played)
    levels = by_level(plan, played)
    head = {
        "who": args.who,
        "deterministic": args.deterministic,
        "env": ENV,
        "options": options,
        "plan": asdict(plan),
        "levels": levels,
        **machine.taken_on(),
    }
    files.write_json(args.out / "seeds.json", head)
    console.print(_make_table(f"{args.who}, {plan.episodes:,} episodes a game", rows))
    console.print(_make_levels_table(levels))
    console.print(f"{args.out}: {len(rows)} games, {len(odd)} anomalies")
    if args.best_times is not None:
        with BestTimes(args.best_times) as store:
            cleared = [clear for each in played.values() for clear in clears(plan, each)]
            count = store.add(cleared, args.who)
        console.print(f"{args.best_times}: {count} new of {len(cleared)} different clears")


def _find_players(
    args: argparse.Namespace,
) -> tuple[dict[str, Any], dict[float | None, MakePlayer]]:
    """Find the options of the environment, and the players by risk quantile, None without one."""
    if args.risk_taus is not None:
        require(is_lookahead(args.who), "--risk-taus", args.risk_taus, "left out without lookahead")
        different = len(args.risk_taus) == len(set(args.risk_taus))
        require(different, "--risk-taus", args.risk_taus, "different from each other")
    file, depth = args.who.removesuffix(DEPTH), DEPTH if args.who.endswith(DEPTH) else ""
    names = {tau: f"{file}:{Measure('quantile', tau)}{depth}" for tau in args.risk_taus or ()}
    chosen = {
        tau: find_player(name, args.runs, sample=not args.deterministic)
        for tau, name in (names or {None: args.who}).items()
    }
    players = {tau: make for tau, (make, _) in chosen.items()}
    (_, learnt), *_ = chosen.values()
    if learnt is not None:
        require(not args.set, "--set", args.set, "left out with a trained agent")
        return {name: value for name, value in learnt.items() if name not in PLANNED}, players
    for name, value in args.set:
        flag = PLANNED.get(name)
        require(flag is None, f"--set {name}", value, f"left out: use {flag}")
    return dict(args.set), players


def _make_table(title: str, rows: list[dict[str, Any]]) -> Table:
    """Make the table of results by game."""
    shown = Table(title=title, title_justify="left", padding=(0, 0), pad_edge=False)
    for name, heading in COLUMNS.items():
        justify: Any = "left" if name in ("seed_id", "speed") else "right"
        shown.add_column(heading, justify=justify, no_wrap=True)
    for row in rows:
        shown.add_row(*(_format_cell(row[name], name) for name in COLUMNS))
    return shown


def _make_levels_table(levels: list[dict[str, Any]]) -> Table:
    """Make the table of results by level."""
    figures = ("level", "speed", "quantile", *LEVEL_COLUMNS.values())
    shown = make_table("by level, 95 % intervals over games", None, (), figures)
    shown.columns[1].justify = "left"
    for record in levels:
        cells = [_format_cell(record[name], name) for name in ("level", "speed", "risk_tau")]
        for name in LEVEL_COLUMNS:
            factor, decimals = (100, 1) if name == "clear" else (1, 0)
            mean = Interval.from_list(record[name])
            cells.append(format_interval(mean, decimals, factor, ","))
        shown.add_row(*cells)
    return shown


def _format_cell(value: Any, name: str) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    small = "rate" in name or name in ("return_mean", "risk_tau")
    return f"{value:.2f}" if small else f"{value:,.0f}"

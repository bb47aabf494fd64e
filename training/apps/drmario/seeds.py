"""Evaluate over the seed registry: ``python -m training evaluate seeds greedy --out DIR``.

A game is the same every time; who plays it may draw. What the games of a level come to by quantile
of risk is :func:`training.apps.drmario.compare.compare` (docs/howto/train_drmario.md).
"""

from __future__ import annotations

import argparse
import io
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fastenv.drmario.seeds import seed_id, seeds_of
from fastenv.drmario.tables import LAST_VIRUS_LEVEL, REGISTRY_SEEDS, SPEEDS
from fastenv.options import parse_option
from training.apps.drmario.best_times import ENV, BestTimes, list_clears, prepare
from training.apps.drmario.compare import MEASURES, T_MAX, compare, load_player, play_games
from training.evaluation import replays
from training.evaluation.intervals import Interval
from training.evaluation.results import Results
from training.run import files, machine
from training.run.command_line import add_runs, exit_status, new_parser
from training.run.options import require

if TYPE_CHECKING:
    from rich.table import Table

    from training.players.names import AnyPlayer

ABOUT = """\
Evaluate a bot or a trained agent, which samples its actions, on the seed registry of Dr. Mario.
Every game (level, speed and seed) is played many times and is one row of seeds.csv and
seeds.parquet. Unusual episodes of a game are recorded for "watch replay".
seeds.json has the summary by level; "report DIR" draws it as a page.
"""
CVARS = ("cvar_5", "cvar_25")  # means of the worst episodes, by percent
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
    **dict.fromkeys(CVARS, "float64"),
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


@dataclass(frozen=True)
class SeedPlan:
    """Which games of the seed registry are played, and how often.

    Parameters
    ----------
    levels : sequence of int
        0 to 20.
    speeds : sequence of str
    seeds : int
        Of each level, the first ones of the registry.
    episodes : int
        Of each game.
    t_max : int
        Frames after which an episode is given up.
    within : int
        Frames of the rate of those who are at least as fast.
    traces : int
        Anomalies of a game that are kept.
    seed : int
        Of who plays.
    """

    levels: Sequence[int] = (0,)
    speeds: Sequence[str] = ("medium",)
    seeds: int = 10
    episodes: int = 100
    t_max: int = T_MAX
    within: int = 7_200
    traces: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        for flag, values in (("--levels", self.levels), ("--speeds", self.speeds)):
            different = len(values) == len(set(values))
            require(different, flag, list(values), "different from each other")
        for level in self.levels:
            allowed = f"from 0 to {LAST_VIRUS_LEVEL}, which the registry has"
            require(0 <= level <= LAST_VIRUS_LEVEL, "--levels", level, allowed)
        for speed in self.speeds:
            require(speed in SPEEDS, "--speeds", speed, f"one of {', '.join(SPEEDS)}")
        for name, low, high in (
            ("seeds", 1, REGISTRY_SEEDS),
            ("episodes", 1, 10**6),
            ("t_max", 1, 10**9),
            ("within", 1, 10**9),
            ("traces", 0, 10**6),
            ("seed", 0, 2**40 - 1),
        ):
            value = getattr(self, name)
            allowed = f"from {low} to {high}"
            require(low <= value <= high, f"--{name.replace('_', '-')}", value, allowed)

    def games(self) -> list[tuple[int, str, int]]:
        """List level, speed and number in the registry of each game."""
        return [*itertools.product(self.levels, self.speeds, range(self.seeds))]


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    plan = SeedPlan()
    parse = new_parser(
        "evaluate seeds", ABOUT, "greedy --out by-seed --levels 0 5 10", "WHO --out DIR"
    )
    about = "bot, lookahead:FILE, run folder, or name of a run under --runs"
    parse.add_argument("who", help=about)
    parse.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write to")
    several: Any = {"nargs": "+", "action": "extend"}
    about = f"levels to play; default {plan.levels[0]}"
    parse.add_argument("--levels", type=int, metavar="N", help=about, **several)
    about = f"speeds to play; default {plan.speeds[0]}"
    parse.add_argument("--speeds", metavar="SPEED", help=about, **several)
    parse.add_argument("--seeds", type=int, default=plan.seeds, help="seeds per level; default 10")
    about = f"episodes per game; default {plan.episodes}; a deterministic player needs one"
    parse.add_argument("--episodes", type=int, default=plan.episodes, help=about)
    about = f"maximum frames of an episode; default {plan.t_max}"
    parse.add_argument("--t-max", type=int, default=plan.t_max, help=about)
    about = f"frames t of the clear rate P(T <= t); default {plan.within}"
    parse.add_argument("--within", type=int, default=plan.within, help=about)
    about = f"maximum recorded episodes per game; default {plan.traces}"
    parse.add_argument("--traces", type=int, default=plan.traces, help=about)
    parse.add_argument("--seed", type=int, default=plan.seed, help="seed of the player")
    parse.add_argument(
        "--deterministic", action="store_true", help="play the most probable actions"
    )
    about = "with lookahead:FILE: quantiles to rank placements by, evaluated one after the other"
    parse.add_argument("--risk-taus", type=float, metavar="Q", help=about, **several)
    about = "with a bot: option of the game, such as extended_inputs=True"
    parse.add_argument(
        "--set", action="append", default=[], type=parse_option, metavar="X=Y", help=about
    )
    parse.add_argument(
        "--best-times", type=Path, metavar="FILE", help="SQLite file of best times to update"
    )
    add_runs(parse)
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    return exit_status(lambda: evaluate(args))


# -- playing ---------------------------------------------------------------------------------------


def evaluate(args: argparse.Namespace) -> None:
    """Play, write and print."""
    from rich.console import Console

    values = {name: getattr(args, name) for name in asdict(SeedPlan())}
    plan = SeedPlan(**{name: value for name, value in values.items() if value is not None})
    format_parquet([])  # refused before minutes of play
    options, players = _find_players(args)
    files.prepare("--out", args.out / "seeds.csv")
    if args.best_times is not None:
        prepare(args.best_times, options)
    played = {
        tau: play_plan(player, plan, options, sample=not args.deterministic)
        for tau, player in players.items()
    }
    rows = [
        compute_row(game, results.of(game=number), plan) | {"risk_tau": tau}
        for tau, results in played.items()
        for number, game in enumerate(plan.games())
    ]
    files.write_csv(args.out / "seeds.csv", rows, list(TYPES))
    files.write_bytes(args.out / "seeds.parquet", format_parquet(rows))
    odd = [
        each | {"risk_tau": tau}
        for tau, results in played.items()
        for each in record_anomalies(args.out, options, plan, results)
    ]
    names = [*NAMED, "episode", "what", "frames", "file"]
    files.write_csv(args.out / "anomalies.csv", odd, names)
    levels = compare_levels(plan, played)
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
    console = Console(highlight=False)
    console.print(_make_table(f"{args.who}, {plan.episodes:,} episodes a game", rows))
    console.print(_make_levels_table(levels))
    console.print(f"{args.out}: {len(rows)} games, {len(odd)} anomalies")
    if args.best_times is not None:
        every = [clear for results in played.values() for clear in list_clears(results)]
        clears = list(dict.fromkeys(every))
        with BestTimes(args.best_times) as store:
            count = store.add(clears, args.who)
        console.print(f"{args.best_times}: {count} new of {len(clears)} different clears")


def _find_players(
    args: argparse.Namespace,
) -> tuple[dict[str, Any], dict[float | None, AnyPlayer]]:
    """Find the options of the environment, and the players by risk quantile, None without one."""
    from training.apps.drmario.evaluator.lookahead import DEPTH, LOOKAHEAD

    names: dict[float | None, str] = {None: args.who}
    if args.risk_taus is not None:
        looks = args.who.startswith(LOOKAHEAD)
        require(looks, "--risk-taus", args.risk_taus, "left out without lookahead")
        file, depth, _ = args.who.partition(DEPTH)
        names = {tau: f"{file}:quantile{tau:g}{depth}" for tau in args.risk_taus}
        different = len(args.risk_taus) == len(names)
        require(different, "--risk-taus", args.risk_taus, "different from each other")
    loaded = {tau: load_player(name, args.runs) for tau, name in names.items()}
    players = {tau: player for tau, (player, _) in loaded.items()}
    (_, learnt), *_ = loaded.values()
    if learnt is not None:
        require(not args.set, "--set", args.set, "left out with a trained agent")
        return {name: value for name, value in learnt.items() if name not in PLANNED}, players
    for name, value in args.set:
        flag = PLANNED.get(name)
        require(flag is None, f"--set {name}", value, f"left out: use {flag}")
    return dict(args.set), players


def play_plan(
    player: AnyPlayer, plan: SeedPlan, options: Mapping[str, Any], *, sample: bool
) -> Results:
    """Play all episodes of all games; see :func:`training.apps.drmario.compare.play_games`."""
    games = [(level, speed, seeds_of(level)[index]) for level, speed, index in plan.games()]
    how: dict[str, Any] = {"episodes": plan.episodes, "seed": plan.seed, "t_max": plan.t_max}
    return play_games(player, games, options, **how, sample=sample)


# -- figures ---------------------------------------------------------------------------------------


def compute_row(game: tuple[int, str, int], episodes: Results, plan: SeedPlan) -> dict[str, Any]:
    """Compute the figures of a game; those of clears are None without any."""
    cleared, frames = episodes["cleared"], episodes["ticks"].astype(float)
    times = frames[cleared]
    return {
        **_name(game),
        "episodes": len(episodes),
        "success_rate": float(cleared.mean()),
        "frames_mean": float(times.mean()) if len(times) else None,
        "frames_var": float(times.var(ddof=1)) if len(times) > 1 else None,
        "timeout_rate": float(episodes["timed_out"].mean()),
        "within_rate": float((cleared & (frames <= plan.within)).mean()),
        **{name: MEASURES[name](episodes["cost"]) for name in CVARS},
        "spawns_mean": float(episodes["spawns"].mean()),
        "return_mean": float(episodes["return"].mean()),
    }


def _name(game: tuple[int, str, int]) -> dict[str, Any]:
    """Name a game of a plan in a row."""
    level, speed, index = game
    seed, name = seeds_of(level)[index], seed_id(level, index)
    return {"level": level, "speed": speed, "seed": seed, "seed_id": name}


def compare_levels(plan: SeedPlan, played: Mapping[float | None, Results]) -> list[dict[str, Any]]:
    """Return a record for each level, speed and quantile, with 95 % intervals over games.

    Parameters
    ----------
    plan : SeedPlan
    played : mapping of float or None to Results
        What was played, by the quantile that the player went by; None for one that goes by none.
        The first is what the others are compared with.

    Returns
    -------
    list of dict
        ``level``, ``speed``, ``risk_tau``, ``games``, ``episodes``, and what
        :func:`training.apps.drmario.compare.compare` returns.
    """
    levels = dict.fromkeys((level, speed) for level, speed, _ in plan.games())
    records = []
    for k, (level, speed) in enumerate(levels):
        here = {
            tau: each.with_column("part", each["game"] // plan.seeds).of(part=k)
            for tau, each in played.items()
        }
        for tau, figures in compare(here):
            head = {"level": level, "speed": speed, "risk_tau": tau}
            records.append(head | {"games": plan.seeds, "episodes": plan.episodes} | figures)
    return records


def find_anomalies(episodes: Results) -> list[tuple[int, str]]:
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


def record_anomalies(
    folder: Path, options: Mapping[str, Any], plan: SeedPlan, played: Results
) -> list[dict[str, Any]]:
    """Record the anomalies of each game in a folder; return a row for each."""
    odd = []
    for game_number, game in enumerate(plan.games()):
        episodes, named = played.of(game=game_number), _name(game)
        assert episodes.actions is not None
        kept = {"level": named["level"], "speed": named["speed"], "game_seed": named["seed"]}
        for number, what in find_anomalies(episodes)[: plan.traces]:
            actions = episodes.actions[number].tolist()
            replay = replays.record(ENV, {**options, **kept}, 0, actions)
            file = str(replays.save(replay, folder / "anomalies").relative_to(folder))
            frames = int(episodes["ticks"][number])
            odd.append({**named, "episode": number, "what": what, "frames": frames, "file": file})
    return odd


# -- tables ----------------------------------------------------------------------------------------


def format_parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Return rows as Parquet, with the types of :data:`TYPES`.

    Raises
    ------
    ImportError
        Without pyarrow; the message says how to install it.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Parquet needs pyarrow: pip install '.[parquet]'.") from error
    schema = pyarrow.schema([(name, getattr(pyarrow, kind)()) for name, kind in TYPES.items()])
    written = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows), schema), written)
    return written.getvalue()


def _make_table(title: str, rows: list[dict[str, Any]]) -> Table:
    """Make the table of results by game."""
    from training.evaluation.tables import make_table

    texts = ("seed_id", "speed")
    figures = [heading for name, heading in COLUMNS.items() if name not in texts]
    shown = make_table(title, None, [COLUMNS[name] for name in texts], figures)
    shown.padding, shown.pad_edge = (0, 0), False
    for column in shown.columns:
        column.no_wrap = True
    for row in rows:
        shown.add_row(*(_format_cell(row[name], name) for name in COLUMNS))
    return shown


def _make_levels_table(levels: list[dict[str, Any]]) -> Table:
    """Make the table of results by level."""
    from training.evaluation.tables import format_interval, make_table

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

"""Run an evaluation over the seed registry: make its players, write its files, print its tables.

Every game of Dr. Mario, by level, speed and seed, is played many times by a bot or by a trained
agent, which draws its choices; a row of ``seeds.csv`` and ``seeds.parquet`` tells how. Episodes
unlike the others of their game are recorded. ``seeds.json`` has what they come to by level.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import fastenv
from training.apps.drmario import seed_evaluation as seeds
from training.apps.drmario.best_times import BestTimes
from training.apps.drmario.evaluator.players import DEPTH, is_lookahead, is_scripted, lookahead
from training.apps.drmario.evaluator.risk import Measure
from training.apps.drmario.seed_levels import by_level
from training.apps.drmario.seed_plan import Plan
from training.players.player import MakePlayer
from training.run import files, machine
from training.run.envs import with_defaults
from training.run.options import require

ENV = "DrMarioPlacement-v0"
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


def run(args: argparse.Namespace, console: Console) -> None:
    """Play, write and print."""
    values = {name: getattr(args, name) for name in asdict(Plan())}
    plan = Plan(**{name: value for name, value in values.items() if value is not None})
    seeds.pyarrow_modules()  # before minutes of play
    env, options, who = _read_player(args)
    files.prepare("--out", args.out / "seeds.csv")
    if args.best_times is not None:
        allowed = "left out with extended_inputs, which its records must do without"
        require(not options.get("extended_inputs"), "--best-times", str(args.best_times), allowed)
        files.prepare("--best-times", args.best_times)
        BestTimes(args.best_times).close()
    players = _make_players(args, who)
    played = {tau: seeds.play(env, options, each, plan) for tau, each in players.items()}
    report = seeds.write(args.out, env, options, plan, played)
    levels = by_level(plan, played)
    head = {
        "who": args.who,
        "deterministic": args.deterministic,
        "env": env,
        "options": options,
        "plan": asdict(plan),
        "levels": levels,
        "command": machine.command(),
        "created": machine.now(),
        **machine.revision(),
        "host": machine.host(),
        "versions": machine.versions(),
    }
    files.write_json(args.out / "seeds.json", head)
    console.print(_make_table(f"{args.who}, {plan.episodes:,} episodes a game", report.rows))
    console.print(_make_levels_table(levels))
    console.print(f"{args.out}: {len(report.rows)} games, {len(report.odd)} anomalies")
    if args.best_times is not None:
        with BestTimes(args.best_times) as store:
            cleared = [clear for each in played.values() for clear in seeds.clears(plan, each)]
            count = store.add(cleared, args.who)
        console.print(f"{args.best_times}: {count} new of {len(cleared)} different clears")


def _make_players(args: argparse.Namespace, who: Any) -> dict[float | None, MakePlayer]:
    """Make the factories of players by risk quantile; the key of a player without one is None."""
    if not (isinstance(who, str) and is_lookahead(who)):
        require(args.risk_taus is None, "--risk-taus", args.risk_taus, "left out without lookahead")
        return {None: seeds.player_of(who, args.deterministic)}
    if args.risk_taus is None:
        return {None: lookahead(who)}
    different = len(args.risk_taus) == len(set(args.risk_taus))
    require(different, "--risk-taus", args.risk_taus, "different from each other")
    file, depth = who.removesuffix(DEPTH), DEPTH if who.endswith(DEPTH) else ""
    return {tau: lookahead(f"{file}:{Measure('quantile', tau)}{depth}") for tau in args.risk_taus}


def _read_player(args: argparse.Namespace) -> tuple[str, dict[str, Any], Any]:
    """Read environment, options and player of a command line."""
    bots = fastenv.make_game(ENV).bot_names
    if is_scripted(args.who, bots, args.runs):
        for name, value in args.set:
            flag = PLANNED.get(name)
            require(flag is None, f"--set {name}", value, f"left out: use {flag}")
        return ENV, dict(args.set), args.who
    from training.players.load import find
    from training.players.trained import load

    require(not args.set, "--set", args.set, "left out with a trained agent")
    path = Path(args.who)
    if not path.exists():
        path = args.runs / args.who
    allowed = f"a bot ({', '.join(bots)}), a run folder, or the name of one under {args.runs}"
    require(path.exists(), "who", args.who, allowed)
    folder, name = find(path)
    trained = load(folder, name)
    require(trained.config.env == ENV, "who", args.who, f"an agent of {ENV}, or a bot")
    options = with_defaults(ENV, trained.config.env_options)
    return ENV, {k: v for k, v in options.items() if k not in PLANNED}, trained


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
    shown = Table(title="by level, 95 % intervals over games", title_justify="left")
    for heading in ("level", "speed", "quantile", *LEVEL_COLUMNS.values()):
        shown.add_column(heading, justify="left" if heading == "speed" else "right")
    for record in levels:
        cells = [_format_cell(record[name], name) for name in ("level", "speed", "risk_tau")]
        for name in LEVEL_COLUMNS:
            scale, decimals = (100, 1) if name == "clear" else (1, 0)
            value, *ends = (
                "-" if x is None else f"{scale * x:,.{decimals}f}" for x in record[name]
            )
            cells.append(f"{value} [{', '.join(ends)}]")
        shown.add_row(*cells)
    return shown


def _format_cell(value: Any, name: str) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    small = "rate" in name or name in ("return_mean", "risk_tau")
    return f"{value:.2f}" if small else f"{value:,.0f}"

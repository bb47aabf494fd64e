"""Speed of the environments of all games; ``--only bars``."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from benchmarks import drmario, gameboy, prospector, skullking
from training.bench.games import GAMES
from training.bench.runner import GAME_RECORDS, BenchmarkOptions, Suite
from training.bench.tables import Column, rows_table
from training.bench.targets import Row

# By the name of a game: its module has ``all_rows``.
MODULES: dict[str, Any] = {
    "skullking": skullking,
    "prospector": prospector,
    "drmario": drmario,
    "gameboy": gameboy,
}


def measure(options: BenchmarkOptions) -> list[Row]:
    """Measure the rows of the game that is asked for, or of all but those with records alone."""
    named = options.args.game
    rows = []
    for name in [named] if named else [name for name in MODULES if name not in GAME_RECORDS]:
        measured = MODULES[name].all_rows(options.repeats, options.seconds, options.args.lanes)
        rows += [row | {"game": GAMES[name].title} for row in measured]
    return rows


COLUMNS: dict[str, Column] = {
    "what": "{what}",
    "tier": lambda row: f"{row['tier']} {row.get('workload', '')}",
    "backend": "{backend}",
    "lanes": "{num_envs:,}",
    "threads": "{num_threads}",
    "steps/s": "{steps_per_s:,.0f}",
    "per CPU-s": "{steps_per_cpu_s:,.0f}",
    "min": lambda row: f"{min(row['steps_per_cpu_s_all']):,.0f}",
    "max": lambda row: f"{max(row['steps_per_cpu_s_all']):,.0f}",
    "ns/step": lambda row: f"{1e9 / row['steps_per_cpu_s']:,.0f}",
    "write ns": lambda row: (
        f"{1e9 / row['fill_steps_per_cpu_s']:,.1f}" if "fill_steps_per_cpu_s" in row else ""
    ),
}


def env_table(rows: list[Row]) -> Table | None:
    """Make the table of the environment alone: speed of each row, and of writing as many bytes."""
    rows = [row for row in rows if row["kind"] == "env"]
    title = "Environment alone, random legal play unless said; medians"
    return rows_table(title, COLUMNS, rows, left=3) if rows else None


SUITE = Suite(
    measure,
    tables=(env_table,),
    title="Bars: {games}; medians of {repeats}",
    targets=("bars",),
    short_seconds=1.0,
)

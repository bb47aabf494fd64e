"""Speed of the environments of all games; ``--only bars``."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from benchmarks import drmario, gameboy, prospector, skullking
from training.bench.games import GAMES
from training.bench.runner import GAME_RECORDS, Options, Suite
from training.bench.tables import table_of
from training.bench.targets import Row

# By the name of a game: its module has ``all_rows``.
MODULES: dict[str, Any] = {
    "skullking": skullking,
    "prospector": prospector,
    "drmario": drmario,
    "gameboy": gameboy,
}


def measure(options: Options) -> list[Row]:
    """Measure the rows of the game that is asked for, or of all but those with records alone."""
    named = options.args.game
    rows = []
    for name in [named] if named else [name for name in MODULES if name not in GAME_RECORDS]:
        measured = MODULES[name].all_rows(options.repeats, options.seconds, options.args.lanes)
        rows += [row | {"game": GAMES[name].title} for row in measured]
    return rows


def env_table(rows: list[Row]) -> Table | None:
    """Make the table of the environment alone: speed of each row, and of writing as many bytes."""
    rows = [row for row in rows if row["kind"] == "env"]
    if not rows:
        return None
    heads = "what, tier, backend, lanes, threads, steps/s, per CPU-s, min, max, ns/step, write ns"
    table = table_of("Environment alone, random legal play unless said; medians", heads, left=3)
    for r in rows:
        every = r["steps_per_cpu_s_all"]
        fill = r.get("fill_steps_per_cpu_s")
        figures = (r["steps_per_s"], r["steps_per_cpu_s"], min(every), max(every))
        table.add_row(
            *(r["what"], f"{r['tier']} {r.get('workload', '')}", r["backend"]),
            *(f"{r['num_envs']:,}", str(r["num_threads"])),
            *(f"{x:,.0f}" for x in figures),
            f"{1e9 / r['steps_per_cpu_s']:,.0f}",
            "" if fill is None else f"{1e9 / fill:,.1f}",
        )
    return table


SUITE = Suite(
    measure,
    tables=(env_table,),
    title="Bars: {games}; medians of {repeats}",
    targets=("bars",),
    short_seconds=1.0,
)

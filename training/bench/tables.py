"""Measured rows as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table

from training.bench.learning import WINDOW, Estimate
from training.bench.targets import Row
from training.evaluation.intervals import LEVEL
from training.evaluation.tables import make_table
from training.run import machine


def machine_line(record: Row) -> str:
    """Return the machine, its load and the commit, in a line."""
    host, rev = record["host"], record["git_rev"] or "no commit"
    dirty = ", uncommitted changes" if record["dirty"] else ""
    return (
        f"{machine.describe(host)}, {host['physical_cores']} cores, load {record['load']}, "
        f"{rev}{dirty}"
    )


def table_of(title: str, columns: str, left: int = 1, caption: str | None = None) -> Table:
    """Return a table without rows.

    Parameters
    ----------
    title : str
    columns : str
        Headings, between commas.
    left : int
        How many columns, from the left, are words.
    caption : str, optional
    """
    headings = columns.split(", ")
    return make_table(title, caption, headings[:left], headings[left:])


def suite_table(rows: Sequence[Row]) -> Table | None:
    """Return the measured rows of a suite, a line for each measure; None where there are none.

    Measures are the fields whose repeats are kept beside them, and the phases of a step.
    """
    table = table_of("Measured, medians of the repeats", SUITE, left=2)
    for row in rows:
        named = dict.fromkeys(str(row[name]) for name in NAMES if row.get(name) is not None)
        busy = ", noisy" if row.get("noisy") else ""
        heads = [f"{', '.join(named)}{busy}", str(row.get("backend", "-"))]
        heads.append(f"{row['num_envs']:,}" if "num_envs" in row else "-")
        heads.append(str(row.get("torch_threads", row.get("num_threads", "-"))))
        heads.append(f"{row['steps_per_s']:,.0f}" if "steps_per_s" in row else "-")
        for cells in _list_measures(row):
            table.add_row(*heads, *cells)
            heads = [""] * len(heads)
    return table if table.row_count else None


SUITE = "what ran, backend, lanes, threads, steps/s, measure, median, min..max"
NAMES = (  # fields that tell the rows of a suite from each other
    *("env", "what", "mode", "name", "flag", "workload"),
    *("trainer", "precision", "waiting"),
)


def _list_measures(row: Row) -> Iterator[tuple[str, str, str]]:
    """Yield the name of each measure of a row but steps/s, its median, its least and largest."""
    for field, every in row.items():
        name = field.removesuffix("_all")
        if name != field and isinstance(every, list) and every and name != "steps_per_s":
            shown, *ends = (
                _format_value(x, name.startswith("share"))
                for x in (row[name], min(every), max(every))
            )
            yield name, shown, "..".join(ends)
    if "us_per_step" in row:
        phases = ", ".join(f"{name} {us:.2f}" for name, us in row["us_per_step"].items())
        yield "us_per_step", phases, "-"


def target_table(judged: list[Row], title: str) -> Table:
    """Make the table of targets and their measured values."""
    table = table_of(title, "target, asked, measured, min..max, wall steps/s, pass")
    for bar in judged:
        if bar["measured"] is None:
            table.add_row(bar["what"], bar["asked"], bar["reason"], "-", "-", "not measured here")
            continue
        every, wall, share = bar["all"], bar["wall"], "env share" in bar["what"]
        table.add_row(
            *(bar["what"], bar["asked"], _format_value(bar["measured"], share)),
            f"{_format_value(min(every), share)}..{_format_value(max(every), share)}"
            if every
            else "-",
            "-" if wall is None else f"{wall:,.0f}",
            ("yes" if bar["pass"] else "NO") + (", noisy" if bar["noisy"] else ""),
        )
    return table


def _format_value(value: float, share: bool) -> str:
    if share:
        return f"{value:.1%}"
    return f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"


def config_table(rows: list[Row]) -> Table:
    """Return the configurations of an environment: speed, shares of the time, reward and points."""
    first = rows[0]
    title = (
        f"{first['flags']['env']}, stock MaskablePPO (hierarchical: our trainer), medians of "
        f"{first['repeats']}: where the time goes"
    )
    if any(row["points_after"] is not None for row in rows):
        title += f"; points: {first['games']} whole games"
    heads = "config, backend, steps/s, env/s, env %, net %, update %, CPU us, RSS MB, points"
    table = table_of(title, heads, left=2)
    missing = [f"{r['config']}: {r['status']}" for r in rows if r["status"] != "measured"]
    table.caption = "\n".join(missing) or None
    for r in rows:
        if r["status"] != "measured":
            table.add_row(r["config"], r["backend"], *["-"] * 8)
            continue
        shares = ("share_env", "share_forward", "share_update")
        alone, after = r["env_only_steps_per_s"], r["points_after"]
        table.add_row(
            *(r["config"], r["ran"]["backend"], f"{r['steps_per_s']:,.0f}"),
            "-" if alone is None else f"{alone:,.0f}",
            *(f"{r[key] * 100:.1f}" for key in shares),
            f"{r['cpu_seconds_per_step'] * 1e6:,.0f}",
            f"{r['peak_rss_mb']:,.0f}",
            "-" if after is None else f"{after:.0f}",
        )
    return table


PLAN = "environment, config, steps/s, CPU %, GPU %, reward an hour, time to X, X, reward a million"
LEGEND = f"""\
Stock MaskablePPO, in sizes that the slowest backend can play (hierarchical: our trainer).
steps/s: decisions a second of rollouts and updates, the median of the repeats.
CPU %: CPU time over the time of all cores. GPU %: its utilisation; - without one.
reward: the mean reward of a decision; its change in an hour of training, and in a million
decisions (sample efficiency). ±: its {LEVEL:.0%} interval. noise: larger than it, or unknown.
time to X: until the mean of the last {WINDOW:,} decisions is X (training/bench/rewards.toml), the
median and in how many repeats; or how long it was not reached. -: there is nothing to compare."""


def plan_table(rows: Sequence[Row]) -> Table:
    """Return speed, use of the machine and learning of configurations, of all environments."""
    table = table_of("Speed, utilisation and learning", PLAN, left=2, caption=LEGEND)
    last = None
    for row in rows:
        env = row["flags"]["env"]
        if last not in (None, env):
            table.add_section()
        name, last = "" if env == last else env, env
        if row["status"] != "measured":
            table.add_row(name, row["config"], "not measured", *["-"] * 6)
            continue
        goal = row["goal"]
        table.add_row(
            *(name, row["config"], f"{row['steps_per_s']:,.0f}{', noisy' if row['noisy'] else ''}"),
            *(_format_share(row[key]) for key in ("cpu_share", "gpu_share")),
            format_noise(row["reward_per_hour"], row["reward_per_hour_noise"]),
            _format_time(row),
            "-" if goal is None else f"{goal:g}",
            format_noise(row["reward_per_million"], row["reward_per_million_noise"]),
        )
    return table


def format_noise(value: float | None, noise: float | None) -> str:
    """Format a value with its noise, and say so where the noise is larger, or cannot be told."""
    if value is None:
        return "-"
    estimate = Estimate(value, noise)
    shown = f"{value:+,.3g}" + ("" if noise is None else f" ± {noise:,.2g}")
    return f"{shown}, noise" if estimate.is_noise else shown


def _format_share(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f}"


def _format_time(row: Row) -> str:
    """Format the time to the goal, or how long it was not reached."""
    reached, count = row["repeats_at_goal"], row["repeats"]
    if reached is None:
        return "-"
    if row["seconds_to_goal"] is None:
        some = f", in {reached} of {count}" if reached else ""
        return f"not reached in {row['trained_s']:,.0f} s{some}"
    return f"{row['seconds_to_goal']:,.0f} s, {reached} of {count}"


def mode_table(report: Row) -> Table:
    """Return the figures of an artefact as a table."""
    dirty = ", uncommitted changes" if report["dirty"] else ""
    title = f"{machine.describe(report['host'])}, {report['git_rev'] or 'no commit'}{dirty}"
    heads = "mode, workload, backend, lanes, threads, steps/s (min..max), per CPU-s, ticks/s, env %"
    table = table_of(title, heads, 3, "; ".join(report["notes"]) or None)
    for entry in report["modes"]:
        stats = entry["stats"]
        speed, ticks = stats["steps_per_s"], stats.get("ticks_per_s")
        table.add_row(
            entry["mode"] + (" (noisy)" if entry["noisy"] else ""),
            ("gymnasium step, " if entry.get("single") else "") + entry.get("workload", "policy"),
            entry["backend_selected"],
            *(f"{entry['num_envs']:,}", str(entry["num_threads"])),
            f"{speed['median']:,.0f} ({speed['min']:,.0f}..{speed['max']:,.0f})",
            f"{stats['steps_per_cpu_s']['median']:,.0f}",
            "-" if ticks is None else f"{ticks['median']:,.0f}",
            f"{entry['share_env']['median']:.1%}" if "share_env" in entry else "-",
        )
    return table


def phase_table(entry: Row) -> Table:
    """Make the table of an entry's phases."""
    phases = entry["phases_us_per_step"]
    whole = sum(phases.values())
    table = table_of(f"{entry['mode']}: microseconds a step", ", ".join(phases), left=0)
    table.add_row(*(f"{us:.2f}" for us in phases.values()))
    table.add_row(*(f"{us / whole:.1%}" for us in phases.values()))
    return table


def trend_table(rows: list[Row], title: str, caption: str | None) -> Table:
    """Return speeds by what ran and by commit; see :func:`training.bench.records.trend`."""
    table = table_of(title, "what, date, commit, steps/s, per CPU-s, vs before", 3, caption)
    for column in table.columns[1:]:
        column.no_wrap = True
    last = None
    for row in rows:
        table.add_row(
            "" if row["what"] == last else row["what"],
            row["created"][:16],
            (row["git_rev"] or "none")[:7] + ("+" if row["dirty"] else ""),
            f"{row.get('steps_per_s', 0):,.0f}" + (" noisy" if row["noisy"] else ""),
            f"{row['steps_per_cpu_s']:,.0f}",
            "-" if row["ratio"] is None else f"{row['ratio']:.2f}",
        )
        last = row["what"]
    return table


def matrix_table(title: str, cells: list[list[Row]]) -> Table:
    """Return the cells of a matrix, those of each mode together."""
    head = table_of(title, "cell, steps/s, 95 % of the mean, min..max, stable")
    for mode in cells:
        for cell in mode:
            low, high = cell["interval"] or (None, None)
            head.add_row(
                cell["id"],
                f"{cell['mean']:,.0f}",
                "-" if low is None else f"{max(0.0, low):,.0f}..{high:,.0f}",
                f"{cell['min']:,.0f}..{cell['max']:,.0f}",
                ("yes" if cell["stable"] else "NO") + (", noisy" if cell["noisy"] else ""),
            )
        head.add_section()
    return head


SHOWN = ("dps_total", "fps_total", "avg_tau", "env_step_ms_p50", "harness_share", "speedup")


def vectorised_table(rows: list[Row]) -> Table:
    """Make the table of ways to play many environments, with the main columns."""
    first = rows[0]
    title = f"{first['env']} {first['options'] or ''}, {first['actions']} feasible, wall time"
    shown = table_of(title, ", ".join(("way", "envs", *SHOWN)))
    for row in rows:
        figures = ("-" if row[name] is None else f"{row[name]:,.4g}" for name in SHOWN)
        shown.add_row(row["vectorisation"], str(row["num_envs"]), *figures)
    return shown

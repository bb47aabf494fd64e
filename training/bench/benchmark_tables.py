"""The rows of a benchmark as tables for a terminal."""

from __future__ import annotations

from statistics import median
from typing import Any

from rich.table import Table


def machine_line(record: dict[str, Any]) -> str:
    """Return the machine, its load and the commit, in a line."""
    host, rev = record["host"], record["git_rev"] or "no commit"
    dirty = ", uncommitted changes" if record["dirty"] else ""
    return (
        f"{host['cpu_model']}, {host['physical_cores']} cores, load {record['load']}, {rev}{dirty}"
    )


def _table(title: str, columns: str, left: int = 1) -> Table:
    table = Table(title=title, title_justify="left")
    for k, heading in enumerate(columns.split(", ")):
        table.add_column(heading, justify="left" if k < left else "right")
    return table


def env_table(rows: list[dict[str, Any]]) -> Table:
    """Return the environment alone: speed and fill of each row."""
    heads = "what, tier, backend, lanes, threads, steps/s, per CPU-s, min, max, ns/step, fill ns"
    table = _table("Environment alone, random legal play unless said; medians", heads, left=3)
    for r in rows:
        if r["kind"] != "env":
            continue
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


def flag_table(rows: list[dict[str, Any]]) -> Table:
    """Return what each flag alone is worth, a row for each."""
    heads = (
        "env, flag, lanes, reference us, limit us, measured us, part of the limit, "
        "over reference, min..max"
    )
    table = _table("One flag alone, random legal play, same-step reset; CPU a step", heads, left=2)
    for r in rows:
        every, limit = r["over_reference_all"], r.get("limit_us")
        table.add_row(
            *(r["env"], r["flag"] + (", noisy" if r["noisy"] else ""), f"{r['num_envs']:,}"),
            *(f"{r['reference_us']:,.1f}", "-" if limit is None else f"{limit:,.1f}"),
            *(f"{r['us']:,.1f}", "-" if limit is None else f"{r['share_of_limit']:.2f}"),
            *(f"{r['over_reference']:.3f}", f"{min(every):.3f}..{max(every):.3f}"),
        )
    return table


def bar_table(judged: list[dict[str, Any]], title: str) -> Table:
    """Return the bars and what was measured of them."""
    table = _table(title, "bar, asked, measured, min..max, wall steps/s, pass")
    for bar in judged:
        if bar["measured"] is None:
            table.add_row(bar["what"], bar["asked"], bar["reason"], "-", "-", "not measured here")
            continue
        every, wall, share = bar["all"], bar["wall"], "env share" in bar["what"]
        table.add_row(
            *(bar["what"], bar["asked"], _shown(bar["measured"], share)),
            f"{_shown(min(every), share)}..{_shown(max(every), share)}" if every else "-",
            "-" if wall is None else f"{wall:,.0f}",
            ("yes" if bar["pass"] else "NO") + (", noisy" if bar["noisy"] else ""),
        )
    return table


def _shown(value: float, share: bool) -> str:
    if share:
        return f"{value:.1%}"
    return f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"


def trainer_table(rows: list[dict[str, Any]]) -> Table:
    """Return the trainers that were timed in turns."""
    r = rows[0]
    title = (
        f"Trainers in turns: {r['env']}, {r['num_envs']} lanes, net {r['net_arch']} "
        f"{r['activation']}, {r['epochs']} epochs, minibatches of {r['minibatch']:,}, "
        f"{r['torch_threads']} thread; medians of {r['repeats']}"
    )
    table = _table(title, "trainer, precision, steps/s, per CPU-s, times sb3, min..max", left=2)
    for r in rows:
        every = r["ratio_per_cpu_s_all"]
        table.add_row(
            *(r["name"], r["precision"] + (", noisy" if r["noisy"] else "")),
            *(f"{r[key]:,.0f}" for key in ("steps_per_s", "steps_per_cpu_s")),
            *(f"{r['ratio_per_cpu_s']:.2f}", f"{min(every):.2f}..{max(every):.2f}"),
        )
    return table


def timed_table(rows: list[dict[str, Any]]) -> Table:
    """Return the trainers by what was timed of them."""
    heads = (
        "what, trainer, env, precision, lanes, T, minibatch, epochs, threads, steps/s, per CPU-s, "
        "env %"
    )
    table = _table("Trainers, by what is timed; rows of one kind in turns; medians", heads, left=4)
    for r in rows:
        sizes = ("num_envs", "rollout_steps", "minibatch", "epochs", "torch_threads")
        table.add_row(
            ", ".join([r["mode"], *([r["waiting"]] if "waiting" in r else [])])
            + (", noisy" if r["noisy"] else ""),
            *(r.get("name", r["trainer"]), r["env"], r["precision"]),
            *(f"{r[key]:,}" for key in sizes),
            *(f"{r[key]:,.0f}" for key in ("steps_per_s", "steps_per_cpu_s")),
            f"{r['share_env']:.1%}" if "share_env" in r else "",
        )
    return table


def step_table(rows: list[dict[str, Any]]) -> Table:
    """Return the steps from lists to tensors, each beside the one before it."""
    heads = "game, step, what ran, precision, per CPU-s, times the step before, env us, act, learn"
    table = _table(f"Steps of the replay, in turns; medians of {rows[0]['repeats']}", heads, left=4)
    for r in rows:
        over = r.get("over_step_before_all")
        table.add_row(
            *(r["game"], r["step"] + (", noisy" if r["noisy"] else ""), r["name"], r["precision"]),
            f"{r['steps_per_cpu_s']:,.0f}",
            f"{median(over):.2f} ({min(over):.2f}..{max(over):.2f})" if over else "",
            *(f"{r['us_per_step'][phase]:,.1f}" for phase in ("env", "collect", "update")),
        )
    return table


def scale_table(rows: list[dict[str, Any]]) -> Table:
    """Return whole runs by what they were spread over, and what ranks exchange."""
    heads = "what ran, backend, steps/s, min..max, per CPU-s, cores, us a step by phase"
    table = _table("Whole runs, in turns; end to end; medians", heads, left=2)
    for r in rows:
        if r["kind"] == "exchange":
            table.add_row(r["name"], "", "", "", "", "", f"{r['bytes']:,} bytes {r['us']:,.0f} us")
            continue
        every = r["steps_per_s_all"]
        table.add_row(
            *(r["name"] + (", noisy" if r["noisy"] else ""), r["backend"]),
            *(f"{r['steps_per_s']:,.0f}", f"{min(every):,.0f}..{max(every):,.0f}"),
            *(f"{r['steps_per_cpu_s']:,.0f}", f"{r['cores_used']:.2f}"),
            ", ".join(f"{name} {us:.1f}" for name, us in r["us_per_step"].items()),
        )
    return table


def split_line(row: dict[str, Any]) -> str:
    """Return where the time of a step went, in a line."""
    parts = ", ".join(f"{name} {us:.2f}" for name, us in row["us_per_step"].items())
    return f"{row['mode']}, epochs {row['epochs']}, microseconds a step: {parts}"


def config_table(rows: list[dict[str, Any]], env: str, repeats: int, games: int) -> Table:
    """Return the configurations of an environment: speed, shares of the time, reward and points."""
    title = (
        f"{env}, stock MaskablePPO (hierarchical: our trainer), medians of {repeats}; reward/h: "
        "change of the mean reward of a decision, an hour"
    )
    if any(row["points_after"] is not None for row in rows):
        title += f"; points: {games} whole games"
    heads = (
        "config, backend, steps/s, env/s, env %, net %, update %, CPU us, RSS MB, reward/h, points"
    )
    table = _table(title, heads, left=2)
    for r in rows:
        if r["status"] != "measured":
            table.add_row(r["config"], r["backend"], *["-"] * 9)
            table.caption = f"{r['config']}: {r['status']}"
            continue
        shares = ("share_env", "share_forward", "share_update")
        alone, change, after = (
            r[name] for name in ("env_only_steps_per_s", "reward_per_hour", "points_after")
        )
        table.add_row(
            *(r["config"], r["ran"]["backend"], f"{r['steps_per_s']:,.0f}"),
            "-" if alone is None else f"{alone:,.0f}",
            *(f"{r[key] * 100:.1f}" for key in shares),
            f"{r['cpu_seconds_per_step'] * 1e6:,.0f}",
            f"{r['peak_rss_mb']:,.0f}",
            "-" if change is None else f"{change:+,.3g}",
            "-" if after is None else f"{after:.0f}",
        )
    return table

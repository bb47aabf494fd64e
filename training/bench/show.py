"""The profiler's figures as tables for a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from training.bench import history, record


def mode_table(found: dict[str, Any]) -> Table:
    """Return the figures of an artefact as a table."""
    dirty = ", uncommitted changes" if found["dirty"] else ""
    table = Table(
        title=f"{found['host']['cpu_model']}, {found['git_rev'] or 'no commit'}{dirty}",
        caption="; ".join(found["notes"]) or None,
        title_justify="left",
        caption_justify="left",
    )
    heads = "mode, workload, backend, lanes, threads, steps/s (min..max), per CPU-s, ticks/s, env %"
    for k, heading in enumerate(heads.split(", ")):
        table.add_column(heading, justify="left" if k < 3 else "right")
    for entry in found["modes"]:
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


def phase_table(entry: dict[str, Any]) -> Table:
    """Return where the time of an entry goes."""
    phases = entry["phases_us_per_step"]
    whole = sum(phases.values())
    table = Table(title=f"{entry['mode']}: microseconds a step", title_justify="left")
    for name in phases:
        table.add_column(name, justify="right")
    table.add_row(*(f"{us:.2f}" for us in phases.values()))
    table.add_row(*(f"{us / whole:.1%}" for us in phases.values()))
    return table


def frames_sentence(frames: dict[str, Any]) -> str:
    """Return what an entry of the Game Boy says of frames, as a line."""
    return (
        f"{frames['frames_per_s']['median']:,.0f} frames/s "
        f"({frames['realtime_factor']:,.0f} times the console), "
        f"{frames['frames_per_cpu_s']['median']:,.0f} per CPU-s; "
        f"{frames['instructions_per_frame']:,} instructions a frame; "
        f"{frames['resets_per_step']:.1%} of steps end an episode"
    )


def trend_table(folder: Path) -> Table:
    """Return the speeds of the history, and of the artefacts in a folder, by commit."""
    artefacts, skipped = record.artefacts(folder)
    rows = history.trend([*history.read(), *artefacts])
    table = Table(
        title=f"{len(rows)} figures in {history.HISTORY.name} and {folder}",
        caption=f"no artefacts: {', '.join(skipped)}" if skipped else None,
        title_justify="left",
        caption_justify="left",
    )
    for k, heading in enumerate(("what", "date", "commit", "steps/s", "per CPU-s", "vs before")):
        table.add_column(heading, justify="left" if k < 3 else "right", no_wrap=k > 0)
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


def show(found: dict[str, Any], console: Console) -> None:
    """Print an artefact."""
    console.print(mode_table(found))
    for entry in found["modes"]:
        if entry["phases_us_per_step"]:
            console.print(phase_table(entry))
        if "frames" in entry:
            console.print(frames_sentence(entry["frames"]))
    for ratio in found["ratios"]:
        each = ratio["all"]
        console.print(
            f"{ratio['what']}, in turns: {ratio['value']:,.2f} times "
            f"({min(each):,.2f}..{max(each):,.2f})"
        )
    if found["target"]["steps_per_s"] is not None:
        console.print(record.target_sentence(found["target"]))
    for floor in found["floors"]:
        elsewhere = "" if floor["same_machine"] else "; it was taken on another processor"
        share = floor["floor_steps_per_cpu_s"] / floor["recorded"]
        console.print(
            f"{floor['what']}: floor {floor['floor_steps_per_cpu_s']:,.0f} steps per CPU second "
            f"({share:g} of {floor['source']}{elsewhere})"
        )

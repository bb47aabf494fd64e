"""Tables of speeds."""

from __future__ import annotations

import json
import math
import statistics

from tools import train_parts
from tools.figures.records import Record, Row, middle, newest, ratio, share, spread, table
from training.bench.records import history
from training.run import machine
from training.run.config import ROWS

OF_STOCK = ": env share of wall time"


def bars(pattern: str, of: str = "") -> str:
    """Return the table of targets and measurements in the newest such record, ``of`` one game."""
    record = newest(pattern)
    made = []
    for row in record.rows:
        if row["kind"] == "bar" and row["measured"] is not None and row["what"].startswith(of):
            shares = OF_STOCK in row["what"] or "env share" in row["what"]
            cell = share(row) if shares else _measured(row)
            made.append((row["what"], row["asked"], cell, "yes" if row["pass"] else "no"))
    reached = sum(row[-1] == "yes" for row in made)
    processor = machine.describe(record.head["host"])
    about = f"{record.load}, on {processor}: {reached} of {len(made)} reached"
    return (
        f"{table(('bar', 'asked', 'measured', 'reached'), made)}\n\n{record.source}, {about}. "
        f"{elsewhere(record)}"
    ).rstrip()


def elsewhere(record: Record) -> str:
    """Return how fast the rows of a record are beside those of other processors, in a sentence.

    That is why a bar may be missed here that was reached there: the newest line of the history of
    each other processor that is of the same thing.
    """
    host, found = record.head["host"], dict[str, list[float]]()
    lines = [one for one in history() if one.get("steps_per_cpu_s") and not one["dirty"]]
    for row in (row for row in record.rows if row.get("ran") and row.get("steps_per_cpu_s")):
        ours = json.dumps(row["ran"], sort_keys=True)
        last: dict[str, float] = {}
        for line in lines:
            elsewhere = machine.processor(line) != machine.processor(host)
            if elsewhere and json.dumps(line["ran"], sort_keys=True) == ours:
                last[machine.describe(line)] = line["steps_per_cpu_s"]
        for name, speed in last.items():
            found.setdefault(name, []).append(row["steps_per_cpu_s"] / speed)
    said = [
        f"{spread(statistics.median(every), every, lambda x: f'{x:.2f}')} of {name} "
        f"({len(every)} rows)"
        for name, every in found.items()
        if len(every) > 1
    ]
    return f"Steps a CPU second as a share of those on record: {'; '.join(said)}." if said else ""


def _measured(row: Row) -> str:
    def cell(x: float) -> str:
        return f"{x:,.0f}" if x >= 1000 else f"{x:.3f}" if 0.1 <= x < 100 else f"{x:.3g}"

    return spread(middle(row), row["all"], cell) if row["all"] else cell(row["measured"])


def game_boy() -> str:
    """Return the speeds of the Game Boy's environments, and those of PyBoy in the same turns."""
    record, made = newest("bars-gameboy.jsonl"), []
    for row in record.rows:
        if "frames_per_cpu_s" in row and "instructions_per_frame" in row:
            way = _WAYS[row["what"]].format(lanes=f"{row['num_envs']:,}")
            options = ", ".join(f"`{name}={value}`" for name, value in row["options"].items())
            if "bytes_per_env" in row:
                options += f", {sum(row['bytes_per_env'].values()):,} bytes a lane"
            mine, theirs = row["frames_per_cpu_s_all"], row.get("pyboy_frames_per_cpu_s_all")
            turns = theirs and [a / b for a, b in zip(mine, theirs, strict=True)]
            over = ratio({"all": turns}, 1) if turns else ""
            speed = spread(row["frames_per_cpu_s"], mine, lambda x: f"{x / 1e3:,.0f} k")
            frames = f"{row['instructions_per_frame']:,}"
            made.append([f"`{row['rom']}`", frames, way, options, speed, over])
    heads = ("ROM", "instructions a frame", "what", "options", "frames a CPU second")
    return f"{table((*heads, 'times PyBoy'), made)}\n\n{bars('bars-gameboy.jsonl')}"


def hooks() -> str:
    """Return what eight hooks cost in a step, as soon as the record has it."""
    record = newest("bars-gameboy.jsonl")
    said = "Where instructions are hooked, each that runs takes the core some nanoseconds."
    pair = {row["name"]: row for row in record.rows if row.get("what") == "hooks"}
    if not pair:
        return said
    every = [
        100 * (without / own - 1)
        for own, without in zip(
            *(pair[name]["steps_per_cpu_s_all"] for name in ("with", "without")), strict=True
        )
    ]
    longer = spread(statistics.median(every), every, lambda x: f"{x:.1f}")
    rom, lanes = pair["with"]["rom"], pair["with"]["num_envs"]
    return (
        f"{said} With eight hooks, a step of `{rom}` takes {longer} % longer in {lanes} lanes "
        f"({record.source})."
    )


_WAYS = {
    "step": "steps of 24 frames, {lanes} lanes",
    "many": "steps of 24 frames, {lanes} lanes",
    "skip": "one machine, nothing drawn",
    "draw": "one machine, every frame drawn",
}


def flags_alone() -> str:
    """Return the speed of each flag alone over the reference, a row for each id and flag."""
    record = newest("flags.jsonl")
    rows = flag_rows(record)
    lanes = sorted({row["num_envs"] for row in rows})
    found = {(row["env"], row["flag"], row["num_envs"]): row for row in rows}
    made = [
        [f"`{env}`", f"`{flag}`", *(_flag_cell(found[env, flag, n]) for n in lanes)]
        for env, flag in dict.fromkeys((row["env"], row["flag"]) for row in rows)
    ]
    heads = ("environment", "flag", *(f"{n} lane{'s' * (n > 1)}" for n in lanes))
    parts = [row["share_of_limit"] for row in rows if row["env"].startswith(_LIMITED)]
    least = math.floor(100 * min(parts)) / 100
    part = f"Of what Amdahl's law allows, Skull King and Prospector reach {least:.2f} or more."
    return f"{table(heads, made)}\n\n{flags_verdict()} {part}\n\n{record.source}, {record.load}."


def flags_verdict() -> str:
    """Return whether each flag alone is at least as fast as the reference, and where it is not."""
    record = newest("flags.jsonl")
    rows, below = flag_rows(record), flags_below(record)
    *few, most = (f"{n}" for n in sorted({row["num_envs"] for row in rows}))
    where = (
        f"Measured are {', '.join(few)} and {most} lanes (environments) of every id and of "
        "a game as `new-game` writes it."
    )
    asked = f"(median at least {FLAG_MEDIAN}, slowest repeat at least {FLAG_LEAST})"
    if not below:
        return f"{FLAGS_CLAIM} {asked}. {where}"
    named = "; ".join(below)
    return (
        f"In {len(rows) - len(below)} of {len(rows)} cases a flag alone is at least as fast as the "
        f"reference {asked}. {where} Below that: {named}."
    )


FLAGS_CLAIM = "Each flag alone is at least as fast as the reference"
FLAG_MEDIAN, FLAG_LEAST = 1.0, 0.97  # times the reference, as benchmarks/targets.toml asks
# What a flag replaces is there of about the size of the rest.
_LIMITED = ("SkullKing", "Prospector")


def flag_rows(record: Record) -> list[Row]:
    """Return the rows of a record of the flags, one for each id, flag and number of lanes."""
    return [row for row in record.rows if row["kind"] == "flag"]


def flags_below(record: Record) -> list[str]:
    """Return the rows of a record of the flags that are below what is asked of them."""
    return [
        f"`{row['env']}`, `{row['flag']}`, {row['num_envs']} lane{'s' * (row['num_envs'] > 1)}: "
        + _flag_cell(row)
        for row in flag_rows(record)
        if row["over_reference"] < FLAG_MEDIAN or min(row["over_reference_all"]) < FLAG_LEAST
    ]


def _flag_cell(row: Row) -> str:
    """Return times the reference: the median and the slowest repeat."""
    return f"{row['over_reference']:.3g}, {min(row['over_reference_all']):.3g}"


def replay_steps() -> str:
    """Return the table of DQN's speed after each step from lists to tensors."""
    record, made, game = newest("replay_steps.jsonl"), [], ""
    for row in (r for r in record.rows if r["kind"] == "trainer"):
        speed = spread(row["steps_per_cpu_s"], row["steps_per_cpu_s_all"], lambda x: f"{x:,.0f}")
        turns = row.get("over_step_before_all")
        over = ratio({"all": turns}, 2) if turns else ""
        parts = [f"{row['us_per_step'][part]:,.0f}" for part in ("env", "collect", "update")]
        shown, game = ("" if row["game"] == game else row["game"]), row["game"]
        made.append([shown, row["step"], row["name"], speed, over, *parts])
    heads = ("game", "step", "what ran", "decisions a CPU second", "times the step before")
    split = ("us of a decision: environment", "acting and storing", "learning")
    return f"{table((*heads, *split), made)}\n\n{record.source}, {record.load}."


def vectorised() -> str:
    """Return how fast ways to play many environments are, by their number and by CPU time.

    Old records have no CPU time of the processes of ``AsyncVectorEnv``.
    """
    parts = []
    for env in ("DrMarioPlacement-v0", "DrMarioFrame-v0"):
        record = newest(f"vectorised-{env}.json")
        rows = record.head["rows"]
        sizes = sorted({row["num_envs"] for row in rows})
        made = []
        for way, name in _SIDE_BY_SIDE.items():
            of = {row["num_envs"]: row for row in rows if row["vectorisation"] == way}
            whole = way != "async" or all("cpu_of" in row for row in of.values())
            speeds = (_median(of[n]) / 1e3 if whole else None for n in sizes)
            made.append([name, *("" if x is None else f"{x:,.1f} k" for x in speeds)])
        heads = (f"`{rows[0]['env']}`", *(f"{n:,}" for n in sizes))
        about = f"load {record.head['load']} before, on {machine.describe(record.head['host'])}"
        parts.append(f"{table(heads, made)}\n\n{record.source}, {about}.")
    return "\n\n".join(parts)


def _median(row: Row) -> float:
    """Return the median speed of the repeats; their mean where a record has no more."""
    return float(statistics.median(row.get("steps_per_cpu_s_all", [row["steps_per_cpu_s"]])))


_SIDE_BY_SIDE = {"engine": "engine", "sync": "`SyncVectorEnv`", "async": "`AsyncVectorEnv`"}


def scale() -> str:
    """Return how fast trainings are that are spread over processes, and what was asked of them."""
    record, made = newest("scale.jsonl"), []
    for row in (r for r in record.rows if r["kind"] == "trainer"):
        speeds = (row[key] for key in ("steps_per_s", "steps_per_cpu_s"))
        every = (row[f"{key}_all"] for key in ("steps_per_s", "steps_per_cpu_s"))
        cells = [spread(*of, lambda x: f"{x:,.0f}") for of in zip(speeds, every, strict=True)]
        parts = ", ".join(f"{name} {us:.1f}" for name, us in row["us_per_step"].items())
        made.append([row["name"], f"{row['num_envs']}", f"`{row['backend']}`", *cells, parts])
    heads = (
        "what ran",
        "lanes",
        "environment",
        "decisions a second",
        "a CPU second",
        "us of a decision",
    )
    host = record.head["host"]
    return f"{table(heads, made)}\n\n{bars('scale.jsonl')} {host['physical_cores']} cores."


def cores() -> str:
    """Return what the parts of ``make train`` take, and the speed-up that Amdahl's law allows."""
    record, trained = newest("train-parts.json"), newest("make-train-*-seeds.json")
    spent, network = record.head["cpu_s"], record.head["network_threads"]
    every = [sum(each) for each in zip(*spent.values(), strict=True)]
    able = {
        train_parts.COLLECT: "1",
        train_parts.LEARN: f"{network} at most: one for {ROWS} samples of a minibatch",
        train_parts.SEARCH: "all others, beside the rest",
        train_parts.REST: "1",
    }
    parts = []
    for part, seconds in spent.items():
        shares = [100 * x / y for x, y in zip(seconds, every, strict=True)]
        said = spread(statistics.median(shares), shares, lambda x: f"{x:.1f}")
        parts.append((part, f"{said} %", able[part]))
    typical = {part: statistics.median(seconds) for part, seconds in spent.items()}
    counts = (2, 3, 4, 8, 24)
    bounds = [f"{train_parts.estimate_speedup(typical, n, network):.2f}" for n in counts]
    used = [run["cpu_s"] / run["wall_s"] for run in trained.head["runs"].values()]
    said = spread(statistics.median(used), used, lambda x: f"{x:.2f}")
    return (
        f"{table(('part', 'share of the CPU time', 'threads that it can use'), parts)}\n\n"
        f"{table(('cores', *map(str, counts)), [('times one core, at most', *bounds)])}\n\n"
        f"{record.source}, {record.head['precision']}, load {record.head['load']}. On two "
        f"cores, the trainings of `make train` used {said} of them ({trained.source})."
    )


def one_game() -> str:
    """Return how fast the 8-puzzle is in plain Python and as a game of fastenv, and trainings."""
    record, both = newest("foreign.jsonl"), ("stepped", "trained")
    rows = [row for row in record.rows if "way" in row]
    found = {(row["num_envs"], row["way"], row["what"]): row for row in rows}
    made = []
    for lanes, way in dict.fromkeys((row["num_envs"], row["way"]) for row in rows):
        cells = [cell for what in both for cell in _over_plain(found[lanes, way, what])]
        made.append([way, f"{lanes}", *cells])
    speeds = [head for what in both for head in (f"{what}: decisions a CPU second", "times plain")]
    most = max(row["num_envs"] for row in rows)
    stepped, trained = (found[most, "fastenv, Numba", what]["over_plain"] for what in both)
    said = (
        f"With {most} lanes the port takes {stepped:,.0f} times as many steps in Numba as the "
        f"plain environment, and a training {trained:.2f} times as many decisions."
    )
    about = f"{record.source}, {record.load}, on {machine.describe(record.head['host'])}"
    return f"{table(('the 8-puzzle', 'lanes', *speeds), made)}\n\n{said} {about}."


def _over_plain(row: Row) -> tuple[str, str]:
    """Return decisions a CPU second, and how many times those of the plain environment."""
    speed = spread(row["steps_per_cpu_s"], row["steps_per_cpu_s_all"], lambda x: f"{x:,.0f}")
    turns = row["over_plain_all"]
    return speed, "" if set(turns) == {1} else ratio({"all": turns}, 2)

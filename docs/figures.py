"""Write the tables of figures of all pages from the records in benchmarks/.

Run ``python docs/figures.py`` after a new record is there: of each kind the newest one counts. A
test compares, so that no figure of these tables stands anywhere but in a record.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "benchmarks"
T_95 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}  # Student's t by number of values

# Of an evaluation: name, decimals and factor.
MEASURES = (("points", 0, 1), ("margin", 0, 1), ("win_rate", 1, 100), ("bid_hit", 1, 100))

Row = dict[str, Any]


class Record:
    """A file of ``benchmarks/``: one JSON object, or a head and its rows."""

    def __init__(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        self.path = path
        self.rows: list[Row] = []
        if path.suffix == ".jsonl":
            self.head, *self.rows = map(json.loads, text.splitlines())
        else:
            self.head = json.loads(text)

    @property
    def source(self) -> str:
        """Return file and commit as the tables name them."""
        return f"`benchmarks/{self.path.name}` at {self.head['git_rev'][:7]}"

    def bar(self, what: str) -> Row:
        """Return the bar of that name."""
        return next(row for row in self.rows if row["kind"] == "bar" and row["what"] == what)


def newest(pattern: str) -> Record:
    """Return the newest record whose name fits, of those taken without uncommitted changes."""
    found = [Record(path) for path in RECORDS.glob(pattern)]
    clean = [record for record in found if record.head["dirty"] is False]
    return max(clean, key=lambda record: record.head.get("created", ""))


# -- cells -----------------------------------------------------------------------------------------


def interval(values: Sequence[float], decimals: int = 0, factor: float = 1, unit: str = "") -> str:
    """Return ``value unit [low, high]``."""
    value, low, high = (f"{x * factor:.{decimals}f}" for x in values)
    return f"{value}{unit} [{low}, {high}]"


def middle(row: Row) -> float:
    """Return the median over the repeats of a bar: of a ratio, over its turns."""
    return statistics.median(row["all"])


def ratio(row: Row, decimals: int = 3) -> str:
    """Return the median of a bar with the least and the largest of its turns."""
    return spread(middle(row), row["all"], lambda x: f"{x:.{decimals}f}")


def share(row: Row) -> str:
    """Return a share of time likewise, in per cent."""
    return spread(middle(row), row["all"], lambda x: f"{100 * x:.1f}") + " %"


def spread(value: float, every: Sequence[float], cell: Callable[[float], str]) -> str:
    """Return a value with the least and the largest of its repeats."""
    return f"{cell(value)} ({cell(min(every))} to {cell(max(every))})"


def clock(seconds: float) -> str:
    """Return a time as ``m:ss``."""
    return f"{round(seconds) // 60}:{round(seconds) % 60:02d}"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# -- README ----------------------------------------------------------------------------------------


def headlines() -> str:
    """Return the table of figures of the README."""
    found = newest("*-bars.jsonl")
    made = [(what, _speed(found.bar(bar))) for what, bar in _SPEEDS.items()]
    for name, bar in (("Worker", _OVER[0]), ("Prospector, random play", _OVER[1])):
        turns = found.bar(bar)
        if turns["all"]:  # of one run and in turns, or not at all
            over = f"{ratio(turns, 0)} times"
            made.append((f"{name}, `fast` over this repository's plain Python", over))
    single = next(r for r in found.rows if r["what"] == "gymnasium step" and r["backend"] == "fast")
    ore = found.bar("prospector: one env through Gymnasium, steps a CPU second")
    over = found.bar("one env through Gymnasium: fast over reference")
    made.append(
        (
            "one game through `gymnasium.make(..., disable_env_checker=True).step`",
            f"Skull King {single['steps_per_cpu_s'] / 1e3:.0f} k, "
            f"{ratio(over, 0)} times the plain Python; "
            f"Prospector {ore['measured'] / 1e3:.0f} k",
        )
    )
    for game, bar in _STOCK_BARS.items():
        made.append(
            (f"env share of wall time, {game} under stock MaskablePPO", share(found.bar(bar)))
        )
    beside = newest("*-trainers.jsonl")
    for what, bar in _TRAINERS.items():
        made.append((f"our trainer over stock `MaskablePPO`, {what}", ratio(beside.bar(bar), 2)))
    made += [_make_train(), _pair(), _agent()]
    note = f"Speeds: {found.source}; trainers: {beside.source}."
    return f"{table(('what', 'measured'), made)}\n\n{note}"


_FRAMES = (
    "DrMarioFrame-v0, step_into, random buttons, no info, level 10, obs none, obs_dtype uint8, "
    "stack 1, fast, n=1024"
)
_PLACEMENTS = (
    "DrMarioPlacement-v0, random feasible placements, warp, level 10, speed high, fast, n=1024"
)
_SPEEDS = {
    "Skull King Worker (a card each step), `fast`": "worker: steps a CPU second, one core",
    "Ability, `fast`": "ability: steps a CPU second, one core",
    "flat (whole games), `fast`": "flat: steps a CPU second, one core",
    "Manager (a whole round each step), `fast`": "manager: steps a CPU second, one core",
    "Prospector, random play, `fast`": "prospector: uniform, n=1024, steps a CPU second",
    "Prospector, a new world every step": "prospector: cash_out, n=1024, steps a CPU second",
    "Prospector, waiting": "prospector: hold, n=1024, steps a CPU second",
    "Dr. Mario, random buttons, no observation (a frame each step)": (
        f"{_FRAMES}: steps a CPU second"
    ),
    "Dr. Mario, random placements, level 10": f"{_PLACEMENTS}: steps a CPU second",
}
_OVER = ("worker: fast over reference", "prospector: uniform, fast over reference")
_STOCK = ": env share of wall time"
_STOCK_BARS = {
    "Skull King Worker": f"stock MaskablePPO, 256 lanes, 256x256{_STOCK}",
    "Prospector": f"prospector: stock MaskablePPO, 512 lanes, 64x64{_STOCK}",
    "Dr. Mario": "DrMarioPlacement-v0, stock MaskablePPO, SmallCNN, level 10, obs "
    f"bitplane_bottle_conn_mask, obs_dtype uint8, extras [], fast, n=64{_STOCK}",
}
_BESIDE = "over stock MaskablePPO, 512 lanes, per CPU second"
_TRAINERS = {
    "fp32": f"native fp32 {_BESIDE}",
    "`auto` where bf16 is multiplied": f"native auto {_BESIDE}",
    "the same with one trunk for policy and value": f"native auto, shared trunk {_BESIDE}",
}


def _speed(row: Row) -> str:
    return spread(middle(row), row["all"], lambda x: f"{x / 1e6:.2f} M") + " a CPU second"


def _make_train() -> tuple[str, str]:
    record = newest("make-train-*-seeds.json")
    found = [run["overall"] for run in record.head["runs"].values()]
    rates = [run["trained"][0] for run in found]
    half = T_95[len(rates)] * statistics.stdev(rates) / len(rates) ** 0.5
    mean = statistics.mean(rates)
    scripted = [interval(found[0][who], 1, 100, " %") for who in ("heuristic", "rule_hard")]
    return (
        "`make train`: goals a trained Worker reaches",
        f"{interval((mean, mean - half, mean + half), 1, 100, ' %')} over {len(rates)} training "
        f"seeds; at the same goals and deals `heuristic`, the best scripted player, {scripted[0]} "
        f"over deals, RuleBased HARD {scripted[1]} (`benchmarks/{record.path.name}`)",
    )


def _pair() -> tuple[str, str]:
    record = newest("pair-*-seeds.json")
    found = record.head["milestones"]["M2"]
    wins = interval(found["last"], 1, 100, " %")
    return (
        "a pair of Manager and Worker in whole games against three RuleBased HARD",
        f"wins {wins} over {len(record.head['seeds'])} training seeds of "
        f"{min(record.head['steps']) / 1e6:.0f} M decisions, "
        f"{clock(found['cpu_s']['median'])} ({clock(found['cpu_s']['range'][0])} to "
        f"{clock(found['cpu_s']['range'][1])}) of a core to M2, where the interval over deals "
        f"lies above 50 % (`benchmarks/{record.path.name}`)",
    )


def _agent() -> tuple[str, str]:
    record = newest("pretrained-skullking.json")
    found = record.head["matches"]["results"]["rule_hard"]
    trained, heuristic = (
        interval(found[name]["win_rate"], 1, 100, " %") for name in ("trained", "heuristic")
    )
    return (
        "`pretrained/skullking`, one such training, against three RuleBased HARD",
        f"wins {trained} over deals after {record.head['steps'] / 1e6:.0f} M decisions; "
        f"`heuristic`, the best scripted player, wins {heuristic} of the same games "
        f"(`benchmarks/{record.path.name}`)",
    )


# -- RUNS ------------------------------------------------------------------------------------------

_ASKED = {
    "M1": "win rate over 0.40 against 3 x rule_medium",
    "M2": "win rate over 0.50 against 3 x rule_hard",
    "M3": "bids made over 0.60 against 3 x rule_hard",
    "M4": "more points than the mean of 3 x heuristic",
}


def milestones() -> str:
    """Return when trainings of the pair reach M1 to M4, over seeds."""
    record = newest("pair-*-seeds.json")
    count, made = len(record.head["seeds"]), []
    for name, asked in _ASKED.items():
        found = record.head["milestones"][name]
        points = name == "M4"
        cells = ["-"] * 3
        if found["steps"] is not None:
            cells = [
                spread(found[key]["median"], found[key]["range"], cell)
                for key, cell in (
                    ("steps", lambda x: f"{x / 1e6:.1f} M"),
                    ("cpu_s", clock),
                    ("wall_s", clock),
                )
            ]
        last = interval(found["last"]) if points else interval(found["last"], 1, 100, " %")
        made.append([name, asked, f"{found['reached']} of {count}", *cells, last])
    heads = ("milestone", "asked", "reached by", "decisions", "time of a core", "by the clock")
    last = f"at {min(record.head['steps']):,} decisions"
    return f"{table((*heads, last), made)}\n\n{record.source}, seeds {_listed(record.head)}."


def agent_milestones() -> str:
    """Return when the training of the agent of the repository reached M1 to M4."""
    record, made = newest("pretrained-skullking-milestones.json"), []
    for name, asked in _ASKED.items():
        found = record.head["milestones"][name]
        cells = ["-"] * 4
        if found is not None:
            value = interval(
                *((found["result"],) if name == "M4" else (found["result"], 1, 100, " %"))
            )
            times = [clock(found[key]) for key in ("cpu_s", "wall_s")]
            cells = [f"{found['steps'] / 1e6:.1f} M", *times, value]
        made.append([name, asked, *cells])
    heads = ("milestone", "asked", "decisions", "time of a core", "by the clock", "then")
    trained = record.head["trained"]
    note = f"trained at {trained['git_rev'][:7]}, seed {trained['seed']}"
    return f"{table(heads, made)}\n\n{record.source}, {note}."


def pretrained(only: str = "") -> str:
    """Return how the agent of the repository and others play, or ``only`` one of them."""
    record = newest("pretrained-skullking.json")
    made = []
    for opponents, players in record.head["matches"]["results"].items():
        seats = opponents if opponents == "mixed" else f"3 x {opponents}"
        made += [
            [seats, name, *_intervals(found)]
            for name, found in players.items()
            if only in ("", name)
        ]
    heads = ("against", "who plays", "points", "less mean opponent", "wins %", "bids made %")
    games = record.head["matches"]["games"]
    return f"{table(heads, made)}\n\n{record.source}, {games:,} games each."


def _intervals(found: Row) -> list[str]:
    return [interval(found[name], decimals, factor) for name, decimals, factor in MEASURES]


def bars(pattern: str, of: str = "") -> str:
    """Return what was asked and measured in the newest record of that name, ``of`` one game."""
    record = newest(pattern)
    made = []
    for row in record.rows:
        if row["kind"] == "bar" and row["measured"] is not None and row["what"].startswith(of):
            shares = _STOCK in row["what"] or "env share" in row["what"]
            cell = share(row) if shares else _measured(row)
            made.append((row["what"], row["asked"], cell, "yes" if row["pass"] else "no"))
    load = f"load {record.head['load']} before and {record.head['load_after']} after"
    return f"{table(('bar', 'asked', 'measured', 'reached'), made)}\n\n{record.source}, {load}."


def game_boy() -> str:
    """Return the speeds of the Game Boy's environments, and those of PyBoy in the same turns."""
    record, made = newest("*-gameboy.jsonl"), []
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
    return f"{table((*heads, 'times PyBoy'), made)}\n\n{bars('*-gameboy.jsonl')}"


_WAYS = {
    "step": "steps of 24 frames, {lanes} lanes",
    "many": "steps of 24 frames, {lanes} lanes",
    "skip": "one machine, nothing drawn",
    "draw": "one machine, every frame drawn",
}


def dqn_beside_ppo() -> str:
    """Return what DQN, PPO and a scripted player win in whole games of Skull King, over seeds."""
    replay, rollouts = newest("dqn-flat-*-seeds.json"), newest("variants-*-seeds.json")
    sets, made = ("rule_medium", "rule_hard", "heuristic"), []
    runs = list(replay.head["runs"].values())
    rates = [[run["win_rate"][x]["trained"][0] for run in runs] for x in sets]
    core = [run["cpu_s"] for run in runs]
    cells = [interval(_over(of), 1, 100) for of in rates]
    took = f"{clock(min(core))} to {clock(max(core))} of a core"
    made.append(["DQN, `flat_dqn`", f"{runs[0]['steps'] / 1e6:.1f} M", took, *cells])
    flat = [run for run in rollouts.head["runs"] if run["variant"] == "flat"]
    wall = [run["wall_s"] for run in flat]
    compared = rollouts.head["compared"]
    cells = [interval(compared[x]["flat"]["win_rate"]["mean"], 1, 100) for x in sets]
    took = f"{clock(min(wall))} to {clock(max(wall))} by the clock"
    made.append(["PPO, `flat.yaml`", f"{flat[0]['steps'] / 1e6:.1f} M", took, *cells])
    cells = [interval(runs[0]["win_rate"][x]["heuristic"], 1, 100) for x in sets]
    made.append(["`heuristic`, the strongest scripted player", "", "", *cells])
    heads = ("who plays, wins %", "decisions", "trained for", *(f"3 x {x}" for x in sets))
    return f"{table(heads, made)}\n\n{replay.source} and {rollouts.source}, {len(runs)} seeds each."


def replay_steps() -> str:
    """Return what each step from lists to tensors is worth in a training of DQN."""
    record, made, game = newest("*-replay_steps.jsonl"), [], ""
    for row in (r for r in record.rows if r["kind"] == "trainer"):
        speed = spread(row["steps_per_cpu_s"], row["steps_per_cpu_s_all"], lambda x: f"{x:,.0f}")
        turns = row.get("over_step_before_all")
        over = ratio({"all": turns}, 2) if turns else ""
        parts = [f"{row['us_per_step'][part]:,.0f}" for part in ("env", "collect", "update")]
        shown, game = ("" if row["game"] == game else row["game"]), row["game"]
        made.append([shown, row["step"], row["name"], speed, over, *parts])
    heads = ("game", "step", "what ran", "decisions a CPU second", "times the step before")
    split = ("us of a decision: environment", "acting and storing", "learning")
    load = f"load {record.head['load']} before and {record.head['load_after']} after"
    return f"{table((*heads, *split), made)}\n\n{record.source}, {load}."


def vectorised() -> str:
    """Return how fast ways to play many environments are, by their number."""
    parts = []
    for what in ("placements", "frames"):
        record = newest(f"*-vectorised-{what}.json")
        rows = record.head["rows"]
        sizes = sorted({row["num_envs"] for row in rows})
        made = []
        for way, name in _SIDE_BY_SIDE.items():
            of = {row["num_envs"]: row for row in rows if row["vectorisation"] == way}
            speeds = (1e3 * n / of[n]["env_step_ms_p50"] for n in sizes)
            made.append([name, *(f"{speed / 1e3:,.1f} k" for speed in speeds)])
        heads = (f"`{rows[0]['env']}`", *(f"{n:,}" for n in sizes))
        load = f"load {record.head['load']} before"
        parts.append(f"{table(heads, made)}\n\n{record.source}, {load}.")
    return "\n\n".join(parts)


_SIDE_BY_SIDE = {"engine": "engine", "sync": "`SyncVectorEnv`", "async": "`AsyncVectorEnv`"}


_NOT_MEASURED = "Not on record yet: `python -m training.benchmark_v9 --only scale` measures it."


def scale() -> str:
    """Return how fast trainings are that are spread over processes, and what was asked of them."""
    if not list(RECORDS.glob("*-scale.jsonl")):
        return _NOT_MEASURED
    record, made = newest("*-scale.jsonl"), []
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
    machine = f"{host['cpu_model']}, {host['physical_cores']} cores"
    return f"{table(heads, made)}\n\n{bars('*-scale.jsonl')} {machine}."


def scale_model() -> str:
    """Return what more cores and GPUs would do, by the costs of the newest record."""
    if not list(RECORDS.glob("*-scale.jsonl")):
        return _NOT_MEASURED
    from training.bench import scale_model as model

    record, assumed = newest("*-scale.jsonl"), model.Assumed()
    lines = model.table(model.costs_of(record.rows), assumed)
    return f"{table(model.HEADS, lines)}\n\n{model.sentence(assumed)} Costs: {record.source}."


def _measured(row: Row) -> str:
    def cell(x: float) -> str:
        return f"{x:,.0f}" if x >= 1000 else f"{x:.3f}" if 0.1 <= x < 100 else f"{x:.3g}"

    return spread(middle(row), row["all"], cell) if row["all"] else cell(row["measured"])


def dr_mario(runs: str = "") -> str:
    """Return how often trained agents and ``greedy`` clear the same bottles, of runs so named."""
    record, made = newest("drmario-learning.json"), []
    chosen = {name: run for name, run in record.head["runs"].items() if name.startswith(runs)}
    for name, run in chosen.items():
        players = run["evaluation"]["policies"]
        for player in ("trained", "greedy"):
            if player in players:
                found = players[player]
                cells = [name, f"{run['steps']:,}", clock(run["core_s"])]
                cells = [*cells, player] if player == "trained" else ["", "", "", player]
                episodes = f"{run['evaluation']['episodes']:,}"
                clear = interval(found["clear"], 1, 100, " %")
                frames = "{:,.0f} [{:,.0f}, {:,.0f}]".format(*found["frames_to_clear"])
                made.append([*cells, episodes, clear, frames])
    for level in dict.fromkeys(name.partition("-")[0] for name in chosen):
        of_level = [run for name, run in chosen.items() if name.startswith(f"{level}-")]
        if len(of_level) > 1:
            label = f"{level}, {len(of_level)} seeds"
            made.append([label, "", "", "trained", "", *_of_seeds(of_level)])
    heads = ("run", "decisions", "of a core", "who plays", "episodes", "cleared", "frames to clear")
    return f"{table(heads, made)}\n\n{_trained_at(record, chosen.values())}."


def dr_mario_compared() -> str:
    """Return how often bottles are cleared after the same time of a core, over seeds."""
    record = newest("drmario-learning.json")
    made, every = [], []
    for name, seeds in record.head["compared"].items():
        runs = list(seeds.values())
        every += runs
        took = [run["process_s"] for run in runs]
        core = spread(statistics.mean(took), took, clock)
        rates = [run["evaluation"]["policies"]["trained"]["clear"][0] for run in runs]
        least = f"{100 * min(rates):.1f} to {100 * max(rates):.1f} %"
        made.append([name, f"{runs[0]['steps']:,}", core, *_of_seeds(runs)[:1], least])
    greedy = every[0]["evaluation"]["policies"]["greedy"]["clear"]
    made.append(["`greedy`", "", "", interval(greedy, 1, 100, " %"), ""])
    heads = ("", "decisions", "of a core, all in all", "cleared, over seeds", "least to largest")
    return f"{table(heads, made)}\n\n{_trained_at(record, every)}."


def _of_seeds(runs: Sequence[Row]) -> list[str]:
    """Return clears and frames to clear of trainings that differ in their seed alone."""
    players = [run["evaluation"]["policies"]["trained"] for run in runs]
    clear, frames = ([p[key][0] for p in players] for key in ("clear", "frames_to_clear"))
    cells = [interval([min(1.0, max(0.0, x)) for x in _over(clear)], 1, 100, " %"), ""]
    if None not in frames:
        cells[1] = "{:,.0f} [{:,.0f}, {:,.0f}]".format(*_over(frames))
    return cells


def _over(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean over seeds and its 95 % interval by Student's t."""
    mean = statistics.mean(values)
    half = T_95[len(values)] * statistics.stdev(values) / len(values) ** 0.5
    return mean, mean - half, mean + half


def _trained_at(record: Record, runs: Iterable[Row]) -> str:
    commits = dict.fromkeys(run["git_rev"][:7] for run in runs)
    return f"`benchmarks/{record.path.name}`, trained at {' and '.join(commits)}"


def risk_by_level() -> str:
    """Return how the look-ahead clears the same bottles of Dr. Mario, judged by some quantiles."""
    record, made = newest("drmario-risk.json"), []
    for row in record.head["levels"]:
        kept = [found for found in made if found[0] == f"{row['level']}"]
        cells = ["{:,.0f} [{:,.0f}, {:,.0f}]".format(*row[key]) for key in ("cost", "cvar_25")]
        gap = row.get("less_first", {}).get("cvar_25")
        made.append(
            [
                "" if kept else f"{row['level']}",
                f"{row['risk_tau']:g}",
                f"{row['games']:,}",
                interval(row["clear"], 1, 100, " %"),
                *cells,
                "" if gap is None else "{:,.0f} [{:,.0f}, {:,.0f}]".format(*gap),
            ]
        )
    first = f"{record.head['levels'][0]['risk_tau']:g}"
    heads = ("level", "quantile", "games", "cleared", "frames", "mean of the worst quarter")
    return f"{table((*heads, f'that, less {first}'), made)}\n\n{record.source}."


def frames_read() -> str:
    """Return what the reader of Dr. Mario's frames reads right."""
    record = newest("drmario-reader-frames.json")
    made = []
    for name, part in record.head["read"].items():
        right = interval(part["share"], 3 if name == "cells" else 1, 100, " %")
        made.append([_READ[name], f"{part['of']:,}", right])
    return f"{table(('what', 'of', 'read right'), made)}\n\n{record.source}."


_READ = {
    "cells": "cells of the bottle",
    "boards": "whole bottles",
    "previews": "previews",
    "pills": "falling pills that do not rest",
    "states": "bottle, pill and preview of these frames",
}


def through_frames() -> str:
    """Return how players clear bottles of Dr. Mario through a camera, and on rows."""
    made, sources = [], []
    for path in sorted(RECORDS.glob("drmario-reader-play-*.json")):
        record = Record(path)
        sources.append(record.source)
        name = [
            f"`{record.head['who']}`, level {record.head['level']}",
            f"{record.head['episodes']:,}",
        ]
        for sees, found in record.head["players"].items():
            clear = interval(found["clear"], 1, 100, " %")
            frames = "{:,.0f} [{:,.0f}, {:,.0f}]".format(*found["frames_to_clear"])
            made.append([*name, sees, clear, frames, f"{100 * found['refused']:.2f} %"])
            name = ["", ""]
    heads = ("who plays", "episodes", "sees", "cleared", "frames to clear", "refused")
    return f"{table(heads, made)}\n\n{', '.join(sources)}."


def look_ahead(name: str = "drmario-lookahead.json") -> str:
    """Return how fast players clear bottles of Dr. Mario, look-aheads among them.

    Parameters
    ----------
    name : str
        Of the record.
    """
    record, made = newest(name), []
    compared = record.head["compare"]
    first = next(iter(next(iter(compared["levels"].values()))))
    for level, players in compared["levels"].items():
        name = f"{level}, {compared['games']:,} games"
        for who, found in players.items():
            less = [found.get("less_first", {}).get(kind) for kind in ("mean", "tail")]
            means = (found["frames_to_clear"], found[_TAIL], *less)
            frames = ["{:,.0f} [{:,.0f}, {:,.0f}]".format(*x) if x else "" for x in means]
            made.append([name, _asked(who), interval(found["clear"], 1, 100, " %"), *frames])
            name = ""
    heads = ("level", "who plays", "cleared", "frames to clear", _WORST)
    heads = (*heads, f"mean, less that of {_asked(first)}", "worst quarter likewise")
    speeds = compared["decisions_per_cpu_s"].items()
    rates = ", ".join(f"{_asked(who)} {speed:,.0f}" for who, speed in speeds)
    batch = f"Decisions a CPU second at the highest level, {compared['batch']} lanes: {rates}."
    return f"{table(heads, made)}\n\n{batch}\n\n{record.source}."


_TAIL, _WORST = "cvar_0.25", "mean of the worst quarter"


def _asked(who: str) -> str:
    """Return a player's name without the evaluator's file."""
    kind, _, rest = who.partition(":")
    _, _, options = rest.partition(":")
    return f"`{':'.join(filter(None, (kind, options)))}`"


def calibrated() -> str:
    """Return the shares of outcomes below the deciles of an evaluator of Dr. Mario."""
    record = newest("drmario-calibration.json")
    found = record.head["calibrate"]
    shares = zip(found["deciles"], found["shares"], found["intervals"], strict=True)
    made = [[f"{d:.1f}", interval((share, *ends), 3)] for d, share, ends in shares]
    what = f"{found['decisions']:,} decisions of {found['games']:,} games"
    return f"{table(('decile', 'outcomes below'), made)}\n\n{what}; {record.source}."


def game_boy_agents(runs: str, where: str = "") -> str:
    """Return how far agents come on the Game Boy and who plays beside them, of runs so named.

    Parameters
    ----------
    runs : str
        What the names of the runs begin with.
    where : str
        Part of their evaluations: ``beginning``, or empty for states that no training has seen.
    """
    record, made, shares = newest("gameboy-learning.json"), [], ["reached"]
    revisions: set[str] = set()
    for name, run in record.head["runs"].items():
        if not name.startswith(runs):
            continue
        found = run["evaluation"][where] if where else run["evaluation"]
        shares = [x for x in _SHARES if x in found["policies"]["solver"]]
        for player, means in found["policies"].items():
            cells = [name, f"{run['steps']:,}", clock(run["core_s"])]
            cells = cells if player == "trained" else [""] * 3
            cells += [player, *(interval(means[x], 1, 100, " %") for x in shares)]
            cells += [interval(means["items"], 1)] if "items" in means else []
            made.append([*cells, interval(means["steps"], 0)])
        revisions.add(run["git_rev"][:7])
    heads = ("run", "decisions", "of a core", "who plays", *(_SHARES[x] for x in shares))
    more = ("candles",) if len(shares) > 1 else ()
    source = f"`benchmarks/{record.path.name}` at {', '.join(sorted(revisions))}"
    return f"{table((*heads, *more, 'steps'), made)}\n\n{source}."


def game_boy_over_seeds(runs: Sequence[str]) -> str:
    """Return how far agents come that differ in their seed alone, with the interval over seeds."""
    record = newest("gameboy-learning.json")
    every = [record.head["runs"][name] for name in runs]
    made = []
    for share, name in _SHARES.items():
        found = [run["evaluation"]["policies"]["trained"][share][0] for run in every]
        ends = [min(1.0, max(0.0, x)) for x in _over(found)]
        least = f"{100 * min(found):.1f} to {100 * max(found):.1f} %"
        made.append([name, interval(ends, 1, 100, " %"), least])
    heads = ("", "mean over seeds", "least to largest")
    return f"{table(heads, made)}\n\n{_trained_at(record, every)}."


_QUEST = {"reached": "quest", "first_event": "first event", "four_items": "four candles"}
_SHARES = {"four_items": "four candles", "first_event": "first event", "reached": "reached"}


def comparison(pattern: str, gap: str = "minus_baseline", but: str = "") -> str:
    """Return variants of a training over seeds, and what each is over the first.

    Parameters
    ----------
    pattern : str
        Of the record's name.
    gap : str
        What the record calls the difference to the baseline.
    but : str
        Rows whose name ends so are left out.
    """
    record = newest(pattern)
    made = _compared(record.head, gap, but)
    return f"{table(_COMPARED, made)}\n\n{record.source}, seeds {_listed(record.head)}."


_COMPARED = ("", "3 x", "points", "less mean opponent", "wins %", "bids made %")


def _compared(report: Row, gap: str = "minus_baseline", but: str = "") -> list[list[str]]:
    base, made = report["baseline"], []
    for opponents, players in report["compared"].items():
        rows = {row: of for row, of in players.items() if not (but and row.endswith(but))}
        made += [[row, opponents, *_measures(of, "mean")] for row, of in rows.items()]
        made += [
            [f"{row} less {base}", opponents, *_measures(of, gap)]
            for row, of in rows.items()
            if row != base
        ]
    return made


def defaults() -> str:
    """Return what the options are worth that an environment named alone learns by."""
    record = newest("defaults-*-seeds.json")
    made = [
        [f"{env}, {row}", *cells]
        for env, report in record.head["compared"].items()
        for row, *cells in _compared(report)
    ]
    return f"{table(_COMPARED, made)}\n\n{record.source}, seeds {_listed(record.head)}."


def trained_variants(pattern: str, shares: dict[str, str]) -> str:
    """Return what trainings that differ in one option come to, over seeds.

    Parameters
    ----------
    pattern : str
        Of the record's name, a report of ``training.compare`` about episodes.
    shares : dict
        Measure to what it is called; of the first the difference to the baseline is shown.
    """
    record, made = newest(pattern), []
    decisive = next(iter(shares))
    for row, found in record.head["compared"]["episodes"].items():
        steps = statistics.mean(record.head["decisions"][row])
        core, *_ = record.head["core_s"][row]
        cells = [interval(found[name]["mean"], 1, 100, " %") for name in shares]
        of_seeds = ", ".join(f"{100 * x:.1f}" for x in found[decisive]["by_seed"])
        gap = found[decisive].get("minus_baseline")
        less = "" if gap is None else interval(gap, 1, 100)
        made.append([row, f"{steps:,.0f}", clock(core), *cells, of_seeds, less])
    first = f"{shares[decisive]} of each seed"
    heads = ("", "decisions", "of a core", *shares.values(), first)
    less = f"that, less {record.head['baseline']}'s"
    return f"{table((*heads, less), made)}\n\n{record.source}, seeds {_listed(record.head)}."


def _measures(found: Row, kind: str) -> list[str]:
    least = 0 if kind == "mean" else 1  # decimals of differences, which are small
    return [interval(found[name][kind], max(d, least), factor) for name, d, factor in MEASURES]


def _listed(head: Row) -> str:
    return ", ".join(map(str, head["seeds"]))


def pages() -> dict[str, dict[str, Callable[[], str]]]:
    """Return page to mark to what makes its table."""
    return {
        "README.md": {"figures": headlines},
        "RUNS.md": {
            "milestones": milestones,
            "agent": agent_milestones,
            "pretrained": pretrained,
            "variants": lambda: comparison("variants-*-seeds.json"),
            "options": lambda: comparison("options-*-seeds.json", but="decoded bids"),
            "defaults": defaults,
            "drmario": dr_mario,
            "heads": dr_mario_compared,
            "goal": lambda: game_boy_agents("goal"),
            "walk": lambda: game_boy_agents("walk"),
            "beginning": lambda: game_boy_agents("walk", "beginning"),
            "parts": lambda: trained_variants("lantern-walk-parts.json", _QUEST),
            "walks": lambda: game_boy_over_seeds(["walk-1", "walk-2", "walk-3"]),
            "hindsight": lambda: comparison("hindsight-*-seeds.json", "less_baseline"),
            "trainers": lambda: bars("*-trainers.jsonl"),
            "training": lambda: bars("*-training.jsonl"),
            "views": lambda: bars("*-views.jsonl"),
            "replay": lambda: bars("*-replay.jsonl"),
            "steps": replay_steps,
            "bars": lambda: bars("*-bars.jsonl"),
        },
        "docs/benchmarks.md": {"vectorised": vectorised},
        "docs/training.md": {"choice": dqn_beside_ppo},
        "docs/drmario.md": {
            "speeds": lambda: bars("*-bars.jsonl", "DrMario"),
            "reader": frames_read,
            "through": through_frames,
            "lookahead": look_ahead,
            "averse": lambda: look_ahead("drmario-averse.json"),
            "deeper": lambda: look_ahead("drmario-averse-depth2.json"),
            "calibration": calibrated,
            "risk": risk_by_level,
            "heads": lambda: trained_variants("drmario-heads.json", {"clear": "cleared"}),
        },
        "docs/gameboy.md": {"speeds": game_boy},
        "docs/scale.md": {"measured": scale, "model": scale_model},
        "pretrained/skullking/README.md": {"matches": lambda: pretrained("trained")},
        "pretrained/gameboy/README.md": {"goal": lambda: game_boy_agents("goal-1")},
        "pretrained/lantern_walk/README.md": {
            "walk": lambda: game_boy_agents("walk-2"),
            "beginning": lambda: game_boy_agents("walk-2", "beginning"),
        },
        "pretrained/drmario/README.md": {"bottles": lambda: dr_mario("level5-1")},
    }


def with_tables(page: str) -> str:
    """Return a page with its tables between their marks."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for mark, make in pages()[page].items():
        begin, end = f"<!-- {mark}:begin -->\n", f"\n<!-- {mark}:end -->"
        before, _, rest = text.partition(begin)
        _, found, behind = rest.partition(end)
        assert found, f"{page} has no place for {mark}"
        text = before + begin + make() + end + behind
    return text


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))  # for the model of training.bench
    for page in pages():
        (ROOT / page).write_text(with_tables(page), encoding="utf-8")

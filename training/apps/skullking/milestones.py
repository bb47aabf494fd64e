"""Steps and time to the milestones of Skull King.

Every checkpoint in the run's folder plays whole games on duplicate deals. A milestone
is reached at the first checkpoint whose 95 % interval lies above its bar. Play is as in ``training
evaluate``: the highest legal logit, on seeds no training ever sees.

``milestones.json`` in the run folder keeps what was played. Asked again with the same options, only
new checkpoints play, so a run can be followed while it removes its old ones.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from fastenv.errors import ConfigError
from training.apps.skullking.evaluation import count_players, play_matches
from training.evaluation import tables
from training.evaluation.intervals import Interval, half_width, over_seeds
from training.evaluation.judging import CURVE
from training.evaluation.judging import MILESTONES as FILE
from training.evaluation.trainings import seconds_of
from training.logs.status import duration
from training.players.trained import TrainedAgent, load, provenance
from training.run import checkpoint, files, machine
from training.run.config import EvaluationConfig
from training.run.folder import RunError, RunFolder
from training.run.options import require
from training.run.seating import AGENT
from training.run.seeds import MATCH_SEEDS

PLAYERS = 4
TIMES = ("wall_s", "cpu_s")  # of training, at a checkpoint
_AT = ("steps", *TIMES)
_TEXTS = ("milestone", "asked")
_SAME = ("env", "games", "first_seed", "bootstrap")


@dataclass(frozen=True)
class Milestone:
    """What the lower end of an interval must exceed.

    Parameters
    ----------
    name : str
    opponents : str
        Three of them sit at the table.
    measure : str
        Of :data:`training.apps.skullking.columns.COLUMNS`.
    bar : float
    says : str
        In words.
    """

    name: str
    opponents: str
    measure: str
    bar: float
    says: str

    def reached(self, interval: Sequence[float | None]) -> bool:
        """Tell whether an interval, as value, low and high, lies above the bar."""
        low = interval[1]
        return low is not None and low > self.bar


MILESTONES = (
    Milestone("M1", "rule_medium", "win_rate", 0.40, "win rate over 0.40, 3 x rule_medium"),
    Milestone("M2", "rule_hard", "win_rate", 0.50, "win rate over 0.50, 3 x rule_hard"),
    Milestone("M3", "rule_hard", "bid_hit", 0.60, "bids made over 0.60, 3 x rule_hard"),
    Milestone("M4", "heuristic", "margin", 0.0, "more points than the mean of 3 x heuristic"),
)


def play(trained: TrainedAgent, options: EvaluationConfig) -> dict[str, list[float | None]]:
    """Let a checkpoint play; return value, low and high for every milestone.

    Parameters
    ----------
    trained : TrainedAgent
    options : EvaluationConfig
        ``games``, ``bootstrap`` and ``seed`` count; the opponents are the milestones'.
    """
    sets = tuple(dict.fromkeys(milestone.opponents for milestone in MILESTONES))
    means = play_matches(trained, options.replace(opponents=sets), CURVE)
    return {m.name: means[m.opponents][AGENT][m.measure].to_list() for m in MILESTONES}


def first_reached(checkpoints: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any] | None]:
    """Return, for each milestone, the first of some checkpoints that reaches it, None without one.

    Parameters
    ----------
    checkpoints : sequence of mapping
        In the order of training; ``checkpoint``, ``steps``, ``wall_s``, ``cpu_s`` and ``results``,
        the latter as :func:`play` returns them.

    Returns
    -------
    dict
        Name of the milestone to the checkpoint's fields, with ``result`` for its interval.
    """
    first: dict[str, dict[str, Any] | None] = {}
    for milestone in MILESTONES:
        name = milestone.name
        there = [c for c in checkpoints if milestone.reached(c["results"][name])]
        first[name] = None
        if there:
            where = {key: there[0].get(key) for key in ("checkpoint", "steps", *TIMES)}
            first[name] = {**where, "result": there[0]["results"][name]}
    return first


def measure(
    run: RunFolder, options: EvaluationConfig, console: Console, member: int | None = None
) -> dict[str, Any]:
    """Let all checkpoints of a run play, print the tables and write ``milestones.json``.

    Parameters
    ----------
    run : RunFolder
    options : EvaluationConfig
    console : rich.console.Console
    member : int, optional
        Network of an ensemble, from 1 on; default the first.

    Returns
    -------
    dict
        What was written.

    Raises
    ------
    ConfigError
        If the run is not of four players.
    RunError
        If it has no checkpoint.
    CheckpointError
        If one is damaged or foreign.
    """
    players = count_players(run.config)
    require(players == PLAYERS, "env_options.num_players", players, "4: milestones are of 4")
    paths = checkpoint.list_whole(run.checkpoints)
    if not paths:
        raise RunError(f"{run.path} has no checkpoint yet.")
    torch.set_num_threads(1)
    own = {key: getattr(options, key) for key in ("games", "seed", "bootstrap")}
    settings = {**own, "member": member}
    record: dict[str, Any] = {
        "run": run.name,
        "env": run.config.env,
        "config_sha256": run.config.sha256(),
        "trained": provenance(run),
        **settings,
        "first_seed": MATCH_SEEDS + options.seed,
        "policy": "highest legal logit",
        "intervals": f"95 %, percentile bootstrap over deals, {options.bootstrap} resamples",
        **machine.taken_on(),
    }
    earlier, times = _read_earlier(run, settings), seconds_of(run)
    entries = []
    for path in paths:
        sha256 = files.sha256(path / "MANIFEST.json")
        entry = earlier.pop(path.name, None)
        if entry is None or entry["sha256"] != sha256:
            trained = load(run, path.name, member)
            entry = {"checkpoint": path.name, "sha256": sha256, "steps": trained.steps}
            entry["results"] = play(trained, options)
            entry |= times.get(entry["steps"], dict.fromkeys(TIMES))
            cells = [f"{m.name} {show_result(m, entry['results'][m.name])}" for m in MILESTONES]
            reached = f"{entry['steps']:,} decisions, {show_time(entry['wall_s'])}"
            console.print(f"{reached}: {', '.join(cells)}")
        entries.append({**entry, **times.get(entry["steps"], {})})
        # Checkpoints that were removed since; those behind the newest are of a course given up.
        gone = [old for name, old in earlier.items() if name < paths[-1].name]
        every = sorted([*gone, *entries], key=lambda each: each["checkpoint"])
        record |= {"milestones": first_reached(every), "checkpoints": every}
        files.write_json(run.path / FILE, record)  # an interrupted command goes on where it was
    console.print(table(record))
    console.print(f"written to {run.path / FILE}")
    return record


def _read_earlier(run: RunFolder, settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the checkpoints of an earlier ``milestones.json`` with the same options, by name."""
    try:
        record = files.read_json(run.path / FILE)
        same = all(record[key] == value for key, value in settings.items())
        same = same and record["config_sha256"] == run.config.sha256()
        entries = record["checkpoints"] if same else []
        return {entry["checkpoint"]: entry for entry in entries}
    except (OSError, ValueError, KeyError, TypeError):  # none, or of another version: play anew
        return {}


# -- printing --------------------------------------------------------------------------------------


def show_time(seconds: float | None) -> str:
    """Format a time of training, if it is known."""
    return duration(math.nan if seconds is None else seconds)


def show_result(milestone: Milestone, ends: Sequence[float | None]) -> str:
    """Return an interval in the units of a milestone: points, or per cent."""
    points = milestone.measure == "margin"
    interval = Interval.from_list(ends)
    return tables.format_interval(interval, 1, 1 if points else 100) + ("" if points else " %")


def table(record: Mapping[str, Any]) -> Table:
    """Return the decisions and the time to each milestone."""
    last = record["checkpoints"][-1]
    title = f"{record['run']}: milestones, {record['games']:,} games against each set"
    caption = (
        f"Reached at the first of {len(record['checkpoints'])} checkpoints whose 95 % interval "
        f"lies above the bar; the last is at {last['steps']:,} decisions."
    )
    figures = ("decisions", "training time", "there", "at the last checkpoint")
    overview = tables.make_table(title, caption, _TEXTS, figures)
    for milestone in MILESTONES:
        first = record["milestones"][milestone.name]
        reached = ["not reached", "-", "-"]
        if first is not None:
            there = show_result(milestone, first["result"])
            reached = [f"{first['steps']:,}", show_time(first["wall_s"]), there]
        now = show_result(milestone, last["results"][milestone.name])
        overview.add_row(milestone.name, milestone.says, *reached, now)
    return overview


# -- several trainings that differ in their seed alone ---------------------------------------------
# An interval over deals says how well one agent plays; how well the next training will do is said
# by the spread over trainings.


def summarise(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Summarise the results of some trainings, milestone by milestone.

    Parameters
    ----------
    records : sequence of mapping
        As :func:`measure` returns them.

    Returns
    -------
    dict
        ``seeds``; ``milestones``, of each name ``reached``, in how many trainings, and the
        ``median`` and ``range`` of ``steps``, ``wall_s`` and ``cpu_s`` where all have reached it,
        None elsewhere, and ``last``: the mean over trainings at the last checkpoint with its 95 %
        interval, of trainings and of the deals that all have played.

    Raises
    ------
    ConfigError
        If a seed is there twice, or they have not played the same games.
    """
    seeds = [record["trained"]["seed"] for record in records]
    if len(set(seeds)) < len(seeds):
        raise ConfigError(f"the trainings have the seeds {seeds}: each may be there once.")
    for name in _SAME:
        values = list(dict.fromkeys(record[name] for record in records))
        if len(values) > 1:
            raise ConfigError(f"the runs differ in {name}, {values}: they cannot be put together.")
    entries = {}
    for milestone in MILESTONES:
        name = milestone.name
        there = [r["milestones"][name] for r in records if r["milestones"][name] is not None]
        whole = len(there) == len(records)
        least, most = (-math.inf, math.inf) if milestone.measure == "margin" else (0.0, 1.0)
        results = [record["checkpoints"][-1]["results"][name] for record in records]
        last, shared = [value for value, *_ in results], [half_width(x) for x in results]
        entries[name] = {
            "reached": len(there),
            **{key: _compute_spread([t[key] for t in there]) if whole else None for key in _AT},
            "last": over_seeds(last, least, most, shared).to_list(),
            "last_by_seed": last,
        }
    return {
        "seeds": seeds,
        "steps": [record["checkpoints"][-1]["steps"] for record in records],
        "intervals": "at the last checkpoint: 95 %, of trainings (Student's t) and deals together",
        "milestones": entries,
    }


def _compute_spread(values: Sequence[float | None]) -> dict[str, Any] | None:
    """Return median and range; None if a value is not known."""
    present = [value for value in values if value is not None]
    if len(present) < len(values):
        return None
    return {"median": statistics.median(present), "range": [min(present), max(present)]}


def table_over_seeds(over: Mapping[str, Any]) -> Table:
    """Return the decisions and the time to each milestone, over seeds."""
    count = len(over["seeds"])
    title = f"Milestones over {count} training seeds: medians with ranges"
    caption = (
        "At the last checkpoint: means over trainings with 95 % intervals of trainings and "
        f"deals together, at {min(over['steps']):,} decisions."
    )
    figures = ("reached by", "decisions", "time", "CPU time", "at the last checkpoint")
    overview = tables.make_table(title, caption, _TEXTS, figures)
    for milestone in MILESTONES:
        of = over["milestones"][milestone.name]
        overview.add_row(
            *(milestone.name, milestone.says, f"{of['reached']} of {count}"),
            _show_spread(of["steps"], lambda steps: f"{steps:,.0f}"),
            *(_show_spread(of[name], show_time) for name in TIMES),
            show_result(milestone, of["last"]),
        )
    return overview


def _show_spread(spread: Mapping[str, Any] | None, cell: Callable[[float], str]) -> str:
    if spread is None:
        return "-"
    low, high = spread["range"]
    return f"{cell(spread['median'])} ({cell(low)} to {cell(high)})"

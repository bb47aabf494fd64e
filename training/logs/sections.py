"""Sections of a page that compares runs, as plain values.

A section has a title, notes and parts. A part is a table, intervals as dots on lines, or charts;
``training/studio/page/report.js`` draws them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from training.logs.run_data import (
    Interval,
    Results,
    RunData,
    compared,
    is_interval,
    phase_shares,
    run_of,
)
from training.logs.seed_groups import GroupComparison, GroupScores
from training.logs.seeds_data import SeedsData, levels_of
from training.logs.status import duration, mapping
from training.run import games, registry
from training.run.rounding import rounded

Cell = str | dict[str, Any]  # text; or text, run (of whose curves it has the colour), limits, below
Part = dict[str, Any]
Section = dict[str, Any]

# Measure, heading, decimals, factor; the columns of the runs' games follow (_name_columns).
_MEASURES = {
    "points": ("points", 0, 1),
    "margin": ("margin", 0, 1),
    "win_rate": ("wins %", 1, 100),
    "win": ("wins %", 1, 100),
    "draw": ("draws %", 1, 100),
    "rank": ("rank", 2, 1),
    "bid_hit": ("bids made %", 1, 100),
    "return": ("return", 2, 1),
    "net_profit": ("net profit", 2, 1),
    "survival": ("survival %", 1, 100),
    "steps": ("steps", 1, 1),
    "ticks": ("ticks", 1, 1),
}


# The measure that is drawn of a group, the first that it has, and what stands above its panels.
MAIN = {
    "points": "Points in a whole game",
    "overall": "Share of goals reached",
    "return": "Return of an episode",
}
SHARES = ("overall",)  # of them, what is shown in per cent
# Of a level of an evaluation over seeds: measure, heading, factor and decimals.
BY_LEVEL = (
    ("clear", "cleared %", 100, 1),
    ("frames_to_clear", "frames to clear", 1, 0),
    ("cost", "frames of all games", 1, 0),
    ("cvar_25", "worst 25 %", 1, 0),
    ("cvar_5", "worst 5 %", 1, 0),
)
_DRAWN = ("clear", "frames_to_clear", "cvar_25")


def make_sections(
    runs: Sequence[RunData],
    seeds: Sequence[SeedsData] = (),
    groups: GroupComparison | None = None,
) -> list[Section]:
    """Make the sections of runs, of groups of them, and of evaluations over seeds.

    Parameters
    ----------
    runs : sequence of RunData
    seeds : sequence of SeedsData
        Evaluations over seeds, compared by level.
    groups : GroupComparison, optional
        Of runs that differ in their seed alone.
    """
    sections: list[Section] = []
    if runs:
        sections += [_make_summary(runs), _make_results(runs)]
        sections += [] if groups is None else [_make_group_section(groups)]
        sections += [_make_milestones(runs), _make_speed(runs)]
        sections += [_make_options(runs), _make_machines(runs)]
    if seeds:
        sections.append(_make_seed_section(seeds))
    return [each for each in sections if each["parts"] or each["notes"]]


def _make_section(title: str, notes: Iterable[str], parts: Iterable[Part | None]) -> Section:
    return {"title": title, "notes": [*notes], "parts": [each for each in parts if each]}


# -- sections --------------------------------------------------------------------------------------


_SUMMARY = (
    *("run", "environment", "trainer", "status", "decisions", "training time", "decisions/s"),
    *("return at the end", "bids made %", "evaluated"),
)


def _make_summary(runs: Sequence[RunData]) -> Section:
    rows = [_make_summary_row(run, runs) for run in runs]
    return _make_section(
        "Runs side by side", _make_notes(runs), [_make_table(_SUMMARY, rows, range(4, 9))]
    )


def _make_summary_row(run: RunData, runs: Sequence[RunData]) -> list[str | Cell | None]:
    steps, wall, speeds = run.column("step"), run.column("wall_s"), run.column("sps")
    speeds = speeds[np.isfinite(speeds)]
    taken = int(steps[-1]) if steps.size else run.summary.get("steps")
    return [
        _name_run(run, runs),
        _choose_first(run.config.get("env"), run.evaluation.get("env"), run.summary.get("env")),
        _choose_first(run.config.get("trainer"), run.summary.get("trainer")),
        run.summary.get("status"),
        None if taken is None else f"{taken:,}",
        duration(float(wall[-1])) if wall.size else None,
        f"{np.median(speeds):,.0f}" if speeds.size else None,
        _format_number(run.last("episode/return_mean"), 2),
        _format_number(100 * run.last("rounds/hit_rate"), 1),
        str(run.evaluation.get("created") or "")[:10],
    ]


def _make_notes(runs: Sequence[RunData]) -> list[str]:
    """Note missing parts of runs, what games say of them, and reasons against a comparison."""
    missing = [f"{run.name}: {'; '.join(run.notes)}" for run in runs if run.notes]
    remarks = [f"{run.name}: {each}" for run in runs for each in _read_remarks(run)]
    return [
        *missing,
        *remarks,
        *(
            f"the evaluations differ in {key}: the runs did not play the same deals"
            for key in _find_differing_fields(runs)
        ),
    ]


def _read_remarks(run: RunData) -> list[str]:
    """Read what the game says of the options of a run."""
    remarks = run.summary.get("remarks")
    return [str(each) for each in remarks] if isinstance(remarks, list) else []


def _find_differing_fields(runs: Sequence[RunData]) -> list[str]:
    """Find the fields that decide the played deals, and in which the evaluations differ."""
    played = (("matches", ("first_seed", "games")), ("goals", ("goals", "episodes")))
    fields: dict[str, set[str]] = {}
    for run in runs:
        for part, keys in played:
            record = mapping(run.evaluation, part)
            for key in keys if record else ():
                fields.setdefault(key, set()).add(str(record.get(key)))
    return sorted(key for key, values in fields.items() if len(values) > 1)


def _make_results(runs: Sequence[RunData]) -> Section:
    results = compared(runs)
    columns = _name_columns(runs)
    measures = {name for players in results.values() for p in players.values() for name in p}
    parts: list[Part | None] = list(_make_panels(results, [run.name for run in runs]))
    for group, players in results.items():
        names = dict.fromkeys(name for measured in players.values() for name in measured)
        known = {name: column for name, column in columns.items() if name in names}
        # Rates by round have as many rows as there are rounds, and a column for each player.
        table = (
            _make_measure_table(players, known)
            if known
            else _make_round_table(players, list(names))
        )
        parts.append({**table, "title": group[0].upper() + group[1:]})
    return _make_section("How well they play", _describe_protocols(runs, measures), parts)


def main_panels(results: Results) -> dict[str, dict[str, dict[str, Interval]]]:
    """Select the main measures: measure to what was played to player to interval."""
    blocks: dict[str, dict[str, dict[str, Interval]]] = {}
    for group, players in results.items():
        main = next((m for m in MAIN if any(m in p for p in players.values())), None)
        if main is not None:
            rows = {name: p[main] for name, p in players.items() if is_interval(p.get(main))}
            blocks.setdefault(main, {})[group] = rows
    return blocks


# What a list of runs says of each, the first of these that was measured.
_IN_LISTS = ("win_rate", "clear", "reached", "net_profit", "overall", "points", "return")


def describe_result(run: RunData) -> str:
    """Describe how well a run plays in a few words; nothing where it was not measured."""
    columns = _name_columns([run])
    for group, players in compared([run]).items():
        measures = players.get(run.name, {})
        name = next((each for each in _IN_LISTS if measures.get(each)), None)
        if name is not None and name in columns:
            heading, decimals, factor = columns[name]
            shown = _format_interval(measures[name], decimals, factor)
            label = heading.removesuffix(" %")
            unit = " %" if heading.endswith(" %") else ""
            interval = f" {shown['limits']}" if "limits" in shown else ""
            return f"{label} {shown['text']}{unit}{interval}, {group}"
    return ""


def _make_panels(results: Results, names: Sequence[str]) -> Iterable[Part]:
    """Yield the main measure of each group, a panel each, runs above bots."""
    for main, groups in main_panels(results).items():
        panels = [
            {
                "title": group,
                "rows": [
                    _make_dot(x, _find_place(x, names), interval) for x, interval in rows.items()
                ],
            }
            for group, rows in groups.items()
            if rows
        ]
        yield {"kind": "dots", "title": MAIN[main], "percent": main in SHARES, "panels": panels}


def _make_dot(name: str, run: int | None, interval: Interval) -> dict[str, Any]:
    return {"name": name, "run": run, "interval": [*interval]}


def _find_place(label: str, names: Sequence[str]) -> int | None:
    run = run_of(label, names)
    return None if run is None else names.index(run)


def _describe_protocols(runs: Sequence[RunData], measures: Collection[str]) -> list[str]:
    """Describe the protocols of the evaluations, each once, and the less obvious measures."""
    protocols = dict.fromkeys(
        f"{part}: {record.get('protocol', said_of_all)}; {run.evaluation.get('intervals', '')}"
        for run in runs
        for said_of_all in [run.evaluation.get("policy", "")]
        for part in ("matches", "goals", "episodes", "compared")
        if isinstance(record := run.evaluation.get(part), dict)
    )
    protocols |= (
        {"margin: points minus those of the mean opponent": None} if "margin" in measures else {}
    )
    return list(protocols)


Players = Mapping[str, Mapping[str, Interval]]


def _name_columns(runs: Sequence[RunData]) -> dict[str, tuple[str, int, int]]:
    """Name the columns of tables: those of all games, and what the games of the runs measure."""
    columns = dict(_MEASURES)
    envs = [str(run.config.get("env", "")) for run in runs]
    tables = [games.get_game(env).table.env for env in envs]
    for env in dict.fromkeys((*envs, *tables)):
        for name, column in games.get_game(env).columns.items():
            if column.is_measured and name not in columns:
                part, heading = column.is_part, column.heading or name.replace("_", " ")
                decimals = (1 if part else 2) if column.decimals is None else column.decimals
                columns[name] = (f"{heading} %", decimals, 100) if part else (heading, decimals, 1)
    return columns


def _make_measure_table(players: Players, measures: Mapping[str, tuple[str, int, int]]) -> Part:
    columns = ["player", *(heading for heading, *_ in measures.values())]
    rows = [
        [
            player,
            *(
                _format_interval(by_measure.get(name), decimals, factor)
                for name, (_, decimals, factor) in measures.items()
            ),
        ]
        for player, by_measure in players.items()
    ]
    return _make_table(columns, rows, numbers=range(1, len(columns)))


def _make_round_table(players: Players, names: Sequence[str]) -> Part:
    columns = ["%", *players]
    rows = [
        [name.replace("_", " "), *(_format_interval(p.get(name), 1, 100) for p in players.values())]
        for name in names
    ]
    return _make_table(columns, rows, numbers=range(1, len(columns)))


_MILESTONES = ("quest", "run", "first completed at decision", "times completed")


def _make_milestones(runs: Sequence[RunData]) -> Section:
    """Make the table of the quests of trackers: when each was first completed, and how often."""
    rows: list[list[Any]] = []
    for run in runs:
        for name, first_steps in run.metrics.items():
            tracker, is_first, quest = name.partition("/first/")
            if is_first and tracker.startswith("trackers/"):
                counts = run.column(f"{tracker}/{quest}")
                numbers = (f"{np.nanmax(column):,.0f}" for column in (first_steps, counts))
                rows.append([quest, _name_run(run, runs), *numbers])
    parts = [_make_table(_MILESTONES, rows, range(2, 4))] if rows else []
    return _make_section("Milestones", [], parts)


# Of groups of seeds: rates by round are too many there.
_OF_GROUPS = {**_MEASURES, "overall": ("goals reached %", 1, 100)}


def _make_group_section(comparison: GroupComparison) -> Section:
    """Make the section of groups of seeds."""
    notes = [
        "Runs that differ in their name and seed alone are a group. Tables have interquartile "
        "means over seeds (the mean of the middle half) with 95 % intervals by bootstrap over "
        "seeds. Curves have the share of seeds that come to more than a score."
    ]
    if len(comparison.groups) > 1:
        notes.append(
            "Small: how probable it is that a seed comes to more than one of "
            f"{comparison.groups[0]}."
        )
    parts = [_make_profiles(comparison)]
    for what, measures in comparison.played.items():
        known = [name for name in _OF_GROUPS if name in measures]
        if known:
            table = _make_group_table(comparison, {name: measures[name] for name in known})
            parts.append({**table, "title": what[0].upper() + what[1:]})
    return _make_section("Over training seeds", [*notes, *comparison.notes], parts)


def _make_profiles(comparison: GroupComparison) -> Part | None:
    """Make performance profiles: the share of seeds above a score, over the score.

    Of each thing played it is the main measure; groups of one seed are left out.
    """
    charts = []
    for what, measures in comparison.played.items():
        main = next((name for name in MAIN if name in measures), None)
        rows = [row for row in measures.get(main or "", ()) if len(row.by_seed) > 1]
        if main is None or not rows:
            continue
        every = np.concatenate([row.by_seed for row in rows])
        beyond = 0.08 * float(np.ptp(every)) or 1.0
        ends = (float(every.min()) - beyond, float(every.max()) + beyond)
        lines = [
            {
                "name": row.group,
                "run": comparison.groups.index(row.group),
                "points": _make_falling_line(row.by_seed, ends),
            }
            for row in rows
        ]
        charts.append({"title": what, "x": MAIN[main].lower(), "lines": lines})
    return {"kind": "charts", "title": "Share of seeds above", "charts": charts} if charts else None


def _make_falling_line(scores: Sequence[float], ends: tuple[float, float]) -> list[list[float]]:
    """Make the corners of a line that falls from 1 to 0, by as much at each score."""
    corners, height = [[ends[0], 1.0]], 1.0
    for k, score in enumerate(sorted(scores), 1):
        corners.append([score, height])
        height = 1 - k / len(scores)
        corners.append([score, height])
    return [*corners, [ends[1], height]]


def _make_group_table(
    comparison: GroupComparison, measures: Mapping[str, Sequence[GroupScores]]
) -> Part:
    rows = []
    for number, group in enumerate(comparison.groups):
        by_measure = {k: row for k, rows in measures.items() for row in rows if row.group == group}
        if by_measure:
            seeds = max(len(row.by_seed) for row in by_measure.values())
            cells = [_make_group_cell(by_measure.get(name), name) for name in measures]
            rows.append([{"text": group, "run": number}, seeds, *cells])
    columns = ["group", "seeds", *(_OF_GROUPS[name][0] for name in measures)]
    return _make_table(columns, rows, numbers=range(1, len(columns)))


def _make_group_cell(row: GroupScores | None, measure: str) -> Cell:
    """Format an interquartile mean, and below it the probability of improvement if there is one."""
    if row is None:
        return "-"
    _, decimals, factor = _OF_GROUPS[measure]
    shown, better = _format_interval(row.iqm, decimals, factor), row.probability_of_improvement
    if better is None:
        return shown
    above = _format_interval(better, 0, 100)
    return {**shown, "below": {**above, "text": f"above in {above['text']} %"}}


_BY_LEVEL = ("level", "speed", "who plays", "games", *(heading for _, heading, _, _ in BY_LEVEL))


def _make_seed_section(seeds: Sequence[SeedsData]) -> Section:
    """Make the section of evaluations over seeds."""
    notes = [
        *(_describe_plan(each) for each in seeds),
        "95 % intervals over games. Frames are a cost: the mean of the worst share is that of the "
        "longest, and a game without a clear counts as many as there may be. Small differences are "
        "to the first player of the same evaluation, games paired.",
    ]
    table = _make_table(_BY_LEVEL, _make_level_rows(seeds), (0, *range(3, len(_BY_LEVEL))))
    return _make_section("Over seeds, by level", notes, [*_make_level_panels(seeds), table])


def _make_level_panels(seeds: Sequence[SeedsData]) -> Iterable[Part]:
    """Yield the results of players at each level, measure by measure."""
    players = list(dict.fromkeys(each.player(r) for each in seeds for r in each.levels))
    for name, heading, factor, _ in BY_LEVEL:
        panels = [
            {
                "title": f"level {level}, {speed}",
                "rows": [
                    _make_dot(player, players.index(player), [factor * x for x in record[name]])
                    for each in seeds
                    for record in each.levels
                    for player in [each.player(record)]
                    if (record["level"], record["speed"]) == (level, speed)
                    and is_interval(record.get(name))
                ],
            }
            for level, speed in levels_of(seeds)
        ]
        panels = [panel for panel in panels if panel["rows"]]
        if panels and name in _DRAWN:
            yield {"kind": "dots", "title": heading, "percent": False, "panels": panels}


def _describe_plan(each: SeedsData) -> str:
    """Describe in a line the player of an evaluation, and what was played."""
    plan = mapping(each.head, "plan")
    facts = [
        f"{plan[key]:,} {word}" for key, word in _PLAN.items() if isinstance(plan.get(key), int)
    ]
    return f"{each.name}: {each.head.get('who', 'somebody')}; {', '.join(facts)}"


_PLAN = {
    "seeds": "games of a level",
    "episodes": "episodes of a game",
    "t_max": "frames at most",
}


def _make_level_rows(seeds: Sequence[SeedsData]) -> list[list[Any]]:
    rows = []
    for level, speed in levels_of(seeds):
        for each in seeds:
            for record in each.levels:
                if (record["level"], record["speed"]) == (level, speed):
                    cells = [_add_difference(record, *column) for column in BY_LEVEL]
                    rows.append([level, speed, each.player(record), record["games"], *cells])
    return rows


def _add_difference(
    record: Mapping[str, Any], name: str, _: str, factor: float, decimals: int
) -> Cell:
    """Format a figure, and below it the difference to the first player if there is one."""
    shown = _format_interval(record.get(name), decimals, factor)
    less = mapping(record, "less_first").get(name)
    return (
        shown if less is None else {**shown, "below": _format_interval(less, decimals, factor, "+")}
    )


def _make_speed(runs: Sequence[RunData]) -> Section:
    shares = [phase_shares(run) for run in runs]
    phases = list(dict.fromkeys(phase for by_phase in shares for phase in by_phase))
    columns: list[Cell] = ["run", *phases]
    rows = [
        [_name_run(run, runs), *(f"{by_phase[p]:.0%}" if p in by_phase else None for p in phases)]
        for run, by_phase in zip(runs, shares, strict=True)
        if by_phase
    ]
    table = _make_table(columns, rows, range(1, len(columns))) if rows else None
    return _make_section("Share of the time by phase", (), [table])


def _make_options(runs: Sequence[RunData]) -> Section:
    known = [replace(run, config=_select_own(run.config)) for run in runs if run.config]
    keys = sorted({key for run in known for key in run.config} - {"name"})
    shared = [key for key in keys if all(key in run.config for run in known)]
    differing = [key for key in shared if len({repr(run.config[key]) for run in known}) > 1]
    named = [_name_run(run, runs) for run in runs if run.config]
    columns: list[Cell] = ["option", *named]
    every, some = (
        _make_table(columns, [_make_option_row(key, known) for key in of], ())
        for of in (keys, differing)
    )
    equal = "All options" if shared == keys else "The options that they share"
    notes = [f"{equal} are equal."] if len(known) > 1 and not differing else []
    shown = {**some, "title": "What differs"} if differing else None
    folded = {**every, "title": f"All {len(keys)} options", "folded": True} if known else None
    return _make_section("Options", notes, [shown, folded])


def _select_own(config: Mapping[str, Any]) -> dict[str, Any]:
    """Select the options of a run that its trainer reads: no sections of others."""
    trainer = str(config.get("trainer", "native"))
    if trainer not in registry.TRAINERS:
        return dict(config)
    own = registry.OPTIONS.load(trainer).model_fields
    heads = {key: key.partition(".")[0] for key in config}
    return {key: config[key] for key, head in heads.items() if head in own or head == key}


def _make_option_row(key: str, runs: Sequence[RunData]) -> list[Any]:
    return [key, *("" if key not in run.config else str(run.config[key]) for run in runs)]


def _make_machines(runs: Sequence[RunData]) -> Section:
    rows: dict[str, list[str]] = {}
    for k, run in enumerate(runs):
        for name, value in _describe_machine(run).items():
            cells = rows.setdefault(name.replace("_", " "), [""] * len(runs))
            cells[k] = "" if value is None else str(value)
    kept = [[name, *cells] for name, cells in rows.items() if any(cells)]
    table = (
        _make_table(["machine", *(_name_run(run, runs) for run in runs)], kept, ())
        if kept
        else None
    )
    return _make_section("Machine and versions", (), [table])


def _describe_machine(run: RunData) -> dict[str, Any]:
    """Describe the machine and the versions that trained a run."""
    host = run.summary.get("host")
    versions = _choose_first(*(x.get("versions") for x in (run.summary, run.head, run.evaluation)))
    revision = _choose_first(*(x.get("git_rev") for x in (run.head, run.summary, run.evaluation)))
    dirty = _choose_first(*(x.get("dirty") for x in (run.head, run.summary, run.evaluation)))
    return {
        "begun": run.head.get("created"),
        "revision": f"{revision}{', with changes' if dirty else ''}" if revision else None,
        "device": run.summary.get("ppo_device"),
        **(host if isinstance(host, dict) else {}),
        **(versions if isinstance(versions, dict) else {}),
    }


# -- parts -----------------------------------------------------------------------------------------


def _make_table(
    columns: Sequence[Cell], rows: Sequence[Sequence[Any]], numbers: Iterable[int]
) -> Part:
    """Make a table; columns in which no row has anything are left out."""
    right = set(numbers)
    shown = [k for k in range(len(columns)) if any(row[k] not in (None, "") for row in rows)]
    head, *body = ([_make_cell(row[k]) for k in shown] for row in (columns, *rows))
    of_numbers = [place for place, k in enumerate(shown) if k in right]
    return {"kind": "table", "head": head, "numbers": of_numbers, "rows": body}


def _make_cell(value: Any) -> Cell:
    if isinstance(value, dict):
        return value
    return "" if value is None else str(value)


def _name_run(run: RunData, runs: Sequence[RunData]) -> Cell:
    """Name a run with its number, which chooses the line of its curves."""
    return {"text": run.name, "run": runs.index(run)} if len(runs) > 1 else run.name


def _format_interval(interval: Any, decimals: int, factor: float, sign: str = "") -> dict[str, Any]:
    """Format a value with its interval, and with ``sign``; a dash if it is not known."""
    if (
        not isinstance(interval, list | tuple)
        or not interval
        or not isinstance(interval[0], int | float)
    ):
        return {"text": "-"}
    numbers = [x for x in interval if isinstance(x, int | float)]
    value, *limits = (rounded(x, decimals, factor, f"{sign}z,") for x in numbers)
    return {"text": value, **({"limits": f"[{', '.join(limits)}]"} if len(limits) == 2 else {})}


def _format_number(value: float, decimals: int) -> str | None:
    return f"{value:.{decimals}f}" if math.isfinite(value) else None


def _choose_first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)

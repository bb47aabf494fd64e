"""Tables of what plays Dr. Mario, its bots among them, and of what reads its pictures."""

from __future__ import annotations

import sqlite3
import statistics
from collections.abc import Sequence
from contextlib import closing

from fastenv.drmario.tables import SPEEDS
from tools.figures import records
from tools.figures.records import (
    Record,
    Row,
    clock,
    interval,
    newest,
    over_seeds,
    percent,
    spread,
    table,
    trained_at,
    whole,
)

_SHARES = ("win_share", "draw_share")  # of a contest


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
                clear = percent(found["clear"])
                frames = whole(found["frames_to_clear"])
                made.append([*cells, episodes, clear, frames])
    for level in dict.fromkeys(name.partition("-")[0] for name in chosen):
        of_level = [run for name, run in chosen.items() if name.startswith(f"{level}-")]
        if len(of_level) > 1:
            label = f"{level}, {len(of_level)} seeds"
            made.append([label, "", "", "trained", "", *_of_seeds(of_level)])
    heads = ("run", "decisions", "of a core", "who plays", "episodes", "cleared", "frames to clear")
    return f"{table(heads, made)}\n\n{trained_at(record, chosen.values())}."


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
    made.append(["`greedy`", "", "", percent(greedy), ""])
    heads = ("", "decisions", "of a core, all in all", "cleared, over seeds", "least to largest")
    return f"{table(heads, made)}\n\n{trained_at(record, every)}."


def _of_seeds(runs: Sequence[Row]) -> list[str]:
    """Return clears and frames to clear of trainings that differ in their seed alone."""
    players = [run["evaluation"]["policies"]["trained"] for run in runs]
    clear, frames = ([p[key] for p in players] for key in ("clear", "frames_to_clear"))
    cells = [percent(over_seeds(clear, least=0, most=1)), ""]
    if all(None not in found for found in frames):
        cells[1] = whole(over_seeds(frames))
    return cells


def matches() -> str:
    """Return how agents of self-play do in matches against ``greedy``, over seeds."""
    record, made, own = newest("versus-*-seeds.json"), list[list[str]](), []
    runs = record.head["runs"]
    for name, run in runs.items():
        own.append(next(p for p in run["contest"]["players"] if p["name"] != "greedy"))
        shares = [percent(own[-1][key]) for key in _SHARES]
        pills = [interval(run["pills"][who]) for who in ("trained", "greedy")]
        games = f"{run['contest']['games']:,}"
        made.append([name, f"{run['steps']:,}", clock(run["core_s"]), games, *shares, *pills])
    shares = [percent(over_seeds([p[key] for p in own], 0, 1)) for key in _SHARES]
    made.append([f"{len(runs)} seeds", "", "", "", *shares, "", ""])
    heads = ("run", "decisions", "of a core", "matches", "won against `greedy`", "drawn")
    pills = ["pills of a match", "`greedy`'s in its place"]
    return f"{table([*heads, *pills], made)}\n\n{trained_at(record, runs.values())}."


def risk_by_level() -> str:
    """Return how the look-ahead clears the same bottles of Dr. Mario, judged by some quantiles."""
    record, made = newest("drmario-risk.json"), list[list[str]]()
    for row in record.head["levels"]:
        kept = [found for found in made if found[0] == f"{row['level']}"]
        cells = [whole(row[key]) for key in ("cost", "cvar_25")]
        gap = row.get("less_first", {}).get("cvar_25")
        made.append(
            [
                "" if kept else f"{row['level']}",
                f"{row['risk_tau']:g}",
                f"{row['games']:,}",
                percent(row["clear"]),
                *cells,
                "" if gap is None else whole(gap),
            ]
        )
    first = f"{record.head['levels'][0]['risk_tau']:g}"
    heads = ("level", "quantile", "games", "cleared", "frames", "mean of the worst quarter")
    return f"{table((*heads, f'that, less {first}'), made)}\n\n{record.source}."


def frames_read() -> str:
    """Return the table of the accuracy of the reader of Dr. Mario's frames."""
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
    for path in sorted(records.RECORDS.glob("drmario-reader-play-*.json")):
        record = Record(path)
        sources.append(record.source)
        name = [
            f"{played_through(record.head)}, level {record.head['level']}",
            f"{record.head['episodes']:,}",
        ]
        for sees, found in record.head["players"].items():
            clear = percent(found["clear"])
            frames = whole(found["frames_to_clear"])
            made.append([*name, sees, clear, frames, f"{100 * found['refused']:.2f} %"])
            name = ["", ""]
    heads = ("who plays", "episodes", "sees", "cleared", "frames to clear", "refused")
    return f"{table(heads, made)}\n\n{', '.join(sources)}."


def played_through(head: Row) -> str:
    """Return who played through the camera; of a network that was replaced, which one it was."""
    who = str(head["who"])
    if who == "pretrained/drmario" and head["git_rev"].startswith(_OF_PPO):
        return f"the PPO agent level5-1 (`{who}` at {_OF_PPO})"
    return f"`{who}`"


_OF_PPO = "8badc06"  # the commit of the record of that agent


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
            frames = [whole(x) if x else "" for x in means]
            made.append([name, _asked(who), percent(found["clear"]), *frames])
            name = ""
    less_first = f"mean, less that of {_asked(first)}"
    heads = ("level", "who plays", "cleared", "frames to clear", _WORST)
    speeds = compared["decisions_per_cpu_s"].items()
    rates = ", ".join(f"{_asked(who)} {speed:,.0f}" for who, speed in speeds)
    lanes = f"{compared['batch']} lanes (environments)"
    batch = f"Decisions a CPU second at the highest level, {lanes}: {rates}."
    last = (less_first, "worst quarter likewise")
    return f"{table((*heads, *last), made)}\n\n{batch}\n\n{record.source}."


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


# -- bots ------------------------------------------------------------------------------------------

TIMES = "drmario-times.sqlite"
# The agent that learnt from a bot, beside bots: where it learnt, and at a level that it never saw.
LEARNT, OTHER = "drmario-network.json", "drmario-network-level5.json"


def bot_matches() -> str:
    """Return how matches between bots end."""
    made, sources = [], []
    for path in sorted(records.RECORDS.glob("drmario-match-*.json")):
        record = Record(path)
        one, other = record.head["players"]
        drawn = percent(one["draw_share"])
        shares = [percent(each["win_share"]) for each in (one, other)]
        made.append([f"`{one['name']}`", shares[0], drawn, shares[1], f"`{other['name']}`"])
        sources.append(record.source)
    heads = ("", "wins", "draws", "wins", "")
    return f"{table(heads, made)}\n\n{', '.join(sources)}."


def beside_bots() -> str:
    """Return how an agent plays beside bots: where it learnt, and at a level that it never saw."""
    return "\n\n".join(played(Record(records.RECORDS / name)) for name in (LEARNT, OTHER))


def strongest() -> str:
    """Return how the two strongest bots play."""
    return played(Record(records.RECORDS / "drmario-rollouts.json"))


def every_level() -> str:
    """Return how bots play at all levels and speeds, but for those that never clear one."""
    record = Record(records.RECORDS / "drmario-bots.json")
    cells = [found for _, _, found in cells_of(record)]
    never = [bot for bot in cells[0] if not any(found[bot]["cleared"][0] for found in cells)]
    named = " and ".join(f"`{bot}`" for bot in never)
    return f"{named} cleared no game at any level.\n\n{played(record, never)}"


def played(record: Record, but: Sequence[str] = ()) -> str:
    """Return how players did in the same games, one a line, but for some."""
    made = []
    for level, speed, found in cells_of(record):
        for who, each in found.items():
            if who in but:
                continue
            frames, spread = each["frames"], ""
            if frames is not None:
                least, _, most = frames["quantiles"]
                spread = f"{least:,.0f} to {most:,.0f}"
            means = mean_of(each, "frames"), spread, mean_of(each, "pills")
            time = f"{each['cpu_us_per_decision'] / 1000:.2f} ms"
            made.append([level, speed, f"`{who}`", rate_of(each), *means, time])
    heads = ("level", "speed", "who plays", "cleared", "frames", "of eight in ten", "pills")
    return f"{table((*heads, 'a decision'), made)}\n\n{of_games(record)}"


def cells_of(record: Record) -> list[tuple[str, str, Row]]:
    """Return level, speed and what players reached, of every cell."""
    levels = record.head["levels"]
    return [(level, speed, found) for level in levels for speed, found in levels[level].items()]


def rate_of(each: Row) -> str:
    """Return the share of cleared games with its interval."""
    return percent(each["cleared"])


def mean_of(each: Row, what: str) -> str:
    """Return the mean of pills or frames of cleared games, with its 95 % interval's half."""
    found = each[what]
    if found is None:
        return ""
    error = "" if found["error"] is None else f" ± {1.96 * found['error']:,.0f}"
    return f"{found['mean']:,.0f}{error}"


def of_games(record: Record) -> str:
    """Return the source of a table, and its games."""
    return f"{record.source}, {record.head['episodes']:,} games each."


def fastest() -> str:
    """Return the frames of the fastest clears that a beam found, of the games of each level."""
    record = Record(records.RECORDS / "drmario-fastest.json")
    made: dict[tuple[str, str], list[str]] = {}
    for game in record.head["games"]:
        frames = "not cleared" if game["frames"] is None else f"{game['frames']:,}"
        made.setdefault((str(game["level"]), game["speed"]), []).append(frames)
    rows = [[*where, *frames] for where, frames in made.items()]
    heads = ("level", "speed", *(f"`S{k:03}`" for k in range(max(map(len, made.values())))))
    return f"{table(heads, rows)}\n\n{record.source}, width {record.head['width']}."


def registered_times() -> str:
    """Return the frames of the best clears of all registered games, by level and speed."""
    path = records.RECORDS / TIMES
    query = "SELECT level, speed, seed, MIN(frames) FROM clears GROUP BY level, speed, seed"
    found: dict[int, dict[str, list[int]]] = {}
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as store:
        for level, speed, _, frames in store.execute(query):
            found.setdefault(level, {}).setdefault(speed, []).append(frames)
    rows = [
        [str(level), *(_range(found[level].get(speed, [])) for speed in SPEEDS)]
        for level in sorted(found)
    ]
    games = sum(len(times) for speeds in found.values() for times in speeds.values())
    return f"{table(('level', *SPEEDS), rows)}\n\n`benchmarks/{TIMES}`, {games:,} games."


def _range(times: Sequence[int]) -> str:
    return f"{sum(times) / len(times):,.0f} ({min(times):,} to {max(times):,})" if times else ""

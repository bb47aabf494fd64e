"""Tables of agents of the Game Boy and of Prospector."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence

from tools.figures.records import (
    RECORDS,
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
from tools.gameboy.free_games import ASKED


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
    used: list[Row] = []
    for name, run in record.head["runs"].items():
        if not name.startswith(runs):
            continue
        found = run["evaluation"][where] if where else run["evaluation"]
        shares = [x for x in _SHARES if x in found["policies"]["solver"]]
        for player, means in found["policies"].items():
            cells = [name, f"{run['steps']:,}", clock(run["core_s"])]
            cells = cells if player == "trained" else [""] * 3
            cells += [player, *(percent(means[x]) for x in shares)]
            cells += [interval(means["items"], 1)] if "items" in means else []
            made.append([*cells, interval(means["steps"], 0)])
        used.append(run)
    heads = ("run", "decisions", "of a core", "who plays", *(_SHARES[x] for x in shares))
    more = ("candles",) if len(shares) > 1 else ()
    evaluated = dict.fromkeys(run["evaluation"]["git_rev"][:7] for run in used)
    source = f"{trained_at(record, used)}, evaluated at {' and '.join(evaluated)}"
    return f"{table((*heads, *more, 'steps'), made)}\n\n{source}."


def game_boy_over_seeds(runs: Sequence[str]) -> str:
    """Return how far agents come that differ in their seed alone, with the interval over seeds."""
    record = newest("gameboy-learning.json")
    every = [record.head["runs"][name] for name in runs]
    made = []
    for share, name in _SHARES.items():
        found = [run["evaluation"]["policies"]["trained"][share] for run in every]
        values = [100 * value for value, *_ in found]
        least = f"{min(values):.1f} to {max(values):.1f} %"
        made.append([name, percent(over_seeds(found, least=0, most=1)), least])
    heads = ("", "mean over seeds", "least to largest")
    return f"{table(heads, made)}\n\n{trained_at(record, every)}."


_SHARES = {"four_items": "four candles", "first_event": "first event", "reached": "reached"}


QUEST = {"reached": "quest", "first_event": "first event", "four_items": "four candles"}


def prospector_players(only: str = "") -> str:
    """Return the table of trained agents of Prospector, reference lines and bots.

    Parameters
    ----------
    only : str
        Name of the one run to show; empty for all of them, and the mean over their seeds.
    """
    record = newest("prospector-learning.json")
    runs = {name: run for name, run in record.head["runs"].items() if only in ("", name)}
    played = {name: run["evaluation"]["episodes"]["policies"] for name, run in runs.items()}
    made = [
        _prospector_row(f"{player}, `{name}`", policies[player]["intervals"])
        for player in ("trained, drawn", "trained")
        for name, policies in played.items()
    ]
    if len(runs) > 1:
        every = [policies["trained, drawn"]["intervals"] for policies in played.values()]
        means = {
            measure: over_seeds(
                [each[measure] for each in every],
                *((0.0, 1.0) if measure == "survival" else ()),
            )
            for measure in every[0]
        }
        made.insert(0, _prospector_row("trained, drawn: mean over seeds", means))
    others = next(iter(played.values()))
    made += [
        _prospector_row(f"`{player}`", policy["intervals"])
        for player, policy in others.items()
        if not player.startswith("trained")
    ]
    heads = ("player", "return", "net profit", "survives", "steps", "ticks")
    return f"{table(heads, made)}\n\n{trained_at(record, runs.values())}."


def _prospector_row(player: str, values: Mapping[str, Sequence[float]]) -> list[str]:
    digits = 3 if abs(values["return"][0]) < 1 else 1
    cells = [interval(values["return"], digits), interval(values["net_profit"])]
    cells.append(percent(values["survival"]))
    return [player, *cells, interval(values["steps"]), interval(values["ticks"])]


def prospector_pilots() -> str:
    """Return the table of pilots before Prospector's options were chosen, one training each."""
    record = newest("prospector-learning.json")
    found = record.head["pilots"]
    made = []
    for name, run in found["runs"].items():
        cells = [name, run["tried"], f"{run['steps']:,}"]
        for player in ("trained", "trained, drawn"):
            played = run["played"].get(player)
            if played is None:
                cells += ["", ""]
                continue
            cells += [f"{played['net_profit']:.0f}", f"{100 * played['survival']:.1f} %"]
        made.append(cells)
    best = ("best action: profit", "survives")
    heads = ("pilot", "what was tried", "decisions", *best, "drawn: profit", "survives")
    return f"{table(heads, made)}\n\n{trained_at(record, found['runs'].values())}."


SUITES = {
    "mooneye": "mooneye",
    "wilbertpol": "wilbertpol's additions to it",
    "gbmicrotest": "gbmicrotest",
    "gambatte": "Gambatte's hardware tests",
    "blargg": "blargg's",
    "dmg-acid2": "dmg-acid2",
    "mealybug": "mealybug's pictures, of the monochrome machine",
    "same-suite": "SameSuite's, of the monochrome machine",
}


def game_boy_roms() -> str:
    """Return how many test ROMs of each suite pass here and in PyBoy."""
    record = Record(RECORDS / "gameboy-test-roms.json").head
    made = []
    for suite, name in SUITES.items():
        numbers = record["suites"][suite]
        theirs = f"{numbers['pyboy']:,}" if numbers["asked"] else "not measured"
        if 0 < numbers["asked"] < numbers["of"]:
            theirs += f" of {numbers['asked']:,} asked"
        exact = f"{numbers['pixel']:,}" if "pixel" in numbers else "not measured"
        made.append((name, f"{numbers['of']:,}", f"{numbers['passed']:,}", exact, theirs))
    ours = ("ROMs that say anything of this machine", "pass", '`accuracy="pixel"`')
    heads = ("suite", *ours, f"PyBoy {record['pyboy']}")
    return f"{table(heads, made)}\n\n`benchmarks/gameboy-test-roms.json`."


PLAYED = {
    "programs": "random instructions",
    "bytes": "random bytes as a ROM",
    "loops": "loops that wait",
    "cartridges": "banks of every type of cartridge, with every size of RAM",
    "states": "a save state after every frame, which the other one loads",
    "link": "two machines on a cable",
    "sound": "registers of the sound, three in four with `audio`",
    "pixel": 'writes within lines, with `accuracy="pixel"`',
    "oam": "OAM that is spoilt",
}


def game_boy_differences() -> str:
    """Return how much of reference and core was compared, and how often they differ."""
    record = newest("gameboy-differences.json")
    part = record.head["sources"][-1]
    found = Counter(each["kind"] for each in part["differences"])
    kinds = {kind: part["kinds"][kind] for kind in PLAYED if kind in part["kinds"]}
    made = [
        (f"`{kind}`", PLAYED[kind], f"{each['cases']:,}", f"{each['frames']:,}", f"{found[kind]}")
        for kind, each in kinds.items()
    ]
    cases = sum(each["cases"] for each in kinds.values())
    totals = (f"{cases:,}", f"{record.head['frames']:,}", f"{record.head['differences']}")
    heads = ("kind", "what runs", "cases", "frames", "differences")
    return f"{table(heads, [*made, ('all', '', *totals)])}\n\n{record.source}."


def free_games() -> str:
    """Return how fast free games of others run here and in PyBoy."""
    record = newest("gameboy-free-games.json")
    head = record.head
    made = [
        (
            f"`{game['game']}`",
            f"{game['instructions_per_frame']:,}",
            spread(game["us"], game["us_all"], lambda x: f"{x:.1f}"),
            spread(game["pyboy_us"], game["pyboy_us_all"], lambda x: f"{x:.0f}"),
            spread(game["times_pyboy"], game["times_pyboy_all"], lambda x: f"{x:.1f}"),
        )
        for game in head["games"]
    ]
    heads = ("game", "instructions a frame", "here", f"PyBoy {head['pyboy']}", "times PyBoy")
    reached = head["reached"]
    names = {"geometric_mean": "geometric mean", "worst": f"worst, `{reached['worst_game']}`"}
    bars = [
        (
            f"times PyBoy, {name}",
            f"at least {ASKED[key]:g}",
            f"{reached[key]:.2f}",
            "yes" if reached[key] >= ASKED[key] else "no",
        )
        for key, name in names.items()
    ]
    below = {key: 100 * (1 - reached[key] / asked) for key, asked in ASKED.items()}
    missed = [
        f"the {key.replace('_', ' ')} is {share:.0f} % below the bar"
        for key, share in below.items()
        if share > 0
    ]
    slow = [game for game in head["games"] if game["times_pyboy"] < ASKED["worst"]]
    if slow:
        missed.append(f"{len(slow)} of {len(head['games'])} games are below {ASKED['worst']:g}")
    said = f"Missed: {'; '.join(missed)}.\n\n" if missed else ""
    return (
        f"{table(heads, made)}\n\n{table(('bar', 'asked', 'measured', 'reached'), bars)}\n\n"
        f"{said}{record.source}, {record.load}."
    )


def two_game_boys() -> str:
    """Return how fast two machines on a cable are beside the same two without it."""
    record = newest("gameboy-link.json")
    head = record.head
    made = [
        (
            f"`{rom['rom']}`",
            f"{rom['instructions_per_frame']:,}",
            f"{rom['frames_per_cpu_s']:,}",
            f"{rom['alone_frames_per_cpu_s']:,}",
            spread(rom["times_alone"], rom["times_alone_all"], lambda x: f"{x:.2f}"),
            "yes" if rom["times_alone"] >= head["asked"] else "no",
        )
        for rom in head["roms"]
    ]
    heads = ("ROM of both", "instructions a frame", "frames a CPU second", "without the cable",
             "ratio", f"at least {head['asked']:g}")  # fmt: skip
    return f"{table(heads, made)}\n\n{record.source}, {record.load}."


def free_pictures() -> str:
    """Return how many free games show what they show in Gambatte, and those that do not."""
    record = newest("gameboy-free-pictures.json")
    head = record.head
    shares = [game["share"] for game in head["games"]]
    made = [
        (f"all {sum(share == 1 for share in shares)} games with no difference", "100 %", ""),
        *(
            (f"`{game['game']}`", f"{100 * game['share']:.1f} %", f"{game['first'][0][0]}")
            for game in sorted(head["games"], key=lambda game: float(game["share"]))
            if game["share"] < head["share_asked"]
        ),
    ]
    asked = f"{100 * head['share_asked']:g} % of the pictures of {head['frames']:,} frames"
    bar = (
        f"In {head['enough']} of {head['of']} games at least {asked} are equal; asked are "
        f"{head['asked']}. Those below, and those without any difference:"
    )
    heads = ("game", "pictures equal", "first frame that differs")
    return f"{bar}\n\n{table(heads, made)}\n\n{record.source}."


def free_memory() -> str:
    """Return in how many free games the picture shows video memory that nobody wrote."""
    record = newest("gameboy-free-memory.json")
    head = record.head
    return (
        f"In {head['games_shown']} of {head['of']} free games a picture of {head['frames']:,} "
        f"frames shows such memory; asked are {head['asked']}. With other bytes in VRAM at the "
        f"start, {head['games_shown_if_filled']} would show it.\n\n{record.source}."
    )


# Game of `make train` -> record, who of the trained, measure, its name, how it is shown, and beside
# whom.
FIRST_AGENTS = {
    "drmario": (
        "first-drmario-*-seeds.json", "trained", "frames_to_clear", "frames to clear level 10",
        whole, ("greedy", "lookahead2", "lookahead3"),
    ),
    "prospector": (
        "first-prospector-*-seeds.json", "trained, drawn", "net_profit", "net profit, drawn",
        whole, ("short_haul", "rich_haul"),
    ),
    "lantern_walk": (
        "first-lantern-walk-*-seeds.json", "trained", "reached", "whole quest", percent,
        ("random_legal", "solver"),
    ),
}  # fmt: skip


def first_agents() -> str:
    """Return the table of the first agents of `make train GAME=`, over training seeds."""
    made, sources = [], []
    for game, (pattern, player, measure, name, shown, beside) in FIRST_AGENTS.items():
        record = newest(pattern)
        runs = list(record.head["runs"].values())
        played = [run["episodes"] for run in runs]
        core = [run["cpu_s"] for run in runs]
        scripted = (
            f"`{who}` {shown(played[0][who][measure])}" for who in beside if who in played[0]
        )
        limits = (0.0, 1.0) if shown is percent else ()
        reached = shown(over_seeds([each[player][measure] for each in played], *limits))
        made.append(
            (
                f"`make train GAME={game}`",
                f"{min(run['steps'] for run in runs):,}",
                spread(statistics.median(core), core, clock),
                name,
                f"{reached}, {len(runs)} seeds",
                "; ".join(scripted),
            )
        )
        sources.append(record.source)
    heads = ("command", "decisions", "of a core", "measure", "trained", "scripted players")
    return f"{table(heads, made)}\n\n{', '.join(sources)}."


# What is told of a training of the parcel quest, by its record.
PARCEL = {
    "without swarming": "parcel-5-seeds.json",
    "`--set trackers.archive.swarm=quests`": "parcel-swarm-5-seeds.json",
}


def parcel() -> str:
    """Return the table of trainings of the parcel quest, with and without swarming, over seeds."""
    made, sources = [], []
    for said, name in PARCEL.items():
        record = newest(name)
        runs = list(record.head["runs"].values())
        shares = [run["episodes"]["trained"]["reached"] for run in runs]
        core = [run["cpu_s"] for run in runs]
        made.append(
            (
                said,
                f"{min(run['steps'] for run in runs):,}",
                spread(statistics.median(core), core, clock),
                percent(over_seeds(shares, 0.0, 1.0)),
                ", ".join(f"{100 * share:.0f}" for share, *_ in shares),
                percent(runs[0]["episodes"]["random_legal"]["reached"]),
            )
        )
        sources.append(f"{record.source}, {len(runs)} seeds")
    heads = ("", "decisions", "of a core", "quest done", "each seed %", "`random_legal`")
    return f"{table(heads, made)}\n\n{'; '.join(sources)}."

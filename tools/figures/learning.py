"""Tables of trainings of Skull King, and of trainings that are compared over seeds."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from tools.figures.records import (
    Record,
    Row,
    clock,
    interval,
    listed,
    newest,
    over_seeds,
    percent,
    spread,
    table,
    trained_at,
)

# Of an evaluation: name, decimals and factor.
MEASURES = (("points", 0, 1), ("margin", 0, 1), ("win_rate", 1, 100), ("bid_hit", 1, 100))


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
        reached = over_seeds(last_of(record, name))
        last = interval(reached) if points else percent(reached)
        made.append([name, asked, f"{found['reached']} of {count}", *cells, last])
    heads = ("milestone", "asked", "reached by", "decisions", "time of a core", "by the clock")
    at = f"at {min(record.head['steps']):,} decisions"
    return f"{table((*heads, at), made)}\n\n{record.source}, seeds {listed(record.head)}."


def last_of(record: Record, milestone: str) -> list[list[float]]:
    """Return the results of each training at its last checkpoint."""
    return [run["checkpoints"][-1]["results"][milestone] for run in record.head["runs"]]


def champion(pattern: str = "champion-*-seeds.json") -> str:
    """Return the table of trainings of the champion over seeds, and the best scripted player.

    Where the opponents are agents there is no scripted player of the record's.
    """
    record = newest(pattern)
    runs, made = list(record.head["runs"].values()), []
    for opponents in runs[0]["win_rate"]:
        cells = [
            interval(
                over_seeds([run[name][opponents]["trained"] for run in runs]), decimals, factor
            )
            for name, decimals, factor in MEASURES
            if name in runs[0]
        ]
        scripted = interval(runs[0]["win_rate"][opponents]["heuristic"], 1, 100)
        made.append([f"3 x `{opponents}`", *cells, scripted])
    heads = ("against", "points", "wins %", "bids made %", "`heuristic` wins %")
    core = [run["cpu_s"] for run in runs]
    note = (
        f"{record.source}, seeds {', '.join(record.head['runs'])}, {record.head['games']:,} games "
        f"each, {min(run['steps'] for run in runs) / 1e6:.0f} M decisions, "
        f"{spread(statistics.median(core), core, clock)} of a core"
    )
    return f"{table(heads, made)}\n\n{note}."


# What is asked of the wins of an agent, in per cent, by the pattern of its record.
_ASKED_WINS = {
    "make-train-*-seeds.json": {"rule_hard": 65, "heuristic": 69},
    "skullking-2-*-seeds.json": {
        "rule_hard": 80,
        "heuristic": 83,
        "pretrained/skullking-ppo": 50,
        "pretrained/skullking": 30,
    },
}
# What is asked of the costs of a training, in seconds: name in records, unit and most.
_ASKED_COSTS = {
    "make-train-*-seeds.json": (
        ("cpu_s", "core-seconds", 100),
        ("wall_s", "seconds by the clock", 65),
    ),
    "skullking-2-*-seeds.json": (("cpu_s", "core-seconds", 3600),),
}


def bars_over_seeds(pattern: str) -> str:
    """Return what is asked of trainings over seeds, and whether their mean or median reaches it."""
    record, made = newest(pattern), []
    runs = list(record.head["runs"].values())
    for name, unit, most in _ASKED_COSTS[pattern]:
        every = [run[name] for run in runs]
        median = statistics.median(every)
        measured = spread(median, every, lambda x: f"{x:,.0f}")
        made.append([f"{unit} of training, median", f"at most {most:,}", measured, median <= most])
    for opponents, least in _ASKED_WINS[pattern].items():
        wins = over_seeds([run["win_rate"][opponents]["trained"] for run in runs])
        what = f"wins against 3 x `{opponents}`, mean"
        made.append([what, f"at least {least} %", percent(wins), 100 * wins[0] >= least])
    rows = [[*cells, "yes" if reached else "no"] for *cells, reached in made]
    reached = sum(row[-1] == "yes" for row in rows)
    heads = ("bar", "asked", "measured", "reached")
    source = f"{record.source}, {len(runs)} seeds: {reached} of {len(rows)} reached."
    return f"{table(heads, rows)}\n\n{source}"


# Variants on the way to the champion to what each adds to those above it.
_STEPS = {
    "ppo": "PPO against bots",
    "selfplay": "+ self-play",
    "critic": "+ a critic that sees all hands",
    "cards": "+ a score for each card",
}
_EXPERT = {"half": "expert iteration, begun", "expert": "expert iteration, twice as long"}


def ladder() -> str:
    """Return the table of the steps to the champions: wins over seeds, decisions and cost."""
    steps, begun = newest("ladder-*-seeds.json"), newest("expert-*-seeds.json")
    champions = {
        "expert iteration, to the end: the champion": newest("champion-*-seeds.json"),
        "a search of bids too, other rollouts: the second champion": newest(
            "skullking-2-*-seeds.json"
        ),
    }
    (first, *_) = champions.values()
    sets = list(next(iter(first.head["runs"].values()))["win_rate"])
    made = [_step(steps.head, row, said, sets) for row, said in _STEPS.items()]
    made += [_step(begun.head, row, said, sets) for row, said in _EXPERT.items()]
    for said, record in champions.items():
        runs = list(record.head["runs"].values())
        wins = [over_seeds([run["win_rate"][x]["trained"] for run in runs]) for x in sets]
        core = statistics.median(run["cpu_s"] for run in runs)
        steps_of_each = f"{min(run['steps'] for run in runs) / 1e6:.0f} M"
        cells = [interval(each, 1, 100) for each in wins]
        made.append([said, *cells, steps_of_each, f"{core / 60:.0f}"])
    heads = ("wins %", *(f"3 x `{x}`" for x in sets), "decisions", "core-minutes")
    sources = [f"{each.source}, seeds {listed(each.head)}" for each in (steps, begun)]
    sources += [f"{each.source}, {len(each.head['runs'])} seeds" for each in champions.values()]
    return f"{table(heads, made)}\n\n{'; '.join(sources)}."


def _step(head: dict[str, Any], row: str, said: str, sets: Sequence[str]) -> list[str]:
    """Return the cells of a variant: wins against each set, decisions and core-minutes."""
    cells = [interval(_mean(head, x, row, "win_rate"), 1, 100) for x in sets]
    decisions = statistics.median(head["decisions"][row])
    return [said, *cells, f"{decisions / 1e6:.1f} M", f"{head['core_s'][row][0] / 60:.0f}"]


def responses() -> str:
    """Return the table of best responses to agents: wins, points and cost."""
    of_champions = ("champion", "champion-search", "champion-2", "champion-2-search")
    names = (*of_champions, "ppo", "heuristic", "heuristic-search")
    records = [newest(f"exploit-{name}.json") for name in names]
    made = []
    for head in (record.head for record in records):
        for way, found in head["ways"].items():
            cells = [interval(found["wins"], 1, 100), interval(found["points_gained"])]
            if way == "search":
                cells += [f"{found['cpu_ms_per_decision']:.1f} ms a decision", ""]
            else:
                cells += [f"{found['core_minutes']:.0f} core-minutes", f"{len(found['runs'])}"]
            made.append([f"3 x `{head['agent']}`", way, *cells, f"{head['games']:,}"])
    heads = ("against", "response", "wins %", "points gained", "cost", "seeds", "games")
    sources = ", ".join(record.source for record in records)
    return f"{table(heads, made)}\n\n{sources}."


def agent_milestones() -> str:
    """Return when the training of the agent of the repository reached M1 to M4."""
    record, made = newest("pretrained-skullking-ppo-milestones.json"), []
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


def pretrained(agent: str, only: str = "") -> str:
    """Return how an agent of the repository and others play, or ``only`` one of them."""
    record = newest(f"pretrained-{agent}.json")
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


def dqn_beside_ppo() -> str:
    """Return the table of wins over seeds of DQN, PPO and a scripted player in whole games."""
    replay, rollouts = newest("dqn-flat-*-seeds.json"), newest("variants-*-seeds.json")
    sets, made = ("rule_medium", "rule_hard", "heuristic"), []
    runs = list(replay.head["runs"].values())
    rates = [[run["win_rate"][x]["trained"] for run in runs] for x in sets]
    core = [run["cpu_s"] for run in runs]
    cells = [interval(over_seeds(of), 1, 100) for of in rates]
    took = f"{clock(min(core))} to {clock(max(core))} of a core"
    made.append(
        [
            f"DQN, `flat_dqn`, {runs[0]['precision']}",
            f"{runs[0]['steps'] / 1e6:.1f} M",
            took,
            *cells,
        ]
    )
    flat = [run for run in rollouts.head["runs"] if run["variant"] == "flat"]
    wall = [run["wall_s"] for run in flat]
    cells = [interval(_mean(rollouts.head, x, "flat", "win_rate"), 1, 100) for x in sets]
    took = f"{clock(min(wall))} to {clock(max(wall))} by the clock"
    made.append(["PPO, `main.yaml`", f"{flat[0]['steps'] / 1e6:.1f} M", took, *cells])
    cells = [interval(runs[0]["win_rate"][x]["heuristic"], 1, 100) for x in sets]
    made.append(["`heuristic`, the strongest scripted player", "", "", *cells])
    heads = ("who plays, wins %", "decisions", "trained for", *(f"3 x {x}" for x in sets))
    sources = [f"{x.source}, {n} seeds" for x, n in ((replay, len(runs)), (rollouts, len(flat)))]
    return f"{table(heads, made)}\n\n{sources[0]}, and {sources[1]}."


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
    return f"{table(_COMPARED, made)}\n\n{record.source}, seeds {listed(record.head)}."


_COMPARED = ("", "3 x", "points", "less mean opponent", "wins %", "bids made %")


def _compared(report: Row, gap: str = "minus_baseline", but: str = "") -> list[list[str]]:
    base, made = report["baseline"], []
    for opponents, players in report["compared"].items():
        rows = {row: of for row, of in players.items() if not (but and row.endswith(but))}
        made += [
            [
                row,
                opponents,
                *(interval(_mean(report, opponents, row, m), d, f) for m, d, f in MEASURES),
            ]
            for row in rows
        ]
        made += [
            [
                f"{row} less {base}",
                opponents,
                *(interval(of[m][gap], max(d, 1), f) for m, d, f in MEASURES),  # they are small
            ]
            for row, of in rows.items()
            if row != base
        ]
    return made


def defaults() -> str:
    """Return the table of trainings with options that were found and with defaults, over seeds."""
    record = newest("defaults-*-seeds.json")
    made = [
        [f"{env}, {row}", *cells]
        for env, report in record.head["compared"].items()
        for row, *cells in _compared(report)
    ]
    return f"{table(_COMPARED, made)}\n\n{record.source}, seeds {listed(record.head)}."


def trained_variants(pattern: str, shares: dict[str, str]) -> str:
    """Return the table of trainings that differ in one option, over seeds.

    Parameters
    ----------
    pattern : str
        Of the record's name, a report of ``training compare`` about episodes.
    shares : dict
        Measure to what it is called; of the first the difference to the baseline is shown.
    """
    record, made = newest(pattern), []
    decisive = next(iter(shares))
    for row, found in record.head["compared"]["episodes"].items():
        steps = statistics.mean(record.head["decisions"][row])
        core, *_ = record.head["core_s"][row]
        means = [_mean(record.head, "episodes", row, name) for name in shares]
        cells = [percent(mean) for mean in means]
        of_seeds = ", ".join(f"{100 * x:.1f}" for x in found[decisive]["by_seed"])
        gap = found[decisive].get("minus_baseline")
        less = "" if gap is None else interval(gap, 1, 100)
        made.append([row, f"{steps:,.0f}", clock(core), *cells, of_seeds, less])
    first = f"{shares[decisive]} of each seed"
    heads = ("", "decisions", "of a core", *shares.values(), first)
    less = f"that, less {record.head['baseline']}'s"
    return f"{table((*heads, less), made)}\n\n{record.source}, seeds {listed(record.head)}."


def _mean(report: Row, opponents: str, row: str, measure: str) -> tuple[float, float, float]:
    """Return the mean over seeds of a row of ``training compare``, from its runs."""
    found = []
    for run in report["runs"]:
        for player, of in run["results"][opponents].items():
            name = run["variant"] if player == "trained" else f"{run['variant']}, {player}"
            found += [of[measure]] if name == row else []
    share = measure not in ("points", "margin")
    return over_seeds(found, *((0, 1) if share else ()))


_MEASURED_AT = (1_000_000, 2_000_000, 5_000_000, 10_000_000)  # decisions
_ASKED_EXPLOITABILITY = {"kuhn": 0.03, "leduc": 0.35, "liars_dice": 0.10}  # at most, at the end


def exploitability() -> str:
    """Make the table of the exploitability of averaged policies over decisions and seeds."""
    record, made = newest("mixed-seeds.json"), []
    every: list[Row] = []
    for game in record.head["games"].values():
        runs = list(game["runs"].values())
        every += runs
        curves = [[_nearest(run["curve"], steps) for run in runs] for steps in _MEASURED_AT]
        cells = [spread(statistics.mean(of), of, lambda x: f"{x:.3f}") for of in curves]
        spent = [run["cpu_s"] for run in runs]
        cost = spread(statistics.mean(spent), spent, clock)
        made.append([f"`{game['env']}`", f"{game['uniform']:.4f}", *cells, cost])
    at = (f"{steps // 10**6} M" for steps in _MEASURED_AT)
    heads = ("environment", "uniform play", *at, "time of a core")
    return f"{table(heads, made)}\n\n{trained_at(record, every)}, {len(runs)} seeds."


def exploitability_bars() -> str:
    """Make the table of the exploitability that is asked of self-play, and what it reaches."""
    record, made = newest("mixed-seeds.json"), []
    for name, most in _ASKED_EXPLOITABILITY.items():
        game = record.head["games"][name]
        reached = [run["curve"][-1][1] for run in game["runs"].values()]
        mean = statistics.mean(reached)
        cells = [f"at most {most:.2f}", spread(mean, reached, lambda x: f"{x:.3f}")]
        made.append([f"`{game['env']}`", *cells, "yes" if mean <= most else "no"])
    heads = ("exploitability of the averaged policy, mean", "asked", "measured", "reached")
    return f"{table(heads, made)}\n\n{record.source}, {len(game['runs'])} seeds."


def _nearest(curve: Sequence[Sequence[float]], steps: int) -> float:
    """Return what was measured at the checkpoint that is nearest to a number of decisions."""
    return min(curve, key=lambda point: abs(point[0] - steps))[1]


# Of a task in an environment of another package: how it is written, and its measure.
_FOREIGN = {
    "cartpole": ("CartPole-v1", "return"),
    "connect_four": ("connect four of PettingZoo against random", "win"),
    "acrobot": ("Acrobot-v1", "return"),
    "minigrid": ("MiniGrid-Empty-5x5-v0, images", "return"),
    "pursuit": ("pursuit_v5 of PettingZoo, two pursuers", "points"),
}


def foreign_tasks() -> str:
    """Make the table of what is learnt in environments of other packages, over seeds."""
    record, made = newest("foreign-learning.json"), []
    for label, task in record.head["tasks"].items():
        name, _, trainer = label.partition(", ")
        said, measure = _FOREIGN[name]
        runs = list(task["runs"].values())
        reached = [_value(run, measure) for run in runs]
        percents = measure == "win"
        form = (lambda x: f"{100 * x:.1f}") if percents else (lambda x: f"{x:.4g}")
        spent = [run["cpu_s"] for run in runs]
        cells = [said, f"`{trainer}`, {runs[0]['precision']}", "wins %" if percents else measure]
        cells += [spread(statistics.mean(reached), reached, form), f"{runs[0]['steps']:,}"]
        made.append([*cells, spread(statistics.mean(spent), spent, lambda x: f"{x:.0f}")])
    heads = ("environment", "trainer", "measure", "mean", "decisions", "seconds of a core")
    return f"{table(heads, made)}\n\n{record.source}, {len(runs)} seeds."


def _value(run: Row, measure: str) -> float:
    """Return the mean of a measure of the trained agent, of episodes or of matches."""
    if "episodes" in run:
        return float(run["episodes"]["trained"][measure][0])
    (players,) = run[measure].values()
    return float(players["trained"][0])

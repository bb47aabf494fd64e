"""The tables of the README and of docs/explanation/figures.md."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from tools.figures.learning import last_of
from tools.figures.records import (
    Record,
    Row,
    clock,
    middle,
    newest,
    over_seeds,
    percent,
    ratio,
    share,
    spread,
    table,
)
from tools.figures.speeds import OF_STOCK
from training.run import machine


def first_figure() -> str:
    """Return the sentence of the README with the first figures."""
    bars = newest(_BARS)
    steps, over = middle(bars.bar(_SPEEDS[_WORKER])), middle(bars.bar(_OVER[0]))
    times = statistics.median(_beside_gymnasium("sync", _LANES).times)
    part = 100 * middle(bars.bar(_STOCK_BARS["Skull King Worker"]))
    return (
        f"One CPU core plays **{steps / 1e6:.1f} million decisions of Skull King a second**, "
        f"while bots play the other seats: {over:.0f} times the plain Python. When "
        f"Stable-Baselines3 trains on it, the environment takes {part:.0f} % of the time. "
        f"Dr. Mario steps **{times:.0f} times as fast** as in Gymnasium's `SyncVectorEnv`, "
        f"{_LANES} games at once."
    )


NEXT = "\n\n"  # between two tables


@dataclass(frozen=True)
class Beside:
    """A row of the README: fastenv and something else at the same work, by CPU time.

    Parameters
    ----------
    what : str
        Beside which fastenv is measured.
    unit : str
        What is counted.
    work : str
    lanes : str
        Of both, or of each.
    ours, theirs : sequence of float
        Decisions or frames a CPU second, of each repeat; empty where they were not measured.
    times : sequence of float
        Ours over theirs, of each turn or of the medians.
    record : Record
    why : str
        Why something was not measured.
    """

    what: str
    unit: str
    work: str
    lanes: str
    ours: Sequence[float]
    theirs: Sequence[float]
    times: Sequence[float]
    record: Record
    why: str = ""

    def cells(self) -> tuple[str, ...]:
        """Return the cells of the row."""
        speeds = [_thousands(every) for every in (self.ours, self.theirs)]
        times = spread(statistics.median(self.times), self.times, _short) if self.times else ""
        times = times if len(self.times) != 1 else _short(self.times[0])
        measured = times or f"not measured: {self.why}"
        return (self.what, self.work, self.lanes, *speeds, measured)


def headlines() -> str:
    """Return the tables of the README: fastenv beside what people use, and the parts of trainings.

    Each table has one unit. The rows are of one commit and machine, or the note says which is of
    which.
    """
    rows = comparisons()
    bars = newest(_BARS)
    heads = ("beside", "work", "lanes", "fastenv", "theirs", "times")
    speeds = [
        table((f"{heads[0]}, {unit} a CPU second", *heads[1:]), [row.cells() for row in some])
        for unit in ("decisions", "frames")
        if (some := [row for row in rows if row.unit == unit])
    ]
    parts = [(game, share(bars.bar(bar))) for game, bar in _STOCK_BARS.items()]
    shares = table(("trained by stock `MaskablePPO`", "share of the environment"), parts)
    taken = list({row.record.path: row.record for row in rows}.values())
    return (
        f"{NEXT.join(speeds)}\n\n{shares}\n\nSpeeds are of all processes together: the median, "
        "with the lowest and the highest repeat. PyBoy 2.9, which has a faster mode, is not "
        "measured. "
        f"{taken_at(taken)}\n\n{_first_agent()} {_beside_bots()}"
    )


def comparisons() -> list[Beside]:
    """Return the rows of the README's table."""
    return [
        *(_beside_python(game) for game in _PYTHON),
        *(_beside_gymnasium("sync", lanes) for lanes in _SYNC_LANES),
        _beside_gymnasium("async", _LANES),
        *(_beside_pyboy(rom, said) for rom, said in _ROMS.items()),
        _beside_stock(_FP32),
        _beside_stock(_AUTO),
    ]


def _load_before(loads: Sequence[float]) -> str:
    return f"The load before each was {min(loads)} to {max(loads)}."


def taken_at(taken: Sequence[Record]) -> str:
    """Return where and when records were taken: in one sentence, or in one for each."""
    every = {(r.head["git_rev"][:7], machine.describe(r.head["host"])) for r in taken}
    named = [f"`benchmarks/{record.path.name}`" for record in taken]
    if len(every) == 1:
        ((rev, processor),) = every
        loads = [record.head["load"] for record in taken]
        about = f"all at {rev} on {processor}. {_load_before(loads)}"
        return f"Records: {', '.join(named)}, {about}"
    processors = {processor for _, processor in every}
    if len(processors) == 1:
        loads = [record.head["load"] for record in taken]
        at = [f"{n} at {r.head['git_rev'][:7]}" for n, r in zip(named, taken, strict=True)]
        return (
            f"All records are of one kind of processor, {processors.pop()}. "
            f"{_load_before(loads)} They are {', '.join(at)}."
        )
    said = (
        f"{name} is of {record.head['git_rev'][:7]} on {machine.describe(record.head['host'])}, "
        f"load {record.head['load']}."
        for name, record in zip(named, taken, strict=True)
    )
    return " ".join(("Records are of several runs.", *said))


_BARS = "bars.jsonl"
_VECTORISED, _PYBOY = "vectorised-DrMarioPlacement-v0.json", "bars-gameboy.jsonl"
_STOCK, _CHAMPION = "trainers.jsonl", "champion-*-seeds.json"
_STOCK_SEEDS, _STOCK_WHO = "stock-*-seeds.json", "stock `MaskablePPO`"
_GYMNASIUM = {"sync": "`SyncVectorEnv`", "async": "`AsyncVectorEnv`"}
_ROMS = {"lantern_walk": "Lantern Walk", "busy": "the busiest ROM"}
_PYTHON = {"Skull King Worker": ("SkullKingWorker-v0", 0), "Prospector": ("Prospector-v0", 1)}
_LANES, _SYNC_LANES = 64, (8, 32, 64)


def _beside_gymnasium(way: str, lanes: int) -> Beside:
    """Return the row of a vector environment of Gymnasium.

    Old records have the CPU time of the first process alone, which is no cost of the others.
    """
    record = newest(_VECTORISED)
    rows = {row["vectorisation"]: row for row in record.head["rows"] if row["num_envs"] == lanes}
    whole = way == "sync" or "cpu_of" in rows[way]
    ours, theirs = (
        row.get("steps_per_cpu_s_all", [row["dps_per_cpu_s"]])
        for row in (rows["engine"], rows[way])
    )
    return Beside(
        f"Gymnasium {_GYMNASIUM[way]}",
        "decisions",
        "Dr. Mario",
        f"{lanes}",
        ours,
        theirs if whole else (),
        [a / b for a, b in zip(ours, theirs, strict=True)] if whole else (),
        record,
        "no CPU time of its processes",
    )


def _beside_pyboy(rom: str, said: str) -> Beside:
    record = newest(_PYBOY)
    turns = record.bar(_of_pyboy(record, rom))
    row = next(
        row
        for row in record.rows
        if row.get("rom") == rom and row["what"] == "step" and row["num_envs"] == _LANES
    )
    return Beside(
        f"PyBoy {record.head['versions']['pyboy']}",
        "frames",
        said,
        f"{_LANES} and 1",
        row["frames_per_cpu_s_all"],
        row["pyboy_frames_per_cpu_s_all"],
        turns["all"],
        record,
    )


def _of_pyboy(record: Record, rom: str) -> str:
    """Return the name of the bar of a ROM in steps; it has the ROM's instructions a frame."""
    begin, end = f"game boy: {rom}, ", f" step, n={_LANES}: times PyBoy"
    names = (str(row["what"]) for row in record.rows if row["kind"] == "bar")
    return next(what for what in names if what.startswith(begin) and what.endswith(end))


def _beside_stock(what: str) -> Beside:
    record = newest(_STOCK)
    bar = record.bar(_TRAINERS[what])
    rows = {row["name"]: row for row in record.rows if row["kind"] == "trainer"}
    ours, theirs = rows[_NATIVE[what]], rows["sb3"]
    measured = bar["measured"] is not None
    return Beside(
        "stock `MaskablePPO`",
        "decisions",
        f"training in {'fp32' if what == _FP32 else 'bf16'}",
        f"{ours['num_envs']}",
        ours["steps_per_cpu_s_all"] if measured else (),
        theirs["steps_per_cpu_s_all"],
        bar["all"] if measured else (),
        record,
        "" if measured else str(bar["reason"]),
    )


def _beside_python(game: str) -> Beside:
    record = newest(_BARS)
    env, number = _PYTHON[game]
    rows = {
        row["backend"]: row
        for row in reversed(record.rows)  # the first of a backend counts
        if row["kind"] == "env"
        and row["env"] == env
        and row["what"] == "batch"
        and row["ran"]["workload"] in ("masked_uniform", "uniform")
        and row["num_threads"] == 1
    }
    ours, theirs = rows["fast"], rows["reference"]
    return Beside(
        "plain Python",
        "decisions",
        game,
        f"{ours['num_envs']:,} and {theirs['num_envs']:,}",
        ours["steps_per_cpu_s_all"],
        theirs["steps_per_cpu_s_all"],
        record.bar(_OVER[number])["all"],
        record,
    )


def _thousands(every: Sequence[float]) -> str:
    """Return a speed in thousands, with the lowest and the highest repeat where there are some."""
    if len(every) < 2:
        return "".join(map(_in_thousands, every))
    return spread(statistics.median(every), every, _in_thousands)


def _in_thousands(speed: float) -> str:
    return f"{speed / 1e3:,.0f} k" if speed >= 1e5 else f"{speed / 1e3:.3g} k"


def _short(x: float) -> str:
    return f"{x:.0f}" if x >= 100 else f"{x:.1f}" if x >= 10 else f"{x:.2f}"


def _first_agent() -> str:
    """Return the wins and the time of `make train` and of stock MaskablePPO, in sentences."""
    said, names = [], []
    for pattern, who in (("make-train-*-seeds.json", "`make train`"), (_STOCK_SEEDS, _STOCK_WHO)):
        record = newest(pattern)
        runs = list(record.head["runs"].values())
        core = clock(statistics.median([run["cpu_s"] for run in runs]))
        wins = [_wins(runs, name) for name in ("rule_hard", "heuristic")]
        about = f"{len(runs)} trainings, in the median {core} of a core"
        said.append(f"{who[0].upper()}{who[1:]} wins {wins[0]} and {wins[1]} ({about}).")
        names.append(f"`benchmarks/{record.path.name}`")
    games = next(iter(record.head["runs"].values()))["win_rate"]
    bot = [percent(games[name]["heuristic"]) for name in ("rule_hard", "heuristic")]
    return (
        f"A first agent of Skull King meets three `rule_hard` at one table and three `heuristic` "
        f"at another. {' '.join(said)} `heuristic`, the best of the scripted players beside it, "
        f"wins {bot[0]} and {bot[1]} ({' and '.join(names)})."
    )


def _wins(runs: Sequence[Row], opponents: str) -> str:
    """Return the share of games that trainings win against three of one kind, over seeds."""
    return percent(over_seeds([run["win_rate"][opponents]["trained"] for run in runs]))


def _beside_bots() -> str:
    record = newest(_CHAMPION)
    runs = list(record.head["runs"].values())
    return (
        f"Our agent of Skull King wins {_wins(runs, 'rule_hard')} of games against three "
        f"`rule_hard` bots, over {len(runs)} trainings; an even share is "
        f"{100 / record.head['players']:.0f} % (`benchmarks/{record.path.name}`)."
    )


def own_figures() -> str:
    """Return the table of docs/explanation/figures.md."""
    found = newest("bars.jsonl")
    made = [(what, _speed(found.bar(bar))) for what, bar in _SPEEDS.items()]
    for name, bar in (("Worker", _OVER[0]), ("Prospector, random play", _OVER[1])):
        turns = found.bar(bar)
        if turns["all"]:  # of one run and in turns, or not at all
            times = f"{ratio(turns, 0)} times"
            made.append((f"{name}, `fast` over this repository's plain Python", times))
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
    beside = newest(_STOCK)
    for what, bar in _TRAINERS.items():
        made.append((f"our trainer over stock `MaskablePPO`, {what}", _times(beside.bar(bar))))
    made += [_champion(), _whole_games("make-train-*-seeds.json", _MAKE_TRAIN)]
    made += [_whole_games("main-*-seeds.json", _BASELINE), _pair(), _agent()]
    note = f"Speeds: {found.source}; trainers: {beside.source}."
    return f"{table(('what', 'measured'), made)}\n\n{note}"


_FRAMES = (
    "DrMarioFrame-v0, step_into, random buttons, no info, level 10, obs none, obs_dtype uint8, "
    "stack 1, fast, n=1024"
)


_PLACEMENTS = (
    "DrMarioPlacement-v0, random feasible placements, warp, level 10, speed high, fast, n=1024"
)


_WORKER = "Skull King Worker (a card each step), `fast`"


_SPEEDS = {
    _WORKER: "worker: steps a CPU second, one core",
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


_STOCK_BARS = {
    "Skull King Worker": f"stock MaskablePPO, 256 lanes, 256x256{OF_STOCK}",
    "Prospector": f"prospector: stock MaskablePPO, 512 lanes, 64x64{OF_STOCK}",
    "Dr. Mario": "DrMarioPlacement-v0, stock MaskablePPO, SmallCNN, level 10, obs "
    f"bitplane_bottle_conn_mask, obs_dtype uint8, extras [], fast, n=64{OF_STOCK}",
}


_BESIDE = "over stock MaskablePPO, 512 lanes, per CPU second"


_FP32, _AUTO = "fp32", "`auto` where bf16 is multiplied"


_NATIVE = {_FP32: "native fp32", _AUTO: "native auto"}


_TRAINERS = {
    _FP32: f"native fp32 {_BESIDE}",
    _AUTO: f"native auto {_BESIDE}",
    "the same with one trunk for policy and value": f"native auto, shared trunk {_BESIDE}",
}


def _speed(row: Row) -> str:
    return spread(middle(row), row["all"], lambda x: f"{x / 1e6:.2f} M") + " a CPU second"


def _times(row: Row) -> str:
    """Return a ratio, or why there is none: the processor of the record may not multiply bf16."""
    return f"not measured: {row['reason']}" if row["measured"] is None else ratio(row, 2)


_MAKE_TRAIN = "`make train`: whole games by one network, cards learnt from search"
_BASELINE = "`main.yaml`, the PPO baseline: whole games by one network"


def _whole_games(pattern: str, what: str) -> tuple[str, str]:
    """Return the row of a recipe for whole games of Skull King, with its wins over seeds."""
    record = newest(pattern)
    runs = list(record.head["runs"].values())
    wins, scripted = [], []
    for opponents, shown in (("rule_hard", "`rule_hard`"), ("heuristic", "`heuristic`")):
        wins.append(f"{_wins(runs, opponents)} against three {shown}")
        scripted.append(percent(runs[0]["win_rate"][opponents]["heuristic"]))
    core = [run["cpu_s"] for run in runs]
    return (
        what,
        f"wins {' and '.join(wins)}, over {len(runs)} training seeds and the deals, after "
        f"{min(run['steps'] for run in runs) / 1e6:.2g} M decisions, "
        f"{spread(statistics.median(core), core, clock)} of a core; `heuristic`, the best scripted "
        f"player, wins {' and '.join(scripted)} of the same games over deals, and an even share is "
        f"{100 / record.head['players']:.0f} % (`benchmarks/{record.path.name}`)",
    )


def _champion() -> tuple[str, str]:
    record = newest(_CHAMPION)
    runs = list(record.head["runs"].values())
    shown = {
        "pretrained/skullking-ppo": "of the agent before it",
        "heuristic": "`heuristic`",
        "rule_hard": "`rule_hard`",
    }
    wins = [f"{_wins(runs, name)} against three {words}" for name, words in shown.items()]
    core = [run["cpu_s"] for run in runs]
    return (
        "`pretrained/skullking`: one network that learnt cards from search and bids from self-play",
        f"wins {', '.join(wins[:-1])} and {wins[-1]}, over {len(runs)} training seeds and the "
        f"deals, after {min(run['steps'] for run in runs) / 1e6:.0f} M decisions, "
        f"{spread(statistics.median(core), core, clock)} of a core "
        f"(`benchmarks/{record.path.name}`)",
    )


def _pair() -> tuple[str, str]:
    record = newest("pair-*-seeds.json")
    found = record.head["milestones"]["M2"]
    wins = percent(over_seeds(last_of(record, "M2")))
    precision = " or ".join(sorted({run["trained"]["precision"] for run in record.head["runs"]}))
    return (
        "a pair of Manager and Worker in whole games against three `rule_hard`",
        f"wins {wins} over {len(record.head['seeds'])} training seeds and the deals, after "
        f"{min(record.head['steps']) / 1e6:.0f} M decisions, "
        f"{clock(found['cpu_s']['median'])} ({clock(found['cpu_s']['range'][0])} to "
        f"{clock(found['cpu_s']['range'][1])}) of a core in {precision} to M2, where the interval "
        f"over deals lies above 50 % (`benchmarks/{record.path.name}`)",
    )


def _agent() -> tuple[str, str]:
    record = newest("pretrained-skullking-ppo.json")
    found = record.head["matches"]["results"]["rule_hard"]
    trained, heuristic = (percent(found[name]["win_rate"]) for name in ("trained", "heuristic"))
    return (
        "`pretrained/skullking-ppo`, one such training, against three `rule_hard`",
        f"wins {trained} over deals after {record.head['steps'] / 1e6:.0f} M decisions; "
        f"`heuristic`, the best scripted player, wins {heuristic} of the same games "
        f"(`benchmarks/{record.path.name}`)",
    )

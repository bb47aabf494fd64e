"""The tables of the README and of docs/explanation/figures.md."""

from __future__ import annotations

import statistics

from tools.figures.learning import last_of
from tools.figures.records import (
    Record,
    Row,
    clock,
    interval,
    middle,
    newest,
    over_seeds,
    ratio,
    share,
    spread,
    table,
)
from tools.figures.speeds import OF_STOCK


def first_figure() -> str:
    """Return the sentence of the README with the first figures."""
    steps = middle(newest("bars.jsonl").bar(_SPEEDS[_WORKER]))
    return (
        f"One CPU core plays **{steps / 1e6:.1f} million decisions of Skull King a second**, moves "
        f"of the bots included. Dr. Mario steps **{_vectorised('sync')[2]:.0f} times as fast** as "
        "in Gymnasium's `SyncVectorEnv`."
    )


def headlines() -> str:
    """Return the table of the README: fastenv beside what people use."""
    made = [_beside_gymnasium(way) for way in _GYMNASIUM]
    made += [_beside_pyboy(), _beside_stock(), _beside_open_spiel(), _beside_bots()]
    heads = ("beside", "compared", "measured", "command")
    records = (_VECTORISED, _PYBOY, _STOCK, _OPEN_SPIEL, _CHAMPION)
    named = ", ".join(f"`benchmarks/{newest(record).path.name}`" for record in records)
    load = newest(_VECTORISED).head["load"]
    return f"{table(heads, made)}\n\nRecords: {named}. The first ran at a load of {load}."


_VECTORISED, _PYBOY = "vectorised-DrMarioPlacement-v0.json", "bars-gameboy.jsonl"
_STOCK, _OPEN_SPIEL, _CHAMPION = (
    *("trainers.jsonl", "openspiel-hearts.json"),
    "champion-*-seeds.json",
)
_GYMNASIUM = {"sync": "`SyncVectorEnv`", "async": "`AsyncVectorEnv`"}
_LANES = 64


def _vectorised(way: str) -> tuple[float, float, float]:
    """Return decisions a second of the engine and of another way, and their ratio.

    By the clock: the processes of ``AsyncVectorEnv`` take CPU time that the record does not have.
    """
    rows = {
        row["vectorisation"]: row["dps_total"]
        for row in newest(_VECTORISED).head["rows"]
        if row["num_envs"] == _LANES
    }
    return rows["engine"], rows[way], rows["engine"] / rows[way]


def _beside_gymnasium(way: str) -> tuple[str, ...]:
    ours, theirs, times = _vectorised(way)
    return (
        f"Gymnasium {_GYMNASIUM[way]}",
        f"{_LANES} games of Dr. Mario, decisions a second" if way == "sync" else "the same",
        f"{times:.1f} times: {ours / 1e3:,.0f} k to {theirs / 1e3:,.1f} k",
        f"`python -m training benchmark vectorised --num-envs {_LANES}`",
    )


def _beside_pyboy() -> tuple[str, ...]:
    record = newest(_PYBOY)
    walk, busy = (ratio(record.bar(_of_pyboy(record, rom)), 1) for rom in ("lantern_walk", "busy"))
    return (
        "PyBoy",
        f"{_LANES} Game Boys in steps of 24 frames, frames a CPU second",
        f"{walk} times with Lantern Walk, {busy} times with the busiest ROM",
        "`python -m training benchmark --only bars --game gameboy`",
    )


def _of_pyboy(record: Record, rom: str) -> str:
    """Return the name of the bar of a ROM in steps; it has the ROM's instructions a frame."""
    begin, end = f"game boy: {rom}, ", f" step, n={_LANES}: times PyBoy"
    names = (str(row["what"]) for row in record.rows if row["kind"] == "bar")
    return next(what for what in names if what.startswith(begin) and what.endswith(end))


def _beside_stock() -> tuple[str, ...]:
    beside = newest(_STOCK)
    fp32, auto = (_times(beside.bar(_TRAINERS[what])) for what in (_FP32, _AUTO))
    return (
        "stock `MaskablePPO`",
        "training on the same engine, network and batches, decisions a CPU second",
        f"times in fp32: {fp32}; bf16: {auto}",
        "`python -m training benchmark --only trainers`",
    )


def _beside_open_spiel() -> tuple[str, ...]:
    head = newest(_OPEN_SPIEL).head
    theirs = (
        statistics.median(head["simulations_per_cpu_s"]) * head["plays_of_a_simulation_at_most"]
    )
    ours = statistics.median(head["plays_per_cpu_s"])
    return (
        "OpenSpiel's rollouts",
        "cards played a CPU second, theirs in Hearts, ours in Skull King",
        f"{ours / 1e6:.1f} M to at most {theirs / 1e6:.1f} M",
        "`python -m tools.openspiel_speed --python PYTHON`",
    )


def _beside_bots() -> tuple[str, ...]:
    record = newest(_CHAMPION)
    runs = list(record.head["runs"].values())
    found = over_seeds([run["win_rate"]["rule_hard"]["trained"] for run in runs])
    return (
        "three `rule_hard` bots",
        f"games of Skull King that our agent wins, over {len(runs)} trainings",
        f"{interval(found, 1, 100, ' %')}; an even share is {100 / record.head['players']:.0f} %",
        "`python -m tools.train_seeds training/configs/champion.yaml --out FILE`",
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
    made += [_champion(), _make_train(), _pair(), _agent()]
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


def _make_train() -> tuple[str, str]:
    record = newest("make-train-*-seeds.json")
    runs = list(record.head["runs"].values())
    wins, scripted = [], []
    for opponents, shown in (("rule_hard", "RuleBased HARD"), ("heuristic", "`heuristic`")):
        games = [run["win_rate"][opponents] for run in runs]
        rate = interval(over_seeds([each["trained"] for each in games]), 1, 100, " %")
        wins.append(f"{rate} against three {shown}")
        scripted.append(interval(games[0]["heuristic"], 1, 100, " %"))
    core = [run["cpu_s"] for run in runs]
    return (
        "`make train`: whole games, bids and cards by one network",
        f"wins {' and '.join(wins)}, over {len(runs)} training seeds and the deals, after "
        f"{min(run['steps'] for run in runs) / 1e6:.0f} M decisions, "
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
        "rule_hard": "RuleBased HARD",
    }
    wins = [
        interval(over_seeds([run["win_rate"][name]["trained"] for run in runs]), 1, 100, " %")
        + f" against three {words}"
        for name, words in shown.items()
    ]
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
    wins = interval(over_seeds(last_of(record, "M2")), 1, 100, " %")
    precision = " or ".join(sorted({run["trained"]["precision"] for run in record.head["runs"]}))
    return (
        "a pair of Manager and Worker in whole games against three RuleBased HARD",
        f"wins {wins} over {len(record.head['seeds'])} training seeds and the deals, after "
        f"{min(record.head['steps']) / 1e6:.0f} M decisions, "
        f"{clock(found['cpu_s']['median'])} ({clock(found['cpu_s']['range'][0])} to "
        f"{clock(found['cpu_s']['range'][1])}) of a core in {precision} to M2, where the interval "
        f"over deals lies above 50 % (`benchmarks/{record.path.name}`)",
    )


def _agent() -> tuple[str, str]:
    record = newest("pretrained-skullking-ppo.json")
    found = record.head["matches"]["results"]["rule_hard"]
    trained, heuristic = (
        interval(found[name]["win_rate"], 1, 100, " %") for name in ("trained", "heuristic")
    )
    return (
        "`pretrained/skullking-ppo`, one such training, against three RuleBased HARD",
        f"wins {trained} over deals after {record.head['steps'] / 1e6:.0f} M decisions; "
        f"`heuristic`, the best scripted player, wins {heuristic} of the same games "
        f"(`benchmarks/{record.path.name}`)",
    )

"""Benchmarks of the Game Boy: one core, steps of 24 frames, in turns with PyBoy if installed.

How fast frames are depends on the program above all, so every row names the ROM and how many
instructions it executes in a frame. Speeds are judged by CPU time: neighbours on the machine cost
wall time, and what slows one emulator slows the other in its turn.
"""

from __future__ import annotations

import gc
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

import fastenv
from fastenv.gameboy import GameBoyGame
from fastenv.gameboy.common import read_rom
from fastenv.gameboy.config import OURS
from fastenv.gameboy.goal_template import OURS as GOALS
from fastenv.gameboy.goal_template import load_goal, save_goal
from fastenv.gameboy.tables import CLOCK, FRAME
from training.bench import ran
from training.bench.env_modes import EnvPlan, Ready, prepare
from training.bench.game import GameBenchmark, Throughput
from training.bench.targets import Row, env_share, ratio, target, time_of_step, unmeasured
from training.bench.timing import Sample, Work, rows, rss_mb, spread

ENV = "GameBoyPixels-v0"
FRAMES = 24  # of a step
STEP: dict[str, Any] = {"stack_k": 1}
SCALE: dict[str, Any] = {"preset": "scale"}
LANES = (64, 1024)
MANY = (8192, 16_384)
STAGGER = 8  # steps in which each lane is reset once
MBC1 = "micro/mbc1"
# ROM and way: frames a CPU second, and times PyBoy; None is not asked for.
ASKED: dict[tuple[str, str], tuple[float | None, float | None]] = {
    (OURS, "step"): (400e3, 6.5),
    ("busy", "step"): (48e3, 3.3),
    ("heavy", "step"): (55e3, 3.3),
    ("poll", "step"): (400e3, None),
    ("split", "step"): (400e3, None),
    ("delay", "step"): (None, None),
    ("busy", "skip"): (50e3, 3.3),
    ("poll", "skip"): (3e6, None),
    (OURS, "draw"): (38e3, 2.4),
}
RESET_US, PYTHON_US, MANY_OVER_64 = 2.0, 15.0, 0.9
TWO_THREADS, ENV_SHARE = 1.8, 0.05
# Of stock PPO, whose CnnPolicy is the network of Nature's DQN, on four gray frames.
LEARNING: dict[str, Any] = {"num_envs": 64, "n_steps": 32, "batch_size": 256, "n_epochs": 4}
SEEN: dict[str, Any] = {"pixels": "84x84", "pixel_mode": "gray", "stack_k": 4, "sticky": 0.25}
GROWTH_STEPS = 100_000
MAX_MEM_DELTA = 2**20  # bytes of the resident set, unless others are given
METHOD_ALONE = "one machine without an environment; keys and frames are those of PyBoy"
METHOD_RESET = "reset_many with masks of every other lane, in turns; a step is a lane's reset"
WAYS = {"skip": "nothing drawn", "draw": "every frame drawn"}
NO_PYBOY = "PyBoy is not installed"
FRAMES_A_SECOND = CLOCK / FRAME  # of the console
COUNTED, COUNTED_STEPS = 64, 16  # lanes and steps whose instructions are counted
ONE_FRAME: dict[str, Any] = {"frames_per_step": 1, "release_after_frames": 1}
GOAL = f"{GOALS[0]}_by_frames"  # the goal of GameBoyGoal-v0, for steps of one frame
PIXELS: dict[str, Any] = {  # frames as pixels, of which both families learn
    "env": ENV,
    "env_options": {"pixels": "84x84", "stack_k": 4, "states": OURS},
}
REPLAY: dict[str, dict[str, Any]] = {
    "Lantern Walk": {
        "env": "LanternWalk-v0",
        "num_envs": 64,
        "env_options": {
            **{"states": "lantern_walk", "start_state": None, "sticky": 0.25, "max_steps": 512},
            **{"pixels": "packed72x20", "stack_k": 2},
            "allowed_buttons": ["a", "up", "down", "left", "right"],
        },
        "dqn": {
            **{"encoder": "conv", "net_arch": [256], "num_quantiles": 25, "n_step": 5},
            **{"batch_size": 256, "replay_ratio": 2.0, "iteration_steps": 32},
        },
    },
}


def rom_options(rom: str) -> dict[str, Any]:
    """Return options with a ROM of ours; episodes of Lantern Walk start all over its maps."""
    if rom == OURS:
        return {"states": OURS, "start_state": None}
    return {"rom": str(resources.files("fastenv.gameboy") / "roms" / f"{rom}.gb")}


def counted(rows: np.ndarray) -> np.ndarray:
    """Sum the instructions and cycles that machines have executed, from their rows."""
    return np.array([rows["instr"].sum(), rows["cyc"].sum()], np.float64)


def per_frame(before: np.ndarray, after: np.ndarray) -> float:
    """Compute the instructions of a frame between two counts."""
    instructions, cycles = after - before
    return float(instructions / cycles * FRAME)


def figures(engine: fastenv.BatchEngine, seed: int) -> dict[str, Any]:
    """Count instructions and resets of a program in a little random play, which is not timed.

    Parameters
    ----------
    engine : BatchEngine
        Of a Game Boy; all lanes begin anew.
    seed : int

    Returns
    -------
    dict
        ``frames_per_step``; ``instructions_per_frame``; ``resets_per_step``, of a lane.
    """
    lanes, rng = np.arange(min(engine.num_envs, COUNTED)), np.random.default_rng(seed)
    counts, ended, game = np.zeros(2), 0, engine.game
    assert isinstance(game, GameBoyGame)
    engine.reset_many(seeds=seed)
    for _ in range(COUNTED_STEPS):
        before = counted(engine.get_states(lanes))
        engine.step_many(fastenv.sample_legal(engine.mask, rng), autoreset=False)
        counts += counted(engine.get_states(lanes)) - before
        ended += int(engine.ended.sum())
        engine.reset_many(mask=engine.ended.copy())
    return {
        "frames_per_step": game.config.frames_per_step,
        "instructions_per_frame": round(per_frame(np.zeros(2), counts)),
        "resets_per_step": ended / (COUNTED_STEPS * engine.num_envs),
    }


@contextmanager
def emulators(rom: str) -> Iterator[dict[str, Any]]:
    """Start our machine and, if it is installed, PyBoy with the same ROM, both past its title."""
    from tools.gameboy import bench  # needs the compiled core

    cartridge = read_rom(rom_options(rom).get("rom", OURS))
    players: dict[str, Any] = {"ours": bench.Ours(cartridge)}
    with suppress(ModuleNotFoundError):
        players["pyboy"] = bench.Theirs(cartridge)
    for player in players.values():
        player.step(bench.WARM_UP)
    try:
        yield players
    finally:
        if "pyboy" in players:
            players["pyboy"].twin.close()


# -- rows ------------------------------------------------------------------------------------------


def ready(rom: str, lanes: int, batches: int, options: Mapping[str, Any], **changes: Any) -> Ready:
    """Prepare steps with random buttons in environments with one ROM."""
    sizes = {"stagger": STAGGER, "workload": "uniform", "batches": batches, **changes}
    return prepare(EnvPlan(ENV, {**rom_options(rom), **options}, num_envs=lanes, **sizes))


def works_of(
    rom: str, way: str, plays: Sequence[Ready], options: Row, beside: str | None = None
) -> dict[str, Work]:
    """Make the works of plays, with the fields of their rows."""
    about = {**_describe(rom, way, options), "frames_per_step": FRAMES}
    return {
        f"{each.plan.num_envs} lanes, {each.plan.num_threads} threads": each.for_row(
            beside, **about
        )
        for each in plays
    }


def step_rows(rom: str, repeats: int, seconds: float, lanes: tuple[int, ...] = LANES) -> list[Row]:
    """Measure steps of environments with one ROM, in turns with PyBoy's.

    Parameters
    ----------
    rom : str
    repeats : int
    seconds : float
        Timed work of a repeat.
    lanes : tuple of int
    """
    plays = [ready(rom, n, max(1, 512 // n), STEP) for n in lanes]
    works = works_of(rom, "step", plays, STEP)
    before = [counted(play.engine.get_states()) for play in plays]
    with emulators(rom) as players:
        if "pyboy" in players:
            works["pyboy"] = Work(partial(players["pyboy"].step, 16 * FRAMES), 16)
        measured = rows(works, repeats, seconds)
    after = [counted(play.engine.get_states()) for play in plays]
    pyboy = measured.pop() if "pyboy" in works else None
    return [
        _in_frames(row, pyboy, per_frame(*each))
        for row, *each in zip(measured, before, after, strict=True)
    ]


def alone_row(rom: str, way: str, repeats: int, seconds: float) -> Row:
    """Measure one machine that draws nothing (``skip``) or every frame (``draw``), beside PyBoy."""
    sizes = {"ours": 1536, "pyboy": 192}  # frames of a piece of work
    row = {"kind": "env", **_describe(rom, way, {}), "env": None, "backend": "fast"}
    row |= {"num_envs": 1, "num_threads": 1, "method": METHOD_ALONE, "frames_per_step": 1}
    row["ran"] = {
        "timed": f"frames, {WAYS[way]}",
        "adapter": "machine alone",
        "rom": row["rom_sha256"][: ran.DIGITS],
        "backend": row["backend"],
        "num_envs": 1,
        "num_threads": 1,
    }
    with emulators(rom) as players:
        console = players["ours"].console
        works = {
            name: Work(partial(getattr(player, way), sizes[name]), sizes[name])
            for name, player in players.items()
        }
        before = counted(console.row)
        ours, *pyboy = rows(works, repeats, seconds)
        executed = per_frame(before, counted(console.row))
    return _in_frames(row | ours, pyboy[0] if pyboy else None, executed)


def many_rows(
    repeats: int, seconds: float, many: tuple[int, ...] = MANY, few: int = LANES[0]
) -> list[Row]:
    """Measure tens of thousands of lanes of Lantern Walk by the preset ``scale``, beside few."""
    plays = [ready(OURS, n, max(1, 1024 // n), SCALE, stagger=2) for n in (few, *many)]
    before = counted(plays[0].engine.get_states())
    measured = rows(works_of(OURS, "many", plays, SCALE), repeats, seconds)
    executed = per_frame(before, counted(plays[0].engine.get_states()))
    return [
        _in_frames(row, None, executed) | {"bytes_per_env": bytes_of(play.engine)}
        for row, play in zip(measured, plays, strict=True)
    ]


def bytes_of(engine: fastenv.BatchEngine) -> dict[str, int]:
    """Return the bytes of a lane: its row, its observation and that of an episode's end."""
    n = engine.num_envs
    sizes = {"row": engine.spec.state_dtype.itemsize, "obs": engine.obs.nbytes // n}
    return {**sizes, "final_obs": engine.final_obs.nbytes // n}


def reset_rows(repeats: int, seconds: float, lanes: tuple[int, ...] = LANES) -> list[Row]:
    """Measure masked resets of every other lane, with 8 KiB of RAM in the cartridge."""
    works = {}
    with tempfile.TemporaryDirectory() as folder:
        rom = with_ram(Path(folder) / "ram.gb")
        about = _describe(MBC1, "masked reset", STEP) | {"method": METHOD_RESET}
        about |= {"rom": "micro/mbc1 with RAM", "rom_sha256": read_rom(rom).sha256}
        for n in lanes:
            engine = fastenv.make_engine(ENV, n, rom=rom, **STEP)
            engine.reset_many(seeds=0)
            masks = [np.arange(n) % 2 == k for k in (0, 1)] * 8
            row = {"kind": "env", "env": ENV, "num_envs": n, "num_threads": 1, **about}
            row |= {
                "backend": engine.backend,
                "cart_ram_bytes": engine.get_states([0])["cart"].size,
            }
            row["ran"] = ran.describe_engine(engine, "reset_many of every other lane")
            reset = partial(_reset, engine, masks)
            works[f"{n} lanes"] = Work(reset, 8 * n, row=partial(dict, row))
    return rows(works, repeats, seconds)


def with_ram(path: Path) -> Path:
    """Write the ROM ``micro/mbc1`` with a header that says 8 KiB of RAM; return the path."""
    rom = bytearray(Path(rom_options(MBC1)["rom"]).read_bytes())
    rom[0x147], rom[0x149] = 0x03, 2  # MBC1 with RAM and battery; 8 KiB (docs/gameboy.md, 11)
    rom[0x14D] = sum(0xFF - byte for byte in rom[0x134:0x14D]) & 0xFF
    path.write_bytes(rom)
    return path


def _reset(engine: fastenv.BatchEngine, masks: list[np.ndarray]) -> None:
    for mask in masks:
        engine.reset_many(mask)


def single_row(repeats: int, seconds: float) -> Row:
    """Measure steps of one environment through Gymnasium, of one frame of ``halt``.

    A program that waits takes little, so that this is hardly more than what Python takes.
    """
    short = {**ONE_FRAME, **STEP}
    play = ready("halt", 1, 3000, short, single=True)
    work = play.for_row(**_describe("halt", "gymnasium step", short), frames_per_step=1)
    (row,) = rows({"single": work}, repeats, seconds)
    return _in_frames(row)


def thread_rows(repeats: int, seconds: float, lanes: int = LANES[-1]) -> list[Row]:
    """Measure Lantern Walk with one and with two threads, in turns."""
    plays = [ready(OURS, lanes, 1, STEP, num_threads=threads) for threads in (1, 2)]
    works = works_of(OURS, "threads", plays, STEP, "threads")
    return [_in_frames(row) for row in rows(works, repeats, seconds)]


def stock_row(repeats: int, sizes: Mapping[str, Any] = LEARNING) -> Row:
    """Measure stock PPO with its own CNN: as many timed iterations as ``repeats``."""
    from stable_baselines3 import PPO

    from training.bench.stock import time_stock

    engine = fastenv.make_engine(ENV, sizes["num_envs"], num_threads=1, **rom_options(OURS), **SEEN)
    learning = {name: value for name, value in sizes.items() if name != "num_envs"}
    learner = partial(PPO, "CnnPolicy")
    measured = time_stock(learner, "PPO, CnnPolicy", engine, learning, repeats)
    about = {"env": ENV, "num_threads": 1, **_describe(OURS, "stock PPO", SEEN)}
    return {"kind": "training", **about, **sizes, **measured}


def forced_rows(repeats: int, seconds: float, lanes: int = LANES[0]) -> list[Row]:
    """Measure Lantern Walk with a reset in every step, which prices resets beside ``step``."""
    options = {**STEP, "max_steps": 1}
    works = works_of(OURS, "forced resets", [ready(OURS, lanes, 32, options)], options)
    return [_in_frames(row) for row in rows(works, repeats, seconds)]


def growth_row(steps: int = GROWTH_STEPS) -> Row:
    """Measure the growth of memory over so many steps, warmed up, with resets.

    The resident set is looked at without, Python's memory with ``tracemalloc``, in a pass each.
    """
    short = {"frames_per_step": 1, "release_after_frames": 1, "max_steps": 16, **STEP}
    engine = fastenv.make_engine(ENV, 1, **rom_options(OURS), **short)
    engine.reset_many(seeds=0)
    actions = np.random.default_rng(0).integers(0, engine.num_actions, (64, 1), np.int32)

    def play(count: int) -> None:
        for t in range(count):
            engine.step_many(actions[t % 64])

    def grown(measure: Callable[[], float]) -> float:
        play(steps // 10)
        gc.collect()
        before = measure()
        play(steps)
        gc.collect()
        return measure() - before

    resident = grown(rss_mb)
    tracemalloc.start()
    try:
        python = grown(lambda: tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    return {
        "kind": "growth",
        **_describe(OURS, "growth", short),
        "env": ENV,
        "backend": engine.backend,
        "num_envs": 1,
        "num_threads": 1,
        "ran": ran.describe_engine(engine, "growth", steps=steps),
        "steps": steps,
        "python_growth_bytes": int(python),
        "rss_growth_bytes": int(resident * 2**20),
    }


def _describe(rom: str, way: str, options: Row) -> Row:
    return {
        "what": way,
        "tier": rom,
        "rom": rom,
        "rom_sha256": read_rom(rom_options(rom).get("rom", OURS)).sha256,
        "options": options,
    }


def _in_frames(row: Row, pyboy: Row | None = None, executed: float = 0.0) -> Row:
    """Add to a row its speed in frames, and PyBoy's, measured in the same turns."""
    frames = row["frames_per_step"]
    for name, each in {"": row, "pyboy_": pyboy}.items():
        if each is not None:
            every = [speed * frames for speed in each["steps_per_cpu_s_all"]]
            row[f"{name}frames_per_cpu_s"] = each["steps_per_cpu_s"] * frames
            row[f"{name}frames_per_cpu_s_all"] = every
    return row | ({"instructions_per_frame": round(executed)} if executed else {})


# -- targets ---------------------------------------------------------------------------------------


def all_rows(repeats: int, seconds: float, lanes: int | None = None) -> list[Row]:
    """Measure everything the targets need; the numbers of lanes are always the same."""
    measured = []
    for rom, way in ASKED:
        if way == "step":
            measured += step_rows(rom, repeats, seconds, LANES if rom == OURS else LANES[:1])
        else:
            measured.append(alone_row(rom, way, repeats, seconds))
    for measure in (many_rows, reset_rows, forced_rows, thread_rows):
        measured += measure(repeats, seconds)
    return [*measured, single_row(repeats, seconds), growth_row(), stock_row(repeats)]


def judge(measured: list[Row], max_mem_delta: int = MAX_MEM_DELTA) -> list[Row]:
    """Return one row for each target, from the rows of :func:`all_rows`.

    Parameters
    ----------
    measured : list of dict
    max_mem_delta : int
        Bytes by which the resident set may grow.
    """
    by = {what: [row for row in measured if row["what"] == what] for what in _JUDGED}
    judged_rows = [judged for row in measured for judged in _speed_targets(row)]
    few, *more = by["many"]
    for row in more:
        lanes = f"{row['num_envs']:,} lanes over {few['num_envs']}, packed"
        what = f"game boy: {lanes}, {sum(row['bytes_per_env'].values()):,} bytes a lane"
        judged_rows.append(ratio(what, MANY_OVER_64, row, few))
    for row in by["masked reset"]:
        name = f"game boy: masked reset, {row['cart_ram_bytes']:,} bytes of cartridge RAM"
        judged_rows.append(time_of_step(f"{name}, n={row['num_envs']:,}, us a lane", RESET_US, row))
    what = "game boy: one env through Gymnasium, one frame of halt, us a step"
    judged_rows.append(time_of_step(what, PYTHON_US, by["gymnasium step"][0]))
    one, two = by["threads"]
    what = f"game boy: 2 threads over 1, n={one['num_envs']:,}, wall"
    judged_rows.append(ratio(what, TWO_THREADS, two, one, "steps_per_s"))
    growth, stock = by["growth"][0], by["stock PPO"][0]
    name = f"game boy: growth over {growth['steps']:,} steps, bytes of"
    for memory, limit in (("python", 0), ("rss", max_mem_delta)):
        grown = growth[f"{memory}_growth_bytes"]
        judged_rows.append(target(f"{name} {memory}", limit, grown, most=True))
    what = f"game boy: stock PPO, CnnPolicy, {stock['num_envs']} lanes: env share of wall time"
    return [*judged_rows, env_share(what, ENV_SHARE, stock)]


_JUDGED = ("many", "masked reset", "gymnasium step", "threads", "growth", "stock PPO")


def _speed_targets(row: Row) -> list[Row]:
    """Return the targets of frames a CPU second, and of times PyBoy, that a row has."""
    speed, times = ASKED.get((row["rom"], row["what"]), (None, None))
    if speed is None and times is None:
        return []
    way = WAYS.get(row["what"], f"step, n={row['num_envs']:,}")
    name = f"game boy: {row['rom']}, {row['instructions_per_frame']:,} instructions a frame, {way}"
    targets = []
    if speed is not None:
        every = row["frames_per_cpu_s_all"]
        targets.append(
            target(
                f"{name}: frames a CPU second",
                *(speed, row["frames_per_cpu_s"]),
                every=every,
                noisy=row["noisy"],
            )
        )
    if times is not None and "pyboy_frames_per_cpu_s" in row:
        targets.append(
            ratio(
                f"{name}: times PyBoy",
                times,
                row,
                {**row, "frames_per_cpu_s_all": row["pyboy_frames_per_cpu_s_all"]},
                "frames_per_cpu_s",
            )
        )
    elif times is not None:
        targets.append(unmeasured(f"{name}: times PyBoy", times, NO_PYBOY))
    return targets


# -- what other suites measure ---------------------------------------------------------------------


def frames_of(ready: Ready, samples: Sequence[Sample]) -> dict[str, Any]:
    """Compute the field ``frames`` of an entry of the profiler."""
    frames = figures(ready.engine, ready.plan.seed)
    each = frames["frames_per_step"]
    a_second = spread([s.per_s * each for s in samples])
    frames |= {
        "frames_per_s": a_second,
        "frames_per_cpu_s": spread([s.per_cpu_s * each for s in samples]),
        "realtime_factor": a_second["median"] / FRAMES_A_SECOND,
    }
    return {"frames": frames}


def flag_options(env: str, folder: Path) -> dict[str, Any]:
    """Return the options with which flags are measured: steps of one frame.

    Parameters
    ----------
    env : str
    folder : Path
        Takes the template of a goal, which says how long steps are.
    """
    if env != "GameBoyGoal-v0":
        return ONE_FRAME
    template = folder / GOAL
    save_goal(template, replace(load_goal(GOALS[0]), **ONE_FRAME))
    return ONE_FRAME | {"goal": str(template)}


GAME = GameBenchmark(
    name="gameboy",
    title="Game Boy",
    envs=("GameBoy", "LanternWalk"),
    throughput=Throughput(all_rows, judge, "as named", alone=True),
    config_env=ENV,
    small={"n_envs": 2, "n_steps": 2, "batch": 4},
    pieces={"GameBoy": 1, "Lantern": 1},
    emulated=True,
    flag_options=flag_options,
    more=frames_of,
    forced_resets={"max_steps": 1},
    replay_settings=REPLAY,
    pixels=PIXELS,
)

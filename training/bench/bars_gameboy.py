"""The bars of the Game Boy: one core, steps of 24 frames, beside PyBoy in turns where it is there.

How fast frames are depends on the program above all, so every row names the ROM and how many
instructions it executes in a frame. Speeds are judged by CPU time: neighbours on the machine cost
wall time, and what slows one emulator slows the other in its turn.
"""

from __future__ import annotations

import gc
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3 import PPO

import fastenv
from fastenv.gameboy.common import read_rom
from fastenv.gameboy.config import OURS
from training.bench import ran
from training.bench.gameboy import counted, per_frame
from training.bench.play import METHOD_ON, METHOD_SINGLE, Playback, single_env_work
from training.bench.stopwatch import stock_ran, time_stock
from training.bench.timing import Work, interleaved, rss_mb, summary
from training.bench.verdicts import bar, ratio_bar, unmeasured_bar
from training.sb3.vec import TimedVecEnv

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
    ("poll", "step"): (None, None),
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

Row = dict[str, Any]


def rom_options(rom: str) -> dict[str, Any]:
    """Return where a ROM of ours is, and that episodes of Lantern Walk start all over its maps."""
    if rom == OURS:
        return {"states": OURS, "start_state": None}
    return {"rom": str(resources.files("fastenv.gameboy") / "roms" / f"{rom}.gb")}


@contextmanager
def emulators(rom: str) -> Iterator[dict[str, Any]]:
    """Give our machine and, if it is there, PyBoy with the same ROM, both past its title."""
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


def in_frames(found: Mapping[str, Any], frames: int) -> Row:
    """Return the speed of a row in frames."""
    every = [speed * frames for speed in found["steps_per_cpu_s_all"]]
    return {"frames_per_cpu_s": found["steps_per_cpu_s"] * frames, "frames_per_cpu_s_all": every}


# -- rows ------------------------------------------------------------------------------------------


def step_rows(rom: str, repeats: int, seconds: float, lanes: tuple[int, ...] = LANES) -> list[Row]:
    """Return steps of environments with one ROM, beside PyBoy's in turns.

    Parameters
    ----------
    rom : str
    repeats : int
    seconds : float
        Timed work of a repeat.
    lanes : tuple of int
    """
    options = {**rom_options(rom), **STEP}
    plays = {
        n: Playback(ENV, n, max(1, 512 // n), options, workload="uniform", stagger=STAGGER)
        for n in lanes
    }
    works = {str(n): play.work() for n, play in plays.items()}
    before = {n: counted(play.engine.get_states()) for n, play in plays.items()}
    with emulators(rom) as players:
        if "pyboy" in players:
            works["pyboy"] = Work(partial(players["pyboy"].step, 16 * FRAMES), 16)
        samples = interleaved(works, repeats, seconds)
    found = {name: summary(each) for name, each in samples.items()}
    rows = []
    for n, play in plays.items():
        executed = per_frame(before[n], counted(play.engine.get_states()))
        rows.append(_row(rom, "step", play.engine, found[str(n)], FRAMES, executed, STEP))
        rows[-1]["ran"] = play.ran()
        _beside(rows[-1], found.get("pyboy"))
    return rows


def alone_row(rom: str, way: str, repeats: int, seconds: float) -> Row:
    """Return one machine that draws nothing (``skip``) or every frame (``draw``), beside PyBoy."""
    sizes = {"ours": 1536, "pyboy": 192}  # frames of a piece of work
    with emulators(rom) as players:
        console = players["ours"].console
        works = {
            name: Work(partial(getattr(player, way), sizes[name]), sizes[name])
            for name, player in players.items()
        }
        before = counted(console.row)
        samples = interleaved(works, repeats, seconds)
        executed = per_frame(before, counted(console.row))
    found = {name: summary(each) for name, each in samples.items()}
    row = _row(rom, way, None, found["ours"], 1, executed, {})
    row["ran"] = {
        "timed": f"frames, {WAYS[way]}",
        "adapter": "machine alone",
        "rom": row["rom_sha256"][: ran.DIGITS],
        "backend": row["backend"],
        "num_envs": 1,
        "num_threads": 1,
    }
    _beside(row, found.get("pyboy"))
    return row


def many_rows(
    repeats: int, seconds: float, many: tuple[int, ...] = MANY, few: int = LANES[0]
) -> list[Row]:
    """Return tens of thousands of lanes of Lantern Walk by the preset ``scale``, beside few."""
    options = {**rom_options(OURS), **SCALE}
    plays = {
        n: Playback(ENV, n, max(1, 1024 // n), options, workload="uniform", stagger=2)
        for n in (few, *many)
    }
    before = counted(plays[few].engine.get_states())
    found = interleaved({str(n): play.work() for n, play in plays.items()}, repeats, seconds)
    executed = per_frame(before, counted(plays[few].engine.get_states()))
    rows = []
    for n, play in plays.items():
        rows.append(
            _row(OURS, "many", play.engine, summary(found[str(n)]), FRAMES, executed, SCALE)
        )
        rows[-1]["ran"] = play.ran()
        rows[-1]["bytes_per_env"] = bytes_of(play.engine)
    return rows


def bytes_of(engine: fastenv.BatchEngine) -> dict[str, int]:
    """Return the bytes of a lane: its row, its observation and that of an episode's end."""
    n = engine.num_envs
    found = {"row": engine.spec.state_dtype.itemsize, "obs": engine.obs.nbytes // n}
    return {**found, "final_obs": engine.final_obs.nbytes // n}


def reset_rows(repeats: int, seconds: float, lanes: tuple[int, ...] = LANES) -> list[Row]:
    """Return masked resets of every other lane, with 8 KiB of RAM in the cartridge."""
    works, engines = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        rom = with_ram(Path(folder) / "ram.gb")
        sha256 = read_rom(rom).sha256
        for n in lanes:
            engine = engines[n] = fastenv.make_engine(ENV, n, rom=rom, **STEP)
            engine.reset_many(seeds=0)
            masks = [np.arange(n) % 2 == k for k in (0, 1)]
            works[str(n)] = Work(partial(_reset, engine, masks * 8), 8 * n)
    found = interleaved(works, repeats, seconds)
    about: Row = {"rom": "micro/mbc1 with RAM", "rom_sha256": sha256, "method": METHOD_RESET}
    about |= {"cart_ram_bytes": engines[lanes[0]].get_states([0])["cart"].size}
    return [
        _row(MBC1, "masked reset", engine, summary(found[str(n)]), 0, 0.0, STEP)
        | about
        | {"ran": ran.of_engine(engine, "reset_many of every other lane")}
        for n, engine in engines.items()
    ]


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
    """Return steps of one environment through Gymnasium, of one frame of ``halt``.

    A program that waits takes little, so that this is hardly more than what Python takes.
    """
    short = {"frames_per_step": 1, "release_after_frames": 1, **STEP}
    options = {**rom_options("halt"), **short}
    work, about = single_env_work(ENV, "auto", 3000, options, workload="uniform")
    (samples,) = interleaved({"single": work}, repeats, seconds).values()
    row = _row("halt", "gymnasium step", about["engine"], summary(samples), 1, 0.0, short)
    return row | {"method": METHOD_SINGLE, "ran": about["ran"]}


def thread_rows(repeats: int, seconds: float, lanes: int = LANES[-1]) -> list[Row]:
    """Return Lantern Walk with one and with two threads, in turns."""
    options = {**rom_options(OURS), **STEP}
    plays = {
        threads: Playback(
            ENV, lanes, 1, options, workload="uniform", stagger=STAGGER, num_threads=threads
        )
        for threads in (1, 2)
    }
    works = {str(threads): play.work() for threads, play in plays.items()}
    found = interleaved(works, repeats, seconds)
    return [
        _row(OURS, "threads", play.engine, summary(found[str(threads)], threads), FRAMES, 0, STEP)
        | {"num_threads": threads, "ran": play.ran(beside="threads")}
        for threads, play in plays.items()
    ]


def stock_row(repeats: int, sizes: Mapping[str, Any] = LEARNING) -> Row:
    """Return stock PPO with its own CNN: as many timed iterations as ``repeats``."""
    learning = {name: value for name, value in sizes.items() if name != "num_envs"}
    engine = fastenv.make_engine(ENV, sizes["num_envs"], num_threads=1, **rom_options(OURS), **SEEN)

    def learner(vec: TimedVecEnv) -> PPO:
        return PPO("CnnPolicy", vec, device="cpu", seed=0, **learning)

    found = time_stock(learner, engine, repeats)
    about = _about(OURS, "stock PPO", engine, SEEN)
    about["ran"] = stock_ran(engine, learning, "PPO, CnnPolicy")
    share = float(np.median(found["share_env_all"]))
    return {"kind": "training", **about, **sizes, **found, "share_env": share}


def forced_rows(repeats: int, seconds: float, lanes: int = LANES[0]) -> list[Row]:
    """Return Lantern Walk with a reset in every step, which prices resets beside ``step``."""
    options = {**STEP, "max_steps": 1}
    given = {**rom_options(OURS), **options}
    play = Playback(ENV, lanes, 32, given, workload="uniform", stagger=STAGGER)
    found = interleaved({"forced": play.work()}, repeats, seconds)
    row = _row(OURS, "forced resets", play.engine, summary(found["forced"]), FRAMES, 0, options)
    return [row | {"ran": play.ran()}]


def growth_row(steps: int = GROWTH_STEPS) -> Row:
    """Return what memory grows by over so many steps, warmed up, with resets.

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
        **_about(OURS, "growth", engine, short),
        "ran": ran.of_engine(engine, "growth", steps=steps),
        "steps": steps,
        "python_growth_bytes": int(python),
        "rss_growth_bytes": int(resident * 2**20),
    }


def _about(rom: str, way: str, engine: fastenv.BatchEngine | None, options: Row) -> Row:
    return {
        "what": way,
        "tier": rom,
        "rom": rom,
        "rom_sha256": read_rom(rom_options(rom).get("rom", OURS)).sha256,
        "env": ENV if engine else None,
        "backend": engine.backend if engine else "fast",
        "num_envs": engine.num_envs if engine else 1,
        "num_threads": 1,
        "options": options,
    }


def _row(
    rom: str,
    way: str,
    engine: fastenv.BatchEngine | None,
    found: Row,
    frames: int,
    executed: float,
    options: Row,
) -> Row:
    row = {"kind": "env", **_about(rom, way, engine, options), **found}
    row["method"] = METHOD_ON if engine else METHOD_ALONE
    if frames:
        row |= {"frames_per_step": frames, **in_frames(found, frames)}
    if executed:
        row["instructions_per_frame"] = round(executed)
    return row


def _beside(row: Row, pyboy: Mapping[str, Any] | None) -> None:
    """Write the speed of PyBoy, taken in the same turns, into a row."""
    if pyboy is not None:
        theirs = in_frames(pyboy, row["frames_per_step"])
        row["pyboy_frames_per_cpu_s"] = theirs["frames_per_cpu_s"]
        row["pyboy_frames_per_cpu_s_all"] = theirs["frames_per_cpu_s_all"]


# -- bars ------------------------------------------------------------------------------------------


def all_rows(repeats: int, seconds: float) -> list[Row]:
    """Measure everything the bars need."""
    rows = []
    for rom, way in ASKED:
        if way == "step":
            lanes = LANES if rom == OURS else LANES[:1]
            rows += step_rows(rom, repeats, seconds, lanes)
        else:
            rows.append(alone_row(rom, way, repeats, seconds))
    for measured in (many_rows, reset_rows, forced_rows):
        rows += measured(repeats, seconds)
    rows += thread_rows(repeats, seconds)
    return [*rows, single_row(repeats, seconds), growth_row(), stock_row(repeats)]


def bars(rows: list[Row], max_mem_delta: int = MAX_MEM_DELTA) -> list[Row]:
    """Return one row for each bar, from the rows of :func:`all_rows`.

    Parameters
    ----------
    rows : list of dict
    max_mem_delta : int
        Bytes by which the resident set may grow.
    """
    found: list[Row] = []
    for row in rows:
        found += _speed_bars(row)
    few, *more = (row for row in rows if row["what"] == "many")
    for row in more:
        lanes = f"{row['num_envs']:,} lanes over {few['num_envs']}, packed"
        what = f"game boy: {lanes}, {sum(row['bytes_per_env'].values()):,} bytes a lane"
        found.append(ratio_bar(what, MANY_OVER_64, row, few, "steps_per_cpu_s"))
    for row in (row for row in rows if row["what"] == "masked reset"):
        name = f"game boy: masked reset, {row['cart_ram_bytes']:,} bytes of cartridge RAM"
        us = [1e6 / speed for speed in row["steps_per_cpu_s_all"]]
        found.append(_least(f"{name}, n={row['num_envs']:,}, us a lane", RESET_US, us, row))
    single = next(row for row in rows if row["what"] == "gymnasium step")
    us = [1e6 / speed for speed in single["steps_per_cpu_s_all"]]
    what = "game boy: one env through Gymnasium, one frame of halt, us a step"
    found.append(_least(what, PYTHON_US, us, single))
    one, two = (row for row in rows if row["what"] == "threads")
    what = f"game boy: 2 threads over 1, n={one['num_envs']:,}, wall"
    found.append(ratio_bar(what, TWO_THREADS, two, one, "steps_per_s"))
    growth = next(row for row in rows if row["kind"] == "growth")
    name = f"game boy: growth over {growth['steps']:,} steps, bytes of"
    for memory, limit in (("python", 0), ("rss", max_mem_delta)):
        measured = growth[f"{memory}_growth_bytes"]
        found.append(bar(f"{name} {memory}", limit, measured, most=True))
    stock = next(row for row in rows if row["what"] == "stock PPO")
    what = f"game boy: stock PPO, CnnPolicy, {stock['num_envs']} lanes: env share of wall time"
    found.append(_least(what, ENV_SHARE, stock["share_env_all"], stock))
    return found


def _least(what: str, asked: float, every: list[float], row: Row) -> Row:
    middle = float(np.median(every))
    return bar(what, asked, middle, most=True, every=every, noisy=row["noisy"])


def _speed_bars(row: Row) -> list[Row]:
    """Return the bars of frames a CPU second, and of times PyBoy, that are asked of a row."""
    speed, times = ASKED.get((row["rom"], row["what"]), (None, None))
    if speed is None and times is None:
        return []
    way = WAYS.get(row["what"], f"step, n={row['num_envs']:,}")
    name = f"game boy: {row['rom']}, {row['instructions_per_frame']:,} instructions a frame, {way}"
    found = []
    if speed is not None:
        every = row["frames_per_cpu_s_all"]
        found.append(
            bar(
                f"{name}: frames a CPU second",
                *(speed, row["frames_per_cpu_s"]),
                every=every,
                noisy=row["noisy"],
            )
        )
    if times is not None and "pyboy_frames_per_cpu_s" in row:
        found.append(
            ratio_bar(
                f"{name}: times PyBoy",
                times,
                row,
                {**row, "frames_per_cpu_s_all": row["pyboy_frames_per_cpu_s_all"]},
                "frames_per_cpu_s",
            )
        )
    elif times is not None:
        found.append(unmeasured_bar(f"{name}: times PyBoy", times, NO_PYBOY))
    return found

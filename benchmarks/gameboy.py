"""Benchmarks of the Game Boy: one core, steps of 24 frames, in turns with PyBoy if installed.

How fast frames are depends on the program above all, so every row names the ROM and how many
instructions it executes in a frame. Speeds are judged by CPU time: neighbours on the machine cost
wall time, and what slows one emulator slows the other in its turn.
"""

from __future__ import annotations

import gc
import statistics
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3 import PPO

import fastenv
from benchmarks import gameboy_costs
from fastenv.gameboy.common import read_rom
from fastenv.gameboy.config import OURS
from training.bench import ran
from training.bench.env_modes import EnvPlan, Playback, prepare
from training.bench.stock import time_stock
from training.bench.targets import Row
from training.bench.timing import Work, rows, rss_mb
from training.games.gameboy.frames import counted, per_frame

ENV = "GameBoyPixels-v0"
FRAMES = 24  # of a step
STEP: dict[str, Any] = {"stack_k": 1}
SCALE: dict[str, Any] = {"preset": "scale"}
LANES = (64, 1024)
MANY = (8192, 16_384)
STAGGER = 8  # steps in which each lane is reset once
MBC1 = "micro/mbc1"
# ROM and way, each beside PyBoy; LANES is for the first, the others play on fewer.
MEASURED = (
    *((OURS, "step"), ("busy", "step"), ("heavy", "step"), ("poll", "step"), ("split", "step")),
    *(("delay", "step"), ("busy", "skip"), ("poll", "skip"), (OURS, "draw")),
)
# Of stock PPO, whose CnnPolicy is the network of Nature's DQN, on four gray frames.
LEARNING: dict[str, Any] = {"num_envs": 64, "n_steps": 32, "batch_size": 256, "n_epochs": 4}
SEEN: dict[str, Any] = {"pixels": "84x84", "pixel_mode": "gray", "stack_k": 4, "sticky": 0.25}
GROWTH_STEPS = 100_000
METHOD_ALONE = "one machine without an environment; keys and frames are those of PyBoy"
METHOD_RESET = "reset_many with masks of every other lane, in turns; a step is a lane's reset"
WAYS = {"skip": "nothing drawn", "draw": "every frame drawn"}
ONE_FRAME: dict[str, Any] = {"frames_per_step": 1, "release_after_frames": 1}


def rom_options(rom: str) -> dict[str, Any]:
    """Return options with a ROM of ours; episodes of Lantern Walk start all over its maps."""
    if rom == OURS:
        return {"states": OURS, "start_state": None}
    return {"rom": str(resources.files("fastenv.gameboy") / "roms" / f"{rom}.gb")}


@contextmanager
def emulators(rom: str) -> Iterator[dict[str, Any]]:
    """Start our machine and, if it is installed, PyBoy with the same ROM, both past its title."""
    from tools.gameboy import bench  # needs the compiled core

    with bench.players_of(read_rom(rom_options(rom).get("rom", OURS))) as players:
        yield players


# -- rows ------------------------------------------------------------------------------------------


def ready(
    rom: str, lanes: int, batches: int, options: Mapping[str, Any], **changes: Any
) -> Playback:
    """Prepare steps with random buttons in environments with one ROM."""
    sizes = {"stagger": STAGGER, "workload": "uniform", "batches": batches, **changes}
    return prepare(EnvPlan(ENV, {**rom_options(rom), **options}, num_envs=lanes, **sizes))


def works_of(
    rom: str, way: str, plays: Sequence[Playback], options: Row, beside: str | None = None
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
    from tools.gameboy import bench  # needs the compiled core

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
        works = bench.works_of(players, way)
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
    names, sizes = ["few", *["many"] * len(many)], [bytes_of(play.engine) for play in plays]
    return [
        _in_frames(row, None, executed)
        | {"name": name, "bytes_per_env": each, "lane_bytes": sum(each.values())}
        for row, name, each in zip(measured, names, sizes, strict=True)
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
    if pyboy is not None:
        speeds = row["frames_per_cpu_s_all"], row["pyboy_frames_per_cpu_s_all"]
        row["times_pyboy_all"] = [a / b for a, b in zip(*speeds, strict=True)]
        row["times_pyboy"] = statistics.median(row["times_pyboy_all"])
    if executed:
        row["instructions_per_frame"] = round(executed)
        way = WAYS.get(row["what"], f"step, n={row['num_envs']:,}")
        about = f"{row['instructions_per_frame']:,} instructions a frame"
        row["title"] = f"game boy: {row['rom']}, {about}, {way}"
    return row


def all_rows(repeats: int, seconds: float, lanes: int | None = None) -> list[Row]:
    """Measure everything the targets need; the numbers of lanes are always the same."""
    measured = []
    for rom, way in MEASURED:
        if way == "step":
            measured += step_rows(rom, repeats, seconds, LANES if rom == OURS else LANES[:1])
        else:
            measured.append(alone_row(rom, way, repeats, seconds))
    for measure in (many_rows, reset_rows, forced_rows, thread_rows):
        measured += measure(repeats, seconds)
    measured += [single_row(repeats, seconds), growth_row(), stock_row(repeats)]
    return [*measured, *gameboy_costs.all_rows(repeats, seconds)]

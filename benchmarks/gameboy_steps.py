"""Measure steps of the Game Boy's environments: ``python -m benchmarks.gameboy_steps``.

It prints exactly one JSON object: the ROM, the machine, every option, environment steps and frames
a second of wall and of CPU time (medians of three windows), instructions of a frame, growth of
memory, and resets. Actions are drawn before the clock starts. ``--force-resets`` ends every episode
with its first step; beside a run without it, it prices a reset.

Exit status: 0; 1, and ``"error"`` in the object, if memory grew by more than ``--max-mem-delta`` or
frames were slower than ``--fps-floor``; 2 if something was asked for that is not possible.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import fastenv
from fastenv.errors import FastEnvError
from fastenv.gameboy.common import read_rom
from fastenv.gameboy.config import OURS
from fastenv.gameboy.frames import FORMATS
from training.bench.timing import rss_mb
from training.games.gameboy.frames import FRAMES_A_SECOND, figures
from training.run import machine

SCHEMA_VERSION = 1
WINDOWS = 3
DRAWN = 64  # batches of actions that are drawn, and taken in turns
TRACED_STEPS = 20  # of the pass in which Python's allocations are looked at
INFO_MODES = ("full", "stats", "none")


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = argparse.ArgumentParser(
        prog="python -m benchmarks.gameboy_steps",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parse.add_argument("--rom", default=OURS, help="a ROM file; default Lantern Walk")
    parse.add_argument("--state", help="save state, bank, or name of a bank; default power-up")
    parse.add_argument("--goal-dir", help="folder of a goal template: steps of GameBoyGoal-v0")
    for name, value in (
        *(("num-envs", 8192), ("frames-per-step", 24), ("release-after-frames", 8)),
        *(("stack-k", 1), ("max-steps", 128), ("warmup-steps", 50), ("bench-steps", 500)),
        *(("seed", 1234), ("threads", 1)),
    ):
        parse.add_argument(f"--{name}", type=int, default=value, help=f"default {value}")
    parse.add_argument("--pixels", choices=FORMATS, default="72x80")
    parse.add_argument("--info-mode", choices=INFO_MODES, default="stats")
    parse.add_argument("--force-resets", action="store_true", help="episodes of one step")
    parse.add_argument("--max-mem-delta", type=int, metavar="BYTES", help="of growth, at most")
    parse.add_argument("--fps-floor", type=float, metavar="X", help="frames a CPU second, at least")
    parse.add_argument("--json-out", type=Path, metavar="FILE", help="where to write it as well")
    return parse


def make(args: argparse.Namespace) -> fastenv.FastVectorEnv:
    """Return the environments that a command line names.

    Raises
    ------
    FastEnvError
    """
    options = {name: getattr(args, name) for name in ("rom", "frames_per_step", "stack_k")}
    options |= {"release_after_frames": args.release_after_frames, "pixels": args.pixels}
    options["max_steps"] = 1 if args.force_resets else args.max_steps
    if args.state is not None:
        options |= {"states": args.state, "start_state": None}
    env_id = "GameBoyPixels-v0"
    if args.goal_dir is not None:
        env_id, options["goal"] = "GameBoyGoal-v0", args.goal_dir
    vec = fastenv.make_vec(
        env_id,
        args.num_envs,
        autoreset_mode="same_step",
        num_threads=args.threads,
        info_mode=args.info_mode,
        copy=False,
        **options,
    )
    vec.reset(seed=args.seed)
    return vec


class Player:
    """Takes steps with actions that were drawn before, and counts the episodes that ended.

    Parameters
    ----------
    vec : FastVectorEnv
    seed : int
    """

    def __init__(self, vec: fastenv.FastVectorEnv, seed: int) -> None:
        self.vec, self.resets, self._taken = vec, 0, 0
        self._ended = np.zeros(vec.num_envs, bool)
        shape, rng = (DRAWN, vec.num_envs), np.random.default_rng(seed)
        self._actions = rng.integers(0, vec.engine.num_actions, shape, np.int32)

    def play(self, steps: int) -> None:
        """Take steps in all lanes."""
        for _ in range(steps):
            actions = self._actions[self._taken % DRAWN]
            _, _, terminated, truncated, _ = self.vec.step(actions)
            np.logical_or(terminated, truncated, out=self._ended)
            self.resets += int(np.count_nonzero(self._ended))
            self._taken += 1


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Return the object that is printed.

    Raises
    ------
    FastEnvError
    """
    vec = make(args)
    executed = figures(vec.engine, args.seed)["instructions_per_frame"]
    vec.reset(seed=args.seed)
    player = Player(vec, args.seed)
    player.play(args.warmup_steps)
    gc.collect()
    before, ended = rss_mb() * 2**20, player.resets
    each = max(1, args.bench_steps // WINDOWS)
    windows = [_window(player.play, each) for _ in range(WINDOWS)]
    gc.collect()
    after, resets = rss_mb() * 2**20, player.resets - ended
    tracemalloc.start()
    player.play(TRACED_STEPS)
    traced = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    wall, cpu = (statistics.median(times) / each for times in zip(*windows, strict=True))
    cartridge = read_rom(args.rom)
    frames = args.num_envs * args.frames_per_step
    found = {
        "schema_version": SCHEMA_VERSION,
        "rom": {"title": cartridge.title, "sha256": cartridge.sha256},
        "host": {**machine.host(), **machine.versions(), **machine.revision()},
        "load": machine.load(),
        "options": {name: str(v) if isinstance(v, Path) else v for name, v in vars(args).items()},
        "backend": vec.backend,
        "env_steps_per_sec": args.num_envs / wall,
        "env_steps_per_cpu_sec": args.num_envs / cpu,
        "frames_per_sec": frames / wall,
        "frames_per_cpu_sec": frames / cpu,
        "ms_per_step": wall * 1e3,
        "cpu_ms_per_step": cpu * 1e3,
        "instructions_per_frame": executed,
        "realtime_factor": frames / wall / FRAMES_A_SECOND,
        "mem_before": int(before),
        "mem_after": int(after),
        "mem_delta": int(after - before),
        "python_peak": traced,
        "resets": resets,
    }
    vec.close()
    return found | _verdict(args, found)


def _window(play: Callable[[int], None], steps: int) -> tuple[float, float]:
    """Return the wall and the CPU seconds of some steps."""
    wall, cpu = time.perf_counter(), time.process_time()
    play(steps)
    return time.perf_counter() - wall, time.process_time() - cpu


def _verdict(args: argparse.Namespace, found: dict[str, Any]) -> dict[str, str]:
    wrong = []
    if args.max_mem_delta is not None and found["mem_delta"] > args.max_mem_delta:
        wrong.append(f"memory grew by {found['mem_delta']:,} bytes")
    if args.fps_floor is not None and found["frames_per_cpu_sec"] < args.fps_floor:
        wrong.append(f"{found['frames_per_cpu_sec']:,.0f} frames a CPU second")
    return {"error": "; ".join(wrong)} if wrong else {}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parse = parser()
    args = parse.parse_args(argv)
    for name in ("bench_steps", "warmup_steps"):
        if getattr(args, name) < 1:
            parse.error(f"--{name.replace('_', '-')} {getattr(args, name)}: must be at least 1")
    try:
        found = measure(args)
        text = json.dumps(found)
        if args.json_out is not None:
            args.json_out.write_text(text + "\n", encoding="utf-8")
    except (OSError, ValueError, FastEnvError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(text)
    return 1 if "error" in found else 0


if __name__ == "__main__":
    sys.exit(main())

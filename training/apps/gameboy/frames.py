"""Frames and instructions of a Game Boy's program, which decide how fast its steps are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import fastenv
from fastenv.gameboy import GameBoyGame
from fastenv.gameboy.tables import CLOCK, FRAME
from training.bench.env_modes import Playback
from training.bench.timing import Sample, spread

FRAMES_A_SECOND = CLOCK / FRAME  # of the console
COUNTED, COUNTED_STEPS = 64, 16  # lanes and steps whose instructions are counted


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


def frames_of(ready: Playback, samples: Sequence[Sample]) -> dict[str, Any]:
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

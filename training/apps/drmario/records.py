"""The store of best times of a training: new clears and floors (docs/howto/train_drmario.md)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fastenv import BatchEngine
from fastenv.drmario.tables import FEWEST_VIRUSES_LEVEL, Reason
from training.apps.drmario.best_times import KEEP, BestTimes, Clear, Game, check_options
from training.callbacks.best_times import Records
from training.callbacks.trackers.base import ended_lanes
from training.run.callback import EngineStep, Progress
from training.run.checkpoint import State
from training.run.config import RunConfig
from training.run.engine import Engine
from training.run.envs import with_defaults

FLOOR = 0.1  # quantile of the best times of a level's games: the minimum is luck
COLUMNS = ("level", "speed", "seed", "frames", "spawns", "trace")  # of a clear in a checkpoint


class RecordsOfRun(Records):
    """Collects the actions in each lane; those of an episode that clears its bottle are a clear.

    Parameters
    ----------
    path : Path
        Of the store, which is closed with the run.
    config : RunConfig
    engines : sequence of Engine
        Those that are trained on.
    run : str
        Its name, which clears are kept with.

    Raises
    ------
    ConfigError
        For options of the environment with which no clear could be played again.
    RecordError
        If the file is something else.
    """

    def __init__(
        self, path: Path, config: RunConfig, engines: Sequence[Engine], run: str = ""
    ) -> None:
        check_options(with_defaults(config.env, config.env_options), "best_times")
        self._store, self._run, self._engines = BestTimes(path), run, list(engines)
        self._actions: list[list[list[int]]] = [[[] for _ in range(e.num_envs)] for e in engines]
        self._noted: dict[Game, list[Clear]] = {}  # not in the file: that has what checkpoints have
        self._saving: list[Clear] = []
        self._new = 0

    def step(self, loop: Progress, step: EngineStep) -> None:
        """Add the actions of a step, and note the episodes that it ended."""
        engine = step.engine
        assert isinstance(engine, BatchEngine)
        taken = self._actions[[each is engine for each in self._engines].index(True)]
        if step.actions is None:
            for lane in taken:
                lane.clear()
            return
        for lane, action in zip(taken, step.actions.tolist(), strict=True):
            lane.append(action)
        for k in ended_lanes(engine).tolist():
            self._note_episode(engine, k, taken[k])
            taken[k].clear()

    def _note_episode(self, engine: BatchEngine, lane: int, actions: Sequence[int]) -> None:
        """Note an episode that has just ended in a lane, if its bottle is empty."""
        info = engine.final_info
        level = int(info["level"][lane])
        if info["reason"][lane] != Reason.CLEAR or FEWEST_VIRUSES_LEVEL <= level < 0:
            return
        (speed,) = engine.get_knob("speed", [lane])
        names = ("game_seed", "spawns")
        seed, spawns = (int(info[name][lane]) for name in names)
        frames = int(engine.ep_frames[lane])
        self._note(Clear(level, speed, seed, frames, spawns, tuple(actions)))

    def _note(self, clear: Clear) -> None:
        """Note a clear if it is among the fastest of its game."""
        game = clear.level, clear.speed, clear.seed
        own = self._noted.get(game, [])
        known = {*own, *self._store.top(clear.level, clear.speed, KEEP, seed=clear.seed)}
        fastest = sorted({clear, *known}, key=lambda each: (each.frames, each.spawns, each.trace))
        kept = set(fastest[:KEEP])
        self._noted[game] = [each for each in dict.fromkeys([*own, clear]) if each in kept]
        self._new += clear in kept - known

    def record(self) -> dict[str, Any]:
        """Return the number of new clears until now."""
        return {"best_times": {"new": self._new}}

    def state(self) -> dict[str, Any]:
        """Return the actions of running episodes, and the clears that are in no file yet."""
        self._saving = [clear for own in self._noted.values() for clear in own]
        clears = [[getattr(clear, name) for name in COLUMNS] for clear in self._saving]
        return {"best_times": {"actions": self._actions, "new": self._new, "noted": clears}}

    def saved(self) -> None:
        """Play the clears of the checkpoint again, and write them to the file."""
        self._store.add(self._saving, self._run)
        saved, self._saving = set(self._saving), []
        for game, own in self._noted.items():
            self._noted[game] = [each for each in own if each not in saved]

    def restore(self, saved: State) -> None:
        """Restore from a checkpoint; play its clears again, and write them to the file."""
        state = saved.values["best_times"]
        self._actions = [[list(lane) for lane in noted] for noted in state["actions"]]
        self._new = int(state["new"])
        noted = state.get("noted", [])  # checkpoints of earlier versions lack it
        clears = (dict(zip(COLUMNS, values, strict=True)) for values in noted)
        known = [Clear(**{**clear, "trace": tuple(clear["trace"])}) for clear in clears]
        if known:
            self._store.add(known, self._run)

    def floor(self, engine: BatchEngine, budget: str) -> float | None:
        """Return the lowest tenth of the best of the level's games, in frames or spawns."""
        (level,), (speed,) = (engine.get_knob(name, [0]) for name in ("level", "speed"))
        best = self._store.list_best(level, speed, budget)
        for (own_level, own_speed, seed), own in self._noted.items():
            if own and (own_level, own_speed) == (level, speed):
                least: int = min(getattr(clear, budget) for clear in own)
                best[seed] = min(least, best.get(seed, least))
        return float(np.quantile([*best.values()], FLOOR)) if best else None

    def close(self) -> None:
        """Close the file."""
        self._store.close()

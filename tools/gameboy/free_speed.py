"""How fast free games run: steps of the environment, and the same steps in PyBoy, in turns.

Both play the same piece of each game in every turn: they return to where they were after the same
warm-up. Lanes of the environment press the same buttons at different times, so that they do not do
the same; PyBoy plays another lane in each turn.
"""

from __future__ import annotations

import gc
import io
import statistics
import warnings
from collections.abc import Iterable, Sequence
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import fastenv
from fastenv.errors import ConfigError
from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.tables import FRAME, Key
from tools.gameboy.bench import HELD, STEP, WARM_UP
from tools.gameboy.compare import PyBoyTwin
from tools.gameboy.free_games import TIMED, Game, cartridge_of, manifest, measure_games
from training.bench.timing import Work, interleaved

ENV = "GameBoyPixels-v0"
LANES, STEPS, TURNS = 64, 32, 5
WARM_STEPS = WARM_UP // STEP
ONE_PIECE = 1e-9  # seconds of a turn: it is over when the piece has been played
COMMAND = "python -m tools.gameboy.free_games speed FOLDER"
ASKED = {"geometric_mean": 8.0, "worst": 4.0}  # times PyBoy


class Ours:
    """Lanes of the environment with a game; lane k is k buttons ahead after the warm-up."""

    def __init__(self, rom: Path, keys: Sequence[str], lanes: int = LANES) -> None:
        names = sorted(set(keys))
        options: dict[str, Any] = {"actions": [[name] for name in names], "stack_k": 1}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about files that are shorter than their header says
            self.engine = fastenv.make_engine(ENV, lanes, rom=str(rom), num_threads=1, **options)
        self._actions = np.array([names.index(key) for key in keys], np.int32)
        self._lanes = np.arange(lanes)
        self.engine.reset_many(seeds=0)
        for step in range(WARM_STEPS):
            self.engine.step_many(np.full(lanes, self._action(step), np.int32))
        self._begin = self.engine.get_states()

    def _action(self, step: Any) -> Any:
        return self._actions[step % len(self._actions)]

    def work(self, steps: int) -> Work:
        """Make the work of so many steps of all lanes from the beginning; its steps are frames."""

        def play() -> None:
            for step in range(steps):
                self.engine.step_many(self._action(WARM_STEPS + step + self._lanes))

        rewind = partial(self.engine.set_states, self._begin, trusted=True)
        return Work(play, steps * STEP * len(self._lanes), rewind)

    def instructions(self) -> int:
        """Return the instructions of a frame in the last turn."""
        rows = self.engine.get_states()
        executed, cycles = (
            float(rows[name].sum() - self._begin[name].sum()) for name in ("instr", "cyc")
        )
        return round(executed / cycles * FRAME)


class Theirs:
    """PyBoy with a game."""

    def __init__(self, cartridge: Cartridge, keys: Sequence[str]) -> None:
        self.twin, self._keys = PyBoyTwin(cartridge), keys
        self._play(range(WARM_STEPS))
        self._begin = io.BytesIO()
        self.twin.boy.save_state(self._begin)

    def _play(self, steps: range) -> None:
        for step in steps:
            key = self._keys[step % len(self._keys)]
            self.twin.press(1 << Key[key.upper()])
            self.twin.boy.tick(HELD, False, False)
            self.twin.press(0)
            self.twin.boy.tick(STEP - HELD, True, False)
            self.twin.boy.screen.ndarray[:144:2, :160:2, 0].copy()

    def work(self, steps: int, lanes: Iterable[int]) -> Work:
        """Make the work of so many steps, of the next one of some lanes in each turn."""
        ahead = iter(lanes)

        def rewind() -> None:
            self._begin.seek(0)
            self.twin.boy.load_state(self._begin)
            self._first = WARM_STEPS + next(ahead)

        def play() -> None:
            self._play(range(self._first, self._first + steps))

        return Work(play, steps * STEP, rewind)


def measure(
    folder: Path, game: Game, keys: Sequence[str], turns: int = TURNS, steps: int = STEPS
) -> dict[str, Any]:
    """Return the figures of a game.

    Parameters
    ----------
    folder : Path
        Of the ROMs.
    game : Game
    keys : sequence of str
    turns, steps : int
        How many turns, and steps in each.

    Returns
    -------
    dict
        ``us`` and ``pyboy_us``, CPU microseconds of a frame, and ``times_pyboy``: medians over the
        turns, and all of them under the same names with ``_all``; ``instructions_per_frame``.
    """
    cartridge = cartridge_of(folder, game)
    ours, theirs = Ours(folder / f"{game.name}.gb", keys), Theirs(cartridge, keys)
    gc.collect()
    lanes = [turn * LANES // turns for turn in range(-1, turns)]  # the first is not counted
    works = {"us": ours.work(steps), "pyboy_us": theirs.work(steps, lanes)}
    every = {
        name: [round(1e6 / each.per_cpu_s, 3) for each in samples]
        for name, samples in interleaved(works, turns, ONE_PIECE).items()
    }
    theirs.twin.close()
    every["times_pyboy"] = [
        round(pyboy / us, 3) for us, pyboy in zip(every["us"], every["pyboy_us"], strict=True)
    ]
    found: dict[str, Any] = {"game": game.name, "sha256": game.sha256}
    found["instructions_per_frame"] = ours.instructions()
    found |= {name: statistics.median(values) for name, values in every.items()}
    return found | {f"{name}_all": values for name, values in every.items()}


def summary(games: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the geometric mean over games of times PyBoy, and the worst of them."""
    times = {game["game"]: game["times_pyboy"] for game in games}
    return {
        "games": len(times),
        "geometric_mean": round(statistics.geometric_mean(times.values()), 3),
        "worst": min(times.values()),
        "worst_game": min(times, key=lambda name: times[name]),
    }


def run(folder: Path, names: Sequence[str], turns: int, out: Path | None) -> None:
    """Measure games, print a line for each, and write a record if ``out`` says where."""
    if turns < 1:
        raise ConfigError(f"--turns {turns}: must be at least 1")
    keys = manifest()[1]

    def conclude(found: list[dict[str, Any]]) -> dict[str, Any]:
        about = {"pyboy": metadata.version("pyboy"), "env": ENV, "lanes": LANES}
        about |= {"frames_per_step": STEP, "steps_of_a_turn": STEPS, "asked": ASKED}
        return {**about, "reached": summary(found)}

    games = timed_games(names)
    measure_games(COMMAND, games, lambda game: measure(folder, game, keys, turns), conclude, out)


def timed_games(names: Sequence[str] = ()) -> list[Game]:
    """Return the games that are timed, or those with the given names.

    Raises
    ------
    ConfigError
        If the manifest has no game of a name.
    """
    games, _ = manifest()
    if missing := {*names} - {game.name for game in games}:
        raise ConfigError(f"--games {' '.join(sorted(missing))}: not in the manifest")
    return [game for game in games if game.name in names] if names else games[:TIMED]

"""Benchmark of each flag alone: ``use_numba`` or ``use_cython`` beside the reference.

Every id is measured, and a new game as ``python -m fastenv new-game`` writes it. Reference and
flags take the same steps in turns, piece by piece, so that a slow moment of the machine meets all
of them. Each runs in a process of its own, and no step is taken twice: the reference keeps answers
that it has computed, and must find neither its own of an earlier turn nor those of another backend.
A flag replaces a part of what the reference does, and by Amdahl's law no more than that
part can be saved: the limit is the reference's time less that part. ``use_numba`` replaces the
encoding, so its limit is a reference whose encoding does nothing. ``use_cython``
replaces the rules, which are timed as calls on plain reference games that play the same actions.
The limits are measured where the two parts are of one size.
"""

from __future__ import annotations

import copy
import json
import multiprocessing
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import fastenv
from benchmarks import gameboy
from fastenv import BatchEngine
from fastenv.checks import without_padding
from fastenv.errors import ConfigError
from fastenv.gameboy.goal_template import OURS as GOALS
from fastenv.gameboy.goal_template import load_goal, save_goal
from fastenv.registry import short_id
from fastenv.scaffold import new_game
from training.bench import ran
from training.bench.env_modes import EnvPlan, Playback
from training.bench.runner import Suite
from training.bench.targets import Row
from training.bench.timing import Spent, Work, interleaved, summary

BACKENDS = ("reference", "numba", "cython")
LIMITS = ("rules", "no encoding")
METHOD = (
    "random legal actions; the reference and both flags, each in a process of its own, take the "
    "same steps in turns, each step once; timed: step_many with checks, opponents, autoreset, "
    "observation, mask, reward, info"
)
BESIDE = "the reference and the other flag, over the same steps, each in a process of its own"
LANES = (1, 8, 64)
STAGGER = 20  # batch steps played before, in which each lane is reset once
# Lane steps of a piece of work, by the beginning of an id: the shorter it is, the more turns in a
# repeat, and the slower the reference is, the shorter it has to be.
PIECE = 256
PIECES = {"SkullKingManager": 32, "DrMario": 8, "GameBoy": 1, "Lantern": 1}
# What each flag replaces is of about the size of the rest, so that there is a limit to speak of.
LIMITED = ("SkullKing", "Prospector")
SCAFFOLDED = "scaffolded_coins"


def rows(repeats: int, seconds: float) -> list[Row]:
    """Measure a row for each environment, number of lanes and flag, those of a new game last.

    Parameters
    ----------
    repeats : int
    seconds : float
        Timed work of a repeat of each backend.
    """
    measured = []
    for env in map(short_id, fastenv.list_envs()):
        measured += rows_of(env, repeats, seconds)
    return measured + scaffolded_rows(repeats, seconds)


def rows_of(env: str, repeats: int, seconds: float) -> list[Row]:
    """Measure the rows of one environment; see :func:`rows`."""
    return [row for lanes in LANES for row in rows_of_lanes(env, lanes, repeats, seconds)]


def scaffolded_rows(repeats: int, seconds: float) -> list[Row]:
    """Measure the rows of a game just written by ``new-game``, in a copy of this checkout.

    Raises
    ------
    ConfigError
        Where there is no checkout, or its copy cannot be built.
    """
    root = Path(fastenv.__file__).parents[1]
    if not (root / "setup.py").is_file():
        raise ConfigError(f"a new game can be measured in a checkout alone, and {root} is none")
    with TemporaryDirectory() as folder:
        copied = Path(folder)
        for name in ("fastenv", "training", "tools", "benchmarks", "build/cython"):
            if (root / name).is_dir():
                shutil.copytree(root / name, copied / name)
        for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
            shutil.copy2(root / name, copied)
        (copied / "tests").mkdir()
        new_game(SCAFFOLDED, copied)
        _run(copied, "-m", "tools.structs", SCAFFOLDED)
        _run(copied, "setup.py", "-q", "build_ext", "--inplace")
        numbers = (str(repeats), str(seconds))
        env = "".join(map(str.title, SCAFFOLDED.split("_"))) + "-v0"
        printed = _run(copied, "-m", "benchmarks.flags", env, *numbers)
    measured: list[Row] = json.loads(printed.splitlines()[-1])
    return measured


def _run(folder: Path, *words: str) -> str:
    """Run a Python command in a folder; return its output."""
    command = [sys.executable, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ConfigError(
            f"{' '.join(words)} failed in a copy of the checkout: {done.stderr[-500:]}"
        )
    return done.stdout


def rows_of_lanes(env: str, lanes: int, repeats: int, seconds: float) -> list[Row]:
    """Measure the rows of ``use_numba`` and ``use_cython`` of one environment.

    Parameters
    ----------
    env : str
    lanes : int
    repeats : int
    seconds : float

    Raises
    ------
    RuntimeError
        If the backends do not end in the same states.
    """
    piece = next((n for start, n in PIECES.items() if env.startswith(start)), PIECE)
    ways = [*BACKENDS, *(LIMITS if env.startswith(LIMITED) else ())]
    with TemporaryDirectory() as folder, ExitStack() as stack:
        options = options_of(env, Path(folder))
        play = Playback(EnvPlan(env, options, lanes, stagger=STAGGER, batches=0))
        rows = play.engine.get_states()
        steps = max(1, piece // lanes)
        started = [stack.enter_context(Stepper(w, env, options, rows, steps)) for w in ways]
        steppers = dict(zip(ways, started, strict=True))
        # The player goes on by random legal actions, which all of them then take.
        rng, batches, player = np.random.default_rng(1), list[np.ndarray](), play.engine

        def turn() -> None:
            batches.clear()
            for _ in range(steps):
                batches.append(fastenv.sample_legal(player.mask, rng))
                player.step_many(batches[-1])

        works = {
            name: Work(partial(each.step, batches), lanes * steps)
            for name, each in steppers.items()
        }
        samples = interleaved(works, repeats, seconds, turn=turn)
        _check_same(steppers, play.engine)
    summaries = {name: summary(each) for name, each in samples.items()}
    return [
        {
            "kind": "flag",
            "ran": steppers[backend].ran,
            "env": env,
            "env_options": steppers[backend].ran["options"],
            "flag": f"use_{backend}",
            "backend": steppers[backend].ran["backend"],
            "num_envs": lanes,
            "num_threads": 1,
            "workload": "masked_uniform",
            "method": METHOD,
            "steps": sum(each.steps for each in samples[backend]),
            **compared(summaries, backend),
            "repeats": repeats,
            "noisy": any(each["noisy"] for each in summaries.values()),
        }
        for backend in ("numba", "cython")
    ]


def options_of(env: str, folder: Path) -> dict[str, Any]:
    """Return the options that an environment is measured with: steps of the Game Boy of one frame.

    Parameters
    ----------
    env : str
    folder : Path
        Takes the template of a goal, which says how long steps are.
    """
    if not env.startswith(("GameBoy", "Lantern")):
        return {}
    if env != "GameBoyGoal-v0":
        return dict(gameboy.ONE_FRAME)
    template = folder / f"{GOALS[0]}_by_frames"
    save_goal(template, replace(load_goal(GOALS[0]), **gameboy.ONE_FRAME))
    return gameboy.ONE_FRAME | {"goal": str(template)}


class Stepper:
    """A process that takes steps, and reports their wall and CPU time.

    Parameters
    ----------
    way : str
        One of ``BACKENDS`` or ``LIMITS``.
    env : str
    options : mapping
        Of the environment.
    rows : ndarray
        States to begin with, one a lane.
    batch_steps : int
        Of a piece of work, which ``ran`` names.

    Attributes
    ----------
    ran : dict
        What runs in the process; see :mod:`training.bench.ran`.
    """

    def __init__(
        self, way: str, env: str, options: Mapping[str, Any], rows: np.ndarray, batch_steps: int
    ) -> None:
        methods = multiprocessing.get_all_start_methods()
        context: Any = multiprocessing.get_context(
            "forkserver" if "forkserver" in methods else "spawn"
        )
        if "forkserver" in methods:
            context.set_forkserver_preload([_serve.__module__])
        self._pipe, other = context.Pipe()
        work = (other, way, env, dict(options), rows, batch_steps)
        self._process = context.Process(target=_serve, args=work, daemon=True)
        self._process.start()
        other.close()
        self.ran: Row = self._pipe.recv()

    def __enter__(self) -> Stepper:
        """Return it; the process ends with the block."""
        return self

    def __exit__(self, *_error: object) -> None:
        """End the process."""
        self._pipe.close()
        self._process.join()

    def step(self, batches: list[np.ndarray]) -> Spent:
        """Take steps; return the wall and CPU seconds of the process."""
        self._pipe.send(batches)
        return Spent(*self._pipe.recv())

    def states(self) -> bytes:
        """Return the states of all lanes."""
        self._pipe.send(None)
        states: bytes = self._pipe.recv()
        return states


def _serve(pipe: Any, way: str, env: str, options: Row, rows: np.ndarray, batch_steps: int) -> None:
    """Run as the process of a :class:`Stepper`."""
    backend = way if way in BACKENDS else "reference"
    engine = fastenv.make_engine(env, len(rows), backend=backend, num_threads=1, **options)
    engine.set_states(rows)
    about: Row = {"workload": "masked_uniform", "stagger": STAGGER, "batch_steps": batch_steps}
    pipe.send(ran.describe_engine(engine, "step_many", beside=BESIDE, **about))
    step_all: Callable[[np.ndarray], object] = engine.step_many
    if way == "rules":
        step_all = _make_rules_step(engine, rows)
    elif way == "no encoding":
        step_all = _strip_encoding(engine, rows).step_many
    with suppress(EOFError):  # the other end is closed when all is done
        while True:
            batches = pipe.recv()
            if batches is None:
                pipe.send(states_of(engine))
                continue
            wall, cpu = time.perf_counter(), time.process_time()
            for batch in batches:
                step_all(batch)
            pipe.send((time.perf_counter() - wall, time.process_time() - cpu))


def states_of(engine: BatchEngine) -> bytes:
    """Return the states of all lanes, with nothing between their fields."""
    return without_padding(engine.get_states()).tobytes()


def _check_same(steppers: Mapping[str, Stepper], player: BatchEngine) -> None:
    """Raise RuntimeError unless all backends are where the player is: they took the same steps."""
    wanted = states_of(player)
    for backend in BACKENDS:
        if steppers[backend].states() != wanted:
            raise RuntimeError(f"{player.game.env_id}: the states of {backend} are others")


def compared(summaries: dict[str, Row], backend: str) -> Row:
    """Compute microseconds of CPU a step, the speed-up over the reference, and the limit.

    Parameters
    ----------
    summaries : dict of str to dict
        Summaries of ``reference``, ``numba`` and ``cython``, and of ``rules`` and ``no encoding``
        where a limit is known.
    backend : {"numba", "cython"}
    """
    us = {name: [1e6 / x for x in each["steps_per_cpu_s_all"]] for name, each in summaries.items()}
    speed = [a / b for a, b in zip(us["reference"], us[backend], strict=True)]
    judged = {
        "reference_us": statistics.median(us["reference"]),
        "us": statistics.median(us[backend]),
        "steps_per_cpu_s": summaries[backend]["steps_per_cpu_s"],
        "over_reference": statistics.median(speed),
        "over_reference_all": speed,
    }
    if "rules" not in us:
        return judged
    rest = us["no encoding"]
    if backend == "cython":
        rest = [a - b for a, b in zip(us["reference"], us["rules"], strict=True)]
    share = [a / b for a, b in zip(rest, us[backend], strict=True)]
    return judged | {
        "replaced_us": judged["reference_us"] - statistics.median(rest),
        "limit_us": statistics.median(rest),
        "share_of_limit": statistics.median(share),
        "share_of_limit_all": share,
    }


def _make_rules_step(engine: BatchEngine, rows: np.ndarray) -> Callable[[np.ndarray], object]:
    """Make a step of calls on reference games: steps and resets, nothing else."""
    game = engine.game
    knobs, games = game.default_knobs(len(rows)), [game.unpack(row) for row in rows]

    def step_all(batch: np.ndarray) -> None:
        actions = batch.tolist()
        for i, one in enumerate(games):
            game.step(one, actions[i])
            if one.done:
                game.reset(one, knobs[i], None)

    return step_all


def _strip_encoding(engine: BatchEngine, rows: np.ndarray) -> BatchEngine:
    """Make a reference engine in the same states whose game encodes nothing."""
    game = copy.copy(engine.game)

    def nothing(*_args: Any) -> None:
        return None

    names = ("encode_obs", "action_mask", "reward")
    blind = type("Blind", (type(game),), dict.fromkeys(names, nothing))
    object.__setattr__(game, "__class__", blind)
    stripped = BatchEngine(game, len(rows), "reference", info_columns=())
    stripped.set_states(rows)
    return stripped


SUITE = Suite(
    lambda options: rows(options.repeats, options.seconds),
    title="Bars of the flags; medians of {repeats}",
    targets=("flags",),
    short_seconds=0.5,
)


if __name__ == "__main__":
    print(json.dumps(rows_of(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))))

"""What each flag alone is worth: ``use_numba`` or ``use_cython`` beside the reference.

Every id is measured, and a new game as ``python -m fastenv new-game`` writes it. Reference and
flags play the same actions in turns, piece by piece, so that a slow moment of the machine meets all
of them. A flag replaces a part of what the reference does, and by Amdahl's law no more than that
part can be saved: the limit is the reference's time less that part. ``use_numba`` replaces the
encoding, so its limit is a reference whose encoding does nothing. ``use_cython``
replaces the rules, which are timed as calls on plain reference games that play the same actions.
"""

from __future__ import annotations

import copy
import json
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fastenv
from fastenv import BatchEngine
from fastenv.errors import ConfigError
from fastenv.registry import short_id
from fastenv.scaffold import new_game
from training.bench import games
from training.bench.play import METHOD, Playback
from training.bench.suite import Suite
from training.bench.tables import flag_table
from training.bench.targets import Row, target
from training.bench.timing import Work, in_turns, summary

LANES = (1, 8, 64)
STAGGER = 20  # batch steps played before, in which each lane is reset once
SHARE = 0.85  # of the limit, asked where the two parts are of one size
MEDIAN, LEAST = 1.0, 0.97  # times the reference, asked of the repeats of every row
# Lane steps of a piece of work: the shorter it is, the more turns in a repeat.
PIECE = 256
TURNS = 4  # of a repeat at least, also where one step of 64 lanes takes seconds
SCAFFOLDED = "scaffolded_coins"


def rows(repeats: int, seconds: float) -> list[Row]:
    """Return a row for each environment, number of lanes and flag, those of a new game last.

    Parameters
    ----------
    repeats : int
    seconds : float
        Timed work of a repeat of each backend.
    """
    found = []
    for env in map(short_id, fastenv.list_envs()):
        found += rows_of(env, repeats, seconds)
    return found + scaffolded_rows(repeats, seconds)


def rows_of(env: str, repeats: int, seconds: float) -> list[Row]:
    """Return the rows of one environment; see :func:`rows`."""
    return [row for lanes in LANES for row in rows_of_lanes(env, lanes, repeats, seconds)]


def scaffolded_rows(repeats: int, seconds: float) -> list[Row]:
    """Return the rows of a game just written by ``new-game``, in a copy of this checkout.

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
        for name in ("fastenv", "training", "tools", "build/cython"):
            if (root / name).is_dir():
                shutil.copytree(root / name, copied / name)
        for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
            shutil.copy2(root / name, copied)
        (copied / "tests").mkdir()
        new_game(SCAFFOLDED, copied)
        _run(copied, "-m", "tools.structs", SCAFFOLDED)
        _run(copied, "setup.py", "-q", "build_ext", "--inplace")
        asked = (str(repeats), str(seconds))
        env = "".join(map(str.title, SCAFFOLDED.split("_"))) + "-v0"
        printed = _run(copied, "-m", "training.bench.suites.flags", env, *asked)
    measured: list[Row] = json.loads(printed.splitlines()[-1])
    return measured


def _run(folder: Path, *words: str) -> str:
    """Return what a Python command prints in a folder."""
    command = [sys.executable, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ConfigError(
            f"{' '.join(words)} failed in a copy of the checkout: {done.stderr[-500:]}"
        )
    return done.stdout


def rows_of_lanes(env: str, lanes: int, repeats: int, seconds: float) -> list[Row]:
    """Return the rows of ``use_numba`` and ``use_cython`` of one environment.

    Parameters
    ----------
    env : str
    lanes : int
    repeats : int
    seconds : float
    """
    game = games.of(env)
    piece = next((n for start, n in game.pieces.items() if env.startswith(start)), PIECE)
    works, plays = {}, {}
    with TemporaryDirectory() as folder:
        options = game.flag_options(env, Path(folder))
        for backend in ("reference", "numba", "cython"):
            play = Playback(
                *(env, lanes, max(1, piece // lanes), options), backend=backend, stagger=STAGGER
            )
            plays[backend], works[backend] = play, play.work()
        beside = "the other flag and their limits"
        about = {name: each.ran(beside=beside) for name, each in plays.items()}
    if not game.emulated:
        works["rules"] = _rules_alone(play)
        works["no encoding"] = _without_encoding(play)
    samples = in_turns(works, repeats, seconds, TURNS)
    found = {name: summary(each) for name, each in samples.items()}
    return [
        {
            "kind": "flag",
            "ran": about[backend],
            "env": env,
            "env_options": about[backend]["options"],
            "flag": f"use_{backend}",
            "backend": plays[backend].engine.backend,
            "num_envs": lanes,
            "num_threads": 1,
            "workload": "masked_uniform",
            "method": METHOD,
            **compared(found, backend),
            "repeats": repeats,
            "noisy": any(each["noisy"] for each in found.values()),
        }
        for backend in ("numba", "cython")
    ]


def compared(found: dict[str, Row], backend: str) -> Row:
    """Return microseconds of CPU a step of what was timed, and what follows from them.

    Parameters
    ----------
    found : dict of str to dict
        Summaries of ``reference``, ``numba`` and ``cython``, and of ``rules`` and ``no encoding``
        where a limit is known.
    backend : {"numba", "cython"}
    """
    us = {name: [1e6 / x for x in each["steps_per_cpu_s_all"]] for name, each in found.items()}
    speed = [a / b for a, b in zip(us["reference"], us[backend], strict=True)]
    judged = {
        "reference_us": statistics.median(us["reference"]),
        "us": statistics.median(us[backend]),
        "steps_per_cpu_s": found[backend]["steps_per_cpu_s"],
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


def _rules_alone(play: Playback) -> Work:
    """Return the same play as calls on reference games: steps and resets, nothing else."""
    engine, actions, rows = play.engine, [batch.tolist() for batch in play.actions], play.rows
    game = engine.game
    knobs, games = game.default_knobs(engine.num_envs), list[Any]()

    def prepare() -> None:
        games[:] = [game.unpack(row) for row in rows]

    def run() -> None:
        for batch in actions:
            for i, one in enumerate(games):
                game.step(one, batch[i])
                if one.done:
                    game.reset(one, knobs[i], None)

    return Work(run, engine.num_envs * len(actions), prepare)


def _without_encoding(play: Playback) -> Work:
    """Return the same play on a reference engine whose game shows nothing."""
    game = copy.copy(play.engine.game)

    def nothing(*_args: Any) -> None:
        return None

    names = ("encode_obs", "action_mask", "reward")
    blind = type("Blind", (type(game),), dict.fromkeys(names, nothing))
    object.__setattr__(game, "__class__", blind)
    engine = BatchEngine(game, play.engine.num_envs, "reference", info_columns=())
    actions, rows = play.actions, play.rows

    def run() -> None:
        for batch in actions:
            engine.step_many(batch)

    return Work(run, engine.num_envs * len(actions), lambda: engine.set_states(rows))


def judge(found: list[Row]) -> list[Row]:
    """Return targets: over the reference for each row, and a share of the limit for some."""
    judged = []
    for r in found:
        what = f"{r['env']}, {r['flag']} alone, {r['num_envs']:,} lanes"
        every, noisy = r["over_reference_all"], r["noisy"]
        for name, asked, got in (
            ("over the reference", MEDIAN, r["over_reference"]),
            ("over the reference, least repeat", LEAST, min(every)),
        ):
            judged.append(target(f"{what}: {name}", asked, got, every=every, noisy=noisy))
        if games.of(r["env"]).limited:
            every, got = r["share_of_limit_all"], r["share_of_limit"]
            judged.append(
                target(f"{what}: part of the limit", SHARE, got, every=every, noisy=noisy)
            )
    return judged


SUITE = Suite(
    name="flags",
    rows=rows,
    judge=judge,
    tables=(flag_table,),
    title=lambda options: f"Bars of the flags; medians of {options.repeats}",
    short_seconds=0.5,
)


if __name__ == "__main__":
    print(json.dumps(rows_of(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))))

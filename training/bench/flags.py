"""What each flag alone is worth: ``use_numba`` or ``use_cython`` beside the reference.

A flag replaces a part of what the reference does, and by Amdahl's law no more than that part can be
saved: the limit is the reference's time less the part that the flag replaces. ``use_numba``
replaces the encoding, so its limit is a reference whose encoding does nothing. ``use_cython``
replaces the rules, which are timed as calls on plain reference games that play the same actions.
All are timed in turns in one run.
"""

from __future__ import annotations

import copy
import statistics
from typing import Any

import fastenv
from fastenv import BatchEngine
from training.bench.play import METHOD, Playback, short_id
from training.bench.timing import Work, interleaved, summary
from training.bench.verdicts import bar

LANES = (1, 8, 64, 1024)
LANE_STEPS = 1024  # of a piece of work, at least one batch step
STAGGER = 20  # batch steps played before, in which each lane is reset once
SHARE = 0.85  # of the limit, asked of each flag
# Their reference takes a second a step, and is no measure for anybody.
UNMEASURED = ("GameBoy", "LanternWalk")
NEVER_BELOW = {"SkullKingWorker-v0": 1.1, "Prospector-v0": 1.1}  # times the reference


def rows(repeats: int, seconds: float) -> list[dict[str, Any]]:
    """Return a row for each environment, number of lanes and flag.

    Parameters
    ----------
    repeats : int
    seconds : float
        Timed work of a repeat.
    """
    found = []
    for env in map(short_id, fastenv.list_envs()):
        if env.startswith(UNMEASURED):
            continue
        for lanes in LANES:
            found += measure(env, lanes, repeats, seconds)
    return found


def measure(env: str, lanes: int, repeats: int, seconds: float) -> list[dict[str, Any]]:
    """Return the rows of ``use_numba`` and ``use_cython`` of one environment.

    Parameters
    ----------
    env : str
    lanes : int
    repeats : int
    seconds : float
    """
    steps = max(1, LANE_STEPS // lanes)
    works, names = {}, {}
    for backend in ("reference", "numba", "cython"):
        play = Playback(env, lanes, steps, backend=backend, stagger=STAGGER)
        works[backend], names[backend] = play.work(), play.engine.backend
    works["rules"] = _rules_alone(play)
    works["no encoding"] = _without_encoding(play)
    samples = interleaved(works, repeats, seconds)
    found = {name: summary(each) for name, each in samples.items()}
    return [
        {
            "kind": "flag",
            "env": env,
            "flag": f"use_{backend}",
            "backend": names[backend],
            "num_envs": lanes,
            "num_threads": 1,
            "workload": "masked_uniform",
            "method": METHOD,
            **judge(found, backend),
            "repeats": repeats,
            "noisy": any(each["noisy"] for each in found.values()),
        }
        for backend in ("numba", "cython")
    ]


def judge(found: dict[str, dict[str, Any]], backend: str) -> dict[str, Any]:
    """Return microseconds of CPU a step of what was timed, and what follows from them.

    Parameters
    ----------
    found : dict of str to dict
        Summaries of ``reference``, ``numba``, ``cython``, ``rules`` and ``no encoding``.
    backend : {"numba", "cython"}
    """
    us = {name: [1e6 / x for x in each["steps_per_cpu_s_all"]] for name, each in found.items()}
    rest = us["no encoding"]
    if backend == "cython":
        rest = [a - b for a, b in zip(us["reference"], us["rules"], strict=True)]
    share = [a / b for a, b in zip(rest, us[backend], strict=True)]
    speed = [a / b for a, b in zip(us["reference"], us[backend], strict=True)]
    reference, limit = statistics.median(us["reference"]), statistics.median(rest)
    return {
        "reference_us": reference,
        "replaced_us": reference - limit,
        "limit_us": limit,
        "us": statistics.median(us[backend]),
        "share_of_limit": statistics.median(share),
        "share_of_limit_all": share,
        "over_reference": statistics.median(speed),
        "over_reference_all": speed,
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


def bars(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the bars: a share of the limit for each row, and a least speed where one is asked."""
    judged = []
    for r in found:
        what = f"{r['env']}, {r['flag']} alone, {r['num_envs']:,} lanes"
        every, noisy = r["share_of_limit_all"], r["noisy"]
        measured = r["share_of_limit"]
        judged.append(bar(f"{what}: part of the limit", SHARE, measured, every=every, noisy=noisy))
        least = NEVER_BELOW.get(r["env"])
        if least is not None:
            every, measured = r["over_reference_all"], r["over_reference"]
            what = f"{what}: over the reference"
            judged.append(bar(what, least, measured, every=every, noisy=noisy))
    return judged

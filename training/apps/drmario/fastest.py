"""Search the fastest clears of registered games: ``python -m training evaluate fastest``.

The seed of a game fixes all its pills, so that a clear is a plan without chance, which a beam over
placements searches. Every position of
the beam is followed by all placements; those behind which bottle, viruses and frames weigh most go
on. The beam ends when none of its positions can be faster than the clear that was found. How much
a frame should weigh beside the bottle differs from game to game, so several weights are tried.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv import BatchEngine
from fastenv.drmario import DrMarioGame, make_game
from fastenv.drmario import tables as t
from fastenv.drmario.seeds import seed_id, seeds_of
from fastenv.drmario.successors import COUNTED, count_bottles
from training.apps.drmario.best_times import BestTimes, Clear, prepare
from training.apps.drmario.seeds import SeedPlan
from training.evaluation import replays
from training.run import files, machine
from training.run.command_line import exit_status, new_parser
from training.run.options import require

ABOUT = """\
Search for the fastest clear of games of Dr. Mario with known pills: the first games of a level in
the seed registry. Every clear is replayed before it is written.
"""
FRAMES_ENV = "DrMarioFrame-v0"
WIDTH, MOST_WIDTH = 1000, 100_000
MOST_PILLS, MOST_FRAMES = 1000, 10**6  # of a clear
SPARE = 4  # positions looked through for each that is kept, as many have equal bottles
# Weights of a bottle that all beams share, and of a frame, one after the other.
WEIGHTS, FRAME_WEIGHTS = t.LOOKAHEAD_FAR, (-8, -5, -12)

Array = npt.NDArray[Any]


def choose_heaviest(boards: Array, weights: Array, width: int) -> Array:
    """Return the indices of the heaviest positions, without repeats of a bottle, best first.

    Parameters
    ----------
    boards : ndarray of uint8, shape (k, 128)
    weights : ndarray of int, shape (k,)
    width : int
        Of how many at most.
    """
    order = np.argsort(-weights, kind="stable")[: SPARE * width]
    bottles = np.ascontiguousarray(boards[order]).view(f"V{t.CELLS}").ravel()
    _, first = np.unique(bottles, return_index=True)
    numbers: Array = order[np.sort(first)][:width]
    return numbers


def find_fastest(level: int, speed: str, seed: int, width: int = WIDTH) -> Clear | None:
    """Return the fastest clear that a beam finds, or None if all of its positions lose.

    Parameters
    ----------
    level : int
        From 0 on.
    speed : str
    seed : int
        As the option ``game_seed``.
    width : int
        Positions that are followed after each pill.

    Raises
    ------
    ConfigError
        For options that the game or the beam does not have.
    """
    require(t.HIGHEST_LEVEL >= level >= 0, "level", level, f"from 0 to {t.HIGHEST_LEVEL}")
    require(1 <= width <= MOST_WIDTH, "width", width, f"from 1 to {MOST_WIDTH:,}")
    game = make_game(level=level, speed=speed, game_seed=seed, obs="none")
    engine = BatchEngine(game, width, info_columns=())
    engine.reset_many(seeds=0)
    start = engine.get_states([0])
    fastest: tuple[int, tuple[int, ...]] | None = None
    for frame_weight in FRAME_WEIGHTS:
        limit = None if fastest is None else fastest[0]
        fastest = _search(game, engine, start, frame_weight, limit) or fastest
    if fastest is None:
        return None
    frames, trace = fastest
    return Clear(level, speed, seed, frames, len(trace), trace)


def _search(
    game: DrMarioGame, engine: BatchEngine, rows: Array, frame_weight: int, limit: int | None
) -> tuple[int, tuple[int, ...]] | None:
    """Return frames and placements of the fastest clear of a beam below a limit, if there is one.

    The engine has as many lanes as the beam has positions.
    """
    steps: list[tuple[Array, Array]] = []
    fastest = None
    for _ in range(MOST_PILLS):
        clear, parents, behind, weights = _expand(game, rows, frame_weight, limit)
        if clear is not None:
            parent, action, limit = clear
            fastest = limit, (*_read_trace(steps, parent), action)
        chosen = choose_heaviest(behind["board"], weights, engine.num_envs)
        if not len(chosen):
            break
        steps.append((parents[chosen], behind["action"][chosen]))
        rows = _step(engine, rows[parents[chosen]], behind["action"][chosen])
    return fastest


def _expand(
    game: DrMarioGame, rows: Array, frame_weight: int, limit: int | None
) -> tuple[tuple[int, int, int] | None, Array, Array, Array]:
    """Return the fastest clear with the next pill, below a limit, and what can still beat it.

    A clear is the position it follows, its placement and its frames. What can beat it is told by
    the positions it follows, its successors, and what each weighs, arrays of shape (k,).
    """
    parents, successors = game.successors(rows, trusted=True)
    frames = rows["ep_frames"][parents].astype(np.int64) + successors["frames"]
    cleared, clear = np.flatnonzero(successors["reason"] == t.Reason.CLEAR), None
    if len(cleared):
        best = cleared[np.argmin(frames[cleared])]
        if limit is None or frames[best] < limit:
            limit = int(frames[best])
            clear = int(parents[best]), int(successors["action"][best]), limit
    running = successors["reason"] == t.Reason.NONE
    if limit is not None:
        running &= frames < limit
    parents, successors, frames = parents[running], successors[running], frames[running]
    viruses = t.from_bcd(rows["players"]["virus_bcd"][parents, 0].astype(np.int64))
    weights = count_bottles(successors["board"]) @ np.array([WEIGHTS[name] for name in COUNTED])
    weights += frame_weight * frames - WEIGHTS["virus"] * (viruses - successors["viruses"])
    return clear, parents, successors, weights


def _step(engine: BatchEngine, rows: Array, actions: Array) -> Array:
    """Return the rows behind placements, at most as many as the engine has lanes."""
    lanes = np.arange(len(rows))
    engine.set_states(rows, lanes, trusted=True)
    chosen = np.zeros(engine.num_envs, np.int32)
    chosen[lanes] = actions
    engine.step_many(chosen, select=np.arange(engine.num_envs) < len(rows), autoreset=False)
    return engine.get_states(lanes)


def _read_trace(steps: Sequence[tuple[Array, Array]], number: int) -> tuple[int, ...]:
    """Return the placements that lead to a position of the beam."""
    actions = []
    for parents, chosen in reversed(steps):
        actions.append(int(chosen[number]))
        number = int(parents[number])
    return tuple(reversed(actions))


def make_replay(clear: Clear) -> replays.Replay:
    """Return a clear as a recorded episode of buttons, one a frame.

    Parameters
    ----------
    clear : Clear
    """
    from training.apps.drmario.frame_player import FramePlayer
    from training.evaluation.evaluation import Evaluation, play
    from training.players.bots import Recorded

    options = {
        "level": clear.level,
        "speed": clear.speed,
        "game_seed": clear.seed,
        "actions": "buttons",
        "obs": "none",
    }
    pressing = partial(FramePlayer, lambda engine: Recorded(clear.trace))
    games = Evaluation("clear", FRAMES_ENV, options, seeds=range(1), max_steps=MOST_FRAMES)
    played = play(games.by({"clear": pressing}), keep_actions=("clear",))
    assert played.actions is not None
    return replays.record(FRAMES_ENV, options, 0, played.actions[0])


# -- the command -----------------------------------------------------------------------------------


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    example = "--levels 0 5 --best-times x.sqlite"
    parse = new_parser("evaluate fastest", ABOUT, example, "[options]")
    several: Any = {"nargs": "+", "metavar": "X"}
    parse.add_argument(
        "--levels", type=int, default=[0], help="levels to search; default 0", **several
    )
    parse.add_argument(
        "--speeds", default=["medium"], help="speeds to search; default medium", **several
    )
    parse.add_argument(
        "--seeds", type=int, default=1, metavar="N", help="seeds per level; default 1"
    )
    about = f"beam width: positions kept after each pill; default {WIDTH}"
    parse.add_argument("--width", type=int, default=WIDTH, metavar="N", help=about)
    parse.add_argument("--best-times", type=Path, metavar="FILE", help="SQLite file of best times")
    about = "folder for replays of button presses, one per frame"
    parse.add_argument("--replays", type=Path, metavar="DIR", help=about)
    parse.add_argument("--out", type=Path, metavar="FILE", help="JSON record to write")
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    return exit_status(lambda: _search_games(args))


def _search_games(args: argparse.Namespace) -> None:
    plan = SeedPlan(args.levels, args.speeds, args.seeds)
    require(1 <= args.width <= MOST_WIDTH, "--width", args.width, f"from 1 to {MOST_WIDTH:,}")
    if args.out is not None:
        files.prepare("--out", args.out)
    if args.best_times is not None:
        prepare(args.best_times, {})
    rows = [_search_game(args, *game) for game in plan.games()]
    if args.out is not None:
        what = "the fastest clears of Dr. Mario that a beam finds with known pills"
        record = {"what": what, **machine.taken_on(), "width": args.width, "games": rows}
        files.write_json(args.out, record)


def _search_game(args: argparse.Namespace, level: int, speed: str, index: int) -> dict[str, Any]:
    """Search one game, write and print its fastest clear, and return its part of the record."""
    name, seed = seed_id(level, index), seeds_of(level)[index]
    begun = time.process_time()
    clear = find_fastest(level, speed, seed, args.width)
    seconds = round(time.process_time() - begun, 1)
    row = {"seed_id": name, "level": level, "speed": speed, "seed": seed, "cpu_s": seconds}
    if clear is None:
        print(f"{name}, {speed}: no clear found, {seconds:.1f} CPU s", flush=True)
        return {**row, "frames": None, "pills": None}
    line = f"{name}, {speed}: {clear.frames:,} frames, {clear.spawns} pills, {seconds:.1f} CPU s"
    if args.best_times is not None:
        line += _store(args.best_times, clear)
    if args.replays is not None:
        line += f", {replays.save(make_replay(clear), args.replays)}"
    print(line, flush=True)
    return {**row, "frames": clear.frames, "pills": clear.spawns, "trace": list(clear.trace)}


def _store(path: Path, clear: Clear) -> str:
    """Add a clear to a store; describe it beside the best one so far."""
    with BestTimes(path) as store:
        before = store.best(clear.level, clear.speed, clear.seed)
        store.add([clear], "beam")
    return "" if before is None else f", {before.frames:,} before"

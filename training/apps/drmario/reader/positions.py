"""Positions of Dr. Mario to read: from play at all levels and speeds, and boards at random."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import fastenv
from fastenv.drmario import tables as t
from fastenv.drmario.tables import Button, Next
from training.apps.drmario.best_times import ENV
from training.apps.drmario.compare import load_player
from training.apps.drmario.reader.cell_classes import CLASSES
from training.evaluation.loop import Loop
from training.players.names import make_player
from training.run.envs import make_engine

FRAMES = "DrMarioFrame-v0"
BOTS = ("random", "greedy")
LANES = 96
GAMES = 10**6  # more than anybody plays
TAKEN = 0.02  # share of the decisions that are read: few of one game, which are alike
MOST_FRAMES = 150  # that a flight is long at most: longer than pills fall at most levels
BUTTONS = (0, 0, 0, Button.LEFT, Button.RIGHT, Button.DOWN, Button.A, Button.B)
HELD = 12  # frames that a button is held at most


def decisions(count: int, seed: int, agent: Path | None = None) -> np.ndarray:
    """Return rows in which a decision is due, equally many of each player: bots and the agent.

    Parameters
    ----------
    count : int
    seed : int
    agent : Path, optional
        Run folder of a trained one, which samples.

    Returns
    -------
    ndarray, shape (count,)
        State rows of ``DrMarioPlacement-v0``.
    """
    who = [*BOTS, *([] if agent is None else [load_player(str(agent), flag="--agent")[0]])]
    parts = []
    for k, each in enumerate(who):
        wanted = count // len(who) + (k < count % len(who))
        engine, rng = make_engine(ENV, LANES), np.random.default_rng(seed + k)
        player = make_player(each, engine, sample=True)
        seeds = seed + k * GAMES + np.arange(GAMES)
        prepare = partial(_draw_games, rng)
        rows: list[np.ndarray] = []
        for _ in Loop(engine, [player], seeds, prepare=prepare, wait=False):
            taken = (rng.random(LANES) < TAKEN) & ~engine.ended
            rows.append(engine.get_states(np.flatnonzero(taken)))
            if sum(map(len, rows)) >= wanted:
                break
        parts.append(np.concatenate(rows)[:wanted])
    return np.concatenate(parts)


def _draw_games(
    rng: np.random.Generator, engine: Any, lanes: np.ndarray, _numbers: np.ndarray
) -> None:
    """Draw level and speed of the games that begin in lanes."""
    for lane in lanes.tolist():
        engine.configure("level", int(rng.integers(t.LOWEST_LEVEL, t.LAST_VIRUS_LEVEL + 1)), [lane])
        engine.configure("speed", t.SPEEDS[rng.integers(len(t.SPEEDS))], [lane])


def play_random_buttons(rows: np.ndarray, seed: int) -> np.ndarray:
    """Play some frames of random buttons from rows; return the rows behind them.

    Parameters
    ----------
    rows : ndarray, shape (n,)
        Of :func:`decisions`.
    seed : int

    Returns
    -------
    ndarray, shape (k,)
        Those whose episodes have not ended; in most of them a pill is on its way.
    """
    rng = np.random.default_rng(seed)
    engine = fastenv.make_engine(FRAMES, len(rows), obs="none", stack=1, actions="buttons")
    starts: Any = rows.copy()
    of = starts["players"]
    of["decided"], of["decided_frame"] = t.NO_SPAWN, 0
    of["plan_left"], of["plan_action"] = 0, t.NO_ACTION
    engine.reset_many(seeds=0)
    engine.set_states(starts)
    left = rng.integers(1, MOST_FRAMES, len(rows))
    buttons = np.zeros(len(rows), np.int32)
    changes = np.zeros(len(rows), np.int64)
    running = np.ones(len(rows), np.bool_)
    while running.any():
        new = changes == 0
        buttons[new] = rng.choice(BUTTONS, int(new.sum()))
        changes[new] = rng.integers(1, HELD, int(new.sum()))
        engine.step_many(buttons, select=running, autoreset=False)
        changes -= 1
        left -= 1
        running &= (left > 0) & ~engine.ended
    ends = engine.get_states()
    kept: np.ndarray = ends[ends["done"] == 0]
    return kept


def make_random_boards(rows: np.ndarray, seed: int) -> np.ndarray:
    """Return rows with random tiles in the bottle and random pills somewhere, to learn from.

    Every tile is as likely, in places and beside neighbours that no game knows.

    Parameters
    ----------
    rows : ndarray, shape (n,)
    seed : int
    """
    rng = np.random.default_rng(seed)
    positions: Any = rows.copy()
    players = positions["players"][:, 0]
    n = len(rows)
    board = rng.choice(CLASSES[1:], (n, t.CELLS))
    empty = rng.random((n, t.CELLS)) < rng.uniform(0, 0.9, (n, 1))
    players["board"] = np.where(empty, t.EMPTY, board)
    players["rot"] = rng.integers(0, 4, n)
    players["col"] = rng.integers(0, t.COLUMNS - 1, n)
    players["row"] = np.where(rng.random(n) < 0.3, t.SPAWN_ROW, rng.integers(0, t.ROWS, n))
    players["next_action"] = np.where(rng.random(n) < 0.8, Next.FALLING, Next.PLACED)
    for name in ("color_first", "color_second", "preview_first", "preview_second"):
        players[name] = rng.integers(0, t.NUM_COLORS, n)
    positions["players"][:, 0] = players
    return positions


def mix_positions(
    count: int, seed: int, agent: Path | None = None, play_only: bool = False
) -> np.ndarray:
    """Return rows of all kinds, in random order.

    Parameters
    ----------
    count : int
        About so many: episodes that end on the way are left out.
    seed : int
    agent : Path, optional
        See :func:`decisions`.
    play_only : bool
        Without scrambled boards: half at a decision, half on the way.
    """
    thirds = count // 2 if play_only else count // 3
    due = decisions(2 * thirds, seed, agent)
    due = due[np.random.default_rng(seed + 1).permutation(len(due))]
    parts: list[np.ndarray] = [due[:thirds], play_random_buttons(due[thirds:], seed + 2)]
    if not play_only:
        parts.append(make_random_boards(due[:thirds], seed + 3))
    rows = np.concatenate(parts)
    mixed: np.ndarray = rows[np.random.default_rng(seed + 4).permutation(len(rows))]
    return mixed

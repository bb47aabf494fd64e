"""Boards and questions for the planner's tests."""

import numpy as np

from fastenv.drmario.reachability import Root
from tests.drmario import golden

INPUT_SETS = {False: "cost", True: "cost_with_ab"}


def recorded_questions():
    """Return the arguments of every recorded query, and its costs by input set."""
    questions, costs = [], {extended: [] for extended in INPUT_SETS}
    for path in golden.files("reachability"):
        file = golden.load(path, "reachability")
        for board, row in zip(file["board"], file["root"].tolist(), strict=True):
            x, top, rot, counter, velocity, direction, parity, held, gravity = row
            root = Root(x, 15 - top, rot, counter, velocity, direction, held)
            questions.append((board, parity, gravity, root))
        for extended, name in INPUT_SETS.items():
            costs[extended].extend(file[name])
    return questions, costs


def charged_board():
    """Return a board beside whose right wall a pill is charged, and what is won by that.

    Where a row takes a frame, the pill is above the floor after two. Left with right and A takes it
    to column 2, upright and charged; left with B to column 1, and lying to column 0. That is action
    16, and left without right comes to column 1 at best.
    """
    board = np.full((16, 8), 0x80, np.uint8)
    board[:3, :5] = 0xFF
    return board.ravel(), 16, bytes([0x02 | 0x01 | 0x80, 0x02 | 0x40])


def random_boards(rng, n):
    """Draw boards from nearly empty to nearly full, stacked or scattered, the spawn cells free."""
    density = rng.uniform(0.0, 0.8, (n, 1, 1))
    height = rng.integers(0, 17, (n, 1, 8)) * rng.integers(0, 2, (n, 1, 1))
    rows = np.arange(15, -1, -1)[:, None]
    stacked = (rows < height) & (rng.random((n, 16, 8)) < 0.9)
    occupied = stacked | (
        rng.random((n, 16, 8)) < density * (rows < rng.integers(1, 17, (n, 1, 1)))
    )
    occupied[:, 0, 3:5] = False
    return np.where(occupied, 0x80, 0xFF).astype(np.uint8).reshape(n, 128)

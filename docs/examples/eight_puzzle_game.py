"""The 8-puzzle for fastenv: the same game as ``eight_puzzle.py``, bit for bit.

Eight tiles and a blank lie on 3 x 3 cells. A move changes the blank with a tile beside it. An
episode begins some random moves away from the goal, and pays 1 for the tiles in order.
``eight_puzzle_kernels.py`` has the compiled twin.
"""

import numpy as np

from fastenv.game import GameSpec
from fastenv.options import check_integer
from fastenv.plain import PlainGame
from fastenv.rng import Rng

GOAL = [1, 2, 3, 4, 5, 6, 7, 8, 0]
STEPS = (-3, 3, -1, 1)  # where the blank goes: up, down, left, right
RUNNING, SOLVED, LIMIT = 0, 1, 2  # of ``done``
MOST = 1000  # moves
STATE_DTYPE = np.dtype(
    [
        ("rng", "u8", (4,)),
        ("ep_return", "f8"),
        ("ep_length", "i4"),
        ("board", "i4", (9,)),  # the tile of each cell, 0 the blank
        ("blank", "i4"),  # its cell
        ("moves", "i4"),
        ("done", "i1"),
    ],
    align=True,
)
SHARED_DTYPE = np.dtype([("shuffle", "i4"), ("limit", "i4")], align=True)


class Puzzle:
    """One puzzle: one attribute for each field of the row."""

    __slots__ = (*STATE_DTYPE.names, "limit", "shuffle")

    def __init__(self, shuffle, limit):
        self.shuffle, self.limit = shuffle, limit
        self.rng = Rng()
        self.clear()

    def clear(self):
        """Set what every episode begins with: the goal."""
        self.ep_return, self.ep_length = 0.0, 0
        self.board, self.blank, self.moves, self.done = [*GOAL], 8, 0, RUNNING

    def reset(self, seed=None):
        """Shuffle by random moves from the goal, until the tiles are out of order."""
        if seed is not None:
            self.rng = Rng(seed)
        self.clear()
        while self.board == GOAL:
            for _ in range(self.shuffle):
                legal = self.legal_actions()
                self.slide(legal[self.rng.bounded(len(legal))])

    def legal_actions(self):
        """Return the moves that stay on the board."""
        row, column = divmod(self.blank, 3)
        stays = row > 0, row < 2, column > 0, column < 2
        return [action for action in range(4) if stays[action]]

    def step(self, action):
        """Move the blank; off the board it stays where it is, and the move counts."""
        if action in self.legal_actions():
            self.slide(action)
        self.moves += 1
        if self.board == GOAL:
            self.done = SOLVED
        elif self.moves >= self.limit:
            self.done = LIMIT

    def slide(self, action):
        """Change the blank with the tile beside it."""
        to = self.blank + STEPS[action]
        self.board[self.blank], self.board[to] = self.board[to], 0
        self.blank = to


class PuzzleGame(PlainGame):
    """The 8-puzzle, configured: random moves of a shuffle, and how many moves an episode has."""

    def __init__(self, shuffle=12, limit=30):
        self.shuffle = check_integer("shuffle", shuffle, 1, MOST)
        self.limit = check_integer("limit", limit, 1, MOST)
        self.shared = np.array([(self.shuffle, self.limit)], SHARED_DTYPE)
        spec = GameSpec(
            num_actions=4,
            obs_shape=(81,),
            obs_bounds=(0.0, 1.0),
            state_dtype=STATE_DTYPE,
            kernel_module="fastenv.examples.eight_puzzle_kernels",
            core_module="fastenv.examples.eight_puzzle_kernels",
            render_modes=("ansi",),
        )
        limits = {"board": (0, 8), "blank": (0, 8), "moves": (0, MOST), "done": (0, 2)}
        super().__init__(spec, limits)

    def create(self):
        """Return a puzzle."""
        return Puzzle(self.shuffle, self.limit)

    def encode_obs(self, game, out):
        """Write a one-hot tile for each cell."""
        out[:] = 0
        for cell, tile in enumerate(game.board):
            out[9 * cell + tile] = 1

    def reward(self, game):
        """Return 1 for the tiles in order; it has no parts."""
        return float(game.done == SOLVED), ()

    def info(self, game):
        """Return no columns: the game has none."""
        return ()

    def resample(self, game, agent, rng):
        """Draw a world: unknown is the luck to come alone."""
        game.rng = Rng(rng.next())

    def core(self):
        """Return reset, step and the like, compiled by Numba."""
        from fastenv.examples.eight_puzzle_kernels import core

        return core()

    def action_name(self, action, row=None):
        """Name an action."""
        return ("up", "down", "left", "right")[action]

    def render(self, row, mode):
        """Return the board as text."""
        return "\n".join(" ".join(map(str, line)) for line in row["board"].reshape(3, 3))


make_game = PuzzleGame  # the registry calls it with the options of ``make``

"""Boards and questions for the planner's tests."""

import numpy as np

from fastenv.drmario import DrMarioGame, make_game
from fastenv.drmario import tables as t
from fastenv.drmario.reachability import Root
from fastenv.drmario.tables import Tile
from fastenv.engine import BatchEngine, rng_streams
from tests.drmario import golden

INPUT_SETS = {False: "cost", True: "cost_with_ab"}

# What changes how long a pill takes, when an episode ends, and what can be reached.
GAMES = {
    "low": {"level": 12, "speed": "low"},
    "medium": {"level": 9, "speed": "medium"},
    "high": {"level": 20, "speed": "high"},
    "few viruses": {"level": -2, "speed": "low"},
    "matches": {"level": -13, "speed": "high"},
    "extended": {"level": 16, "speed": "high", "extended_inputs": True},
    "match": {"agents": 2, "level": (10, 4), "speed": ("low", "high")},
    "replay": {"level": 5, "speed": "medium", "mode": "replay"},
}


class Narrow(DrMarioGame):
    """A game whose bots follow one placement alone: the reference takes a second, not a minute."""

    def bot(self, name):
        row = super().bot(name)
        for name in ("first", "second", "kept", "plies", "repeats"):
            row[name] = np.minimum(row[name], 1)
        return row


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


def play_out(engine, name, decisions, seed):
    """Let a bot play the lanes to their ends, so many decisions at most; return their rows."""
    engine.reset_many(seeds=seed)
    running = np.ones(engine.num_envs, bool)
    for _ in range(decisions):
        chosen = engine.bot_actions(name, rng_streams(0, engine.num_envs))
        engine.step_many(chosen, select=running, autoreset=False)
        running &= ~engine.ended
    return engine.get_states()


def hand_made(rng, boards):
    """Fill boards with halves and viruses of all kinds, as deep as their numbers say."""
    kinds = [Tile.SINGLE, Tile.VIRUS, Tile.TOP, Tile.BOTTOM, Tile.LEFT, Tile.RIGHT]
    for i, board in enumerate(boards):
        tiles = rng.choice(kinds, t.CELLS) | rng.integers(0, t.NUM_COLORS, t.CELLS)
        full = (rng.random(t.CELLS) < 0.6) & (np.arange(t.CELLS) >= 8 * (3 + i % 13))
        board[:] = np.where(full, tiles, t.EMPTY)


def positions(options, lanes, seed):
    """Return a game and rows in the middle of it; every second bottle is made by hand."""
    rng, game = np.random.default_rng(seed), make_game(obs="none", **options)
    engine = BatchEngine(game, lanes, "fast")
    engine.reset_many(seeds=seed)
    for _ in range(6 + seed % 7):
        drawn = np.where(engine.mask != 0, rng.random(engine.mask.shape), -1.0)
        engine.step_many(drawn.argmax(-1).astype(np.int32))
    rows = engine.get_states()
    for agent in range(game.spec.num_agents):
        players = rows["players"][:, agent]
        due = (players["next_action"] == t.Next.FALLING) & (players["plan_left"] == 0)
        made = np.flatnonzero(due)[::2]
        boards = players["board"][made]
        hand_made(rng, boards)
        players["board"][made] = boards
        if options["level"] != -13:  # which has no viruses
            players["virus_bcd"][made] = rng.integers(1, 10)
    return game, rows

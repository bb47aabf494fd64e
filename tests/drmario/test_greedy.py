"""The bot ``greedy``: its branches are the engine's, its compiled twin chooses alike.

The compiled planner gives the costs throughout; that it is right is tested elsewhere.
"""

import numpy as np
import pytest

from fastenv.drmario import DrMarioGame, make_game
from fastenv.drmario import tables as t
from fastenv.drmario.greedy import branch, greedy_action
from fastenv.drmario.tables import Color, Tile
from fastenv.engine import BatchEngine, rng_streams
from tests.drmario.boards import hand_made, play_out
from tests.needs import needs_core
from tests.slow import together


class Weighed(DrMarioGame):
    """A game whose greedy player has other weights."""

    weights = t.GREEDY

    def bot(self, name):
        row = super().bot(name)
        for weight, value in self.weights.items():
            row[weight] = value
        return row


def engine_of(n=1, **options):
    return BatchEngine(Weighed(make_game(obs="bitplane_bottle", **options).config), n, "fast")


def positions(lanes, seed):
    """Return an engine in the middle of games, half of its boards made by hand."""
    rng, engine = np.random.default_rng(seed), engine_of(lanes, level=12, speed="high")
    engine.reset_many(seeds=seed)
    for step in range(12):
        engine.step_many(engine.bot_actions("random", rng_streams(100 * seed + step, lanes)))
    rows = engine.get_states()
    boards = rows["players"]["board"][::2, 0].copy()
    hand_made(rng, boards)
    rows["players"]["board"][::2, 0] = boards
    rows["players"]["virus_bcd"][::2] = 0x44
    engine.set_states(rows)
    return engine, rows


def costs_of(engine):
    """Return the costs that the engine planned, shape (n, 512)."""
    shown = make_game(obs="bitplane_bottle", extras=("costs",), speed="high")
    beside = BatchEngine(shown, engine.num_envs, "fast")
    beside.reset_many(seeds=0)
    beside.set_states(engine.get_states())
    costs = beside.obs["costs"].reshape(engine.num_envs, -1).astype(int)
    return np.where(costs < 0, t.INFEASIBLE, costs)


@needs_core
def test_branches_are_what_the_engine_makes_of_placements():
    engine, rows = positions(6, 3)
    ended = matched = 0
    for lane, row in enumerate(rows):
        game = engine.game.unpack(row)
        feasible = np.flatnonzero(engine.mask[lane])
        played = engine_of(len(feasible), level=12, speed="high")
        played.reset_many(seeds=0)
        played.set_states(np.repeat(row[None], len(feasible)))
        played.step_many(feasible.astype(np.int32), autoreset=False)
        players = played.get_states()["players"][:, 0]
        for action, after in zip(feasible.tolist(), players, strict=True):
            ours, _ = branch(game.players[0], action)
            assert ours.stage_clear == after["stage_clear"], (lane, action)
            assert ours.ev_tiles_virus == after["ev_tiles_virus"], (lane, action)
            blocked = any(ours.board[cell] < t.FREE for cell in t.SPAWN_CELLS)
            assert blocked == after["level_fail"], (lane, action)
            if not blocked:
                assert ours.board == after["board"].tolist(), (lane, action)
            ended += blocked
            matched += ours.combo_counter > 0
        assert engine.game.pack(game) == row.tobytes(), "a branch changed the game"
    assert ended
    assert matched > 20


@needs_core
@pytest.mark.parametrize(("count", "seed"), together([(5, 0), *((14, k) for k in range(4))], 9))
def test_compiled_choice_is_that_of_the_reference(count, seed):
    engine, rows = positions(count, seed)
    rng, costs = np.random.default_rng(seed), costs_of(engine)
    drawn = {name: int(rng.integers(-300, 300)) for name in t.GREEDY}
    for weights in (t.GREEDY, drawn):
        engine.game.weights = weights
        chosen = engine.bot_actions("greedy", rng_streams(0, len(rows))).tolist()
        for lane, row in enumerate(rows):
            player = engine.game.unpack(row).players[0]
            wanted = greedy_action(player, costs[lane].tolist(), weights)
            assert chosen[lane] == wanted, f"seed {seed}, lane {lane}, {weights}"


def decide(board, pill):
    """Return what greedy makes of a bottle, given by its cells that are not empty."""
    engine = engine_of(level=0, speed="low")
    engine.reset_many(seeds=1)
    row = engine.get_states()
    player = row["players"][0, 0]
    player["board"][:] = t.EMPTY
    for cell, tile in board.items():
        player["board"][cell] = tile
    player["virus_bcd"] = sum(tile & 0xF0 == Tile.VIRUS for tile in board.values())
    player["color_first"], player["color_second"] = pill
    row["players"][0, 0] = player
    engine.set_states(row)
    action = int(engine.bot_actions("greedy", rng_streams(0, 1))[0])
    return branch(engine.game.unpack(row[0]).players[0], action)[0]


@needs_core
def test_it_clears_the_last_virus():
    single, virus = Tile.SINGLE | Color.RED, Tile.VIRUS | Color.RED
    after = decide({8 * 15 + 2: virus, 8 * 14 + 2: single}, (Color.RED, Color.RED))
    assert after.stage_clear


@needs_core
def test_cascades_count():
    """A pill that clears a row lets a half fall that clears the last virus."""
    red, blue = Tile.SINGLE | Color.RED, Tile.SINGLE | Color.BLUE
    bottle = dict.fromkeys((121, 122, 115), red) | dict.fromkeys((123, 124, 125), blue)
    after = decide(bottle | {120: Tile.VIRUS | Color.RED}, (Color.BLUE, Color.YELLOW))
    assert after.stage_clear
    assert after.combo_counter == 2


@needs_core
def test_it_keeps_the_spawn_free():
    """Of a pill that fits nowhere else without blocking, the one way that does not is taken."""
    rng = np.random.default_rng(0)
    bottle = {
        cell: Tile.SINGLE | (cell + cell // 8 + int(rng.integers(2))) % 3
        for cell in range(16, t.CELLS)
    }
    after = decide(bottle, (Color.RED, Color.BLUE))
    assert all(after.board[cell] == t.EMPTY for cell in t.SPAWN_CELLS)


@needs_core
def test_it_makes_the_matches_that_a_task_asks_for():
    engine = engine_of(8, level=-11, speed="medium")
    rows = play_out(engine, "greedy", 100, seed=5)
    assert (rows["reason"] == t.Reason.CLEAR).all()


@needs_core
def test_it_clears_level_0_where_first_does_not():
    cleared = {}
    for name in ("greedy", "first"):
        engine = engine_of(20, level=0, speed="medium")
        rows = play_out(engine, name, 80, seed=77)
        cleared[name] = int((rows["players"]["stage_clear"] == 1).sum())
    assert cleared["greedy"] == 20
    assert cleared["first"] < 5

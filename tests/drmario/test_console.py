"""What the routines of the cartridge do where play seldom goes, worked out by hand.

Names in the docstrings are those that a published disassembly gives the routines.
"""

import numpy as np
import pytest

from fastenv.drmario import tables as t
from fastenv.drmario.config import DrMarioConfig
from fastenv.drmario.tables import Button, Mode, Next, Tile
from tests.drmario.rows import CompiledRows, assert_same_row, reference_row
from tests.drmario.test_reference import new_game
from tests.tables import walk

LEFT, RIGHT, BOTH = Button.LEFT, Button.RIGHT, Button.LEFT | Button.RIGHT
YELLOW, RED, BLUE = range(3)


def game_with(cells=(), speed="low", agents=1, **registers):
    """Return a running game whose first player has these cells, by row and column, and registers.

    Its bottle has one virus more, so that nothing here ends a level.
    """
    game = new_game(knobs={"game_seed": 0x8988, "speed": speed}, agents=agents)
    for player in game.players:
        player.mode, player.intro_wait = Mode.PLAYING, 0
        player.next_action, player.board = Next.FALLING, [t.EMPTY] * t.CELLS
    player = game.players[0]
    player.board[120] = Tile.VIRUS | BLUE
    for (row, col), tile in dict(cells).items():
        player.board[8 * row + col] = tile
    for name, value in registers.items():
        setattr(player, name, value)
    player.virus_bcd = t.to_bcd(sum(tile & 0xF0 == Tile.VIRUS for tile in player.board))
    return game


def frames(game, *buttons):
    """Play frames in the reference and in the compiled core; yield the player after each."""
    lanes = CompiledRows(game.config, np.repeat(game.config.knobs_record(), 1))
    lanes.reset([1])
    lanes.rows[0] = reference_row(game)
    for number, raw in enumerate(buttons):
        actions = [int(raw)] + [0] * (len(game.players) - 1)
        game.step(actions)
        lanes.step(actions)
        assert_same_row(lanes.rows[0], game, f"frame {number + 1}")
        yield game.players[0]


# -- buttons: getInputs keeps what is held; fallingPill_checkXMove tries right, then left ----------


def test_left_and_right_are_held_together():
    for player in frames(game_with(row=8, col=3), BOTH):
        assert player.buttons_held == player.buttons_pressed == BOTH
        # to the right, and back from there
        assert (player.col, player.hor_velocity) == (3, 0)


def test_up_and_down_are_held_together_and_do_not_lower_the_pill():
    both = Button.UP | Button.DOWN
    for player in frames(game_with(row=8, col=3), both, both):
        assert player.buttons_held == both
        assert player.row == 8


def test_both_directions_beside_a_cell_charge_and_go_left():
    """A cell to the right charges the velocity; left then moves, and repeats in the next frame."""
    game = game_with({(7, 5): Tile.SINGLE | RED}, row=8, col=3)
    moves = [(player.col, player.hor_velocity) for player in frames(game, BOTH, LEFT, LEFT)]
    assert moves == [(2, 15), (1, 10), (1, 11)]


def test_both_directions_between_cells_stay_charged():
    cells = {(7, 2): Tile.SINGLE | RED, (7, 5): Tile.SINGLE | RED}
    moves = [
        (player.col, player.hor_velocity)
        for player in frames(game_with(cells, row=8, col=3), BOTH, BOTH)
    ]
    assert moves == [(3, 15), (3, 15)]


@pytest.mark.parametrize(("rot", "wall"), [(0, 6), (1, 7)])
def test_both_directions_at_the_walls(rot, wall):
    """At the right wall only left is tried; from the left one the pill goes right and back."""
    for player in frames(game_with(row=8, col=wall, rot=rot), BOTH):
        assert (player.col, player.hor_velocity) == (wall - 1, 0)
    for player in frames(game_with(row=8, col=0, rot=rot), BOTH):
        assert (player.col, player.hor_velocity) == (0, 0)


def test_a_direction_that_stays_held_is_not_pressed_anew():
    game = game_with(row=8, col=3)
    moves = [
        (player.col, player.hor_velocity)
        for player in frames(game, RIGHT, BOTH, BOTH, LEFT, RIGHT, BOTH, RIGHT)
    ]
    # right; left is pressed: right and back; both held; left still held; right pressed;
    # left pressed; right still held
    assert moves == [(4, 0), (4, 0), (4, 1), (4, 2), (5, 0), (5, 0), (5, 1)]


def test_a_turn_with_both_directions_goes_left_as_with_left_alone():
    """The pill stays in its column, and one that comes to lie goes left, since left is held."""
    for player in frames(game_with(row=8, col=3, rot=1), BOTH | Button.B):
        assert (player.col, player.rot) == (2, 2)


# -- levels above 20: initData_level clears what it then copies ------------------------------------


@walk("level", [20, 21, 24])
@walk("agents", [1, 2])
def test_no_level_begins_with_speed_ups(level, agents):
    config = DrMarioConfig(placement=False, agents=agents, level=level)
    lanes = CompiledRows(config)
    lanes.reset([1])
    assert not lanes.rows["players"]["speed_ups"].any()
    game = new_game(knobs={"level": level}, agents=agents)
    assert [player.speed_ups for player in game.players] == [0] * agents


# -- chain_length: checkHorMatch and checkVerMatch add, action_pillFalling clears ------------------


def test_chain_length_adds_up_runs_of_both_scans():
    """A row of five, then a column of four that the blue virus completes, and one of four."""
    cells = {(14, col): Tile.SINGLE | RED for col in range(2, 7)}
    cells |= {(row, 0): Tile.SINGLE | BLUE for row in (12, 13, 14)}
    cells |= {(row, 7): Tile.SINGLE | YELLOW for row in range(12, 16)}
    cells[15, 6] = Tile.VIRUS | YELLOW
    game = game_with(cells, next_action=Next.PLACED, placed_step=5)
    assert [player.chain_length for player in frames(game, 0, 0)] == [5, 5 + 4 + 4]


def test_chain_length_adds_up_over_cascades_until_a_pill_falls():
    """Behind the red row three blues fall on the blue virus."""
    cells = {(14, col): Tile.SINGLE | RED for col in range(4)}
    cells |= {(row, 0): Tile.SINGLE | BLUE for row in (11, 12, 13)} | {(15, 6): Tile.VIRUS | YELLOW}
    game = game_with(cells, next_action=Next.PLACED, placed_step=5)
    seen = []
    for player in frames(game, *[0] * 200):
        seen.append((player.chain_length, player.next_action))
        if player.speed_counter:
            break
    lengths = [length for length, action in seen if action != Next.FALLING]
    assert sorted({*lengths}) == [4, 8]
    assert lengths == sorted(lengths)
    assert seen[-2:] == [(8, Next.FALLING), (0, Next.FALLING)]


def test_chain_length_is_a_byte():
    cells = {(14, col): Tile.SINGLE | RED for col in range(4)}
    game = game_with(cells, next_action=Next.PLACED, placed_step=5, chain_length=254)
    assert [player.chain_length for player in frames(game, 0)] == [2]


# -- score: scoreIncrease reads scoreMultiplier_table, eleven bytes, and what is behind it ---------

# Factors of the first to the fourteenth virus: the bytes at $A239 to $A246, of which the last three
# are those of bkgColor_basedOnSpeed. The loop counts down before it looks, so that 0 is 256 rounds.
FACTORS = [1, 2, 4, 8, 16, 32, 32, 32, 32, 32, 32, 0x0A, 0x03, 0x100]


def virus_rows(viruses, color=RED):
    """Return cells of rows of up to seven viruses; a last row of fewer than four has halves."""
    cells = {}
    for row in range(14, 0, -2):
        here = min(7, viruses)
        if not here:
            break
        kinds = [Tile.VIRUS] * here + [Tile.SINGLE] * (max(4, here) - here)
        cells |= {(row, col): kind | color for col, kind in enumerate(kinds)}
        viruses -= here
    return cells


@walk("speed", t.SPEEDS)
@walk("viruses", [1, 5, 6, 7, 11, 12, 13, 14])
def test_score_of_viruses_cleared_at_once(viruses, speed):
    game = game_with(virus_rows(viruses), speed, next_action=Next.PLACED, placed_step=5)
    (player,) = frames(game, 0)
    assert player.score == 100 * (1 + t.SPEEDS.index(speed)) * sum(FACTORS[:viruses])


def test_twelve_viruses_at_high_speed_are_worth_what_is_known():
    game = game_with(virus_rows(12), "high", next_action=Next.PLACED, placed_step=5)
    assert next(frames(game, 0)).score == 69_900


def test_viruses_behind_the_fourteenth_are_worth_as_much():
    game = game_with(virus_rows(16), next_action=Next.PLACED, placed_step=5)
    assert next(frames(game, 0)).score == 100 * (sum(FACTORS) + 2 * 256)


def test_the_factor_goes_on_in_cascades_and_not_behind_the_next_lock():
    """Behind a row of five viruses three blues fall on the blue virus, the sixth."""
    cells = virus_rows(5) | {(row, 0): Tile.SINGLE | BLUE for row in (11, 12, 13)}
    cells[15, 6] = Tile.VIRUS | YELLOW
    game = game_with(cells, next_action=Next.PLACED, placed_step=5)
    scores = {player.score for player in frames(game, *[0] * 120)}
    assert scores == {3100, 3100 + 3200}
    game = game_with(virus_rows(4), next_action=Next.PLACED, scored=7)  # by the one before
    assert [player.score for player in frames(game, *[0] * 40)][-1] == 1500


def test_a_game_of_two_has_no_score():
    game = game_with(virus_rows(12), agents=2, next_action=Next.PLACED, placed_step=5)
    for player in frames(game, *[0] * 3):
        assert (player.score, player.scored) == (0, 0)
    assert player.ev_tiles_virus == 0
    assert player.virus_bcd == 1

"""A person can bring the pill to every placement there is, and to no other."""

import os
import pty
import sys

import numpy as np
import pytest

from fastenv.drmario import make_game
from fastenv.drmario import tables as t
from fastenv.drmario.placement import new_game
from fastenv.drmario.player import pose_of
from fastenv.drmario.steering import FrameSteering, PlacementSteering
from fastenv.env import FastEnv
from fastenv.keys import Keys, named_keys
from fastenv.play import play_episode, steer
from tests.drmario.test_render import FRAME, PLACEMENT, row_of


class Scripted:
    """Keys that are pressed one after the other, then ``q``."""

    single = False

    def __init__(self, *keys):
        self.left = [*keys]

    def read(self, timeout=None):
        return self.left.pop(0) if self.left else "q"


def decision(overhang=False):
    game = new_game(PLACEMENT)
    game.reset(PLACEMENT.knobs_record()[0], seed=1)
    if overhang:
        game.players[0].board = [t.EMPTY] * t.CELLS
        for col in (0, 1):
            game.players[0].board[12 * t.COLUMNS + col] = 0x80
    row = row_of(PLACEMENT)
    row["players"][0]["board"] = game.players[0].board
    return PlacementSteering(row, game.costs()[0]), game.costs()[0]


@pytest.mark.parametrize("overhang", [False, True])
def test_every_reachable_placement_and_no_other_can_be_chosen(overhang):
    steering, costs = decision(overhang)
    shown = set()
    for _turn in range(4):
        for _ in range(t.COLUMNS):
            steering.press("left")
        for _ in range(t.COLUMNS):
            for _ in range(3):
                shown.add(steering.action)
                steering.press("down")
            steering.press("right")
        steering.press("z")
    assert shown == {action for action, cost in enumerate(costs) if cost != t.INFEASIBLE}


def test_the_ghost_begins_at_the_spawn_and_shows_its_cost():
    steering, costs = decision(overhang=True)
    assert pose_of(steering.action)[1:] == (t.SPAWN_COLUMN, 0)
    assert f"\n{costs[steering.action]} frames to the lock" in steering.text()
    for _ in range(3):
        assert steering.press("a") is None
    assert "1 of 2 here" in steering.text()
    above = steering.action
    steering.press("s")
    assert pose_of(steering.action)[0] < pose_of(above)[0]
    assert "2 of 2 here" in steering.text()
    assert steering.press("enter") == steering.action != above


def test_turning_is_that_of_the_console():
    steering, _ = decision()
    turned = [pose_of(steering.action)[2]]
    for key in ("up", "up", "z", "w", "x"):
        steering.press(key)
        turned.append(pose_of(steering.action)[2])
    assert turned == [0, 3, 2, 3, 2, 1]
    assert steering.press("?") is None


def test_keys_of_a_frame_are_its_buttons():
    row = row_of(FRAME)
    keys = ("left", "d", "down", "x", "z", "enter", "?")
    assert [FrameSteering(row, True).press(key) for key in keys] == [2, 1, 4, 128, 64, 0, None]
    assert [FrameSteering(row, False).press(key) for key in keys] == [1, 2, 3, 4, 5, 0, None]


def test_a_person_plays_pills(capsys):
    env = FastEnv(make_game(game_seed=0x8988), backend="reference", render_mode="ansi")
    env.reset(seed=1)
    args = type("Args", (), {"bot": None, "seed": 1})
    assert play_episode(env, args, Scripted("left", "enter", "?", "z", "enter")) == 0
    assert env.get_state()["players"][0]["locks"] == 2
    shown = capsys.readouterr().out
    assert "frames to the lock" in shown
    assert "Enter or space: drop" in shown


def test_a_frame_without_a_key_has_no_button():
    steering = FrameSteering(row_of(FRAME), True)
    assert steer(steering, Scripted("")) == 0
    assert steer(steering, Scripted("?", "left")) == 2
    assert steer(steering, Scripted()) is None


def test_names_of_keys():
    sent = "\x1b[A\x1bOB\x1b[C\x1b[DX \r\n\x1b[Z\x03"
    assert named_keys(sent) == [
        *("up", "down", "right", "left", "x", "enter", "enter", "enter", "", "q")
    ]


def test_lines_are_keys_where_there_is_no_terminal(monkeypatch):
    lines = iter(["az", ""])

    def ask(_prompt):
        line = next(lines, None)
        if line is None:
            raise EOFError
        return line

    monkeypatch.setattr("builtins.input", ask)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    with Keys() as keys:
        assert not keys.single
        assert [keys.read() for _ in range(4)] == ["a", "z", "enter", "q"]


def test_a_terminal_sends_single_keys_and_is_left_as_it_was(monkeypatch):
    termios = pytest.importorskip("termios")
    outer, inner = pty.openpty()
    with os.fdopen(inner, "r+b", buffering=0) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        monkeypatch.setattr(sys, "stdout", terminal)
        before = termios.tcgetattr(inner)
        with Keys() as keys:
            assert keys.single
            assert keys.read(0) == ""
            os.write(outer, b"\x1b[Dz")
            assert [keys.read(5), keys.read(5)] == ["left", "z"]
        assert termios.tcgetattr(inner) == before
    os.close(outer)


@pytest.mark.parametrize("agents", [1, 2])
def test_the_game_offers_the_legal_placements_and_draws(agents):
    game = make_game(agents=agents, game_seed=0x8988, obs="bitplane_reduced")
    for seed in (0x8988, 0x1234, 0x0777):
        config = game.config.replace(game_seed=seed)
        row = row_of(config)
        one = game.create()
        one.reset(config.knobs_record()[0], seed=1)
        mask = np.zeros((agents, t.NUM_PLACEMENTS), np.uint8)
        game.action_mask(one, mask if agents == 2 else mask[0])
        steering = game.steering(row)
        legal = np.flatnonzero(np.array(steering.costs) != t.INFEASIBLE)
        np.testing.assert_array_equal(legal, np.flatnonzero(mask[0]))
    assert game.render(row, "rgb_array").shape == (640, 480 * agents, 3)
    assert "viruses" in game.render(row, "ansi")
    row["players"]["decided"] = row["players"]["reserve_index"]
    assert game.steering(row) is None


def test_frames_are_steered_by_buttons():
    assert isinstance(make_game(placement=False).steering(row_of(FRAME)), FrameSteering)

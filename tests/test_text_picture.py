"""Pictures of games that draw in text alone: what a terminal would show."""

import dataclasses
import sys

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import fastenv
from fastenv.adapters.sb3 import BatchVecEnv
from fastenv.engine import BatchEngine
from fastenv.env import FastEnv
from fastenv.game import GameSpec
from fastenv.vector import FastVectorEnv
from tests.toy import STATE, RaceGame, WalkGame

pytest.importorskip("PIL")
from fastenv import text_picture
from fastenv.text_picture import BASIC, CELL, INK, MARGIN, PAPER, draw
from tests.tables import walk


def cell(picture, line, column):
    """Return the pixels of a letter."""
    y, x = MARGIN + line * CELL[1], MARGIN + column * CELL[0]
    return picture[y : y + CELL[1], x : x + CELL[0]]


def colors(pixels):
    return {tuple(color) for color in pixels.reshape(-1, 3).tolist()}


def ink(text):
    """Return the color of the first letter, a block."""
    return tuple(cell(draw(text + "\x1b[0m after"), 0, 0)[12, 6].tolist())


# -- the picture -----------------------------------------------------------------------------------


@walk(
    ("text", "columns", "lines"),
    [
        ("", 40, 12),
        ("x" * 40, 40, 12),
        ("x" * 41, 80, 12),
        ("\x1b[1;31m" + "x" * 40 + "\x1b[0m", 40, 12),
        ("\n" * 11 + "x", 40, 12),
        ("\n" * 12 + "x", 40, 24),
        ("x" * 39 + "漢", 80, 12),
    ],
)
def test_a_picture_has_whole_blocks(text, columns, lines):
    picture = draw(text)
    width, height = columns * CELL[0] + 2 * MARGIN, lines * CELL[1] + 2 * MARGIN
    assert (picture.shape, picture.dtype) == ((height, width, 3), np.uint8)


def test_letters_stand_in_their_cells():
    picture = draw("ab\n\n c\td")
    inked = {
        (line, column)
        for line in range(12)
        for column in range(40)
        if colors(cell(picture, line, column)) != {PAPER}
    }
    assert inked == {(0, 0), (0, 1), (2, 1), (2, 8)}
    assert INK in colors(picture)


@walk(
    ("codes", "color"),
    [
        ("", INK),
        ("31", BASIC[1]),
        ("1;37", BASIC[7]),
        ("90", BASIC[8]),
        ("97", BASIC[15]),
        ("31;39", INK),
        ("31;0", INK),
        ("31;", INK),
        ("38;5;9", BASIC[9]),
        ("38;5;196", (255, 0, 0)),
        ("38;5;232", (8, 8, 8)),
        ("38;5;999", (238, 238, 238)),
        ("38;2;1;2;300;4", (1, 2, 255)),
        ("38", (0, 0, 0)),
        ("7", PAPER),
        ("7;27", INK),
        ("7;41", BASIC[1]),
        ("5;31", BASIC[1]),
        ("2", tuple((2 * a + 3 * b) // 5 for a, b in zip(INK, PAPER, strict=True))),
        ("2;22", INK),
    ],
)
def test_colors_are_those_of_the_sequences(codes, color):
    assert ink(f"\x1b[{codes}m█") == color


@pytest.mark.parametrize(("codes", "color"), [("44", BASIC[4]), ("103", BASIC[11]), ("7", INK)])
def test_paper_fills_the_cell(codes, color):
    picture = draw(f"\x1b[{codes}m \x1b[m ")
    assert colors(cell(picture, 0, 0)) == {color}
    assert colors(cell(picture, 0, 1)) == {PAPER}


def test_bold_letters_are_bolder():
    pytest.importorskip("matplotlib")
    plain, bold = (cell(draw(f"{start}m"), 0, 0).sum() for start in ("", "\x1b[1m"))
    assert bold > plain


def test_other_sequences_show_nothing():
    assert np.array_equal(draw("\x1b[2J\x1b[Ha\x1b[Kb\x07\r"), draw("ab"))


def test_without_matplotlib_the_cells_are_the_same(monkeypatch):
    text_picture._font.cache_clear()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    try:
        picture = draw("i\x1b[1mn")
    finally:
        text_picture._font.cache_clear()
    assert picture.shape == draw("").shape
    assert all(colors(cell(picture, 0, column)) != {PAPER} for column in range(2))
    assert colors(cell(picture, 0, 2)) == {PAPER}


# -- games -----------------------------------------------------------------------------------------


def test_a_game_with_text_alone_has_pictures_too():
    spec = RaceGame().spec
    assert spec.render_modes == ("ansi", "rgb_array")
    row = np.zeros(1, spec.state_dtype)[0]
    game = RaceGame()
    assert np.array_equal(game.render(row, "rgb_array"), draw(game.render(row, "ansi")))
    assert WalkGame().render(np.zeros(1, STATE)[0], "rgb_array").shape == (4, 6, 3)  # its own


@pytest.mark.parametrize(
    ("modes", "shown"),
    [((), ()), (("rgb_array",), ("rgb_array",)), (("ansi",), ("ansi", "rgb_array"))],
)
def test_modes_that_a_spec_shows(modes, shown):
    spec = GameSpec(num_actions=1, state_dtype=STATE, render_modes=modes)
    assert (spec.render_modes, spec.draws_text) == (shown, modes == ("ansi",))


def test_a_game_may_ask_the_one_it_derives_from():
    class Louder(RaceGame):
        def render(self, row, mode):
            return super().render(row, mode).upper() + "!"

    row = np.zeros(1, RaceGame().spec.state_dtype)[0]
    assert Louder().render(row, "ansi") == "[0 0] AT 0!"
    assert np.array_equal(Louder().render(row, "rgb_array"), draw("[0 0] AT 0!"))


def test_every_view_shows_them():
    options = {"opponent": "slow", "render_mode": "rgb_array"}
    single = FastEnv(RaceGame(), **options)
    single.reset(seed=0)
    assert single.metadata["render_modes"] == ["ansi", "rgb_array"]
    wanted = draw(RaceGame().render(single.get_state(), "ansi"))
    many = FastVectorEnv(RaceGame(), 2, autoreset_mode=AutoresetMode.SAME_STEP, **options)
    many.reset(seed=0)
    batch = BatchVecEnv(BatchEngine(RaceGame(), 2, opponent="slow"), render_mode="rgb_array")
    batch.seed(0)
    batch.reset()
    for picture in (single.render(), many.render()[0], batch.get_images()[0]):
        assert np.array_equal(picture, wanted)


def test_without_pillow_one_sentence_says_what_is_missing(monkeypatch):
    env = FastEnv(RaceGame(), render_mode="rgb_array", opponent="slow")
    env.reset(seed=0)
    monkeypatch.delitem(sys.modules, "fastenv.text_picture")
    monkeypatch.delattr(fastenv, "text_picture")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"Pictures of the text need Pillow: pip install"):
        env.render()


def test_a_seat_that_is_drawn_in_text_has_a_picture():
    class Seen(WalkGame):
        def __init__(self):
            super().__init__()
            modes = {"render_modes": ("ansi",)}
            self.spec = dataclasses.replace(self.spec, **modes)

        def render_seat(self, row, seat, mode):
            return f"seat {seat}"

    engine = BatchEngine(Seen(), 1)
    engine.reset_many(seeds=0)
    row = engine.get_states()[0]
    assert engine.game.render_seat(row, 1, "ansi") == "seat 1"
    assert (engine.game.render_seat(row, 1, "rgb_array") == draw("seat 1")).all()
    default = BatchEngine(WalkGame(), 1).game
    assert default.render_seat(row, 1, "ansi") == default.render(row, "ansi")

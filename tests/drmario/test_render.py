"""What is drawn shows the game: every tile, the pills, the counters, and how it ended."""

import re

import numpy as np
import pytest

from fastenv.drmario import DrMarioGame, position, state
from fastenv.drmario import tables as t
from fastenv.drmario.config import DrMarioConfig
from fastenv.drmario.picture import BLOCK, CELL, HEIGHT, LEFT, TOP, sprite_of
from fastenv.drmario.placement import new_game
from fastenv.drmario.player import pose_of
from fastenv.drmario.render import render_ansi, render_rgb
from fastenv.drmario.tables import Mode, Next, Reason, Tile
from fastenv.drmario.view import game_views, halves_of
from tests.tables import walk

PLACEMENT = DrMarioConfig(level=3, speed="high", game_seed=0x8988)
FRAME = DrMarioConfig(placement=False, obs="bitplane", game_seed=0x8988)
MATCH = DrMarioConfig(agents=2, level=(2, 7), game_seed=0x8988)
TASK = DrMarioConfig(level=-15, game_seed=0x8988)
TILES = [*(kind | color for kind in Tile for color in range(3)), t.EMPTY]


def row_of(config, actions=0):
    """Return the row of a game after so many placements, each the cheapest there is."""
    game = new_game(config)
    game.reset(config.knobs_record()[0], seed=1)
    for _ in range(actions):
        game.step([0 if c is None else c.index(min(c)) for c in game.costs()])
    row = np.frombuffer(position.pack(game), state.state_dtype(config.agents, config.stack))
    return row.copy()[0]


def plain(row, **options):
    return render_ansi(row, color=False, **options)


def cells_of(text, player=0):
    """Return the 16 rows of 8 cells that a text shows of a player."""
    lines = [line.split("│")[1 + 2 * player] for line in text.splitlines()[2:18]]
    return [[line[i : i + 2] for i in range(0, 16, 2)] for line in lines]


def cell(picture, row, col):
    y, x = TOP + CELL * row, LEFT + CELL * col
    return picture[y : y + CELL, x : x + CELL]


@pytest.mark.parametrize("config", [PLACEMENT, MATCH])
def test_every_tile_looks_different_and_stands_in_its_cell(config):
    row = row_of(config)
    row["players"]["mode"] = Mode.INTRO  # no falling pill
    number = config.agents - 1
    board = row["players"][number]["board"]
    board[:] = t.EMPTY
    board[: len(TILES)] = TILES
    text, picture = plain(row), render_rgb(row)[:, BLOCK * number :]
    shown = [tile for line in cells_of(text, number) for tile in line]
    drawn = {cell(picture, *divmod(i, t.COLUMNS)).tobytes() for i in range(len(TILES))}
    assert len(drawn) == len(TILES)
    assert shown[len(TILES) :] == [" ."] * (t.CELLS - len(TILES))
    sparks = [i for i, tile in enumerate(TILES) if tile & 0xF0 == Tile.EMPTIED and tile != t.EMPTY]
    assert {shown[i] for i in sparks} == {" '"}
    assert len(set(shown)) == len(TILES) - len(sparks) + 1


def test_colour_changes_nothing_that_the_text_says():
    row = row_of(MATCH, 4)
    assert re.sub(r"\x1b\[[\d;]*m", "", render_ansi(row)) == plain(row)
    assert "\x1b" not in plain(row)


@walk("rot", range(4))
@walk("height", [0, 7, 15])
def test_the_falling_pill_is_where_it_is(rot, height):
    row = row_of(FRAME)
    player = row["players"][0]
    player["board"], player["mode"], player["next_action"] = t.EMPTY, Mode.PLAYING, Next.FALLING
    player["row"], player["col"], player["rot"] = height, 3, rot
    player["color_first"], player["color_second"] = t.Color.RED, t.Color.BLUE
    lines, picture = plain(row).splitlines(), render_rgb(row)
    empty = render_rgb(row_with(row, mode=Mode.INTRO))
    for (up, right, _), letter in zip(t.HALVES[rot], "rb", strict=True):
        line, col = 17 - height - up, 3 + right
        line -= line == 1  # above the row of the rim is the neck
        assert letter in lines[line][1 + 2 * col : 3 + 2 * col]
        at = cell(picture, 15 - height - up, col), cell(empty, 15 - height - up, col)
        assert (at[0] != at[1]).mean() > 0.5


def row_with(row, **fields):
    row = row.copy()
    for name, value in fields.items():
        row["players"][0][name] = value
    return row


@pytest.mark.parametrize("action", [0, 128 + 5, 256 + 9, 384 + 20])
def test_halves_of_a_placement_are_those_of_its_pose(action):
    row, col, rot = pose_of(action)
    expected = [(15 - row - up, col + right, tile) for up, right, tile in t.HALVES[rot]]
    assert [(h.row, h.col, h.tile) for h in halves_of(action, 0, 1)] == expected


def test_ghosts_are_those_asked_for_and_those_on_their_way():
    row = row_of(MATCH)
    assert all(view.ghost == () for view in game_views(row))
    assert game_views(row, {1: 127})[1].ghost == halves_of(
        127, int(row["players"][1]["color_first"]), int(row["players"][1]["color_second"])
    )
    row["players"][0]["plan_left"], row["players"][0]["plan_action"] = 9, 120
    ghost = game_views(row)[0].ghost
    assert [half.row for half in ghost] == [15, 15]
    assert cells_of(plain(row))[15][0][1] == "yrb"[ghost[0].color]
    assert "\x1b[4;" in render_ansi(row)
    with_ghost, without = render_rgb(row), render_rgb(row_with(row, plan_left=0))
    assert (cell(with_ghost, 15, 0) != cell(without, 15, 0)).any()


@pytest.mark.parametrize("config", [PLACEMENT, MATCH])
def test_counters_say_what_the_row_says(config):
    row = row_of(config)
    for player in row["players"]:
        player["virus_bcd"], player["locks"], player["score"] = 0x37, 41, 12_300
        player["speed_setting"] = 2
        player["preview_first"], player["preview_second"] = 1, 2
    row["ep_frames"] = 7_300
    shown = plain(row)
    for name, value in (
        ("level", str(row["players"][-1]["level"])),
        ("speed", "high"),
        ("viruses", "37"),
        ("pills", "41"),
        ("frames", "7,300"),
        ("time", "2:01"),
        ("score", "12,300") if config.agents == 1 else ("garbage", "none"),
    ):
        assert re.search(rf"{name} +{value}( |$)", shown, re.MULTILINE), name
    assert len(re.findall(r"next +\(rb\)", shown)) == config.agents


def test_garbage_on_its_way_stands_beside_whom_it_will_hit():
    row = row_of(MATCH)
    players = row["players"]
    players["attack_size"], players["attack_colors"] = (1, 5), [[2, 0, 0, 0], [1, 2, 0, 1]]
    garbage = [dict(view.counters)["garbage"] for view in game_views(row)]
    assert garbage == ["4 rbyr", "none"]  # one run alone is no attack, and four fall at most
    assert re.search(r"garbage +4 rbyr .* garbage +none", plain(row))
    assert "score" not in plain(row)


def test_each_counter_and_the_next_pill_change_the_picture():
    row = row_of(PLACEMENT)
    before = render_rgb(row)
    for name, value in (
        ("level", 9),
        ("speed_setting", 0),
        ("virus_bcd", 0x11),
        ("locks", 7),
        ("score", 100),
        ("preview_first", (row["players"][0]["preview_first"] + 1) % 3),
    ):
        after = render_rgb(row_with(row, **{name: value}))
        changed = np.argwhere((before != after).any(axis=2))
        assert changed[:, 1].min() > LEFT + CELL * t.COLUMNS, name


def test_a_task_of_matches_counts_them():
    assert re.search(r"matches +0 of 1$", plain(row_of(TASK)), re.MULTILINE)


def test_news_of_a_step():
    row = row_with(row_of(MATCH), ev_matches=2, ev_tiles_virus=1, ev_volleys=1, ev_volley_size=3)
    assert game_views(row)[0].news == ("2 matches", "1 virus gone", "hit by 3")
    assert all(text in plain(row) for text in game_views(row)[0].news)
    assert "out of reach" in plain(row_with(row, ev_invalid=1))


@walk(
    ("config", "reason", "fields", "endings"),
    [
        (PLACEMENT, Reason.CLEAR, {"stage_clear": (1,)}, ["clear"]),
        (PLACEMENT, Reason.TOPOUT, {"level_fail": (1,)}, ["topped out"]),
        (PLACEMENT, Reason.TIMEOUT, {}, ["time is up"]),
        (MATCH, Reason.CLEAR, {"stage_clear": (0, 1)}, ["beaten", "clear"]),
        (MATCH, Reason.CLEAR, {"stage_clear": (1, 1)}, ["draw", "draw"]),
        (MATCH, Reason.TOPOUT, {"level_fail": (1, 0)}, ["topped out", "wins"]),
        (MATCH, Reason.TOPOUT, {"level_fail": (1, 1)}, ["draw", "draw"]),
    ],
)
def test_how_it_ended(config, reason, fields, endings):
    row = row_of(config)
    before = render_rgb(row)
    assert all(view.ending == "" for view in game_views(row))
    row["reason"] = reason
    for name, values in fields.items():
        row["players"][name] = values
    assert [view.ending for view in game_views(row)] == endings
    assert [view.won for view in game_views(row)] == [e in ("clear", "wins") for e in endings]
    assert all(ending in plain(row) for ending in endings)
    for number in range(config.agents):
        block = slice(BLOCK * number, BLOCK * (number + 1))
        assert (render_rgb(row)[:, block] != before[:, block]).any()


@pytest.mark.parametrize("config", [PLACEMENT, FRAME, MATCH])
def test_every_row_can_be_drawn(config):
    seed = int(np.random.SeedSequence().entropy % 2**32)
    print(f"seed {seed}")
    rng, row = np.random.default_rng(seed), row_of(config)
    for n in range(40):
        row["reason"] = rng.integers(len(Reason))
        row["ep_frames"] = rng.integers(1_000_000)
        for player in row["players"]:
            player["board"] = rng.choice(TILES, t.CELLS)
            player["mode"], player["next_action"] = rng.choice([*Mode]), rng.choice([*Next])
            player["rot"] = rng.integers(4)
            player["col"] = rng.integers(t.COLUMNS - (player["rot"] % 2 == 0))
            player["row"] = rng.integers(t.ROWS)
            for name in ("color_first", "color_second", "preview_first", "preview_second"):
                player[name] = rng.integers(3)
            lowest = t.LOWEST_LEVEL if config.agents == 1 else 0
            player["level"] = rng.integers(lowest, t.HIGHEST_LEVEL + 1)
            player["speed_setting"] = rng.integers(len(t.SPEEDS))
            player["locks"], player["score"], player["matches"] = rng.integers(
                (1_000_000, 1_000_000, 20)
            )
            for name in ("ev_invalid", "ev_volleys", "ev_matches", "ev_tiles_virus"):
                player[name] = rng.integers(2)
            player["plan_action"] = rng.choice([0, 120, 130, 300, 500])
            player["plan_left"] = rng.integers(2)
        lines = plain(row).splitlines()
        assert len(lines) <= 24
        assert max(map(len, lines)) <= 80
        if n % 10 == 0:
            picture = render_rgb(row)
            assert picture.shape == (HEIGHT, BLOCK * config.agents, 3)
            assert picture.dtype == np.uint8
    assert sprite_of(t.EMPTY) is None


def test_placements_have_names_and_buttons_their_numbers():
    placements = DrMarioGame(DrMarioConfig(placement=True))
    assert placements.action_name(313) == "row 7, column 1, second half left"
    assert placements.action_name(8) == "row 1, column 0, second half right"
    assert DrMarioGame(DrMarioConfig(placement=False)).action_name(65) == "65"

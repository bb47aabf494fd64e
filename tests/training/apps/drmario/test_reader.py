"""Frames of Dr. Mario are read: what is seen is the state, and what is read is played."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from scipy import ndimage

from fastenv.drmario import tables as t
from fastenv.drmario.render import render_rgb
from fastenv.drmario.tables import Tile
from fastenv.errors import ConfigError
from tests.needs import needs_core
from tests.tables import walk
from training.apps.drmario.reader import (
    camera,
    cell_classes,
    command,
    measure,
    network,
    positions,
    train,
)
from training.apps.drmario.reader.cell_classes import BOARD, CLASS_OF, NO_PILL
from training.apps.drmario.reader.network import UNITS, Reader
from training.apps.drmario.reader.player import CameraPlayer
from training.players.player import begin_all, every_lane
from training.run.envs import make_engine

ROOT = Path(__file__).resolve().parents[4]
PRETRAINED = ROOT / "pretrained/drmario-reader/reader.safetensors"
pytestmark = needs_core
STILL = camera.Ranges(
    **{"scale": (1, 1), "aspect": 0, "shift": 0, "rotation": 0, "blur": (0, 0), "noise": (0, 0)},
    **{"brightness": 0, "contrast": (1, 1), "gamma": (1, 1), "saturation": (1, 1), "hue": 0},
    **{"gain": 0, "light": 0},
)


@pytest.fixture(scope="module")
def rows():
    return positions.mix_positions(24, seed=5, play_only=True)


@pytest.fixture(scope="module")
def shown(rows):
    return cell_classes.draw_pictures(rows)


# -- what is seen ----------------------------------------------------------------------------------


def is_falling(row):
    """Tell whether a pill falls and does not rest yet, or one appears."""
    (view,) = cell_classes.game_views(row)
    if not view.pill:
        return False
    places = {(half.row, half.col) for half in view.pill}
    under = {(row + 1, col) for row, col in places} - places
    rests = any(r == t.ROWS or (r >= 0 and view.cells[r * 8 + c] != t.EMPTY) for r, c in under)
    return places == {(0, col) for col in t.SPAWN_CELLS} or not rests


def test_what_pictures_show_is_the_state(rows, shown):
    read, of = cell_classes.read_cells(shown[1]), rows["players"][:, 0]
    falls = np.array([is_falling(row) for row in rows])
    assert 12 < falls.sum() <= len(rows)
    assert (read.pill[falls] != NO_PILL).any(1).all()
    previews = np.stack([of["preview_first"], of["preview_second"]], 1)
    assert (read.preview == previews).all()
    for board, pill, player in zip(read.board[falls], read.pill[falls], of[falls], strict=True):
        assert (board == player["board"]).all()
        colours = [player["color_first"], player["color_second"]]
        if player["rot"] in (1, 2):  # the first half is the lower or the right one
            colours.reverse()
        pose = [t.ROWS - 1 - player["row"], player["col"], player["rot"] % 2]
        assert pill.tolist() == [*pose, *colours]


def bottle(*pills):
    """Return the tiles of a bottle with whole pills: row of the lower left half, column, stands."""
    tiles = np.full(cell_classes.CELLS, t.EMPTY, np.uint8)
    tiles[BOARD:] = Tile.LEFT, Tile.RIGHT | 2
    for row, col, stands in pills:
        at = (row + 1) * t.COLUMNS + col
        kinds = (Tile.TOP, Tile.BOTTOM) if stands else (Tile.LEFT, Tile.RIGHT)
        places = (at - t.COLUMNS, at) if stands else (at, at + 1)
        tiles[list(places)] = [kind | colour for kind, colour in zip(kinds, (1, 2), strict=True)]
    return tiles


@walk(
    ("pills", "expected"),
    [
        ([(9, 5, 0)], (9, 5, 0, 1, 2)),
        ([(9, 5, 1), (15, 5, 1)], (9, 5, 1, 1, 2)),
        ([(15, 2, 0), (14, 3, 1)], NO_PILL),  # both rest on something
        ([(1, 3, 0), (0, 3, 0)], (0, 3, 0, 1, 2)),  # where pills appear it may rest
        ([(1, 3, 0), (0, 4, 1)], (0, 4, 1, 1, 2)),  # half of it is above the bottle
        ([], NO_PILL),
    ],
)
def test_the_falling_pill_is_the_one_with_nothing_under_it(pills, expected):
    tiles = bottle(*pills)
    assert cell_classes.read_falling_pill(tiles) == expected
    read = cell_classes.read_cells(CLASS_OF[tiles][None])
    without = bottle(*(p for p in pills if p != expected[:3]))
    assert (read.board[0] == without[t.COLUMNS : BOARD]).all()
    assert read.preview.tolist() == [[0, 2]]


# -- the camera ------------------------------------------------------------------------------------


def test_a_camera_that_changes_nothing_shows_the_picture_in_the_middle(shown):
    pictures, rng = shown[0][:2], np.random.default_rng(0)
    frames = camera.shoot(pictures, camera.draw(2, rng, STILL), rng)
    assert frames.shape == (2, *camera.FRAME, 3)
    assert (frames[:, 40:-40, 30:-30] == pictures).all()


def test_a_camera_puts_points_where_it_says(shown):
    pictures, rng = shown[0][:3], np.random.default_rng(1)
    ranges = replace(STILL, scale=(0.8, 1.2), shift=16.0, rotation=1.5, aspect=0.03)
    cameras = camera.draw(3, rng, ranges)
    frames = camera.shoot(pictures, cameras, rng).astype(int)
    middles = cell_classes.MIDDLES / 2 - [120, 160]
    for k in range(3):
        at = middles @ cameras["matrix"][k].T + cameras["shift"][k]
        column, row = np.round(at + np.array([149.5, 199.5])).astype(int).T
        assert (abs(at) + 8 < [150, 200]).all()  # every cell is in the frame
        x, y = (cell_classes.MIDDLES / 2).astype(int).T
        window = pictures[k].astype(int)
        around = np.stack([window[y + j, x + i] for i in (-2, 0, 1) for j in (-2, 0, 1)])
        low, high = around.min(0) - 40, around.max(0) + 40
        inside = (frames[k][row, column] >= low) & (frames[k][row, column] <= high)
        assert inside.mean() > 0.97


def test_equal_seeds_film_alike_and_greys_have_no_hue():
    pictures = np.full((2, *camera.PICTURE, 3), 90, np.uint8)
    films = []
    for _ in range(2):
        rng = np.random.default_rng(7)
        films.append(camera.shoot(pictures, camera.draw(2, rng), rng))
    assert (films[0] == films[1]).all()
    assert (films[0][0] != films[0][1]).any()
    rng = np.random.default_rng(3)
    turned = camera.draw(2, rng, replace(STILL, hue=12.0, saturation=(0.7, 1.3)))
    frames = camera.shoot(pictures, turned, rng)
    assert (abs(frames[:, 60:-60, 60:-60].astype(int) - 90) <= 1).all()


def test_frames_are_those_of_a_camera_written_with_scipy(shown):
    pictures, rng = shown[0][:4], np.random.default_rng(5)
    cameras = camera.draw(4, rng, replace(camera.Ranges(), noise=(0, 0)))
    frames = camera.shoot(pictures, cameras, rng).astype(int)
    sides = camera.FRAME, camera.PICTURE
    middle, of_picture = (np.array([rows - 1, columns - 1]) / 2 for rows, columns in sides)
    points = np.indices(camera.FRAME).reshape(2, -1).T - middle  # down and right
    for k, own in enumerate(cameras):
        back = np.linalg.inv(own["matrix"].astype(float))
        at = ((points[:, ::-1] - own["shift"]) @ back.T)[:, ::-1] + of_picture
        colours = pictures[k] / 255 @ own["colours"].T - own["ground"]
        x = [ndimage.map_coordinates(channel, at.T, order=1, mode="grid-constant")
             for channel in np.moveaxis(colours, 2, 0)]  # fmt: skip
        x = np.reshape(x, (3, *camera.FRAME)).transpose(1, 2, 0) + own["ground"]
        for axis in (0, 1):
            x = ndimage.gaussian_filter1d(x, max(own["blur"], 1e-3), axis, mode="nearest", radius=3)
        down, right = (np.linspace(-1, 1, side)[:, None] for side in camera.FRAME)
        x *= 1 + own["light"][0] * right + own["light"][1] * down[:, None]
        x = (x - 0.5) * own["contrast"] + 0.5 + own["brightness"]
        x = x.clip(0, 1) ** own["gamma"] * 255
        assert abs(x - frames[k]).max() <= 0.6  # they are rounded


def test_noise_has_its_deviation_and_is_new_in_every_frame():
    pictures, rng = np.full((2, *camera.PICTURE, 3), 128, np.uint8), np.random.default_rng(6)
    cameras = camera.draw(2, rng, replace(STILL, noise=(0.04, 0.04)))
    frames = camera.shoot(pictures, cameras, rng)[:, 60:-60, 60:-60] / 255 - 128 / 255
    assert np.allclose(frames.std((1, 2, 3)), 0.04, atol=2e-3)
    for one, other in ((frames[0], frames[1]), (frames[0, 1:], frames[0, :-1])):
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 0.03


# -- the network -----------------------------------------------------------------------------------


def test_frames_of_other_sizes_are_refused_with_those_that_are_read():
    for rows, columns in ((400, 300), (320, 240), (800, 600), (640, 480)):
        given = np.zeros((1, rows, columns, 3), np.uint8)
        assert network.fit_to_input(given).shape == (1, 400, 300, 3)
    allowed = r"\(n, 400, 300, 3\) or \(n, 320, 240, 3\) or \(n, 800, 600, 3\) or \(n, 640, 480, 3"
    for shape in ((1, 480, 640, 3), (400, 300, 3), (1, 400, 300, 4), (1, 640, 960, 3)):
        with pytest.raises(ConfigError, match=allowed):
            network.fit_to_input(np.zeros(shape, np.uint8))
    with pytest.raises(ConfigError, match="uint8"):
        network.fit_to_input(np.zeros((1, 400, 300, 3), np.float32))


def test_a_picture_twice_as_large_is_the_same_frame(shown):
    frames = shown[0][:1]
    twice = frames.repeat(2, 1).repeat(2, 2)
    assert (network.fit_to_input(twice) == network.fit_to_input(frames)).all()
    middle = network.fit_to_input(frames)[:, 40:-40, 30:-30]
    assert (middle == frames).all()


def test_where_a_picture_lies_is_put_together_step_by_step():
    rng = np.random.default_rng(2)
    points = torch.from_numpy(rng.normal(size=(5, 2)).astype("f4"))
    matrix, shift, off = (
        torch.from_numpy(rng.normal(size=shape).astype("f4"))
        for shape in ((1, 2, 2), (1, 2), (1, 6))
    )
    after, along = network.move_places(matrix, shift, off)
    first = points @ (torch.eye(2) + off[0, :4].view(2, 2) / UNITS).T + off[0, 4:] * UNITS / 4
    torch.testing.assert_close(
        points @ after[0].T + along[0], first @ matrix[0].T + shift[0], rtol=1e-4, atol=1e-4
    )


def test_cells_are_read_one_by_one_or_together(shown):
    reader = Reader(seed=1)
    frames = network.as_input(network.fit_to_input(shown[0][:2]))
    *_, (matrix, shift) = reader.places(frames)
    assert torch.equal(matrix, torch.eye(2).repeat(2, 1, 1))  # an untrained one moves nothing
    assert not shift.any()
    every = reader.classes(frames, matrix, shift)
    some = torch.tensor([[0, 137, 5], [9, 9, 40]])
    found = reader.classes(frames, matrix, shift, some)
    expected = torch.stack([every[k, some[k]] for k in range(2)])
    torch.testing.assert_close(found, expected)


def test_a_patch_lies_around_its_cell(shown):
    reader = Reader()
    frames = torch.from_numpy(network.fit_to_input(shown[0][:1])).permute(0, 3, 1, 2).float()
    patches = camera.interpolate(frames, reader.points.flatten(0, 1)[None])[0].T
    patches = patches.view(-1, network.SIDE, network.SIDE, 3)
    for cell, (x, y) in enumerate((cell_classes.MIDDLES / 2).tolist()):
        x, y = round(x), round(y)
        middle = shown[0][0][y - 4 : y + 4, x - 4 : x + 4].astype(float).mean((0, 1))
        inner = patches[cell, 5:11, 5:11].mean((0, 1)).numpy()
        assert abs(inner - middle).max() < 25


def test_a_training_of_ten_batches_ends(monkeypatch):
    monkeypatch.setattr(train, "BATCH", 4)
    assert isinstance(train.train(10 * train.BATCH, 0), Reader)


def test_every_part_learns(rows):
    reader, rng = Reader(seed=2), np.random.default_rng(0)
    for part in (reader.locate[-1], reader.classify[-1]):
        torch.nn.init.normal_(part.weight, std=0.01)
    location, entropy, wrong = train._compute_losses(reader, rows[:4], rng)
    assert 0 <= wrong <= 1
    (location + entropy).backward()
    for name, weight in reader.named_parameters():
        assert weight.grad.abs().sum() > 0, name


def test_a_network_comes_back_from_its_file(tmp_path, shown):
    reader, path = Reader(seed=3), tmp_path / "reader.safetensors"
    network.save_reader(reader, path, '{"seed": 3}')
    again, trained = network.load_reader(path)
    assert trained == '{"seed": 3}'
    for name, value in reader.state_dict().items():
        assert torch.equal(again.state_dict()[name], value.half().float()), name
    assert path.stat().st_size < 3_000_000
    read = again.read(shown[0][:1])
    assert read.board.shape == (1, t.CELLS)


def test_other_files_are_refused(tmp_path, capsys):
    path = tmp_path / "reader.safetensors"
    save_file({"x": torch.zeros(1)}, path)
    with pytest.raises(ConfigError, match="reader must be a file that python -m training reader"):
        network.load_reader(path)
    save_file({"x": torch.zeros(1)}, path, {"format": "fastenv-reader", "version": "1"})
    with pytest.raises(ConfigError, match="holds another network"):
        network.load_reader(path)
    broken = Reader()
    torch.nn.init.constant_(broken.locate[-1].bias, float("nan"))
    network.save_reader(broken, path)
    with pytest.raises(ConfigError, match="a network of finite numbers"):
        network.load_reader(path)
    with pytest.raises(ConfigError, match="a folder, must be"):
        network.load_reader(tmp_path)
    path.write_bytes(b"no tensors")
    for args, said in (
        (["evaluate", str(path)], f"{path} is no reader"),
        (["play", str(tmp_path / "none")], "none' is not possible"),
    ):
        assert command.main(args) == 2
        assert said in capsys.readouterr().err


# -- measuring and playing -------------------------------------------------------------------------


def test_scores_count_cells_boards_pills_and_previews(rows, shown):
    wanted = shown[1]
    falls = (cell_classes.read_cells(wanted).pill != NO_PILL).any(1)
    found = wanted.copy()
    every = measure.score(found, wanted)
    assert {part["share"][0] for part in every.values()} == {1.0}
    one, other = np.flatnonzero(falls)[:2]
    for frame, cell in ((one, BOARD - 1), (other, BOARD)):
        alternatives = CLASS_OF[[Tile.LEFT, Tile.LEFT | 1]]
        found[frame, cell] = alternatives[int(found[frame, cell] == alternatives[0])]
    scores = measure.score(found, wanted)
    n, k = len(rows), falls.sum()
    assert scores["cells"] == {"share": scores["cells"]["share"], "of": n * t.CELLS}
    assert scores["cells"]["share"][0] == pytest.approx(1 - 1 / (n * t.CELLS))
    assert scores["boards"]["share"][0] == pytest.approx(1 - 1 / n)
    assert scores["previews"]["share"][0] == pytest.approx(1 - 1 / n)
    assert scores["pills"]["share"][0] == 1.0
    assert scores["states"]["share"][0] == pytest.approx(1 - 2 / k)


class Exact(CameraPlayer):
    """Reads everything right."""

    def _read(self, rows, lanes):
        views = [cell_classes.game_views(row)[0] for row in rows]
        return np.array([cell_classes.encode_cells(view) for view in views], np.uint8).reshape(
            -1, cell_classes.CELLS
        )


@walk("options", [{"level": 20, "speed": "low"}, {"level": -1, "speed": "high"}], ids=str)
def test_who_reads_right_sees_what_rows_show(options):
    lanes = 4
    engine = make_engine("DrMarioPlacement-v0", lanes, options)
    engine.reset_many(seeds=4)
    player = Exact("greedy", None, options, engine)
    begin_all(player, engine, 1)
    for _ in range(25):  # over the first rise of the speed
        going = engine.get_states()["done"] == 0
        if not going.any():
            break
        actions = np.zeros(lanes, np.int32)
        actions[going] = player.act(engine, np.flatnonzero(going))
        assert (engine.mask[going] == player.engine.mask[going]).all()
        for name in engine.obs.dtype.names:
            assert (engine.obs[name][going] == player.engine.obs[name][going]).all(), name
        engine.step_many(actions, select=going, autoreset=False)
    assert going.any() == (options["level"] == 20)


class Films:
    """In place of a network: keeps the frames that it is shown."""

    def __init__(self):
        self.frames = []

    def read_classes(self, frames):
        self.frames.extend(frames)
        return np.zeros((len(frames), cell_classes.CELLS), np.uint8)


def test_games_beside_it_change_nothing_of_how_one_is_filmed():
    films, options = [], {"level": 3}
    for lanes in (1, 3):
        engine = make_engine("DrMarioPlacement-v0", lanes, options)
        engine.reset_many(seeds=7)
        reader = Films()
        player = CameraPlayer("first", reader, options, engine)
        begin_all(player, engine, 5)
        for _ in range(2):
            player._read(engine.get_states(), every_lane(engine))
        films.append(np.stack([reader.frames[0], reader.frames[lanes]]))
    np.testing.assert_array_equal(*films)


def test_levels_that_count_matches_are_refused():
    engine = make_engine("DrMarioPlacement-v0", 1, {"level": -5})
    engine.reset_many(seeds=0)
    player = Exact("first", None, {"level": -5}, engine)
    with pytest.raises(ConfigError, match="level=-5"):
        begin_all(player, engine, 0)


def test_other_environments_are_refused():
    versus: Any = SimpleNamespace(game=SimpleNamespace(env_id="DrMarioVersus-v0"))
    with pytest.raises(ConfigError, match=r"DrMarioVersus-v0.* must be DrMarioPlacement-v0"):
        Exact("first", None, {}, versus)


def test_commands_refuse_what_makes_no_sense(tmp_path, capsys):
    path = tmp_path / "reader.safetensors"
    network.save_reader(Reader(), path)
    for args, named in (
        (["train", "--out", str(path), "--frames", "3"], "--frames"),
        (["evaluate", str(path), "--frames", "1"], "--frames"),
        (["play", str(path), "--who", "nobody"], "nobody"),
        (["play", str(path), "--episodes", "1"], "--episodes"),
    ):
        assert command.main(args) == 2
        assert named in capsys.readouterr().err


# -- the network of the repository -----------------------------------------------------------------


@pytest.fixture(scope="module")
def pretrained():
    return network.load_reader(PRETRAINED)


def test_the_network_of_the_repository_is_small_and_of_a_clean_commit(pretrained):
    assert PRETRAINED.stat().st_size < 3_000_000
    trained = json.loads(pretrained[1])
    assert trained["dirty"] is False
    records = [*(ROOT / "benchmarks").glob("drmario-reader-*.json")]
    assert records
    for path in records:
        record = json.loads(path.read_text())
        assert (record["dirty"], record["trained"]) == (False, trained), path.name


def test_it_reads_frames_that_no_training_has_seen(pretrained):
    found = measure.measure(pretrained[0], 40, seed=77)
    assert found["cells"]["share"][0] > 0.998
    assert found["boards"]["share"][0] > 0.9


def test_it_reads_what_the_game_draws(pretrained, rows, shown):
    pictures = np.stack([render_rgb(row) for row in rows[:8]])
    assert (pretrained[0].read_classes(pictures) == shown[1][:8]).all()


@pytest.mark.slow
def test_a_bot_plays_through_it(pretrained):
    found = measure.compare("greedy", pretrained[0], episodes=8, max_steps=200, level=3)
    assert found["players"]["rows"]["clear"][0] == 1.0
    assert found["players"]["pixels"]["clear"][0] >= 0.875
    assert found["players"]["pixels"]["refused"] < 0.02


@pytest.mark.slow
def test_a_short_training_learns(tmp_path, capsys):
    path = tmp_path / "reader.safetensors"
    assert command.main(["train", "--out", str(path), "--frames", "1600"]) == 0
    assert "MB" in capsys.readouterr().out
    reader, trained = network.load_reader(path)
    assert json.loads(trained)["frames"] == 1600
    assert measure.measure(reader, 40)["cells"]["share"][0] > 0.7

"""The live map of a run, on Parcel, a game of ours: its files are what the program shows."""

import io
import json
import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import fastenv
from fastenv.errors import ConfigError, FileError
from fastenv.gameboy.background import squares_around
from fastenv.gameboy.ram_place import MapPlace
from fastenv.gameboy.render import COLORS, display, next_picture
from fastenv.gameboy.state import machine_of
from tests.needs import needs_core
from training.games.gameboy import live_map as callback
from training.games.gameboy import stitching
from training.games.gameboy.live_map import Cells, LaneHistory, LiveMap
from training.games.gameboy.stitching import NOTHING, Canvas, Stitching
from training.logs import film, live_map
from training.logs.live_map import LiveMapReader
from training.report import main as report
from training.run.callback import EngineStep
from training.run.config import LiveMapConfig

pytest.importorskip("PIL")
ROOT = Path(__file__).resolve().parents[3]
PARCEL = {"rom": "parcel", "ram_map": "parcel", "states": "power_up"}
RUN = {
    "env": "GameBoyPixels-v0",
    "num_envs": 8,
    "total_steps": 512,
    "torch_threads": 1,
    "deterministic": True,
    "env_options": {
        **PARCEL,
        "stack_k": 1,
        "max_steps": 40,
        "allowed_buttons": ["b", "up", "down", "left", "right"],
        "observe": ["map_id", "map_x", "map_y"],
    },
    "ppo": {"n_steps": 16, "batch_size": 64, "n_epochs": 1, "net_arch": [16]},
    "checkpoints": {"every": 256},
    "evaluation": {"during": "off"},
    "live_map": {"every": 0.01},
}
NUMBERS = (40, 0, 12, 1, 42)  # of the places in the program's text, in their order


@pytest.fixture(scope="module")
def train(train, tmp_path_factory):
    """Train with these options changed; return the folder of the run."""
    runs = tmp_path_factory.mktemp("runs")

    def call(name, *flags, **options):
        assert train(runs, name, *flags, config=RUN | options) == 0
        return runs / name

    return call


@pytest.fixture(scope="module")
def mapped(train):
    """A finished run with a map."""
    return train("mapped")


def world():
    """Return the places of Parcel as its program's text draws them, shades by the map's number."""
    text = (ROOT / "fastenv/gameboy/roms/parcel.asm").read_text(encoding="utf-8")
    cells = re.findall(r'^ +db "([#.DP,]{10})"$', text, re.MULTILINE)
    drawn = re.findall(r"^ +gfx\n(.*?) +endgfx", text, re.MULTILINE | re.DOTALL)
    tiles = [[[".-o#".index(c) for c in line] for line in each.split()] for each in drawn[:5]]
    kinds = dict(zip(".#DP,", np.array(tiles, np.uint8), strict=True))
    rows = [np.hstack([kinds[c] for c in row]) for row in cells]
    places = [np.vstack(rows[k : k + 9]) for k in range(0, len(rows), 9)]
    return dict(zip(NUMBERS, places, strict=True))


def picture_of(path):
    """Return the shades of a picture, NOTHING where it is transparent."""
    from PIL import Image

    with Image.open(path) as image:
        colours = np.asarray(image.convert("RGBA"))
    shades = 3 - colours[..., 0] // 85
    return np.where(colours[..., 3] == 0, NOTHING, shades)


def make_engine(lanes=6, **options):
    given = {**PARCEL, "observe": ["map_id"], "max_steps": 30, **options}
    return fastenv.BatchEngine(fastenv.make_game("GameBoyPixels-v0", **given), lanes)


def follow(engine, steps, made=None, seed=0, each=lambda now: None):
    """Step an engine at random with a live map; return the map, and what it has said."""
    made = LiveMap([engine], LiveMapConfig(), None) if made is None else made
    said, rng = [], np.random.default_rng(seed)
    log = SimpleNamespace(warn=lambda text, **details: said.append(text))
    for k in range(1, steps + 1):
        actions = fastenv.sample_legal(engine.mask, rng)
        engine.step_many(actions)
        loop = SimpleNamespace(now=k * engine.num_envs, log=log)
        made.step(loop, EngineStep(engine, actions, engine.obs, engine.mask))
        each(loop.now)
    return made, said


# -- what is shown ---------------------------------------------------------------------------------


@needs_core
def test_the_background_is_the_display_without_what_lies_above():
    engine = make_engine(1)
    engine.reset_many(seeds=0)
    engine.step_many(np.zeros(1, np.int64))
    row, common = engine.get_states()[0], engine.game.common
    column, line, squares = squares_around(row, common.place, 4, 5)
    assert (column, line, squares.shape) == (0, 0, (9, 10, 16, 16))
    whole = squares.swapaxes(1, 2).reshape(144, 160)
    assert (whole == display(row, common)).all()
    row["high"][0x40] |= 0x20  # the window of texts
    assert (squares_around(row, common.place, 4, 5)[2] == squares).all()
    row["high"][0x40] &= 0x7F  # turned off
    assert squares_around(row, common.place, 4, 5) is None


@needs_core
@pytest.mark.parametrize("scroll", [(0, 0), (16, 240), (208, 96)])
def test_a_player_in_the_middle_says_where_the_squares_are(scroll):
    engine = make_engine(1)
    engine.reset_many(seeds=0)
    engine.step_many(np.zeros(1, np.int64))
    row = engine.get_states()[0]
    row["high"][0x43], row["high"][0x42] = scroll
    place = MapPlace(at=(64, 64))
    column, line, squares = squares_around(row, place, 100, 50)
    assert (column, line, squares.shape) == (96, 46, (9, 10, 16, 16))
    whole = squares.swapaxes(1, 2).reshape(144, 160)
    common = engine.game.common
    shown = next_picture(machine_of(row, common.cartridge.ram_size), common)
    assert (whole == shown).all()
    assert place.window(100, 50) == (96, 46, 10, 9)
    row["high"][0x43] += 8  # from one square to the next
    assert squares_around(row, place, 100, 50) is None


@needs_core
def test_what_is_stitched_is_what_the_program_draws(mapped):
    expected, arrays = world(), live_map.load(mapped)
    boxes = {number: box for number, *box in arrays["pictures"].tolist()}
    assert 0 in boxes
    for number, box in boxes.items():
        assert box == [0, 0, 10, 9]
        found = picture_of(mapped / "map" / f"{number}.png")
        assert (found == expected[number]).all(), number


@needs_core
def test_all_of_the_way_to_the_shop_is_stitched(monkeypatch):
    from tests.gameboy.test_pokemon_maps import NAMES, TO_THE_SHOP

    monkeypatch.setattr(callback, "LOOK_EVERY", 1)
    engine = make_engine(1, max_steps=None)
    engine.reset_many(seeds=0)
    made, names = LiveMap([engine], LiveMapConfig(), None), list(engine.game.config.action_names)
    wait = names.index("noop")
    for k, letter in enumerate(f"{TO_THE_SHOP}uu".replace(" ", "")):
        for action in (names.index(NAMES[letter]), wait):
            engine.step_many(np.array([action]))
            made.step(SimpleNamespace(now=k), EngineStep(engine, action, engine.obs, engine.mask))
    canvases = made._stitching.canvases
    assert set(canvases) == {0, 12, 1, 42}
    for number, canvas in canvases.items():
        assert (canvas.picture() == world()[number]).all(), number


def test_a_display_that_fades_is_replaced_and_a_player_is_no_part_of_the_map():
    first, second = np.zeros((2, 2, 8, 8), np.uint8), np.ones((2, 2, 8, 8), np.uint8)
    whole = np.full((2, 2, 8, 8), NOTHING, np.uint8)
    canvas = Canvas(3, 5, whole, np.zeros((2, 2), np.uint8))
    assert canvas.paint(3, 5, first, (4, 6))
    assert canvas.paint(3, 5, second, (4, 6))
    assert (canvas.squares == 1).all()
    assert not canvas.paint(3, 5, second, (4, 5))  # twice the same but for the player
    canvas.paint(3, 5, first, (4, 5))
    assert (canvas.squares[0, 0] == 1).all()  # sure
    assert (canvas.squares[1, 1] == 0).all()


def test_a_picture_grows_to_all_sides():
    stitching = Stitching(8)
    one = np.full((1, 1, 8, 8), 2, np.uint8)
    for column, row in ((5, 5), (3, 6), (7, 2)):
        stitching.add(9, column, row, one, (0, 0))
    canvas = stitching.canvases[9]
    assert canvas.box == (3, 2, 5, 5)
    painted = (canvas.squares == 2).all(axis=(2, 3))
    assert np.argwhere(painted).tolist() == [[0, 4], [3, 2], [4, 0]]
    assert list(stitching.changed) == [9]


def test_what_is_sure_is_not_looked_at_again():
    stitching = Stitching(8)
    whole = np.zeros((2, 3, 8, 8), np.uint8)
    stitching.add(1, 4, 5, whole, (0, 0))
    assert not stitching.is_sure(1, (4, 5, 3, 2))
    stitching.add(1, 4, 5, whole, (0, 0))
    assert stitching.is_sure(1, (4, 5, 3, 2))
    assert stitching.is_sure(1, (5, 6, 2, 1))
    assert stitching.is_sure(1, None)
    for window in ((3, 5, 3, 2), (4, 4, 3, 2), (5, 5, 3, 2), (4, 6, 3, 2)):
        assert not stitching.is_sure(1, window)
    assert not stitching.is_sure(2, None)


# -- what is counted -------------------------------------------------------------------------------


@needs_core
def test_visits_are_those_of_a_loop_over_the_lanes():
    engine = make_engine()
    engine.reset_many(seeds=3)
    counted, first = Counter(), {}

    def count(now):
        ended = engine.terminated | engine.truncated
        for lane in range(engine.num_envs):
            info = engine.final_info if ended[lane] else engine.info
            cell = tuple(int(info[name][lane]) for name in ("map_id", "map_x", "map_y"))
            counted[cell] += 1
            first.setdefault(cell, now)

    made, said = follow(engine, 200, each=count)
    arrays = made._arrays()
    cells = [*zip(*(each.tolist() for each in live_map.split(arrays["cells"])), strict=True)]
    assert dict(zip(cells, arrays["visits"].tolist(), strict=True)) == counted
    assert dict(zip(cells, arrays["first"].tolist(), strict=True)) == first
    lanes = zip(*(engine.info[name].tolist() for name in ("map_id", "map_x", "map_y")), strict=True)
    here = [*zip(*(each.tolist() for each in live_map.split(arrays["lanes"])), strict=True)]
    assert dict(zip(here, arrays["lane_counts"].tolist(), strict=True)) == Counter(lanes)
    assert made.summary()["live_map"] == {"cells": len(counted), "visits": 1200}
    assert said == []


def test_cells_are_counted_as_a_dictionary_counts_them():
    rng, cells, counted, first = np.random.default_rng(0), Cells(), Counter(), {}
    for now in range(50):
        keys = rng.integers(-1, 60 + 20 * now, 40) << 20
        keys[keys < 0] = -1
        times = 100 * now + np.arange(40)
        cells.visit(keys, times)
        known = keys >= 0
        assert (cells.keys[cells.find(keys[known])] == keys[known]).all()
        assert (cells.find(keys[~known]) == len(cells)).all()
        counted.update(keys[known].tolist())
        for key, time in zip(keys[known].tolist(), times[known].tolist(), strict=True):
            first.setdefault(key, time)
    found = cells.keys[:-1].tolist()
    assert dict(zip(found, cells.visits[:-1].tolist(), strict=True)) == counted
    assert dict(zip(found, cells.first[:-1].tolist(), strict=True)) == first


@pytest.mark.parametrize("at_once", [1, 7, 100])
def test_cells_that_came_first_are_kept_however_many_are_counted_at_once(monkeypatch, at_once):
    monkeypatch.setattr(callback, "MAX_CELLS", 10)
    keys, cells = np.random.default_rng(1).permutation(100), Cells()
    for k in range(0, 100, at_once):
        cells.visit(keys[k : k + at_once], np.arange(k, k + at_once)[: len(keys) - k])
    assert cells.is_full
    assert cells.keys[:-1].tolist() == sorted(keys[:10].tolist())
    assert cells.visits[:-1].sum() == 10


@needs_core
@pytest.mark.parametrize("kind", ["u1", "u2", "i1", "i4", "i8"])
def test_places_that_no_map_has_are_nowhere(kind):
    made = LiveMap([make_engine(1)], LiveMapConfig(), None)
    most = min(np.iinfo(kind).max, 70_000)
    numbers = np.array([0, 1, most, 5], kind)
    lowest = np.array([0, 2, 3, max(np.iinfo(kind).min, -7)], kind)
    found = made._read({"map_id": numbers, "map_x": lowest, "map_y": numbers[::-1]})
    expected = [
        number << 32 | x << 16 | y if all(0 <= each < 1 << 16 for each in (number, x, y)) else -1
        for number, x, y in zip(
            numbers.tolist(), lowest.tolist(), numbers[::-1].tolist(), strict=True
        )
    ]
    assert found.tolist() == expected


def test_a_history_keeps_to_its_room():
    history = LaneHistory()
    for now in range(5000):
        history.add(now, np.arange(1000) + now)
    steps = history.arrays()["history_steps"]
    assert len(steps) <= callback.SNAPSHOTS
    assert len(set(np.diff(steps).tolist())) == 1
    assert history.arrays()["history"].shape == (len(steps), callback.WATCHED)


@needs_core
def test_a_map_that_is_full_says_so_once_and_counts_on(monkeypatch):
    monkeypatch.setattr(callback, "MAX_CELLS", 3)
    monkeypatch.setattr(stitching, "MAX_BYTES", 1000)
    engine = make_engine()
    engine.reset_many(seeds=0)
    made, said = follow(engine, 100)
    assert len(said) == 1
    assert said[0].startswith("the live map is full (")
    arrays = made._arrays()
    assert len(arrays["cells"]) == 3
    assert arrays["visits"].min() > 0
    assert made._stitching.canvases == {}


def test_at_most_64_megabytes_are_kept():
    cells = callback.MAX_CELLS * (8 + 8 + 8 + 1)
    history = callback.SNAPSHOTS * callback.WATCHED * 8
    assert cells + history + stitching.MAX_BYTES < 64 << 20


# -- runs ------------------------------------------------------------------------------------------


def files_of(run):
    return {path.name: path.read_bytes() for path in sorted((run / "map").iterdir())}


@needs_core
def test_a_run_that_goes_on_has_the_map_of_one_that_never_ended(train, mapped):
    half = train("half", total_steps=256)
    assert live_map.load(half)["visits"].sum() == 256
    (half / "map" / "77.png").write_bytes(b"of a training that was lost")
    train("half", "--resume")
    assert files_of(half) == files_of(mapped)
    assert sorted(files_of(half))[-1] == "map.npz"


@needs_core
def test_a_map_changes_nothing_that_is_learnt(train, mapped):
    plain = train("plain", live_map=None)
    assert not (plain / "map").exists()
    name = Path("checkpoints", "ckpt_000000000512")
    for file in ("model.pt", "engine.npz"):
        assert (plain / name / file).read_bytes() == (mapped / name / file).read_bytes()
    train("plain", "--resume", total_steps=768)  # may be turned on when it goes on
    assert live_map.load(plain)["visits"].sum() == 256


@needs_core
def test_lantern_walk_has_a_map_without_a_word(train):
    options = {"stack_k": 1, "max_steps": 64}
    run = train("walk", env="LanternWalk-v0", env_options=options, total_steps=256)
    arrays = live_map.load(run)
    assert arrays["visits"].sum() == 256
    (number, *box), *_ = arrays["pictures"].tolist()
    picture = picture_of(run / "map" / f"{number}.png")
    assert picture.shape == (box[3] * 16, box[2] * 16)
    assert (picture != NOTHING).mean() > 0.9


# -- what is refused -------------------------------------------------------------------------------


def ram_map(path, **place):
    whole = {"map": "map_id", "x": "map_x", "y": "map_y"} | place
    given = {key: value for key, value in whole.items() if value is not ...}
    path.write_text(json.dumps({"extends": "parcel", "place": given}), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ({"map": ...}, "must be an object with map, x and y"),
        ({"x": "map_z"}, "place.x='map_z' is not possible: there is no such column"),
        ({"map": "mapid"}, "Did you mean 'map_id'"),
        ({"y": "party_hp"}, "place.y='party_hp' is not possible: this column is a table"),
        ({"y": 3}, "place.y=3 is not possible"),
        ({"hidden_by": "battle"}, "place.hidden_by='battle' must be a list"),
        ({"hidden_by": ["batle"]}, "Did you mean 'battle'"),
        ({"square": 12}, "place.square=12 must be 8, 16 or 32"),
        ({"at": [64]}, r"place.at=\[64\] must be two pixels"),
        ({"at": [64, 144]}, "place.at="),
        ({"at": "middle"}, "place.at='middle' must be"),
        ({"squares": 8}, "place: 'squares' is not known"),
    ],
)
def test_a_place_that_is_wrong_is_named(tmp_path, place, said):
    path = ram_map(tmp_path / "map.json", **place)
    with pytest.raises(ConfigError, match=said) as refused:
        fastenv.make_game("GameBoyPixels-v0", **PARCEL | {"ram_map": path})
    assert str(refused.value).count("\n") == 0


def test_an_environment_that_names_no_place_has_no_map():
    game = fastenv.make_game("GameBoyPixels-v0", rom="parcel", states="power_up")
    with pytest.raises(ConfigError, match="no RAM map of this environment says where a player is"):
        LiveMap([fastenv.BatchEngine(game, 1)], LiveMapConfig(), None)
    game = fastenv.make_game("GameBoyPixels-v0", **PARCEL)
    engine = fastenv.BatchEngine(game, 1, info_columns=["map_id", "map_x"])
    with pytest.raises(ConfigError, match="has no column 'map_y', which place names"):
        LiveMap([engine], LiveMapConfig(), None)


def test_a_game_without_maps_is_refused_before_anything_is_written(tmp_path, capsys):
    from training.train import main

    flags = ["--env", "Prospector-v0", "--runs", str(tmp_path / "runs")]
    assert main([*flags, "--set", "live_map.every=1", "--set", "total_steps=100"]) == 2
    assert "live_map must be null: this game has no map" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


# -- reading ---------------------------------------------------------------------------------------


@needs_core
def test_a_page_gets_what_has_changed(mapped, tmp_path):
    reader = LiveMapReader(mapped)
    shown = reader.read()
    assert reader.read() is None
    assert (shown["steps"], shown["square"]) == (512, 16)
    assert [each["visits"] for each in shown["maps"]] == sorted(
        (each["visits"] for each in shown["maps"]), reverse=True
    )
    assert sum(each["visits"] for each in shown["maps"]) == 512
    assert sum(sum(each["lanes"][2::3]) for each in shown["maps"]) == 8
    town = next(each for each in shown["maps"] if each["number"] == 0)
    assert town["box"] == [0, 0, 10, 9]
    assert town["picture"].startswith("data:image/png;base64,")
    assert sum(town["cells"][2::3]) == town["visits"]
    assert LiveMapReader(tmp_path).read() is None


@needs_core
def test_a_picture_of_another_size_is_read_in_a_moment(mapped, tmp_path):
    folder = tmp_path / "map"
    folder.mkdir()
    for name, content in files_of(mapped).items():
        (folder / name).write_bytes(content)
    small = Canvas(0, 0, np.zeros((1, 1, 16, 16), np.uint8), np.zeros((1, 1), np.uint8))
    (folder / "0.png").write_bytes(small.png())
    reader = LiveMapReader(tmp_path)
    town = next(each for each in reader.read()["maps"] if each["number"] == 0)
    assert "picture" not in town
    (folder / "0.png").write_bytes(files_of(mapped)["0.png"])
    town = next(each for each in reader.read()["maps"] if each["number"] == 0)
    assert "picture" in town
    assert reader.read() is None


@needs_core
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"cells": np.array([-1])}, "another type or shape"),
        ({"steps": np.float64(3)}, "steps has another type or shape"),
        ({"square": np.int64(0)}, "square is 0"),
        ({"pictures": np.array([[0, 0, 0, 0, 5]])}, "pictures has a side"),
        ({"pictures": np.array([[0, 0, 0, 2**40, 2**40]])}, "pictures has a side"),
        ({"pictures": np.array([[0, -(2**63), 0, 1, 1]])}, "pictures has a side"),
        ({"pictures": np.array([[0, 0, 0, 60_000, 60_000]])}, "too large"),
        ({"lanes": np.array([-5]), "lane_counts": np.array([1])}, "lanes has a number below 0"),
        ({"visits": None}, "has no array 'visits'"),
    ],
)
def test_a_strangers_file_is_refused_in_a_sentence(mapped, tmp_path, change, said):
    arrays = {name: each for name, each in live_map.load(mapped).items()} | change
    content = io.BytesIO()
    np.savez(content, **{name: each for name, each in arrays.items() if each is not None})
    (tmp_path / "map").mkdir()
    (tmp_path / "map" / "map.npz").write_bytes(content.getvalue())
    with pytest.raises(FileError, match=said):
        live_map.load(tmp_path)
    assert said in LiveMapReader(tmp_path).read()["note"]


@needs_core
def test_a_report_has_the_map(mapped, tmp_path):
    out = tmp_path / "report.html"
    assert report([str(mapped), "--out", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    maps = data["maps"]["mapped"]["maps"]
    assert maps[0]["picture"].startswith("data:image/png;base64,")
    assert sum(each["visits"] for each in maps) == 512


@needs_core
def test_a_film_shows_how_the_visits_grew(mapped, tmp_path, capsys):
    frames = list(live_map.film(mapped))
    arrays, history = live_map.load(mapped), live_map.load_history(mapped)
    assert len(frames) == len(history["history_steps"])
    lanes = [(frame == (214, 40, 40)).all(axis=2).sum() for frame in frames]
    assert all(lanes)
    first, last = (int(frames[k].sum()) for k in (0, -1))
    assert last > first
    assert frames[0].shape == frames[-1].shape
    # The squares that were visited are as bright as the map, where no lane is now.
    town = frames[-1][:144, :160]
    expected = COLORS[world()[0]]
    seen = (town == expected).all(axis=2)
    visited = [each for each in arrays["cells"].tolist() if each >> 32 == 0]
    free = [each for each in visited if each not in history["history"][-1].tolist()]
    shown = [
        seen[16 * (y := each & 0xFFFF) : 16 * y + 16, 16 * (x := each >> 16 & 0xFFFF) : 16 * x + 16]
        for each in free
    ]
    busiest = max(
        dict.fromkeys((arrays["cells"] >> 32).tolist()),
        key=lambda number: arrays["visits"][arrays["cells"] >> 32 == number].sum(),
    )
    assert busiest == 0
    assert free
    assert all(each.all() for each in shown)
    out = tmp_path / "map.gif"
    assert report([str(mapped), "--film", str(out)]) == 0
    assert out.stat().st_size > 0
    assert report([str(mapped), str(mapped), "--film", str(out)]) == 2
    assert "--film must be given with one run alone" in capsys.readouterr().err


def test_a_run_without_a_map_has_no_film(tmp_path):
    with pytest.raises(film.FilmError, match="A run has a map with live_map"):
        next(live_map.film(tmp_path))

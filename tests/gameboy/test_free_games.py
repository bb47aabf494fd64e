"""Free games of others: which are chosen, and how they are measured."""

import hashlib
import json
import subprocess

import pytest

from fastenv.errors import ConfigError
from tests.needs import needs_core
from tools.gameboy import free_games
from tools.gameboy.machines import build

pytestmark = needs_core

ROM = build(b"\x18\xfe").rom


def test_the_manifest_has_as_many_games_as_are_compared():
    games, keys = free_games.manifest()
    assert len({game.sha256 for game in games}) == len(games) == free_games.COMPARED
    slugs = [hashlib.sha256(game.name.encode()).hexdigest() for game in games]
    assert slugs == sorted(slugs)
    assert keys == free_games.KEYS
    assert all(game.licence for game in games)


@pytest.fixture
def database(tmp_path):
    """A repository of the database's form with one game, whose entry a test may change."""

    def write(**changes):
        folder = tmp_path / "data" / "entries" / "a-game"
        folder.mkdir(parents=True)
        entry = {"typetag": "game", "platform": "GB", "license": "MIT"}
        entry["files"] = [{"filename": "old.gb"}, {"filename": "new.gb", "default": True}]
        entry |= changes.pop("entry", {})
        (folder / "game.json").write_text(json.dumps(entry))
        (folder / "old.gb").write_bytes(b"")
        (folder / "new.gb").write_bytes(changes.pop("rom", ROM))
        git = ["git", "-C", str(tmp_path / "data"), "-c", "user.name=a", "-c", "user.email=b"]
        for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
            subprocess.run([*git, *command], check=True)
        return tmp_path / "data"

    return write


def test_the_default_rom_of_a_free_game_is_chosen(database):
    (game,) = free_games.candidates(database())
    assert (game.name, game.path) == ("a-game", "entries/a-game/new.gb")
    assert (game.licence, game.sha256) == ("MIT", hashlib.sha256(ROM).hexdigest())


@pytest.mark.parametrize(
    "entry", [{"typetag": "demo"}, {"platform": "GBC"}, {"license": ""}, {"files": []}]
)
def test_what_is_no_free_game_of_this_machine_is_not(database, entry):
    assert not list(free_games.candidates(database(entry=entry)))


def test_a_rom_that_no_console_starts_is_not(database):
    assert not list(free_games.candidates(database(rom=bytes(len(ROM)))))


def test_another_rom_than_that_of_the_manifest_is_refused(tmp_path):
    game = free_games.manifest()[0][0]
    (tmp_path / f"{game.name}.gb").write_bytes(ROM)
    with pytest.raises(ConfigError, match="SHA-256"):
        free_games.cartridge_of(tmp_path, game)


@pytest.mark.filterwarnings("ignore:Using SDL2 binaries")
def test_speed_is_measured_of_the_same_piece_in_every_turn(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pyboy")
    from tools.gameboy import free_speed

    game = free_games.Game("a-game", "", hashlib.sha256(ROM).hexdigest(), "MIT")
    (tmp_path / "a-game.gb").write_bytes(ROM)
    for name, value in {"LANES": 2, "STEPS": 2, "WARM_STEPS": 1}.items():
        monkeypatch.setattr(free_speed, name, value)
    monkeypatch.setattr(free_speed, "manifest", lambda: ([game], free_games.KEYS))
    free_speed.run(tmp_path, (), 2, tmp_path / "record.json")
    record = json.loads((tmp_path / "record.json").read_text())
    (found,) = record["games"]
    assert found["sha256"] == game.sha256
    assert len(found["us_all"]) == len(found["times_pyboy_all"]) == 2
    reached = record["reached"]  # of one game; rounded
    assert reached["worst"] == pytest.approx(found["times_pyboy"], abs=0.002)
    assert reached["geometric_mean"] == pytest.approx(found["times_pyboy"], abs=0.002)
    assert 5_000 < found["instructions_per_frame"] < 6_000  # JR takes 12 T
    assert json.loads(capsys.readouterr().out.splitlines()[0]) == found


def test_a_game_that_is_not_in_the_manifest_is_named():
    from tools.gameboy import free_speed

    with pytest.raises(ConfigError, match="no-such-game"):
        free_speed.timed_games(["no-such-game"])


# Clear VRAM with the display off, and turn it on: no other byte of VRAM is shown after this.
CLEARS = bytes.fromhex("af e0 40 21 00 80 22 cb 6c 28 fb 3e 91 e0 40 18 fe")


def test_video_memory_that_nobody_wrote_is_seen_where_it_is_shown(tmp_path, monkeypatch):
    from tools.gameboy import free_memory

    roms = {"clears": build(CLEARS).rom, "idle": ROM}
    games = []
    for name, rom in roms.items():
        games.append(free_games.Game(name, "", hashlib.sha256(rom).hexdigest(), "MIT"))
        (tmp_path / f"{name}.gb").write_bytes(rom)
    monkeypatch.setattr(free_memory, "manifest", lambda: (games, free_games.KEYS))
    monkeypatch.setattr(free_memory, "FRAMES", 8)

    def shown(key):
        free_memory.run(tmp_path, (), tmp_path / "record.json")
        record = json.loads((tmp_path / "record.json").read_text())
        assert record["games_shown"] == sum(game["frames_shown"] > 0 for game in record["games"])
        return [game[key] for game in record["games"]]

    assert shown("frames_shown") == [0, 0]
    first, always = shown("frames_shown_if_filled")
    assert (first <= 2, always) == (True, 8)
    start_of = free_memory.start_of

    def filled(*where):
        row = start_of(*where)
        row["vram"] = 0x55
        return row

    monkeypatch.setattr(free_memory, "start_of", filled)  # as if a reset filled VRAM
    assert shown("frames_shown")[1] == 8

"""Free games of others: which are chosen, and how they are measured."""

import hashlib
import json

import pytest

from fastenv.errors import ConfigError
from tests.needs import needs_core
from tools.gameboy import free_games
from tools.gameboy.machines import build

pytestmark = needs_core

ROM = build(b"\x18\xfe").rom


def test_the_manifest_has_as_many_games_as_are_compared():
    games, keys = free_games.manifest()
    assert len({game.sha256 for game in games}) == len(games) == 72
    slugs = [hashlib.sha256(game.name.encode()).hexdigest() for game in games]
    assert slugs == sorted(slugs)
    assert {*keys} <= {"start", "a", "b", "up", "down", "left", "right"}
    assert all(game.licence for game in games)


def test_another_rom_than_that_of_the_manifest_is_refused(tmp_path):
    game = free_games.manifest()[0][0]
    (tmp_path / f"{game.name}.gb").write_bytes(ROM)
    with pytest.raises(ConfigError, match="SHA-256"):
        free_games.cartridge_of(tmp_path, game)


@pytest.mark.filterwarnings("ignore:Using SDL2 binaries")
def test_speed_is_measured_of_the_same_piece_in_every_turn(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pyboy")
    game = free_games.Game("a-game", "", hashlib.sha256(ROM).hexdigest(), "MIT")
    (tmp_path / "a-game.gb").write_bytes(ROM)
    for name, value in {"LANES": 2, "STEPS": 2, "WARM_STEPS": 1}.items():
        monkeypatch.setattr(free_games, name, value)
    monkeypatch.setattr(free_games, "manifest", lambda: ([game], ("start", "a")))
    free_games.measure_games(tmp_path, [game], 2, tmp_path / "record.json")
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
    with pytest.raises(ConfigError, match="no-such-game"):
        free_games.timed_games(["no-such-game"])

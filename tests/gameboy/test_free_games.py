"""Free games of others: which are chosen, and how they are measured."""

import hashlib
import json
import sys
from itertools import pairwise

import numpy as np
import pytest

from fastenv.errors import ConfigError
from tests.needs import needs_core
from tools.gameboy import free_games, free_memory, free_pictures
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


def written(folder, **roms):
    """Write ROMs as files, and return the games that they are."""
    games = []
    for name, rom in roms.items():
        (folder / f"{name}.gb").write_bytes(rom)
        games.append(free_games.Game(name, "", hashlib.sha256(rom).hexdigest(), "MIT"))
    return games


def test_speed_is_measured_of_the_same_piece_in_every_turn(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pyboy")
    (game,) = written(tmp_path, idle=ROM)
    for name, value in {"LANES": 2, "STEPS": 2, "WARM_STEPS": 1}.items():
        monkeypatch.setattr(free_games, name, value)
    free_games.measure_speed(tmp_path, [game], 2, tmp_path / "record.json")
    record = json.loads((tmp_path / "record.json").read_text())
    (found,) = record["games"]
    assert found["sha256"] == game.sha256
    assert len(found["us_all"]) == len(found["times_pyboy_all"]) == 2
    reached = record["reached"]  # of one game; rounded
    assert reached["worst"] == pytest.approx(found["times_pyboy"], abs=0.002)
    assert reached["geometric_mean"] == pytest.approx(found["times_pyboy"], abs=0.002)
    assert 5_000 < found["instructions_per_frame"] < 6_000  # JR takes 12 T
    assert json.loads(capsys.readouterr().out.splitlines()[0]) == found


def test_games_are_those_named_or_the_first():
    games, _ = free_games.manifest()
    assert free_games.games_of(()) == games
    assert free_games.games_of((), free_games.TIMED) == games[:20]
    assert free_games.games_of([games[30].name], free_games.TIMED) == [games[30]]


@pytest.mark.parametrize(
    "command", [["speed"], ["memory"], ["pictures", "--gambatte", "no-program"]], ids=lambda x: x[0]
)
def test_a_game_that_is_not_in_the_manifest_is_named(capsys, command):
    assert free_games.main([*command, "no-folder", "--games", "no-such-game"]) == 2
    assert capsys.readouterr().err == "error: --games no-such-game: not in the manifest\n"


# Clear VRAM with the display off, and turn it on: no other byte of VRAM is shown after this.
CLEARS = bytes.fromhex("af e0 40 21 00 80 22 cb 6c 28 fb 3e 91 e0 40 18 fe")


def test_video_memory_that_nobody_wrote_is_seen_where_it_is_shown(tmp_path, monkeypatch):
    games = written(tmp_path, clears=build(CLEARS).rom, idle=ROM)
    monkeypatch.setattr(free_memory, "FRAMES", 8)

    def shown(key):
        free_memory.run(tmp_path, games, tmp_path / "record.json")
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


def test_pictures_that_are_not_those_of_gambatte_are_counted(tmp_path, monkeypatch):
    """A program in Gambatte's place returns our own pictures, and others in two frames."""
    monkeypatch.setattr(free_pictures, "FRAMES", 30)
    games = written(tmp_path, clears=build(CLEARS).rom, idle=ROM)
    keys = free_games.manifest()[1]
    for game in games:
        played = free_pictures.ours(free_games.cartridge_of(tmp_path, game), keys, 30)
        pictures = np.array([picture for _, _, picture, _ in played])
        if game.name == "idle":
            pictures[20, 100, :7] ^= 3
            pictures[25, 8:10, 30] ^= 3
        pictures.tofile(tmp_path / f"{game.name}.pictures")
    program = tmp_path / "program"
    program.write_text(
        f"#!{sys.executable}\n"
        "import pathlib, sys\n"
        "rom = pathlib.Path(sys.argv[1])\n"
        "rom.with_suffix('.asked').write_text(sys.stdin.read())\n"
        "sys.stdout.buffer.write(rom.with_suffix('.pictures').read_bytes())\n"
    )
    program.chmod(0o755)
    free_pictures.run(tmp_path, games, program, "pixel", tmp_path / "record.json")
    record = json.loads((tmp_path / "record.json").read_text())
    assert (record["enough"], record["of"], record["accuracy"]) == (1, 2, "pixel")
    clears, idle = record["games"]
    assert (clears["equal"], clears["share"], clears["first"]) == (clears["pictures"], 1.0, [])
    assert (idle["pictures"], idle["equal"], idle["share"]) == (29, 27, 0.93103)
    assert clears["pictures"] == 29 - 4  # clearing takes 3.3 frames, with the display off
    assert idle["first"] == [[20, 7], [25, 2]]
    asked = [line.split() for line in (tmp_path / "idle.asked").read_text().splitlines()]
    times = [int(now) for now, _ in asked]
    assert all(abs(after - before - 70_224) <= 24 for before, after in pairwise(times))
    # The manifest begins with Start and A, which are bits 3 and 0 of Gambatte's buttons.
    assert [int(down) for _, down in asked] == [8] * 8 + [0] * 16 + [1] * 6
    (tmp_path / "idle.pictures").write_bytes(b"")
    with pytest.raises(ConfigError, match="no picture of a frame"):
        free_pictures.run(tmp_path, games, program, "pixel", None)

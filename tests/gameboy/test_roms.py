"""The ROMs of the package are what their sources say, byte for byte."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from fastenv.gameboy.lantern_walk import Cell, load_world
from tools import roms


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """What the tool writes, by name."""
    return roms.build()


@pytest.fixture(scope="module")
def names(files: dict[str, bytes]) -> list[str]:
    return sorted(name for name in files if name.endswith(".gb"))


def test_committed_files_are_what_the_tool_writes(
    files: dict[str, bytes], subtests: pytest.Subtests
) -> None:
    for name, content in files.items():
        with subtests.test(name):
            assert (roms.ROMS / name).read_bytes() == content, f"run {roms.COMMAND}"


def test_no_rom_without_a_source(names: list[str]) -> None:
    there = {path.relative_to(roms.ROMS).as_posix() for path in roms.ROMS.rglob("*.gb")}
    assert there == set(names)


def test_the_manifest_names_every_rom_with_its_hash(names: list[str]) -> None:
    manifest = json.loads((roms.ROMS / "manifest.json").read_text())
    assert sorted(manifest) == names
    for name, entry in manifest.items():
        assert entry["sha256"] == hashlib.sha256((roms.ROMS / name).read_bytes()).hexdigest()
        assert entry["program"]


def test_headers_are_sound(
    files: dict[str, bytes], names: list[str], subtests: pytest.Subtests
) -> None:
    for name in names:
        with subtests.test(name):
            rom = files[name]
            assert len(rom) == 0x8000 << rom[0x148]
            assert rom[0x14D] == -sum(byte + 1 for byte in rom[0x134:0x14D]) & 0xFF
            assert rom[0x134:0x144].rstrip(b"\0").decode("ascii").isprintable()
            assert not any(rom[0x104:0x134]), "the logo is not ours to ship"


def test_the_committed_memory_map_is_the_contract() -> None:
    contract = {
        "map": 0xC100, "x": 0xC101, "y": 0xC102, "facing": 0xC103, "move": 0xC104,
        "dialogue": 0xC105, "items": 0xC106, "steps": 0xC107, "held": 0xC109, "new": 0xC10A,
        "frame": 0xC10B, "px": 0xC10C, "py": 0xC10D, "done": 0xC10E, "rng": 0xC10F,
        "flags": 0xC110, "quest": 0xC11C, "mode": 0xC120, "cells": 0xC200,
    }  # fmt: skip
    assert load_world().memory == contract


def test_check_names_what_differs_and_writes_nothing(
    files: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert roms.main(["--out", str(tmp_path), "--check"]) == 1
    assert capsys.readouterr().out.count("differs; run python -m tools.roms") == len(files)
    assert not any(tmp_path.iterdir())


def test_roms_with_a_logo_go_elsewhere(files: dict[str, bytes], tmp_path: Path) -> None:
    logo = tmp_path / "logo.bin"
    logo.write_bytes(bytes(range(48)))
    with pytest.raises(SystemExit):
        roms.main(["--logo-file", str(logo)])
    assert roms.main(["--logo-file", str(logo), "--out", str(tmp_path / "roms")]) == 0
    built = (tmp_path / "roms" / "lantern_walk.gb").read_bytes()
    assert built[0x104:0x134] == bytes(range(48))
    assert built[0x150:] == files["lantern_walk.gb"][0x150:]


def test_a_source_that_is_wrong_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.asm").write_text("; Program: a mistake\nfly\n")
    monkeypatch.setattr(roms, "ROMS", tmp_path)
    assert roms.main(["--out", str(tmp_path)]) == 2
    assert "error: bad.asm:2: 'fly'" in capsys.readouterr().err


# -- docs/lantern_walk.md --------------------------------------------------------------------------

PAGE = (roms.ROMS.parents[2] / "docs" / "lantern_walk.md").read_text(encoding="utf-8")


def test_every_address_is_documented() -> None:
    listed = re.findall(r"^\| `\$([0-9A-F]{4})` \| `(\w+)` \|", PAGE, flags=re.MULTILINE)
    assert {name: int(address, 16) for address, name in listed} == load_world().memory


def test_every_rom_is_documented(names: list[str]) -> None:
    text = PAGE.split("## 6 ")[1].split("## 7 ")[0]
    listed = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", text, re.MULTILINE))))
    assert listed == {Path(name).stem for name in names}


def test_doors_people_and_candles_are_documented() -> None:
    world = load_world()
    doors = re.findall(
        r"^\| (\d), (\d+), (\d+) \(.*?\) \| (\d), (\d+), (\d+) \|", PAGE, re.MULTILINE
    )
    numbers = [tuple(map(int, door)) for door in doors]
    assert {Cell(*door[:3]): Cell(*door[3:]) for door in numbers} == world.doors
    for place in (*world.people.values(), *world.candles()):
        assert f"{place.map}, {place.x}, {place.y}" in PAGE

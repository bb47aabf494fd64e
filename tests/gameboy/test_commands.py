"""The commands: test ROMs from a folder, and a ROM beside PyBoy."""

import hashlib
import json
import shutil
import warnings

import pytest

from tests.needs import needs_core
from tools.gameboy.machines import build
from tools.roms import ROMS

pytestmark = needs_core

LOOP = b"\x18\xfe"
PASSED = bytes((0x01, 5, 3, 0x11, 13, 8, 0x21, 34, 21)) + LOOP
FAILED = bytes((0x01, 0x42, 0x42, 0x11, 0x42, 0x42, 0x21, 0x42, 0x42)) + LOOP


def says(text):
    """Return a program that sends a text to the serial port, a byte a frame or so."""
    code = b"\x3e\x00\xe0\x40"
    for letter in text.encode():
        code += bytes(
            (0x3E, letter, 0xE0, 0x01, 0x3E, 0x81, 0xE0, 0x02, 0xF0, 0x02, 0x87, 0x38, 0xFB)
        )
    return code + LOOP


def writes(result):
    """Return a program that writes a result and its signature into RAM of the cartridge."""
    code = b"\x3e\x0a\xea\x00\x00"
    for address, byte in enumerate((result, 0xDE, 0xB0, 0x61), 0xA000):
        code += bytes((0x3E, byte, 0xEA, address & 0xFF, address >> 8))
    return code + LOOP


@pytest.fixture
def folder(tmp_path):
    programs = {
        "passed": PASSED,
        "deep/failed": FAILED,
        "said": says("Passed"),
        "bad": says("Failed"),
        "long": says("more than a row of the machine remembers".ljust(80) + "Passed"),
    }
    programs |= {"endless": LOOP, "illegal": b"\xd3"}
    for name, program in programs.items():
        path = tmp_path / f"{name}.gb"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(build(program).rom)
    for name, result in {"written": 0, "wrong": 3, "begun": 0x80}.items():
        (tmp_path / f"{name}.gb").write_bytes(build(writes(result), kind=0x02, ram=2).rom)
    rom = bytearray(build(b"").rom)
    rom[0x147] = 0xFC
    (tmp_path / "camera.gb").write_bytes(rom)
    return tmp_path


def acceptance(*arguments):
    from tools.gameboy import acceptance

    return acceptance.main([*map(str, arguments)])


def test_table_of_a_folder(folder, capsys):
    assert acceptance(folder, "--frames", 20) == 1
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[:-1] == [
        ["failed", "bad.gb"],
        ["no", "verdict", "begun.gb"],
        ["unsupported", "camera.gb"],
        ["failed", "deep/failed.gb"],
        ["no", "verdict", "endless.gb"],
        ["locked", "illegal.gb"],
        ["passed", "long.gb"],
        ["passed", "passed.gb"],
        ["passed", "said.gb"],
        ["passed", "written.gb"],
        ["failed", "wrong.gb"],
    ]
    assert rows[-1] == ["4", "of", "11", "passed,", "4", "failed", "unexpectedly"]


def test_files_that_are_none_do_not_keep_the_others_from_running(tmp_path, capsys):
    (tmp_path / "folder.gb").mkdir()
    (tmp_path / "folder.gb" / "LOUD.GB").write_bytes(build(PASSED).rom)
    (tmp_path / "gone.gb").symlink_to("nowhere")
    (tmp_path / "short.gb").write_bytes(b"short")
    assert acceptance(tmp_path, "--frames", 5) == 1
    assert [line.split() for line in capsys.readouterr().out.splitlines()[:-1]] == [
        ["passed", "folder.gb/LOUD.GB"],
        ["unreadable", "gone.gb"],
        ["unreadable", "short.gb"],
    ]


def test_expected_failures_are_no_error(folder, tmp_path, capsys):
    listed = tmp_path / "list.txt"
    names = ("bad.gb", "camera.gb  # a camera", "", "deep/failed.gb", "endless.gb", "illegal.gb")
    names = (*names, "begun.gb", "wrong.gb")
    listed.write_text("\n".join((*names, "said.gb")))
    assert acceptance(folder, "--frames", 20, "--expected", listed) == 0
    out = capsys.readouterr().out
    assert out.count("(expected)") == 7
    assert out.count("(on the list of those that fail)") == 1


def test_results_are_written_with_the_hash_of_each_file(folder, tmp_path):
    acceptance(folder, "--frames", 20, "--out", tmp_path / "results.json")
    roms = json.loads((tmp_path / "results.json").read_text())["roms"]
    assert roms["written.gb"]["result"] == "passed"
    assert roms["deep/failed.gb"]["result"] == "failed"
    rom = (folder / "written.gb").read_bytes()
    assert roms["written.gb"]["sha256"] == hashlib.sha256(rom).hexdigest()
    assert acceptance(folder, "--frames", 1, "--out", tmp_path / "none" / "x.json") == 2


def test_the_list_of_the_package_is_the_default():
    from tools.gameboy.acceptance import is_expected, read_expected

    names = read_expected(None)
    assert is_expected(ROMS / "mealybug" / "m3_scx_low_3_bits.gb", names)
    assert not is_expected(ROMS / "acceptance" / "boot_hwio-dmgABCmgb.gb", names)
    assert not is_expected(ROMS / "acceptance" / "boot_regs-dmgABC.gb", names)


def test_a_folder_without_roms_and_a_list_that_is_not_there(folder, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert acceptance(tmp_path / "empty") == 2
    assert "no .gb file in this folder" in capsys.readouterr().err
    (tmp_path / "bytes.txt").write_bytes(b"\xff")
    for name in ("none.txt", "bytes.txt"):
        assert acceptance(folder, "--expected", tmp_path / name) == 2
        assert f"{name}: cannot be read" in capsys.readouterr().err


# -- compare ---------------------------------------------------------------------------------------


@pytest.fixture
def compare():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the SDL that it finds, and that nobody uses here
        pytest.importorskip("pyboy")
    from tools.gameboy import compare

    return lambda *arguments: compare.main([*map(str, arguments)])


def test_compare_says_that_nothing_differs(compare, capsys):
    assert compare(ROMS / "halt.gb", "--frames", 20, "--seed", 3) == 0
    assert capsys.readouterr().out == "20 frames, seed 3: no difference\n"


def test_compare_prints_the_first_difference(compare, capsys, tmp_path):
    rom = tmp_path / "halt_bug.gb"
    shutil.copy(ROMS / "micro" / "halt_bug.gb", rom)
    assert compare(rom, "--frames", 20) == 1
    out = capsys.readouterr().out
    assert out.startswith("frame 0, seed 0:\n")
    assert "hl: 0x1522 here, 0x4242 in PyBoy" in out
    assert "wram: " in out


def test_compare_names_what_it_cannot_run(compare, capsys, tmp_path):
    assert compare(tmp_path / "none.gb") == 2
    assert "none.gb" in capsys.readouterr().err
    (tmp_path / "short.gb").write_bytes(b"short")
    assert compare(tmp_path / "short.gb") == 2
    assert "5 bytes" in capsys.readouterr().err

"""How test ROMs tell whether they passed, each way with a ROM of our own."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.needs import needs_core
from tests.tables import walk
from tools.gameboy.machines import build

pytestmark = needs_core

ENDLESS = bytes.fromhex("18 fe")
GOOD = bytes.fromhex("06 03 0e 05 16 08 1e 0d 26 15 2e 22")  # into B, C, D, E, H and L
# Turn the display off, copy sixteen tiles from $1000 to $8000, write digits, turn it on.
SHOW = bytes.fromhex(
    "af e0 40 21 00 80 11 00 10 06 00 1a 22 13 05 20 fa"
    "3e 0c ea 00 98 3e 05 ea 01 98 3e c0 e0 47 3e 91 e0 40 18 fe"
)
# A tile for each digit: its four bits, in the first row, as both bits of the index.
TILES = b"".join(bytes((n << 4 | 1,)) * 2 + bytes(14) for n in range(16))


def judge(path, program, **options):
    from tools.gameboy.acceptance import run_rom

    path.parent.mkdir(exist_ok=True)
    path.write_bytes(build(program, **options).rom)
    return run_rom(path, frames=20)


def ask_pyboy(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the SDL that it finds, and that nobody uses here
        pytest.importorskip("pyboy")
    from tools.gameboy.acceptance import run_rom

    return run_rom(path, frames=2, asks_pyboy=True).pyboy


def put(address, value):
    return bytes((0x3E, value, 0xEA, address & 0xFF, address >> 8))


@pytest.mark.parametrize(("value", "result"), [(1, "passed"), (0xFF, "failed"), (2, "no verdict")])
def test_pages_of_gbmicrotest(tmp_path, value, result):
    found = judge(tmp_path / "gbmicrotest" / "any.gb", put(0xFF82, value) + ENDLESS)
    assert (found.here, found.way) == (result, "$FF82")


@pytest.mark.parametrize(
    ("name", "result"),
    [("x_dmg08_cgb04c_outC5", "passed"), ("x_dmg08_outC5_cgb04c_out00", "passed"),
     ("x_dmg08_outC6", "failed"), ("x_dmg08_outaudio0", "unsupported")],
)  # fmt: skip
def test_digits_in_names_of_gambatte(tmp_path, name, result):
    found = judge(tmp_path / f"{name}.gb", SHOW, patches=[(0x1000, TILES)])
    assert found.here == result


@pytest.mark.parametrize(
    ("name", "result"), [("x_dmg08_out27", "passed"), ("x_dmg08_out28", "failed")]
)
def test_some_roms_have_no_tiles_but_those_of_the_first_eight_digits(tmp_path, name, result):
    program = SHOW.replace(b"\x3e\x0c", b"\x3e\x02").replace(b"\x3e\x05", b"\x3e\x07")
    found = judge(tmp_path / f"{name}.gb", program, patches=[(0x1000, TILES[:128])])
    assert found.here == result


def test_digits_of_an_empty_screen_are_none(tmp_path):
    assert judge(tmp_path / "x_dmg08_out0.gb", ENDLESS).here == "failed"
    logo = ((0x104, bytes(range(1, 0x31))),)  # whose tiles are there before those of digits
    assert judge(tmp_path / "y_dmg08_out0.gb", ENDLESS, patches=logo).here == "failed"


@pytest.mark.parametrize("name", ["x.png", "x_dmg08.png", "x_dmg08_cgb04c.png"])
@pytest.mark.parametrize(("gray", "result"), [(255, "passed"), (0, "failed")])
def test_pictures_beside_the_rom(tmp_path, name, gray, result):
    Image.fromarray(np.full((144, 160), gray, np.uint8)).save(tmp_path / name)
    found = judge(tmp_path / "x.gb", b"\xaf\xe0\x47" + ENDLESS)  # BGP hides the logo
    assert (found.here, found.way) == (result, "picture")


def test_what_the_boot_program_has_shown_is_seen(tmp_path):
    Image.fromarray(np.full((144, 160), 255, np.uint8)).save(tmp_path / "x.png")
    assert judge(tmp_path / "x.gb", ENDLESS).here == "failed"


def test_results_by_pixel_are_added_to_a_record(tmp_path, capsys):
    from tools.gameboy.acceptance import main

    Image.fromarray(np.full((144, 160), 255, np.uint8)).save(tmp_path / "x.png")
    judge(tmp_path / "x.gb", b"\xaf\xe0\x47" + ENDLESS)
    out = tmp_path / "record.json"
    command = [str(tmp_path), "--out", str(out)]
    assert main(command) == 0
    assert main([*command, "--accuracy", "pixel"]) == 0
    record = json.loads(out.read_text())
    assert record["roms"]["x.gb"]["pixel"] == record["roms"]["x.gb"]["result"] == "passed"
    assert record["suites"]["x.gb"]["pixel"] == 1
    (tmp_path / "y.gb").write_bytes((tmp_path / "x.gb").read_bytes())
    assert main([*command, "--accuracy", "pixel"]) == 2
    assert "is not a record of these ROMs" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "result"), [(b"Passed", "passed"), (b"Failed", "failed")])
def test_text_on_the_screen(tmp_path, text, result):
    off = bytes.fromhex("af e0 40")
    program = off + b"".join(put(0x9821 + i, byte) for i, byte in enumerate(text)) + ENDLESS
    assert judge(tmp_path / "x.gb", program).here == result


@walk(
    ("name", "other"),
    [("boot_regs-dmg0", True), ("boot_regs-dmgABC", False), ("boot_hwio-dmgABCmgb", False),
     ("ly_lyc-C", True), ("ly_lyc-GS", False), ("boot_div-S", True), ("boot_regs-mgb", True),
     ("boot_regs-sgb2", True), ("boot_div-cgbABCDE", True), ("add_sp_e_timing", False),
     ("1-lcd_sync", False), ("boot_hwio-G", False)],
)  # fmt: skip
def test_names_of_other_models(name, other):
    from tools.gameboy.verdicts import is_of_another_model

    assert is_of_another_model(Path(f"{name}.gb")) == other


def test_what_is_for_another_model_does_not_count_unless_it_passes(tmp_path):
    bad = bytes.fromhex("06 42 0e 42 16 42 1e 42 26 42 2e 42") + ENDLESS
    assert judge(tmp_path / "a-S.gb", bad).here == "other model"
    assert judge(tmp_path / "a-GS.gb", bad).here == "failed"


def test_a_rom_for_the_colour_machine_runs_where_its_name_says_so(tmp_path):
    for name, result in (("x_dmg08_outC5", "passed"), ("x_cgb04c_outC5", "unsupported")):
        rom = bytearray(build(SHOW, patches=[(0x1000, TILES)]).rom)
        rom[0x143] = 0xC0
        (tmp_path / f"{name}.gb").write_bytes(rom)
        from tools.gameboy.acceptance import run_rom

        assert run_rom(tmp_path / f"{name}.gb", frames=20).here == result


def test_pyboy_is_asked_from_the_end_of_its_boot_program(tmp_path):
    rom = tmp_path / "gbmicrotest" / "any.gb"
    judge(rom, put(0xFF82, 1) + ENDLESS)
    assert ask_pyboy(rom) == "passed"  # that program takes 65 frames


@pytest.mark.parametrize(("registers", "result"), [(GOOD, "passed"), (b"", "locked")])
def test_pyboy_is_judged_where_an_illegal_opcode_stops_it(tmp_path, registers, result):
    judge(tmp_path / "x.gb", registers + bytes((0xED,)))
    assert ask_pyboy(tmp_path / "x.gb") == result


def test_what_a_record_says_of_pyboy_is_kept(tmp_path):
    from tools.gameboy import acceptance

    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "x.gb").write_bytes(build(ENDLESS).rom)
    record = tmp_path / "record.json"
    arguments = [str(tmp_path), "--frames", "2", "--out", str(record)]
    acceptance.main(arguments)
    text = record.read_text()
    assert '"pyboy": "", "way"' in text
    record.write_text(text.replace('"pyboy": "", "way"', '"pyboy": "failed", "way"'))
    acceptance.main(arguments)
    assert '"pyboy": "failed", "way"' in record.read_text()
    record.write_text("[]")
    assert acceptance.main(arguments) == 2

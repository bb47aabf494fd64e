"""Lantern Walk on the compiled core: the quest, its pictures, and what its programs cost."""

import hashlib
import re
from collections.abc import Iterator

import pytest

from fastenv.gameboy.cartridge import Cartridge, load_cartridge, read_cartridge
from fastenv.gameboy.lantern_walk import Solver, load_world
from fastenv.gameboy.position import power_up_row
from fastenv.gameboy.tables import WRAM, Key
from tests.needs import needs_core
from tools.roms import ROMS
from tools.sm83 import assemble_text

pytestmark = needs_core

WORLD = load_world()
PAGE = (ROMS.parents[2] / "docs" / "lantern_walk.md").read_text(encoding="utf-8")
# Of the picture after a number of steps of the solver: the first digits of its SHA-256.
GOLDEN = {
    1: "bad7ad9abb3a75e2",
    24: "9b9c6bb30ac51de5",
    47: "093a39726986a50a",
    70: "1a0c83a8dbf0fc87",
    93: "0a530ee973cf8eb2",
    116: "8392921bac67db30",
    139: "e55d0c4df9a8eeb3",
    162: "e7b39d87898ee404",
    184: "01b98739a6ce007e",
}
COUNTED = 1000  # frames


def power_up(cartridge: Cartridge):
    from fastenv.gameboy.console import Console

    return Console(cartridge, power_up_row(cartridge))


class Player:
    """The solver at a console, in steps of 24 frames of which a key is held for 8."""

    def __init__(self, name: str) -> None:
        self.console = power_up(load_cartridge(ROMS / f"{name}.gb"))
        self.solver, self.steps = Solver(), 0

    def read(self, address: int) -> int:
        return int(self.console.row["wram"][0, address - WRAM])

    def value(self, name: str) -> int:
        return self.read(WORLD.memory[name])

    def play(self) -> Iterator[int]:
        """Play to the end; yield the number of every step."""
        while not self.value("done") or self.value("dialogue") or self.value("mode") == 2:
            button = self.solver.button(self.read)
            self.console.press(0 if button is None else 1 << Key[button])
            self.console.run_frames(8, draw=False)
            self.console.press(0)
            self.console.run_frames(16)
            self.steps += 1
            assert self.steps < 300
            yield self.steps


@pytest.fixture(scope="module", params=["lantern_walk", "heavy"])
def finished(request: pytest.FixtureRequest) -> tuple[str, Player, dict[int, bytes]]:
    """A game at its end: the name of the ROM, the player, and the picture after every step."""
    player = Player(request.param)
    pictures = {step: player.console.picture.tobytes() for step in player.play()}
    return request.param, player, pictures


def test_solver_finishes_the_quest(finished) -> None:
    _, player, _ = finished
    assert (player.value("quest"), player.value("items")) == (7, WORLD.candles_needed)
    walked = re.search(r"it needs (\d+) walked cells", PAGE)
    assert walked is not None
    assert player.value("steps") == int(walked[1])


@pytest.mark.parametrize("finished", ["lantern_walk"], indirect=True)
def test_golden_frames(finished) -> None:
    _, player, pictures = finished
    assert player.steps == max(GOLDEN)
    found = {step: hashlib.sha256(pictures[step]).hexdigest()[:16] for step in GOLDEN}
    assert found == GOLDEN


# -- what docs/lantern_walk.md says ----------------------------------------------------------------


def documented_instructions(name: str) -> int:
    listed = re.search(rf"^\| `{name}` \|.*\| ([\d,]+) \|$", PAGE, re.MULTILINE)
    assert listed is not None, name
    return int(listed[1].replace(",", ""))


def test_instructions_a_frame_of_the_game_are_the_documented_ones(finished) -> None:
    name, player, _ = finished
    mean = int(player.console.row["instr"][0]) / (24 * player.steps)
    assert round(mean, -1) == documented_instructions(name)


@pytest.mark.parametrize("name", ["busy", "poll", "halt", "split", "delay"])
def test_instructions_a_frame_are_the_documented_ones(name: str) -> None:
    console = power_up(load_cartridge(ROMS / f"{name}.gb"))
    console.run_frames(12, draw=False)
    before = int(console.row["instr"][0])
    console.run_frames(COUNTED, draw=False)
    mean = (int(console.row["instr"][0]) - before) / COUNTED
    assert round(mean) == documented_instructions(name)


def test_a_program_whose_check_fails_says_which() -> None:
    source = ROMS / "micro" / "daa.asm"
    text = source.read_text(encoding="ascii").replace("db $80, FC", "db $81, FC")
    console = power_up(read_cartridge(assemble_text(text, source).rom))
    console.run_frames(20, draw=False)
    record = console.row[0]
    assert list(record["wram"][:4]) == [2, 5, 0x80, 0x81]  # failed, in the fifth, was, should be
    assert {int(record[register]) for register in "bcdehl"} == {0x42}
    assert bytes(record["serial"]).rstrip(b"\0") == b"fail 05"

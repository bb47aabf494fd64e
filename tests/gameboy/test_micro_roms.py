"""The programs that check a machine, on PyBoy, which passes but for deviations that are known."""

import json
from typing import Any

from tests.gameboy import pyboy
from tests.tables import walk
from tools.roms import ROMS

MANIFEST = json.loads((ROMS / "manifest.json").read_text(encoding="ascii"))
MICRO = {name: notes for name, notes in MANIFEST.items() if name.startswith("micro/")}
RESULT, CHECKS = 0xC000, 0xC001
PASSED, FAILED = 1, 2


def run(name: str, frames: int = 200) -> tuple[int, int]:
    """Return the result of a program, and how many checks it made."""
    machine = pyboy.start(ROMS / name)
    memory: Any = machine.memory
    for _ in range(frames):
        machine.tick(1, False)
        if memory[RESULT] in (PASSED, FAILED):
            break
    result = memory[RESULT], memory[CHECKS]
    machine.stop(save=False)
    return result


def test_there_is_a_program_for_every_part_of_the_machine() -> None:
    assert {name.removeprefix("micro/").removesuffix(".gb") for name in MICRO} == {
        *("alu", "daa", "cb", "stack", "ei_delay", "halt_wake", "halt_bug", "timer"),
        *("tima_reload", "div_tac", "stat_blocking", "lyc", "lcd_onoff", "dma", "sprites"),
        *("sprite_mask", "window", "joypad", "serial", "mbc1", "mbc2", "mbc3", "mbc5", "memory"),
    }


@walk("name", [name for name, notes in MICRO.items() if "pyboy" not in notes])
def test_program_passes(name: str) -> None:
    result, checks = run(name)
    assert result == PASSED, f"check {checks}"
    assert checks > 2 or name in ("micro/sprites.gb", "micro/window.gb")


@walk("name", [name for name, notes in MICRO.items() if "pyboy" in notes])
def test_known_deviation_is_still_one(name: str) -> None:
    result, checks = run(name)
    assert result == FAILED or checks == 0, "take the note out of the source"

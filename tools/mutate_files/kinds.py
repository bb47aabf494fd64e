"""Kinds of files that somebody may be given: an original of each, and how it is read."""

from __future__ import annotations

import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import fastenv
from tools.mutate_files.reading import Kind
from tools.mutate_files.trained import TRAINED


def play(steps: int, **options: Any) -> None:
    """Make a batch of two lanes, take some steps with keys drawn at random, and draw a picture."""
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of ROMs whose header is wrong
        vec = fastenv.make_vec(
            "GameBoyPixels-v0", 2, backend="fast", render_mode="rgb_array", **options
        )
        vec.reset(seed=0)
        for _ in range(steps):
            vec.step(fastenv.sample_legal(vec.action_masks(), rng))
        vec.render()
        vec.close()


def make_rom(folder: Path) -> None:
    """Write a ROM."""
    from importlib import resources

    rom = resources.files("fastenv.gameboy") / "roms" / "lantern_walk.gb"
    (folder / "game.gb").write_bytes(rom.read_bytes())


def make_state(folder: Path) -> None:
    """Write a save state."""
    from fastenv.gameboy.common import read_rom
    from fastenv.gameboy.savestate import save_state
    from fastenv.gameboy.starts import load_starts

    rom = read_rom("lantern_walk")
    save_state(folder / "game.state", load_starts("lantern_walk", rom).rows[:1], rom)


def make_battery(folder: Path) -> None:
    """Write a ROM with a battery and a clock, and what the battery kept."""
    from fastenv.gameboy.battery import save_sav
    from fastenv.gameboy.cartridge import read_cartridge
    from fastenv.gameboy.common import read_rom
    from fastenv.gameboy.position import power_up_row

    rom = bytearray(read_rom("lantern_walk").rom)
    rom[0x147], rom[0x149] = 0x10, 2  # MBC3 with a clock, 8 KiB
    rom[0x14D] = sum(0xFF - byte for byte in rom[0x134:0x14D]) & 0xFF
    (folder / "game.gb").write_bytes(bytes(rom))
    cartridge = read_cartridge(bytes(rom))
    row = power_up_row(cartridge)
    row["cart"] = np.arange(row["cart"].size, dtype=np.uint8)
    save_sav(folder / "game.sav", row, cartridge)


def make_map(folder: Path) -> None:
    """Write a RAM map."""
    from fastenv.gameboy.ram_program import MAPS
    from fastenv.gameboy.shipped import shipped

    ours = shipped(*MAPS["lantern_walk_quest"])
    (folder / "map.json").write_bytes(ours.read_bytes())


def make_bank(folder: Path) -> None:
    """Write a bank of two states."""
    from fastenv.gameboy.common import read_rom
    from fastenv.gameboy.starts import Starts, load_starts, save_bank

    rom = read_rom("lantern_walk")
    whole = load_starts("lantern_walk", rom)
    save_bank(folder / "bank.npz", Starts(whole.rows[:2], whole.frames[:2]), rom)


KINDS = {
    kind.name: kind
    for kind in (
        # From power-up on: what stands behind the title of the game is run too.
        Kind("rom", make_rom, lambda folder: play(60, rom=folder / "game.gb")),
        Kind("state", make_state, lambda folder: play(3, states=folder / "game.state")),
        Kind("bank", make_bank, lambda folder: play(3, states=folder / "bank.npz")),
        Kind(
            "battery",
            make_battery,
            lambda folder: play(3, rom=folder / "game.gb", states=folder / "game.sav"),
            ("game.sav",),
        ),
        Kind("map", make_map, lambda folder: play(3, ram_map=folder / "map.json")),
        *TRAINED,
    )
}


def find_kind(name: str) -> Kind:
    """Return one of ``KINDS``, or one of another module by ``MODULE:VARIABLE``.

    Raises
    ------
    ValueError
        There is none; the message names those there are.
    """
    module, _, variable = name.partition(":")
    kind = getattr(import_module(module), variable, None) if variable else KINDS.get(name)
    if not isinstance(kind, Kind):
        raise ValueError(f"kind {name}: must be one of {', '.join(KINDS)}, all, or MODULE:VARIABLE")
    return kind

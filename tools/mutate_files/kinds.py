"""Kinds of files that somebody may be given: an original of each, and how it is read."""

from __future__ import annotations

import hashlib
import json
import warnings
from contextlib import suppress
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


def make_pyboy_states(folder: Path) -> None:
    """Write save states of PyBoy of all known layouts; the newest only if PyBoy is installed."""
    from fastenv.gameboy.common import read_rom
    from tools.gameboy import pyboy_states

    cartridge = read_rom("lantern_walk")
    row = pyboy_states.in_line_144(cartridge)
    states = [
        bytes(pyboy_states.make_old_state(row, cartridge, version))
        for version in pyboy_states.VERSIONS
    ]
    with suppress(ImportError):
        states.append(pyboy_states.make_new_state(cartridge))
    for content in states:
        (folder / _name_state(content)).write_bytes(content)


def read_pyboy_states(folder: Path) -> None:
    """Play from the state that was changed, which its name tells; from the first if none was."""
    paths = sorted(folder.iterdir())
    changed = [path for path in paths if path.name != _name_state(path.read_bytes())]
    for path in changed or paths[:1]:
        play(3, states=path)


def _name_state(content: bytes) -> str:
    """Name the file of a state by its layout and what is in it."""
    return f"{content[:1].hex()}-{hashlib.sha256(content).hexdigest()[:16]}.state"


def make_symbols(folder: Path) -> None:
    """Write labels of a program, and a RAM map that has labels in place of addresses."""
    labels = {f"wThing{k}": f"00:{0xC100 + k:04x}" for k in range(200)}
    labels |= {f"Part{k}.loop": f"0{k % 2}:{0x4000 * (k % 2) + 16 * k:04X}" for k in range(200)}
    lines = [f"{where} {label}" for label, where in labels.items()]
    text = "\n".join(["; of a program", "[labels]", *lines, "C000 wPlain ; a comment", ""])
    (folder / "game.sym").write_text(text, encoding="utf-8")
    fields = {f"f{k}": {"address": f"wThing{k}", "type": "u1"} for k in range(0, 200, 9)}
    fields["more"] = {"address": "wPlain+8", "type": "<u2"}
    hooks = {f"h{k}": {"at": f"Part{k}.loop", "do": "count"} for k in range(1, 4)}
    value = {"symbols": "game.sym", "fields": fields, "hooks": hooks}
    (folder / "map.json").write_text(json.dumps(value), encoding="utf-8")


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
        Kind("pyboy", make_pyboy_states, read_pyboy_states),
        Kind(
            "sym", make_symbols, lambda folder: play(1, ram_map=folder / "map.json"), ("game.sym",)
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

"""How test ROMs tell whether they passed.

Every way is a function of a machine that says ``passed``, ``failed``, or nothing yet. Which one a
ROM uses follows from its path: pictures lie beside it, results stand in its name, and the pages of
gbmicrotest have no mark of their own but their folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from fastenv.gameboy.tables import HEIGHT, WIDTH
from tools.gameboy.subjects import Subject

Array = np.ndarray[Any, Any]
PASSED, FAILED, SILENT = "passed", "failed", "no verdict"
PICTURE = "picture"
MINUTE = 3600  # frames: some suites of many parts need most of it
_PICTURE_FRAMES = 60

_GOOD = (3, 5, 8, 13, 21, 34)
_BAD = (0x42,) * 6
_SIGNATURE, _RUNNING = b"\xde\xb0\x61", 0x80  # behind a result in RAM of the cartridge
_TILES, _MAP, _MAP_BYTES = 0x8000, 0x9800, 0x400
_TEXTS = ((b"Passed", PASSED), (b"Failed", FAILED))
# Gambatte's names: the two machines may have the same result, or one each.
_OUT = re.compile(r"dmg08(?:_cgb04c)?_out([0-9A-F]+|audio[01])")
# The first is there: those without a model in their names may be of another one.
_PICTURE_NAMES = ("{}_dmg08.png", "{}_dmg08_cgb04c.png", "{}.png")
# Behind the last hyphen of mooneye's names: models, or letters of families of them.
_MODELS = re.compile(r"(?:dmg0|dmg[ABC]+|mgb|sgb2?|cgb0?[A-E]*|agb?|ags|[GSCA])+")


@dataclass(frozen=True)
class Way:
    """How a ROM reports, and how long it may take.

    Parameters
    ----------
    name : str
        For the record.
    judge : callable
        Given the machine after each frame: ``passed``, ``failed`` or nothing yet.
    frames : int
        At most.
    silent : str
        The result where it has said nothing by then: a picture that never came is a failure.
    """

    name: str
    judge: Callable[[Subject], str]
    frames: int = MINUTE
    silent: str = SILENT


def way_of(path: Path, frames: int = MINUTE) -> Way:
    """Return how a ROM reports.

    Parameters
    ----------
    path : Path
    frames : int
        How long those may take that say themselves when they are done.
    """
    out = _OUT.search(path.stem)
    if out and out[1].startswith("audio"):
        return Way("sound", lambda machine: "unsupported", 1)
    if out:
        judge = partial(_digits, digits=out[1])
        return Way("digits on the screen", judge, min(frames, _PICTURE_FRAMES), FAILED)
    for name in _PICTURE_NAMES:
        picture = path.with_name(name.format(path.stem))
        if picture.exists():
            judge = partial(_looks_like, wanted=_read_shades(picture))
            return Way(PICTURE, judge, min(frames, _PICTURE_FRAMES), FAILED)
    if "gbmicrotest" in path.as_posix():
        return Way("$FF82", _page, min(frames, _PICTURE_FRAMES))
    return Way("registers, serial, $A000 or text", _says, frames)


def is_of_another_model(path: Path) -> bool:
    """Return whether a name of mooneye's says that a ROM is not for the DMG-CPU A, B or C."""
    _, hyphen, models = path.stem.rpartition("-")
    if not hyphen or not _MODELS.fullmatch(models):
        return False
    return not ("G" in models or re.search(r"dmg[A-C]", models))


def _says(machine: Subject) -> str:
    """Judge by registers, by what was sent, by a result in cartridge RAM, by text on the screen."""
    registers = machine.registers()
    if registers in (_GOOD, _BAD):
        return PASSED if registers == _GOOD else FAILED
    for text, verdict in _TEXTS:
        if text in machine.sent:
            return verdict
    memory = machine.memory(0xA000, 4)
    if memory[1:] == _SIGNATURE:
        return "" if memory[0] == _RUNNING else FAILED if memory[0] else PASSED
    if machine.locked:
        return "locked"
    screen = machine.memory(_MAP, _MAP_BYTES)  # tiles of blargg's have the numbers of ASCII
    return next((verdict for text, verdict in _TEXTS if text in screen), "")


def _page(machine: Subject) -> str:
    """Judge by gbmicrotest's byte at $FF82: 1 or $FF."""
    return {0x01: PASSED, 0xFF: FAILED}.get(machine.memory(0xFF82, 1)[0], "")


def _digits(machine: Subject, digits: str) -> str:
    """Judge by hexadecimal digits at the upper left, drawn with the first tiles."""
    tiles = np.frombuffer(machine.memory(_TILES, 256), np.uint8).reshape(16, 8, 2)
    bits = np.unpackbits(tiles[..., None], axis=3)
    glyphs = np.where(bits[:, :, 0] & bits[:, :, 1], 3, 0)
    used = max(8, int(max(digits), 16) + 1)  # some ROMs have no others
    # Until the ROM has drawn them, the logo is there, which has one plane.
    if len({glyph.tobytes() for glyph in glyphs[:used]}) < used:
        return ""
    wanted = np.concatenate([glyphs[int(digit, 16)] for digit in digits], axis=1)
    return PASSED if (machine.picture()[:8, : wanted.shape[1]] == wanted).all() else ""


def _looks_like(machine: Subject, wanted: Array) -> str:
    return PASSED if (machine.picture() == wanted).all() else ""


def _read_shades(path: Path) -> Array:
    """Return a picture in four grays as shades, shape (144, 160)."""
    with Image.open(path) as image:
        gray = np.asarray(image.convert("L").resize((WIDTH, HEIGHT)))
    return np.asarray(3 - np.round(gray / 85), np.uint8)

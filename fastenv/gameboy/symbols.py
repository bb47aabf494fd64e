"""Labels of a program: ``.sym`` files, and RAM maps that have labels where addresses stand.

The format is that of RGBDS, BGB, no$gmb and wla-dx: a line has bank, address and label, such as
``0F:5A01 EndOfBattle``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastenv.errors import ConfigError, FileError, show, with_nearest
from fastenv.files import read_regular, show_path
from fastenv.gameboy.tables import CART_RAM, ROM_BANK, VRAM, WRAM

MAX_COMPARED = 10_000  # labels that a misspelt one is compared with
_LARGEST = 1 << 24  # bytes of a file
_LINE = re.compile(r"(?:([0-9A-Fa-f]{1,4}):)?([0-9A-Fa-f]{4})\s+(\S+)(?:\s.*)?")
_OTHER = re.compile(r"(?:BOOT|[0-9A-Fa-f]{1,8})[:\s].*")  # of no program, or a definition
_LABEL = re.compile(r"([A-Za-z_.@][\w.@#$]*?)(?:\s*\+\s*(\$[0-9A-Fa-f]{1,4}|[0-9]{1,5}))?")


@dataclass(frozen=True)
class Symbols:
    """Labels and where they are.

    Parameters
    ----------
    name : str
        What messages call the file.
    places : dict of str to (int, int)
        Bank and address.
    """

    name: str
    places: dict[str, tuple[int, int]]

    def find(self, text: str, where: str) -> tuple[int, int]:
        """Return bank and address of a label, or of so many bytes behind it.

        Raises
        ------
        ConfigError
            If there is no such label; ``where`` names the field.
        """
        found = _LABEL.fullmatch(text)
        label, more = (found[1], found[2]) if found else (text, None)
        if label not in self.places:
            message = f"{where}={show(text)} is not possible: {show(label)} is not in {self.name}"
            alike = [each for each in self.places if each[:2].lower() == label[:2].lower()]
            raise ConfigError(with_nearest(f"{message}.", label, alike[:MAX_COMPARED]))
        bank, address = self.places[label]
        address += int(more.replace("$", "0x"), 0) if more else 0
        if address > 0xFFFF:
            raise ConfigError(f"{where}={show(text)} is not possible: addresses end at $FFFF.")
        return bank, address


def read_symbols(path: Path, where: str) -> Symbols:
    """Return the labels of a file; ``where`` names the field in messages.

    Raises
    ------
    ConfigError
        If it cannot be read, or has a line that is none; names the line.
    """
    try:
        content = read_regular(path, _LARGEST)
    except FileError as error:
        raise ConfigError(f"{where}: {error}") from error
    places: dict[str, tuple[int, int]] = {}
    labels = True
    for number, raw in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        line = raw.partition(";")[0].strip()
        if not line:
            continue
        if line.startswith("["):  # wla-dx has other sections too
            labels = line.lower() == "[labels]"
            continue
        found = _LINE.fullmatch(line) if labels else None
        if found is not None:
            places.setdefault(found[3], (int(found[1] or "0", 16), int(found[2], 16)))
        elif labels and not _OTHER.fullmatch(line):
            raise ConfigError(
                f"{where}: line {number} of {show_path(path)}: {show(line)} is no bank, address "
                "and label, such as '0F:5A01 EndOfBattle'."
            )
    return Symbols(show_path(path), places)


def with_addresses(data: dict[str, Any], folder: Path, where: str) -> dict[str, Any]:
    """Return the value of a RAM map's file with addresses in place of labels.

    Parameters
    ----------
    data : dict
        With ``symbols``, the path of a ``.sym`` file, or without any labels.
    folder : Path
        From which that path goes.
    where : str
        The file of the map, for messages.

    Raises
    ------
    ConfigError
        If the file cannot be read, or a label is not in it.
    """
    path = data.get("symbols")
    if path is None:
        return data
    if not isinstance(path, str) or not path or "\0" in path:
        raise ConfigError(f"{where}: symbols={show(path)} must be the path of a .sym file.")
    symbols = read_symbols(folder / path, f"{where}: symbols")
    made = dict(data)
    for part in ("memory", "events"):
        if isinstance(data.get(part), dict):
            made[part] = {
                key: f"${symbols.find(value, f'{where}: {part}.{key}')[1]:04X}"
                if is_label(value)
                else value
                for key, value in data[part].items()
            }
    for part, name in (("fields", _field), ("hooks", _hook)):
        if isinstance(data.get(part), dict):
            made[part] = {
                key: name(entry, symbols, f"{where}: {part}.{key}")
                if isinstance(entry, dict)
                else entry
                for key, entry in data[part].items()
            }
    return made


def is_label(value: Any) -> bool:
    """Whether something that may be an address is written as a label."""
    return isinstance(value, str) and _LABEL.fullmatch(value) is not None


def _field(entry: Mapping[str, Any], symbols: Symbols, where: str) -> dict[str, Any]:
    """Return a field with an address, and with the bank of its label where there are banks."""
    given = entry.get("address")
    if not is_label(given):
        return dict(entry)
    bank, address = symbols.find(str(given), f"{where}.address")
    made = {**entry, "address": f"${address:04X}"}
    if "bank" in entry:
        raise ConfigError(
            f"{where}.bank={show(entry['bank'])}: the label has a bank, leave it out."
        )
    if ROM_BANK <= address < VRAM or CART_RAM <= address < WRAM:
        made["bank"] = bank
    elif bank > 1:
        raise ConfigError(
            f"{where}.address={show(given)} is not possible: ${address:04X} has no bank {bank} on "
            "this console."
        )
    return made


def _hook(entry: Mapping[str, Any], symbols: Symbols, where: str) -> dict[str, Any]:
    """Return a hook with an address; what is written may be the name of a field."""
    made = dict(entry)
    if is_label(entry.get("at")):
        bank, address = symbols.find(entry["at"], f"{where}.at")
        made["at"] = f"{bank:02X}:{address:04X}"
    written = entry.get("written")
    if is_label(written) and str(written).partition("+")[0].strip() in symbols.places:
        made["written"] = f"${symbols.find(str(written), f'{where}.written')[1]:04X}"
    return made

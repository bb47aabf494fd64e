"""Run test ROMs that say themselves whether they passed.

``python -m tools.gameboy.acceptance FOLDER`` runs every ``.gb`` file in a folder, prints a table,
and exits with 1 if one fails that is not expected to. A ROM passes when B, C, D, E, H and L hold
3, 5, 8, 13, 21 and 34, and fails when all of them hold $42; when it sends ``Passed`` or ``Failed``
to the serial port; or when it writes a result, 0 for passed, before the bytes $DE, $B0, $61 at the
beginning of the cartridge's RAM. Those expected to fail stand in a file, one path a line, relative
to a folder above; default is ``acceptance.txt`` beside this file, for those of mooneye and blargg.
``--out FILE`` writes what each ROM came to, with its hash, as JSON.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from fastenv._version import __version__
from fastenv.errors import ConfigError, FileError
from fastenv.gameboy.cartridge import UnsupportedCartridgeError, load_cartridge
from fastenv.gameboy.console import Console
from fastenv.gameboy.position import power_up_row
from fastenv.gameboy.tables import FRAME

EXPECTED = Path(__file__).with_suffix(".txt")
FRAMES = 3600  # a minute of the machine's time: some suites of many parts need most of it
_PASSED = (3, 5, 8, 13, 21, 34)
_FAILED = (0x42,) * 6
_SIGNATURE, _RUNNING = b"\xde\xb0\x61", 0x80  # behind a result in RAM of the cartridge


def run_rom(path: Path, frames: int = FRAMES) -> str:
    """Run a test ROM.

    Parameters
    ----------
    path : Path
    frames : int
        How long it may take, in whole frames of 70,224 T.

    Returns
    -------
    str
        ``passed``, ``failed``, ``timeout``, ``locked``, ``unsupported`` or ``unreadable``.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about checksums: some ROMs test just that
            cartridge = load_cartridge(path)
    except UnsupportedCartridgeError:
        return "unsupported"
    except (FileError, ConfigError):  # the others are worth running all the same
        return "unreadable"
    console, text = Console(cartridge, power_up_row(cartridge)), b""
    while console.row["cyc"][0] < frames * FRAME:
        console.run_frame(draw=False)
        text += _take_sent(console)
        verdict = _verdict(console, text)
        if verdict:
            return verdict
    return "timeout"


def _take_sent(console: Console) -> bytes:
    """Return what was sent to the serial port, and forget it, so that there is room for more."""
    row = console.row[0]
    sent: bytes = row["serial"][: row["serial_count"]].tobytes()
    row["serial"], row["serial_count"] = 0, 0
    return sent


def _verdict(console: Console, text: bytes) -> str:
    """Return what a ROM says of itself, or nothing yet."""
    row = console.row[0]
    registers = tuple(int(row[name]) for name in "bcdehl")
    if registers == _PASSED or b"Passed" in text:
        return "passed"
    if registers == _FAILED or b"Failed" in text:
        return "failed"
    memory = row["cart"][:4].tobytes()
    if memory[1:] == _SIGNATURE and memory[0] != _RUNNING:
        return "failed" if memory[0] else "passed"
    return "locked" if row["locked"] else ""


def read_expected(path: Path | None) -> list[str]:
    """Return the ROMs that a list expects to fail; None: the list of mooneye's and blargg's.

    Raises
    ------
    ConfigError
        If it cannot be read.
    """
    file = EXPECTED if path is None else path
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(f"--expected {path}: cannot be read: {error}") from error
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line]


def is_expected(path: Path, expected: Sequence[str]) -> bool:
    """Return whether a path ends in one of those that are listed."""
    return any(path.as_posix().endswith(f"/{name}") or path.as_posix() == name for name in expected)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 0 if all is as expected, 1 if not, 2 on an error."""
    parse = argparse.ArgumentParser(
        prog="python -m tools.gameboy.acceptance",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parse.add_argument("folder", type=Path, help="with .gb files, at any depth")
    parse.add_argument("--expected", type=Path, metavar="FILE", help="ROMs expected to fail")
    parse.add_argument("--frames", type=int, default=FRAMES, help=f"at most; default {FRAMES}")
    parse.add_argument("--out", type=Path, metavar="FILE", help="JSON of all results")
    args = parse.parse_args(argv)
    if args.frames < 1:
        parse.error(f"--frames {args.frames}: must be at least 1")
    files = args.folder.rglob("*")
    roms = sorted(path for path in files if path.suffix.lower() == ".gb" and not path.is_dir())
    if not roms:
        print(f"error: {args.folder}: no .gb file in this folder", file=sys.stderr)
        return 2
    try:
        expected = read_expected(args.expected)
        results = {path: run_rom(path, args.frames) for path in roms}
        if args.out is not None:
            args.out.write_text(_record(args.folder, results), encoding="utf-8")
    except (ConfigError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return _report(args.folder, results, expected)


def _record(folder: Path, results: dict[Path, str]) -> str:
    """Return the results as JSON, each with the hash of the file."""
    roms = {}
    for path, result in results.items():
        data = b"" if result == "unreadable" else path.read_bytes()
        name = path.relative_to(folder).as_posix()
        roms[name] = {"result": result, "sha256": hashlib.sha256(data).hexdigest()}
    return json.dumps({"fastenv": __version__, "roms": roms}, indent=1) + "\n"


def _report(folder: Path, results: dict[Path, str], expected: Sequence[str]) -> int:
    unexpected = 0
    for path, result in results.items():
        note = ""
        if result == "passed" and is_expected(path, expected):
            note = "  (on the list of those that fail)"
        elif result != "passed" and is_expected(path, expected):
            note = "  (expected)"
        elif result != "passed":
            unexpected += 1
        print(f"{result:<12}{path.relative_to(folder).as_posix()}{note}")
    passed = sum(result == "passed" for result in results.values())
    print(f"{passed} of {len(results)} passed, {unexpected} failed unexpectedly")
    return int(unexpected > 0)


if __name__ == "__main__":
    sys.exit(main())

"""Run test ROMs that say themselves whether they passed, here and in PyBoy.

``python -m tools.gameboy.acceptance FOLDER`` runs every ``.gb`` and ``.gbc`` file in a folder,
prints a table, and exits with 1 if one fails that is not expected to. ROMs report in the registers
B, C, D, E, H and L (3, 5, 8, 13, 21, 34; or six times $42), with ``Passed`` or ``Failed`` at the
serial port or on the screen, with a result before the bytes $DE, $B0, $61 in the cartridge's RAM,
at $FF82 (in folders named gbmicrotest), as hexadecimal digits on the screen that stand in the
file's name behind ``dmg08_out``, or as a picture, which lies beside them as ``NAME.png`` or
``NAME_dmg08.png``. Those expected to fail stand in a file, one path a line, relative to a folder
above; default is ``acceptance.txt`` beside this file. ``--out FILE`` writes what each ROM came to,
with its hash, as JSON, and suites, the folders in FOLDER, in numbers. ``--accuracy pixel`` adds
to FILE what the same ROMs came to where pictures are exact within a line. ``--pyboy`` asks PyBoy
the same, from the end of its boot program; what FILE already says of PyBoy and the same ROM is
kept.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from fastenv._version import __version__
from fastenv.errors import ConfigError, FileError
from fastenv.gameboy.cartridge import UnsupportedCartridgeError, read_cartridge
from fastenv.gameboy.config import BY_LINE, BY_PIXEL
from tools.command import new_parser, refusing
from tools.gameboy.subjects import OurMachine, PyBoyMachine, Subject
from tools.gameboy.verdicts import MINUTE, PASSED, Way, is_of_another_model, way_of
from training.run import machine

COMMAND = "python -m tools.gameboy.acceptance FOLDER --pyboy --out FILE"

EXPECTED = Path(__file__).with_suffix(".txt")
_COLOUR = 0x143  # in the header
_NOT_COUNTED = ("other model", "no verdict", "unsupported")


@dataclass(frozen=True)
class Result:
    """What a ROM came to.

    Parameters
    ----------
    here : str
        ``passed``, ``failed``, ``no verdict``, ``locked``, ``unsupported``, ``unreadable``, or
        ``other model`` where it did not pass and its name says that it is not for this machine.
    way : str
        How it reports.
    sha256 : str
        Of the file; of none where it cannot be read.
    pyboy : str
        The same in PyBoy; empty where nobody asked.
    """

    here: str
    way: str
    sha256: str
    pyboy: str = ""

    @property
    def counts(self) -> bool:
        """Whether it says anything about this machine."""
        return self.here not in _NOT_COUNTED


def run_rom(
    path: Path,
    frames: int = MINUTE,
    known: Mapping[str, str] | None = None,
    asks_pyboy: bool = False,
    accuracy: str = BY_LINE,
) -> Result:
    """Run a test ROM.

    Parameters
    ----------
    path : Path
    frames : int
        How long it may take, in frames.
    known : dict, optional
        What PyBoy came to with ROMs of these hashes.
    asks_pyboy : bool
        Whether PyBoy runs it too, if it is not known and says anything about this machine.
    accuracy : {"line", "pixel"}
        That of our machine.
    """
    way = way_of(path, frames)
    try:
        data = path.read_bytes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about checksums: some ROMs test just that
            cartridge = read_cartridge(_for_this_machine(path, data), path.name)
    except UnsupportedCartridgeError:
        return Result("unsupported", way.name, hashlib.sha256(data).hexdigest())
    except (OSError, FileError, ConfigError):  # the others are worth running all the same
        return Result("unreadable", way.name, hashlib.sha256(b"").hexdigest())
    here = _judge(OurMachine(cartridge, accuracy), way)
    if here != PASSED and is_of_another_model(path):
        here = "other model"
    digest = hashlib.sha256(data).hexdigest()
    pyboy = (known or {}).get(digest, "")
    result = Result(here, way.name, digest, pyboy)
    if asks_pyboy and not pyboy and result.counts:
        return Result(here, way.name, digest, _ask_pyboy(path, way))
    return result


def _for_this_machine(path: Path, rom: bytes) -> bytes:
    """Return a ROM that runs here where its name has a result for this machine.

    Some of Gambatte's say in their headers that they are for the colour machine alone, which a
    console of 1989 does not look at.
    """
    if "dmg08" in path.stem and len(rom) > _COLOUR:
        return rom[:_COLOUR] + bytes((rom[_COLOUR] & 0x80,)) + rom[_COLOUR + 1 :]
    return rom


def _judge(machine: Subject, way: Way) -> str:
    for _ in range(way.frames):
        machine.run_frame()
        verdict = way.judge(machine)
        if verdict:
            return verdict
    return way.silent


def _ask_pyboy(path: Path, way: Way) -> str:
    try:
        machine = PyBoyMachine(path)
    except Exception:  # whatever it raises: it refuses cartridges in many ways
        return "unsupported"
    try:
        return _judge(machine, way)
    except Exception:  # an opcode or an access that it does not know ends it
        return "failed"
    finally:
        machine.close()


def read_expected(path: Path | None) -> list[str]:
    """Return the ROMs that a list expects to fail; None: the list of the suites that are recorded.

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


@refusing
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 0 if all is as expected, 1 if not, 2 on an error."""
    parse = new_parser("gameboy.acceptance", __doc__)
    parse.add_argument("folder", type=Path, help="with .gb and .gbc files, at any depth")
    parse.add_argument("--expected", type=Path, metavar="FILE", help="ROMs expected to fail")
    parse.add_argument("--frames", type=int, default=MINUTE, help=f"at most; default {MINUTE}")
    parse.add_argument("--out", type=Path, metavar="FILE", help="JSON of all results")
    parse.add_argument("--pyboy", action="store_true", help="ask PyBoy too")
    parse.add_argument("--accuracy", choices=(BY_LINE, BY_PIXEL), default=BY_LINE, help="of ours")
    args = parse.parse_args(argv)
    if args.frames < 1:
        parse.error(f"--frames {args.frames}: must be at least 1")
    roms = sorted(path for path in args.folder.rglob("*") if _is_rom(path))
    if not roms:
        print(f"error: {args.folder}: no .gb file in this folder", file=sys.stderr)
        return 2
    expected = read_expected(args.expected)
    known = _known_of_pyboy(args.out)
    results = {
        path.relative_to(args.folder).as_posix(): run_rom(
            path, args.frames, known, args.pyboy, args.accuracy
        )
        for path in roms
    }
    if args.out is not None and args.accuracy == BY_PIXEL:
        args.out.write_text(_with_column(args.out, results), encoding="utf-8")
    elif args.out is not None:
        args.out.write_text(_record(results), encoding="utf-8")
    return _report(args.folder, results, expected)


def _is_rom(path: Path) -> bool:
    return path.suffix.lower() in (".gb", ".gbc") and not path.is_dir()


def _pyboy_version() -> str:
    try:
        return metadata.version("pyboy")
    except metadata.PackageNotFoundError:
        return ""


def _known_of_pyboy(record: Path | None) -> dict[str, str]:
    """Read the results of this version of PyBoy from a record, by the hashes of the ROMs."""
    if record is None or not record.exists():
        return {}
    try:
        content = json.loads(record.read_text(encoding="utf-8"))
        if content.get("pyboy") != _pyboy_version():
            return {}
        return {rom["sha256"]: rom["pyboy"] for rom in content["roms"].values() if rom["pyboy"]}
    except (ValueError, KeyError, AttributeError) as error:
        raise ConfigError(f"--out {record}: is not a record of this tool") from error


def suites_of(results: Mapping[str, Result]) -> dict[str, dict[str, int]]:
    """Return how many ROMs of each suite pass here and in PyBoy, of those that count.

    PyBoy was asked of none, of all, or of some, where ROMs came later.
    """
    none = {"passed": 0, "pyboy": 0, "asked": 0, "of": 0}
    suites: dict[str, dict[str, int]] = {}
    for name, result in results.items():
        numbers = suites.setdefault(name.split("/")[0], {**none})
        if result.counts:
            numbers["passed"] += result.here == PASSED
            numbers["pyboy"] += result.pyboy == PASSED
            numbers["asked"] += result.pyboy != ""
            numbers["of"] += 1
    return suites


def _record(results: Mapping[str, Result]) -> str:
    """Return the results as JSON, a line for each ROM."""
    roms = {
        name: {"result": r.here, "pyboy": r.pyboy, "way": r.way, "sha256": r.sha256}
        for name, r in results.items()
    }
    head = {**machine.taken_on(), "command": COMMAND, "pyboy": _pyboy_version()}
    return _json({**head, "fastenv": __version__, "suites": suites_of(results), "roms": roms})


def _with_column(path: Path, results: Mapping[str, Result]) -> str:
    """Return a record with what its ROMs came to by pixel, of those that were run.

    Raises
    ------
    ConfigError
        If it cannot be read, or has not the same ROMs.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        for name, result in results.items():
            if content["roms"][name]["sha256"] != result.sha256:
                raise ConfigError(f"--out {path}: has another ROM {name}")
            if content["roms"][name]["way"] == result.way:  # else its picture is not at hand
                content["roms"][name]["pixel"] = result.here
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"--out {path}: is not a record of these ROMs") from error
    for suite, numbers in content["suites"].items():
        counted = [
            rom
            for name, rom in content["roms"].items()
            if name.split("/")[0] == suite and rom["result"] not in _NOT_COUNTED
        ]
        if all("pixel" in rom for rom in counted):
            numbers["pixel"] = sum(rom["pixel"] == PASSED for rom in counted)
    return _json(content)


def _json(content: Mapping[str, Any]) -> str:
    """Return a record as JSON, a line for each suite and ROM."""
    lines = [
        f" {json.dumps(key)}: {json.dumps(value)},"
        for key, value in content.items()
        if key not in ("suites", "roms")
    ]
    suites, roms = (
        [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in content[key].items()]
        for key in ("suites", "roms")
    )
    parts = [",\n".join(suites), ' },\n "roms": {', ",\n".join(roms)]
    return "{\n" + "\n".join([*lines, ' "suites": {', *parts]) + "\n }\n}\n"


def _report(folder: Path, results: Mapping[str, Result], expected: Sequence[str]) -> int:
    unexpected = 0
    for name, result in results.items():
        note, listed = "", is_expected(folder / name, expected)
        if result.here == PASSED and listed:
            note = "  (on the list of those that fail)"
        elif result.here != PASSED and (listed or not result.counts):
            note = "  (expected)" if listed else ""
        elif result.here != PASSED:
            unexpected += 1
        theirs = f"{result.pyboy:<12}" if result.pyboy else ""
        print(f"{result.here:<12}{theirs}{name}{note}")
    _print_suites(results)
    passed = sum(result.here == PASSED for result in results.values())
    print(f"{passed} of {len(results)} passed, {unexpected} failed unexpectedly")
    return int(unexpected > 0)


def _print_suites(results: Mapping[str, Result]) -> None:
    asked = any(result.pyboy for result in results.values())
    for suite, numbers in suites_of(results).items():
        if numbers["of"] > 1:
            beside = f", {numbers['pyboy']} in PyBoy" if asked else ""
            print(f"{suite}: {numbers['passed']} of {numbers['of']}{beside}")


if __name__ == "__main__":
    sys.exit(main())

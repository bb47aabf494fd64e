"""Install packages or build the extensions, and say what is done and how far it is.

``make`` calls it. It imports Python's own library alone: it runs where nothing is installed yet.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import sysconfig
import threading
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

# Builds of torch for Linux by their names there, such as cpu or cu130. That of PyPI has CUDA,
# whose libraries take gigabytes.
TORCH_INDEX = "https://download.pytorch.org/whl/"
AS_PYPI = "pypi"
# Modules are compiled where they are imported: hundreds of megabytes are never written.
PIP = (sys.executable, "-m", "pip", "install", "--no-compile", "--disable-pip-version-check")
LAST = 30  # lines that are shown of a command that failed
# Seconds to the first line in a file, and between two; in a terminal one line changes each second.
FIRST_S, EVERY_S = 1.0, 5.0

_COLLECTING = re.compile(r"(?:Collecting|Requirement already satisfied:) ([\w.-]+)")
_DOWNLOADING = re.compile(r"\s*(Downloading|Building wheels? for) ([^\s/]+)(?: (\([^)]*\)))?")
_TRANSLATING = re.compile(r"\[ *(\d+)/(\d+)\] Cythonizing (\S+)")
_COMPILING = re.compile(r"building '(\S+)' extension")


class Reader(Protocol):
    """What the lines of a command say of how far it is."""

    def read(self, line: str) -> None:
        """Take in a line of its output."""

    def describe(self) -> str:
        """Describe in a few words what it does now."""


class Packages:
    """How far pip is.

    Parameters
    ----------
    listed : int
        Requirements of the file.
    site : Path
        Where packages are installed.
    """

    def __init__(self, listed: int, site: Path) -> None:
        self._listed, self._site = listed, site
        self._found, self._doing = 0, "asking for packages"
        self._names: list[str] = []
        self._before = 0

    def read(self, line: str) -> None:
        """Take in a line of pip's output."""
        head, _, names = line.partition("Installing collected packages: ")
        if names and not head.strip():
            self._names, self._before = names.strip().split(", "), self._count()
        elif found := _COLLECTING.match(line):
            self._found += "(from -r" in line
            self._doing = found[1]
        elif found := _DOWNLOADING.match(line):
            self._doing = " ".join(part for part in (found[1].lower(), found[2], found[3]) if part)

    def describe(self) -> str:
        """Describe the package that is looked for, downloaded or installed."""
        if not self._names:
            return f"looking up package {self._found} of {self._listed} listed: {self._doing}"
        done = min(self._count() - self._before, len(self._names) - 1)
        return f"installing package {done + 1} of {len(self._names)}: {self._names[done]}"

    def _count(self) -> int:
        return sum(1 for _ in self._site.glob("*.dist-info"))


class Extensions:
    """How far the build of extensions is."""

    def __init__(self) -> None:
        self._begun = 0
        self._doing = "looking for changes"

    def read(self, line: str) -> None:
        """Take in a line of the build's output."""
        if found := _TRANSLATING.match(line):
            self._doing = f"translating {found[1]} of {found[2]} to C: {found[3]}"
        elif found := _COMPILING.match(line):
            self._begun += 1
            self._doing = f"compiling extension {self._begun}: {found[1]}"

    def describe(self) -> str:
        """Describe the module that was begun last."""
        return self._doing


def watch(
    command: Sequence[str], reader: Reader, *, errors: bool = True, **env: str
) -> tuple[int, str]:
    """Run a command, and tell how far it is until it ends.

    Parameters
    ----------
    command : sequence of str
    reader : Reader
    errors : bool
        Show what it writes to the stream of errors at once; otherwise it is taken for output.
    **env
        Variables of its environment beside our own.

    Returns
    -------
    status : int
    last : str
        The last lines of its output.
    """
    lines: deque[str] = deque(maxlen=LAST)
    began, told = time.monotonic(), ""
    live = sys.stdout.isatty()

    def read() -> None:
        for line in process.stdout or ():
            lines.append(line)
            reader.read(line)

    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=None if errors else subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, **env},
    ) as process:
        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        due = began + (0 if live else FIRST_S)
        while thread.is_alive():
            if time.monotonic() >= due:
                due = time.monotonic() + (1 if live else EVERY_S)
                told = _tell(reader.describe(), began, told)
            thread.join(0.1)
        status = process.wait()
    if live and told:
        sys.stdout.write("\r\x1b[K")
    return status, "".join(lines)


def _tell(text: str, began: float, told: str) -> str:
    """Print the progress: in a terminal in one line, elsewhere in a line each that is new."""
    if sys.stdout.isatty():
        wide = os.get_terminal_size(sys.stdout.fileno()).columns or 80
        line = f"{time.monotonic() - began:4.0f} s  {text}"[: wide - 1]
        print(f"\r\x1b[K{line}", end="", flush=True)
    elif text != told:
        print(f"{time.monotonic() - began:4.0f} s  {text}", flush=True)
    return text


def install_packages(path: Path, torch: str) -> int:
    """Install the requirements of a file.

    Parameters
    ----------
    path : Path
    torch : str
        Name of the build of torch for Linux, such as ``cpu`` or ``cu130``; ``pypi`` takes that of
        PyPI, as other systems do.

    Returns
    -------
    int
        Exit status of pip.
    """
    text = path.read_text(encoding="utf-8")
    listed = re.findall(r"^[\w.-]+(?:\[[\w,]+\])?==[^\s#]+", text, re.MULTILINE)
    site = Path(sysconfig.get_path("purelib"))
    began = time.monotonic()
    print(f"Installing {len(listed)} packages of {path}, and what they need", flush=True)
    for pinned in listed:
        if pinned.startswith("torch==") and sys.platform == "linux" and torch != AS_PYPI:
            build = f"{pinned}+{torch}"
            index = ("--index-url", TORCH_INDEX + torch, "--retries", "1", "--no-deps")
            status, _ = watch([*PIP, *index, build], Packages(1, site), errors=False)
            if status:
                print(f"{build} cannot be had here: the build of PyPI is taken", flush=True)
    command = [*PIP, "--requirement", str(path)]
    status, last = watch(command, Packages(len(listed), site), errors=False)
    if status:
        print(last, end="", flush=True)
        return status
    count = sum(1 for _ in site.glob("*.dist-info"))
    seconds, size = time.monotonic() - began, measure_disk(Path(sys.prefix)) / 1e9
    print(f"{count} packages in {sys.prefix}: {seconds:.0f} s, {size:.1f} GB on disk", flush=True)
    return 0


def measure_disk(folder: Path) -> int:
    """Measure the bytes that the files of a folder take on disk."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            status = os.lstat(os.path.join(root, name))
            total += getattr(status, "st_blocks", status.st_size // 512) * 512
    return total


def build_extensions() -> int:
    """Build the extensions in place; return the exit status."""
    command = (sys.executable, "setup.py", "build_ext", "--inplace")
    status, last = watch(command, Extensions(), PYTHONUNBUFFERED="1", FASTENV_REQUIRE_IF_ABLE="1")
    if status:
        print(last, end="", flush=True)
    return status


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return an exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.install", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    packages = commands.add_parser("packages", help="install what a file lists")
    packages.add_argument("file", type=Path)
    packages.add_argument(
        "--torch", default="cpu", help="build of torch: cpu, cu130, ..., or pypi (default: cpu)"
    )
    commands.add_parser("extensions", help="build the extensions in place")
    args = parser.parse_args(argv)
    if args.command == "extensions":
        return build_extensions()
    return install_packages(args.file, args.torch)


if __name__ == "__main__":
    sys.exit(main())

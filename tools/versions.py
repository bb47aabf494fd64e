"""Run the quick tests on the lowest and the newest versions of what fastenv depends on.

``python -m tools.versions`` takes every Python that the package supports, each with the lowest
versions that ``pyproject.toml`` allows and with the newest that resolve: a fresh environment, a
copy of the working tree with extensions built in it, and ``pytest -m "not slow"``. Interpreters are
looked up on the PATH and in pyenv, none is downloaded; packages come from the index that uv uses.

Without ``--training`` the tests of ``training/`` and of the notebooks are left out, which need
torch. Exit status: 0; 1 if tests failed or packages did not resolve; 2 if an interpreter or uv is
missing (``--go-on`` tests what is there and leaves the rest out).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.command import new_parser

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13")
RESOLUTIONS = ("lowest", "newest")
# What the tests need themselves: never part of what is compared, so always the newest.
TOOLS = (
    "setuptools", "wheel", "pip", "Cython>=3.1,<3.4", "pytest>=9", "pytest-xdist", "pytest-timeout",
    "hypothesis", "pettingzoo", "Pillow", "rich", "psutil", "PyYAML", "uv",
)  # fmt: skip
# They import torch, or execute notebooks, which does.
NEED_TRAINING = ("tests/training", "tests/test_notebooks.py", "tests/test_docs.py")


@dataclass(frozen=True)
class Leg:
    """One environment to test in."""

    python: str  # "3.12"
    resolution: str
    interpreter: Path

    def __str__(self) -> str:
        """Return a name that is also that of its folder."""
        return f"python{self.python}-{self.resolution}"


def interpreter(version: str) -> Path | None:
    """Return a Python of this minor version that runs, or None."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    found = shutil.which(f"python{version}")
    candidates = [Path(found)] if found else []
    candidates += sorted(pyenv.glob(f"{version}.*/bin/python{version}"), reverse=True)
    for path in candidates:  # a pyenv shim is found on the PATH whether or not there is a Python
        tried = subprocess.run([path, "-c", "import venv"], capture_output=True, check=False)
        if tried.returncode == 0:
            return path
    return None


def requirements(training: bool) -> list[str]:
    """List the requirements of fastenv, with those of ``training/`` if it is tested too."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    named = [*project["dependencies"]]
    if training:
        named += [*extras["sb3"], *extras["train"], *extras["notebooks"]]
    return [each for each in named if not each.startswith("fastenv-rl[")]


def lowest(uv: str, leg: Leg, named: Sequence[str]) -> list[str]:
    """Return the requirements that have a lower bound, each at the lowest that resolves."""
    bounded = [each for each in named if ">=" in each]
    done = run(
        *(uv, "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--only-binary=:all:"),
        *("--resolution=lowest-direct", f"--python={leg.interpreter}", "-"),
        text="\n".join(bounded),
    )
    names = {re.split(r"[\[<>=~! ]", each)[0].lower() for each in bounded}
    return [pin for pin in done.split("\n") if pin.partition("==")[0].lower() in names]


def run(*command: object, cwd: Path = ROOT, text: str | None = None) -> str:
    """Run a command and return what it printed; what it says on stderr goes to the terminal."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=cwd, input=text, stdout=subprocess.PIPE, text=True, check=True, env=clean()
    )
    return done.stdout


def clean() -> dict[str, str]:
    """Return the environment without what belongs to the Python that runs this script."""
    dropped = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYENV_VERSION"}
    dropped |= {"PYTHONDONTWRITEBYTECODE"}  # each import would compile anew
    kept = {k: v for k, v in os.environ.items() if k not in dropped and not k.startswith("FASTENV")}
    # uv reads its own variable; pip's folders of wheels are told to it.
    links = os.environ.get("PIP_FIND_LINKS", "").split()
    return kept | ({"UV_FIND_LINKS": ",".join(links)} if links else {})


def copy_of_the_tree(folder: Path) -> None:
    """Copy what git knows and does not ignore: no built extension, no cache."""
    listed = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in run(*listed).split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def install(uv: str, leg: Leg, folder: Path, args: argparse.Namespace) -> Path:
    """Make the environment of a leg and return its Python."""
    run(uv, "venv", "--quiet", f"--python={leg.interpreter}", folder / "venv")
    python = folder / "venv" / "bin" / "python"
    named = requirements(args.training)
    pins = lowest(uv, leg, named) if leg.resolution == "lowest" else []
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join([*pins, *args.pin]) + "\n", encoding="utf-8")
    wheels = ("--only-binary=:all:", "--constraint", constraints)
    run(uv, "pip", "install", "--quiet", f"--python={python}", *wheels, *named, *TOOLS)
    return python


def test(uv: str, leg: Leg, folder: Path, args: argparse.Namespace) -> bool:
    """Test one leg in a folder of its own; return whether everything passed."""
    folder.mkdir(parents=True)
    tree = folder / "tree"
    python = install(uv, leg, folder, args)
    versions = run(uv, "pip", "freeze", f"--python={python}").split()
    told = ("numpy", "numba", "gymnasium")
    print(f"{leg}:", *(each for each in versions if each.partition("==")[0] in told), flush=True)
    copy_of_the_tree(tree)
    env = clean() | {"FASTENV_REQUIRE_EXTENSION": "1"}
    build = [str(python), "setup.py", "-q", "build_ext", "--inplace"]
    subprocess.run(build, cwd=tree, env=env, check=True, stdout=subprocess.DEVNULL)
    run(uv, "pip", "install", "--quiet", f"--python={python}", "--no-deps", "--no-build-isolation",
        "--editable", ".", cwd=tree)  # fmt: skip
    asked = args.tests or ["tests", *([] if args.training else ignored())]
    tested = [*(str(python), "-m", "pytest", "-q", "-m", "not slow", f"-n{args.jobs}"), *asked]
    return subprocess.run(tested, cwd=tree, env=clean(), check=False).returncode == 0


def ignored() -> Iterator[str]:
    """Yield the options of pytest that leave out what needs torch."""
    for path in NEED_TRAINING:
        yield f"--ignore={path}"


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parse = new_parser("versions", __doc__)
    parse.add_argument("--python", action="append", choices=PYTHONS, help="default: all of them")
    parse.add_argument("--resolution", choices=RESOLUTIONS, help="default: both")
    parse.add_argument("--training", action="store_true", help="with torch and tests/training")
    parse.add_argument("--pin", action="append", default=[], metavar="NAME==VERSION")
    parse.add_argument("--go-on", action="store_true", help="leave out a Python that is missing")
    parse.add_argument("--folder", type=Path, help="keep the environments; default: temporary")
    parse.add_argument("--jobs", type=int, default=2, help="test processes")
    parse.add_argument("tests", nargs="*", help="files or options for pytest, after --")
    return parse


def main(argv: Sequence[str] | None = None) -> int:
    """Test all legs and return the exit status."""
    args = parser().parse_args(argv)
    beside = Path(sys.executable).parent / "uv"
    uv = str(beside) if beside.exists() else shutil.which("uv")
    if uv is None:
        print("uv is missing: python -m pip install uv", file=sys.stderr)
        return 2
    there = {version: interpreter(version) for version in args.python or PYTHONS}
    for version in (v for v, path in there.items() if path is None):
        print(f"Python {version} is missing: no python{version} on the PATH or in pyenv runs.")
        if not args.go_on:
            return 2
    resolutions = [args.resolution] if args.resolution else RESOLUTIONS
    legs = [Leg(v, r, path) for v, path in there.items() if path for r in resolutions]
    results = {}
    with tempfile.TemporaryDirectory(prefix="fastenv-versions-") as temporary:
        root = (args.folder or Path(temporary)).resolve()
        for leg in legs:
            try:
                results[str(leg)] = "passed" if test(uv, leg, root / str(leg), args) else "failed"
            except subprocess.CalledProcessError as error:
                results[str(leg)] = f"failed: {' '.join(map(str, error.cmd[:4]))} ..."
            if args.folder is None:
                shutil.rmtree(root / str(leg), ignore_errors=True)
    for name, result in results.items():
        print(f"{name}: {result}")
    return 0 if results and all(r == "passed" for r in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())

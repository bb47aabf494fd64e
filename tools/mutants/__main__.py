"""Changes of behaviour that the tests must notice: ``python -m tools.mutants``.

``draw`` prints the lines of each package that a seed draws. A mutant stands for each of them in
a file of the package here: what it changes in words, so that it can be written again where the
code has moved, the text it replaces and the one it puts there, and the tests that should fail.
``run`` applies each to a copy of the checkout and runs its tests until one fails; a mutant that
passes all of them survives, and is listed.
"""

from __future__ import annotations

import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tools.command import new_parser
from training.run import machine

HERE = Path(__file__).resolve().parent
SEED = 44
EACH = 20
PACKAGES = (
    "run",
    "ppo",
    "dqn",
    "nets",
    "evaluation",
    "policies",
    "selfplay",
    "search",
    "expert",
    "callbacks",
)
# A mutant may hang; its tests take a small part of this.
LIMIT_S = 900.0
NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv*", "runs", "build", "__pycache__", ".*_cache", ".hypothesis", "*.c"
)


@dataclass(frozen=True)
class Mutant:
    """A change of behaviour.

    Parameters
    ----------
    package : str
        Below ``training``, as it was when the mutants were drawn.
    number : int
        From 1 on, in the order in which lines were drawn.
    behaviour : str
        What it changes.
    file : str
        Path from the root.
    old, new : str
        Text that stands once in the file, and what replaces it.
    tests : tuple of str
        Arguments of pytest.
    """

    package: str
    number: int
    behaviour: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def name(self) -> str:
        """The package and the number."""
        return f"{self.package}-{self.number}"


def read(packages: Sequence[str]) -> Iterator[Mutant]:
    """Yield the mutants of packages.

    Raises
    ------
    ValueError
        If the text that one replaces does not stand in its file exactly once.
    """
    for package in packages:
        listed = tomllib.loads((HERE / f"{package}.toml").read_text(encoding="utf-8"))["mutant"]
        for each in listed:
            tests = tuple(each.pop("tests"))
            mutant = Mutant(package=package, tests=tests, **each)
            count = (machine.ROOT / mutant.file).read_text(encoding="utf-8").count(mutant.old)
            if count != 1:
                raise ValueError(f"{mutant.name}: its text stands {count} times in {mutant.file}")
            yield mutant


# -- drawing ---------------------------------------------------------------------------------------


def draw(package: str, seed: int) -> list[tuple[str, int]]:
    """Return file and line of statements drawn from a package, more than needed, in their order.

    Parameters
    ----------
    package : str
    seed : int
    """
    found: list[tuple[str, int]] = []
    for path in sorted((machine.ROOT / "training" / package).rglob("*.py")):
        lines = sorted(set(_statements(ast.parse(path.read_text(encoding="utf-8")))))
        found += [(path.relative_to(machine.ROOT).as_posix(), line) for line in lines]
    return random.Random(f"{seed} {package}").sample(found, 3 * EACH)


def _statements(tree: ast.Module) -> Iterator[int]:
    """Yield the lines of statements in functions that do something: no texts and no imports."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            other = isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.Pass)
            if isinstance(node, ast.stmt) and not text and not other:
                yield node.lineno


# -- running ---------------------------------------------------------------------------------------


def survives(mutant: Mutant, copy: Path) -> bool:
    """Tell whether the tests of a mutant pass in a copy of the checkout, which is put back."""
    path = copy / mutant.file
    original = path.read_text(encoding="utf-8")
    path.write_text(original.replace(mutant.old, mutant.new), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *mutant.tests]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "HYPOTHESIS_PROFILE": "ci"}
    try:
        done = subprocess.run(command, cwd=copy, env=env, capture_output=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return False
    finally:
        path.write_text(original, encoding="utf-8")
    if done.returncode not in (0, 1, 2):  # a test failed, or a file cannot even be imported
        raise RuntimeError(f"{mutant.name}: {done.stdout.decode()[-2000:]}")
    return done.returncode == 0


def run(mutants: Sequence[Mutant], jobs: int) -> list[str]:
    """Return the names of the mutants that survive, and print a line of each."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for k in range(jobs):
            copies.put(Path(shutil.copytree(machine.ROOT, f"{folder}/{k}", ignore=NOT_COPIED)))

        def judge(mutant: Mutant) -> str | None:
            copy, begun = copies.get(), time.monotonic()
            try:
                alive = survives(mutant, copy)
            finally:
                copies.put(copy)
            verdict, took = "SURVIVES" if alive else "noticed", time.monotonic() - begun
            print(f"{verdict:8} {took:5.0f} s  {mutant.name}: {mutant.behaviour}", flush=True)
            return mutant.name if alive else None

        return [name for name in pool.map(judge, mutants) if name is not None]


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parse = new_parser("mutants", __doc__)
    parse.add_argument("what", choices=("draw", "run"))
    parse.add_argument("--packages", nargs="+", default=PACKAGES, choices=PACKAGES, metavar="NAME")
    parse.add_argument("--only", nargs="+", metavar="MUTANT", help="such as ppo-7")
    parse.add_argument("--seed", type=int, default=SEED, help=f"of draw; default {SEED}")
    parse.add_argument("--jobs", type=int, default=2)
    parse.add_argument("--out", type=Path, metavar="FILE", help="JSON to write")
    args = parse.parse_args(argv)
    if args.what == "draw":
        print(f"seed {args.seed}")
        for package in args.packages:
            if not (machine.ROOT / "training" / package).is_dir():
                print(f"{package:12} has moved since its mutants were drawn")
                continue
            for path, line in draw(package, args.seed):
                print(f"{package:12} {path}:{line}")
        return 0
    mutants = [m for m in read(args.packages) if args.only is None or m.name in args.only]
    alive = run(mutants, args.jobs)
    print(f"{len(alive)} of {len(mutants)} survive: {', '.join(alive) or 'none'}")
    if args.out is not None:
        record = {**machine.revision(), "mutants": len(mutants), "survivors": alive}
        args.out.write_text(json.dumps(record, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

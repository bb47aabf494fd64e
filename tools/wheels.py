"""Repair Linux wheels, install each in a fresh environment, and measure it there.

``python -m tools.wheels WHEEL... --out benchmarks/wheel.json`` takes wheels that ``python -m
build`` made, one for each Python. auditwheel copies libgomp into each wheel and gives it the tag of
the oldest glibc that it runs on. Then it is installed into an environment of its own by uv, with
the dependencies in uv's cache and no compiler. There the backends of every id are compared
(``tools/verify_each.py``), and the CPU time of ``import fastenv`` is taken. What the record has of
other Pythons stays, if it is of the same commit. Exit status: 0; 1 if something failed; 2 if a
program or an interpreter is missing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fastenv.startup import take_interrupts
from tools.command import new_parser
from tools.versions import ROOT, clean, interpreter, run
from training.run.machine import taken_on

IMPORT = "import time; s = time.process_time(); import fastenv; print(time.process_time() - s)"
TOLD = ("numpy", "numba", "llvmlite", "gymnasium")


def program(name: str) -> str:
    """Return a program beside this Python or on the PATH."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"{name} is missing: python -m pip install {name}")
    return found


def python_of(wheel: Path) -> str:
    """Return the Python of a wheel, as "3.12" for ``cp312``."""
    found = re.search(r"-cp3(\d+)-cp3\d+-", wheel.name)
    if found is None:
        raise ValueError(f"{wheel.name}: no wheel for one version of CPython")
    return f"3.{found[1]}"


def repaired(wheel: Path, folder: Path) -> Path:
    """Return the wheel with its libraries inside; a wheel that has been repaired stays as it is."""
    if "manylinux" in wheel.name:
        return wheel
    env = clean() | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = [program("auditwheel"), "repair", "--wheel-dir", str(folder), str(wheel)]
    subprocess.run(command, check=True, env=env, stdout=subprocess.DEVNULL)
    (made,) = folder.glob(f"*{wheel.name.split('-linux')[0].split('-', 2)[2]}*manylinux*.whl")
    return made


def environment(uv: str, wheel: Path, folder: Path) -> tuple[Path, float]:
    """Install a wheel without a compiler; return the Python and the seconds that it took."""
    run(uv, "venv", "--quiet", f"--python={interpreter(python_of(wheel))}", folder)
    env = clean() | {"CC": shutil.which("false") or "false"}
    python = folder / "bin" / "python"
    command = [uv, "pip", "install", "--quiet", "--only-binary=:all:", f"--python={python}"]
    start = time.monotonic()
    subprocess.run([*command, str(wheel)], check=True, env=env, cwd=folder)
    return python, time.monotonic() - start


def measured(uv: str, wheel: Path, folder: Path, seconds: float) -> dict[str, Any]:
    """Install a wheel twice, as the first time fills the cache, and test and measure the second."""
    environment(uv, wheel, folder / "first")
    python, took = environment(uv, wheel, folder / "second")
    # The first import compiles, for uv does not; pip does so while it installs.
    imports = [float(run(python, "-P", "-c", IMPORT, cwd=folder)) for _ in range(8)][1:]
    print(f"{wheel.name}: installed in {took:.1f} s, import {imports} CPU s", flush=True)
    tried = [str(python), "-P", str(ROOT / "tools" / "verify_each.py"), "--seconds", str(seconds)]
    env = clean() | {"NUMBA_CACHE_DIR": str(folder / "numba"), "OMP_WAIT_POLICY": "passive"}
    done = subprocess.run(tried, cwd=folder, env=env, capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr, sep="", flush=True)
    packages = dict(
        line.split("==") for line in run(uv, "pip", "freeze", f"--python={python}").split("\n")
        if line.partition("==")[0] in TOLD
    )  # fmt: skip
    return {
        "python": python_of(wheel),
        "wheel": wheel.name,
        "bytes": wheel.stat().st_size,
        "install_s": round(took, 2),
        "import_cpu_s": round(statistics.median(imports), 3),
        "import_cpu_s_of_all": [round(each, 3) for each in imports],
        "verified": {
            env_id.removeprefix("fastenv/"): int(steps)
            for env_id, steps in re.findall(
                r"^(\S+): comparing(?s:.*?)^equal: \d+ configurations?, (\d+) steps",
                done.stdout,
                re.MULTILINE,
            )
        },
        "passed": done.returncode == 0,
        "load_average": [round(each, 1) for each in os.getloadavg()],
        "packages": packages,
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure all wheels and write the record; return the exit status."""
    take_interrupts()
    parse = new_parser("wheels", __doc__)
    parse.add_argument("wheels", nargs="+", type=Path, help="wheels to repair and test")
    parse.add_argument("--seconds", type=float, default=5.0, help="of verify, each id; default 5")
    parse.add_argument("--rev", help="the commit that the wheels are of; default HEAD")
    parse.add_argument("--out", type=Path, required=True, help="the record, JSON")
    args = parse.parse_args(argv)
    try:
        uv = program("uv")
        with tempfile.TemporaryDirectory(prefix="fastenv-wheels-") as temporary:
            results = []
            for wheel in sorted(args.wheels):
                folder = Path(temporary, python_of(wheel))
                whole = repaired(wheel.resolve(), folder)
                results.append(measured(uv, whole, folder, args.seconds))
                print(json.dumps(results[-1], indent=1), flush=True)
    except (FileNotFoundError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    kept = json.loads(args.out.read_text("utf-8")) if args.out.exists() else {}
    rev = args.rev or run("git", "rev-parse", "HEAD").strip()
    others = kept.get("wheels", []) if kept.get("git_rev") == rev else []
    measured_now = {each["python"] for each in results}
    kept |= {
        **taken_on(),
        "git_rev": rev,
        "command": f"python -m tools.wheels dist/*.whl --seconds {args.seconds:g} --out FILE",
        "wheels": [each for each in others if each["python"] not in measured_now] + results,
    }
    args.out.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return int(not all(each["passed"] for each in results))


if __name__ == "__main__":
    sys.exit(main())

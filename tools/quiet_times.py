"""How long commands are silent on a machine where nothing is compiled yet.

``python -m tools.quiet_times [NAME ...]`` runs small commands, each with an empty cache of Numba,
and prints the longest time without a byte on their streams. With ``--without-core`` the compiled
extensions cannot be imported, as where no C compiler is.
"""

from __future__ import annotations

import argparse
import os
import pty
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress

MOST_S = 2.0
ENV = "SkullKingWorker-v0"
AGENT = "pretrained/skullking-ppo"
# Name to module and arguments; those that draw on a terminal get one.
COMMANDS = {
    "train": f"training train --env {ENV} --total-steps 4000 --runs {{folder}} --name a",
    "evaluate": f"training evaluate {AGENT} --only matches --games 200 --runs {{folder}}",
    "against": f"training evaluate {AGENT} --against heuristic --games 200",
    "compare": f"training compare --env {ENV} --seeds 1 --variant a --variant b "
    "--with ppo.n_epochs=1 --total-steps 2000 --games 20 --runs {folder} --name c",
    "sweep": f"training sweep --env {ENV} --vary ppo.n_epochs=1..2 --trials 1 --seeds 1 --games 20 "
    "--total-steps 2000 --runs {folder} --name s",
    "exploit": f"training exploit {AGENT} --ways scratch --seeds 1 --total-steps 2000 "
    "--games 20 --runs {folder}",
    "benchmark": "training benchmark --only bars --game prospector --short --repeats 1 "
    "--seconds 0.1 --out {folder}/rows.jsonl",
    "configs": "training benchmark --only configs --config fast --short --repeats 1 --games 0 "
    "--out {folder}/rows.jsonl",
    "verify": f"fastenv verify --env {ENV} --seconds 2",
    "play": "training play --seed 1",
    "watch": f"training watch {AGENT} --seed 1 --runs {{folder}}",
    "fastenv-play": f"fastenv play --env {ENV} --bot heuristic --delay 0.1",
    "studio": "training studio --port 0 --runs {folder}",
}
TERMINAL = ("play", "watch", "fastenv-play")
SERVES = ("play", "studio")  # they end when somebody says so
HIDE = """
import importlib.abc, sys
class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.startswith("fastenv.") and name.rpartition(".")[2] in ("_core", "_batch"):
            raise ModuleNotFoundError(f"{name} was never built")
sys.meta_path.insert(0, Hidden())
"""


def command_of(name: str, folder: str, *, without_core: bool) -> list[str]:
    """Return a command as words."""
    module, *words = COMMANDS[name].format(folder=folder).split()
    start = f"import runpy, sys; sys.argv[1:] = {words!r}; "
    start += f"runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
    if without_core:
        return [sys.executable, "-c", HIDE + start]
    return [sys.executable, "-m", module, *words]


def longest_silence(name: str, *, without_core: bool, limit: float) -> tuple[float, float, str]:
    """Run a command; return its longest silence, how long it ran, and what stood before it."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as cache:
        words = command_of(name, folder, without_core=without_core)
        ours, theirs = pty.openpty() if name in TERMINAL else os.pipe()
        begun = heard = time.monotonic()
        process = subprocess.Popen(
            words,
            stdin=theirs if name in TERMINAL else subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            env=os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONUNBUFFERED": "1"},
        )
        os.close(theirs)
        longest, before, last = 0.0, "", b""
        while time.monotonic() - begun < limit:
            ready = select.select([ours], [], [], 0.1)[0]
            data = b""
            with suppress(OSError):  # the terminal of a process that has ended
                data = os.read(ours, 65536) if ready else b""
            if ready or process.poll() is not None:
                silent = time.monotonic() - heard
                if silent > longest:
                    longest, before = silent, last.decode(errors="replace")
                heard = time.monotonic()
                last = (last + data)[-200:]
            if ready and not data:
                break
            if name in SERVES and last.strip() and time.monotonic() - heard > MOST_S:
                break  # it waits for a person
        process.terminate()
        process.wait()
        os.close(ours)
        return longest, time.monotonic() - begun, before


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; return 1 if a command is silent for too long."""
    parse = argparse.ArgumentParser(prog="python -m tools.quiet_times", description=__doc__)
    parse.add_argument("name", nargs="*", choices=[[], *COMMANDS], help="of a command; default all")
    parse.add_argument("--without-core", action="store_true", help="hide the extensions")
    parse.add_argument("--limit", type=float, default=300.0, help="seconds of a command at most")
    args = parse.parse_args(argv)
    missed = False
    for name in args.name or COMMANDS:
        longest, took, before = longest_silence(
            name, without_core=args.without_core, limit=args.limit
        )
        missed |= longest > MOST_S
        end = " ".join(before.split())[-60:]
        print(f"{name:<13} {longest:5.1f} s of {took:6.1f} s, behind: {end}", flush=True)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())

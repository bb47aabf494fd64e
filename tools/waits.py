"""How long commands say nothing: ``python -m tools.waits --out benchmarks/waits.json``.

Each command runs with empty caches of compiled code, in a terminal of its own. Between its start
and its end no wait without a byte may be longer than two seconds, first lines and ends included.
``--python`` names another Python, such as one of an environment that was made without a compiler.
"""

from __future__ import annotations

import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fastenv.errors import ConfigError
from tools.command import new_parser, refusing
from training.run import files, machine

ASKED_S = 2.0
LIMIT_S = 600.0
BACKEND = "import fastenv; print(fastenv.make_engine('Prospector-v0', 1).backend)"
# What a newcomer types, short; RUNS is a folder of its own, which the first one fills.
COMMANDS = {
    "train": "training train --env SkullKingFlat-v0 --total-steps 65536 --name first --runs RUNS "
    "--set evaluation.games=40",
    "evaluate": "training evaluate first --runs RUNS --games 40",
    "compare": "training compare --env SkullKingWorker-v0 --seeds 1,2 --total-steps 16384 "
    "--name two --runs RUNS --games 40 --variant a --variant b --with ppo.gamma=0.9",
    "sweep": "training sweep --env SkullKingWorker-v0 --trials 2 --total-steps 16384 --games 40 "
    "--name sweep --runs RUNS --vary ppo.learning_rate=1e-4..1e-2,log",
    "exploit": "training exploit heuristic --env SkullKingFlat-v0 --ways search --games 40 "
    "--name exploit --runs RUNS",
    "benchmark": "training benchmark --only bars --game prospector --short --repeats 1 "
    "--out RUNS/bars.jsonl",
    "verify": "fastenv verify --env SkullKingFlat-v0 --seconds 10",
    "watch": "training watch heuristic --env SkullKingFlat-v0 --text --delay 0",
}


def longest_wait(words: Sequence[str], env: dict[str, str]) -> dict[str, Any]:
    """Run a command in a terminal; return its longest wait without a byte, and its seconds.

    Raises
    ------
    ConfigError
        If it fails, or takes longer than ``LIMIT_S``.
    """
    own, other = pty.openpty()
    begun = last = time.monotonic()
    process = subprocess.Popen(
        *(words, -1, None, other, other, other),  # in, out and errors are the terminal's
        cwd=machine.ROOT,
        env=env,
        start_new_session=True,
    )
    os.close(other)
    said, longest, at = bytearray(), 0.0, 0.0
    while True:
        ready, _, _ = select.select([own], [], [], 0.1)
        now = time.monotonic()
        try:
            block = os.read(own, 1 << 16) if ready else None
        except OSError:  # the terminal of a process that has ended
            block = b""
        if block is None and process.poll() is None and now - begun < LIMIT_S:
            continue
        if now - last > longest:
            longest, at = now - last, last - begun
        if not block:
            break
        said, last = said + block, now
    os.close(own)
    if process.poll() is None and now - begun >= LIMIT_S:
        process.kill()
    if process.wait() != 0:
        text = said.decode(errors="replace")[-400:]
        raise ConfigError(f"{shlex.join(words)} ended with {process.returncode}: {text}")
    return {"longest_s": round(longest, 2), "after_s": round(at, 2), "seconds": round(now - begun)}


@refusing
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parse = new_parser("waits", __doc__)
    parse.add_argument("--only", nargs="+", choices=[*COMMANDS], help="default all")
    about = "Python that runs the commands, such as one of an environment without a compiled core"
    parse.add_argument("--python", default=sys.executable, help=about)
    parse.add_argument("--out", type=Path, required=True, help="JSON file to write")
    args = parse.parse_args(argv)
    files.prepare("--out", args.out)
    shown = shlex.join(["python", "-m", "tools.waits", *(sys.argv[1:] if argv is None else argv)])
    made = subprocess.run([args.python, "-c", BACKEND], check=True, capture_output=True, text=True)
    record = machine.taken_on() | {"command": shown, "backend": made.stdout.strip(), "rows": []}
    with tempfile.TemporaryDirectory() as folder:
        runs, cache = (Path(folder) / name for name in ("runs", "cache"))
        env = os.environ | {"NUMBA_CACHE_DIR": str(cache), "TERM": "xterm"}
        for name in args.only or COMMANDS:
            shutil.rmtree(cache, ignore_errors=True)
            words = shlex.split(COMMANDS[name].replace("RUNS", str(runs)))
            row = longest_wait([args.python, "-m", *words], env)
            record["rows"].append({"name": name, "command": f"python -m {COMMANDS[name]}"} | row)
            files.write_json(args.out, record)
            where = f"at {row['after_s']:.0f} s of {row['seconds']}"
            print(f"{name:10} {row['longest_s']:5.2f} s {where}", flush=True)
    return int(any(row["longest_s"] > ASKED_S for row in record["rows"]))


if __name__ == "__main__":
    sys.exit(main())

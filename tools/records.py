"""Take all records of speeds again, one by one: ``python -m tools.records`` (``make records``).

Each by the command that stands in :data:`SPEEDS`, on this machine, at this commit. A record of the
same code and the same processor is left as it is, so that a run which was stopped continues where
it was. ``--check`` looks at all records of ``benchmarks/`` instead: each names its command, a
commit of this history and its machine, or says why it is kept without.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastenv.errors import ConfigError
from tools.command import new_parser, refusing
from training.run import files, machine

RECORDS = machine.ROOT / "benchmarks"
HISTORY = "history.jsonl"
LOAD = 0.6  # of the last minute; a quiet machine has less
PATIENCE = 300.0  # seconds; the load of the record before has to fall first
NOT_CODE = (*machine.RECORDS, ":(exclude)*.md", ":(exclude)notebooks/*.ipynb")


@dataclass(frozen=True)
class Speed:
    """A record of speeds.

    Parameters
    ----------
    name : str
        Of its file in ``benchmarks/``.
    command : str
        Behind ``python -m``.
    minutes : float
        About how long it takes, on two cores with nothing else.
    needs : str
        Something that is no part of the project and that the command names in capitals.
    """

    name: str
    command: str
    minutes: float
    needs: str = ""


_BENCH = "training benchmark --record --only"
_PROFILE = "training benchmark profile --record --modes env_only,trainer,breakdown --seconds 1"
_SIDE_BY_SIDE = (
    "training benchmark vectorised --record --repeats 9 --num-envs 1 2 4 8 16 32 64 --env"
)
SPEEDS = (
    Speed("bars.jsonl", f"{_BENCH} bars --short --repeats 7", 7),
    Speed("bars-gameboy.jsonl", f"{_BENCH} bars --game gameboy --short --repeats 3", 3),
    *(
        Speed(f"vectorised-{env}.json", f"{_SIDE_BY_SIDE} {env}", 2)
        for env in ("DrMarioPlacement-v0", "DrMarioFrame-v0")
    ),
    Speed("trainers.jsonl", f"{_BENCH} trainers --repeats 9 --seconds 0.1", 1),
    Speed("training.jsonl", f"{_BENCH} training --repeats 5 --seconds 0.1", 2),
    Speed("views.jsonl", f"{_BENCH} views", 1),
    Speed("replay.jsonl", f"{_BENCH} replay --repeats 3", 2),
    Speed("scale.jsonl", f"{_BENCH} scale --repeats 1", 6),
    Speed("train-parts.json", "tools.train_parts --out benchmarks/train-parts.json", 1),
    Speed("foreign.jsonl", f"{_BENCH} foreign --repeats 5", 7),
    Speed("search.jsonl", f"{_BENCH} search --repeats 7 --seconds 2", 3),
    Speed("configs.jsonl", f"{_BENCH} configs --short --repeats 1", 2),
    Speed("flags.jsonl", f"{_BENCH} flags --repeats 3 --seconds 0.25", 15),
    Speed("throughput/SkullKingWorker-v0.json", _PROFILE, 1),
    Speed("throughput/Prospector-v0.json", f"{_PROFILE} --env Prospector-v0", 1),
    Speed(
        "throughput/DrMarioPlacement-v0.json",
        f"{_PROFILE} --env DrMarioPlacement-v0 --num-envs 64 --rollout-steps 16",
        1,
    ),
    Speed(
        "throughput/GameBoyPixels-v0.json",
        f"{_PROFILE} --env GameBoyPixels-v0 --num-envs 16 --rollout-steps 16 --minibatches 4",
        1,
    ),
    Speed(
        "matrix.json",
        "training benchmark matrix --record --num-envs 64,512 --rollout-steps 32,128 "
        "--minibatches 4,16 --budget-seconds 600",
        15,
    ),
    Speed("studio.json", "benchmarks.studio --out benchmarks/studio.json", 4),
    Speed("gameboy-link.json", "tools.gameboy.bench --link --out benchmarks/gameboy-link.json", 2),
    Speed(
        "gameboy-free-games.json",
        "tools.gameboy.free_games speed FOLDER --out benchmarks/gameboy-free-games.json",
        10,
        "a folder of free games",
    ),
)


# -- what a record says of itself ------------------------------------------------------------------


def head_of(path: Path) -> dict[str, Any]:
    """Return a record without its rows: the first line of JSON lines, or the whole object."""
    text = path.read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text.split("\n", 1)[0] if path.suffix == ".jsonl" else text)
    return found


def committed() -> list[Path]:
    """Return all records but the history, which is made of lines of records."""
    return sorted(path for path in RECORDS.rglob("*.json*") if path.name != HISTORY)


def lacks(head: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a record does not say of what it was taken by, at and on.

    A record that says ``old``, and why, may lack anything; what was added to one ``later`` was
    not written by the command.
    """
    if not isinstance(head.get("old", "why"), str) or not head.get("old", "why").strip():
        yield "a reason in old"
    if "old" in head:
        return
    if not (head.get("command") or head.get("commands")):
        yield "a command"
    if not head.get("git_rev") or head.get("dirty") is not False:
        yield "a clean commit"
    if not head.get("host", {}).get("cpu_model"):
        yield "a machine"


def unknown_commits(text: str, known: set[str]) -> set[str]:
    """Return the commits that a record names and that a history does not have."""
    named = {
        piece.split('"', 1)[0]
        for piece in text.replace('"git_rev":"', '"git_rev": "').split('"git_rev": "')[1:]
    }
    return {each for each in named if each and not any(one.startswith(each) for one in known)}


def history() -> set[str] | None:
    """Return all commits of this checkout's history; None if it has no whole one."""
    if machine.git("rev-parse", "--is-shallow-repository") != "false":
        return None
    listed = machine.git("rev-list", "HEAD")
    return None if listed is None else set(listed.split())


def check() -> list[str]:
    """Return a sentence for each thing that a record does not say, or says of no commit."""
    known, said = history(), []
    for path in [*committed(), RECORDS / HISTORY]:
        name = path.relative_to(RECORDS).as_posix()
        text = path.read_text(encoding="utf-8")
        head = {"old": "many records"} if path.name == HISTORY else head_of(path)
        said += [f"{name} lacks {what}" for what in lacks(head)]
        if known is not None and (path.name == HISTORY or "old" not in head):
            said += [f"{name} names {rev}, no commit" for rev in unknown_commits(text, known)]
    return said


# -- taking them -----------------------------------------------------------------------------------


def is_done(speed: Speed) -> bool:
    """Tell whether a record is of this code and this processor, without uncommitted changes."""
    path = RECORDS / speed.name
    head = head_of(path) if path.is_file() else {}
    if not head.get("git_rev") or head.get("dirty") is not False or head.get("old"):
        return False
    here, there = machine.processor(machine.host()), machine.processor(head.get("host", {}))
    differing = machine.git("diff", "--name-only", head["git_rev"], "HEAD", "--", ".", *NOT_CODE)
    return here == there and differing == ""


def wait_for_quiet(most: float, patience: float) -> float:
    """Wait until the load is at most ``most``; return it.

    Raises
    ------
    ConfigError
        If it is still above after ``patience`` seconds.
    """
    end = time.monotonic() + patience
    while (load := machine.load()) > most:
        if time.monotonic() >= end:
            raise ConfigError(
                f"the load is {load}, above --load {most}: something else runs on this machine. "
                "Stop it, or allow more with --load."
            )
        print(f"load {load}, waiting for {most}", flush=True)
        time.sleep(min(10.0, max(0.0, end - time.monotonic())))
    return load


def take(speed: Speed, most: float, patience: float) -> None:
    """Take a record by its command, and write the load before and after into it.

    Raises
    ------
    ConfigError
        If the machine is busy, or there is no new record afterwards.
    """
    before = wait_for_quiet(most, patience)
    command = [sys.executable, "-m", *shlex.split(speed.command)]
    print(f"{speed.name}: python -m {speed.command}, load {before}", flush=True)
    begun, earlier = time.perf_counter(), read(RECORDS / speed.name)
    done = subprocess.run(command, cwd=machine.ROOT, check=False)
    after = machine.load()
    if not is_done(speed) or read(RECORDS / speed.name) == earlier:
        raise ConfigError(f"{speed.name}: no record was written, exit status {done.returncode}.")
    note_load(RECORDS / speed.name, before, after)
    print(f"{speed.name}: {time.perf_counter() - begun:.0f} s, load {after} after", flush=True)


def read(path: Path) -> bytes:
    """Read the bytes of a record, none where there is no file."""
    return path.read_bytes() if path.is_file() else b""


def note_load(path: Path, before: float, after: float) -> None:
    """Write the load before and after into the head of a record that lacks them."""
    head = {"load": before, "load_after": after} | head_of(path)
    if path.suffix == ".jsonl":
        _, rows = path.read_text(encoding="utf-8").split("\n", 1)
        files.write_text(path, f"{json.dumps(head)}\n{rows}")
    else:
        files.write_json(path, head)


def chosen(names: Sequence[str]) -> list[Speed]:
    """Return the records of these names, or all that need nothing from elsewhere.

    Raises
    ------
    ConfigError
        For a name that is none.
    """
    known = {speed.name: speed for speed in SPEEDS}
    short = {Path(name).stem: name for name in known}
    for name in names:
        if name not in known and name not in short:
            raise ConfigError(
                f"--only {name}: is no record of speeds; there are {', '.join(short)}."
            )
    asked = [known[short.get(name, name)] for name in names]
    for speed in asked:
        if speed.needs:
            raise ConfigError(
                f"--only {speed.name}: needs {speed.needs}: python -m {speed.command}"
            )
    return asked or [speed for speed in SPEEDS if not speed.needs]


def show(speeds: Sequence[Speed]) -> None:
    """Print the list: what is there already, how long the rest takes, and by which command."""
    for speed in speeds:
        state = f"needs {speed.needs}" if speed.needs else "there" if is_done(speed) else "to take"
        print(f"{speed.name:36} {speed.minutes:3.0f} min  {state:8}  python -m {speed.command}")
    left = sum(s.minutes for s in speeds if not s.needs and not is_done(s))
    print(f"about {left:.0f} minutes are left")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parse = new_parser("records", __doc__)
    parse.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="take only this record; repeatable",
    )
    parse.add_argument("--again", action="store_true", help="take existing records again")
    parse.add_argument(
        "--load",
        type=float,
        default=LOAD,
        metavar="MOST",
        help="highest load of the machine (%(default)s)",
    )
    parse.add_argument(
        "--wait",
        type=float,
        default=PATIENCE,
        metavar="SECONDS",
        help="longest wait for that load (%(default)s)",
    )
    parse.add_argument("--list", action="store_true", help="list the records and exit")
    parse.add_argument("--check", action="store_true", help="check all records and exit")
    return parse


@refusing
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    if args.check:
        said = check()
        print("\n".join(said) or f"{len(committed())} records name command, commit and machine")
        return int(bool(said))
    if args.list:
        show(SPEEDS)
        return 0
    speeds = [speed for speed in chosen(args.only) if args.again or not is_done(speed)]
    if machine.revision()["dirty"] is not False:
        raise ConfigError("there are uncommitted changes: commit first, records name a commit.")
    failed = 0
    for number, speed in enumerate(speeds, 1):
        print(f"[{number} of {len(speeds)}]", end=" ", flush=True)
        try:
            take(speed, args.load, args.wait)
        except ConfigError as error:
            failed += 1
            print(f"error: {error}", file=sys.stderr)
    print(f"{len(speeds) - failed} of {len(speeds)} taken; now: python docs/figures.py")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())

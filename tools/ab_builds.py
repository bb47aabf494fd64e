"""Compare builds of fastenv: the same outputs, and how fast each is beside the first.

``python -m tools.ab_builds OLD NEW`` takes checkouts with their extensions built in place. A
process of each plays the same actions: first checksums of everything that a step returns are
compared, then pieces of steps are timed, the builds in turns, so that a slow moment of the machine
meets all of them. Each piece gives a ratio to OLD in the same round; printed are its median and
middle half.
The exit status is 1 if outputs differ or a median is below ``--floor``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WARM_UP = 0.15  # CPU seconds of steps before a case is timed


@dataclass(frozen=True)
class Case:
    """Steps that are played.

    Parameters
    ----------
    env_id : str
    lanes, checked_lanes, checked_steps : int
        Lanes that are timed; lanes and steps of which outputs are compared.
    action : int, optional
        The one that is always taken.
    any_action : bool
        Whether random actions are drawn from all, not from the legal ones.
    options : dict
        Of ``fastenv.make_vec``.
    """

    env_id: str
    lanes: int
    checked_lanes: int = 256
    checked_steps: int = 300
    action: int | None = None
    any_action: bool = False
    options: dict[str, Any] = field(default_factory=dict)


PROSPECTOR: dict[str, Any] = {"lanes": 1024, "checked_lanes": 256}
GAMEBOY: dict[str, Any] = {"lanes": 16, "checked_lanes": 4, "checked_steps": 100}
CASES = {
    "skullking-flat": Case("SkullKingFlat-v0", 4096),
    "skullking-manager": Case("SkullKingManager-v0", 4096),
    "skullking-worker": Case("SkullKingWorker-v0", 4096),
    "skullking-ability": Case("SkullKingAbility-v0", 4096),
    "prospector-uniform": Case("Prospector-v0", **PROSPECTOR, any_action=True),
    "prospector-cash-out": Case("Prospector-v0", **PROSPECTOR, action=68),
    "prospector-hold": Case("Prospector-v0", **PROSPECTOR, action=6),
    "drmario-placement": Case("DrMarioPlacement-v0", 256, checked_lanes=64),
    "drmario-frame": Case("DrMarioFrame-v0", 1024),
    "drmario-versus": Case(
        "DrMarioVersus-v0", 128, checked_lanes=32, options={"agents": "all"}
    ),
    "gameboy-pixels": Case("GameBoyPixels-v0", **GAMEBOY),
    "gameboy-goal": Case("GameBoyGoal-v0", **GAMEBOY),
    "gameboy-link": Case("GameBoyLink-v0", **GAMEBOY, options={"agents": "all"}),
    "lantern-walk": Case("LanternWalk-v0", **GAMEBOY),
}  # fmt: skip


# -- in the process of a build ---------------------------------------------------------------------


class Player:
    """A batch of a case, and who draws its actions; the draws take no part in what is timed."""

    def __init__(self, case: Case, lanes: int, seed: int) -> None:
        import numpy as np

        import fastenv

        options = {"backend": "fast", "num_threads": 1, "copy": False, **case.options}
        self.vec = fastenv.make_vec(case.env_id, lanes, autoreset_mode="same_step", **options)
        self.first = self.vec.reset(seed=seed)
        self._case, self._rng = case, np.random.default_rng(seed)
        self._sample = fastenv.sample_legal
        self._shape = self.vec.action_masks().shape
        self._same = np.full(self._shape[:-1], case.action or 0, np.int32)

    def actions(self) -> Any:
        """Return the actions of the next step."""
        if self._case.action is not None:
            return self._same
        if self._case.any_action:
            return self._rng.integers(0, self._shape[-1], self._shape[:-1])
        return self._sample(self.vec.action_masks(), self._rng)

    def nanoseconds(self, seconds: float) -> float:
        """Play for some CPU seconds; return the nanoseconds of a lane's step."""
        spent, steps = 0.0, 0
        while steps == 0 or spent < seconds:
            actions = self.actions()
            start = time.process_time()
            self.vec.step(actions)
            spent += time.process_time() - start
            steps += self.vec.num_envs
        return spent / steps * 1e9

    def checksum(self, steps: int) -> int:
        """Return a number made from everything that a reset and some steps show."""
        found = checksum_of(self.first, 0)
        for _ in range(steps):
            found = checksum_of(self.vec.step(self.actions()), found)
            found = checksum_of(self.vec.action_masks(), found)
        return found


def checksum_of(shown: Any, found: int) -> int:
    """Return a checksum continued by arrays, and by mappings and sequences of them, by name."""
    import numpy as np

    if isinstance(shown, dict):
        for name in sorted(shown):
            found = checksum_of(shown[name], zlib.crc32(name.encode(), found))
        return found
    if isinstance(shown, np.ndarray) and shown.dtype != object:
        return zlib.crc32(np.ascontiguousarray(shown).tobytes(), found)
    if isinstance(shown, (tuple, list, np.ndarray)):
        for part in shown:
            found = checksum_of(part, found)
        return found
    return zlib.crc32(repr(shown).encode(), found)


def serve(cpu: int | None) -> None:
    """Answer the requests of :class:`Build`, one line of JSON each."""
    if cpu is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {cpu})
    import fastenv

    print(json.dumps(fastenv.__file__), flush=True)
    player = None
    for line in sys.stdin:
        name, seconds = json.loads(line)
        case = CASES[name]
        if seconds is None:
            answer: float = Player(case, case.checked_lanes, 5).checksum(case.checked_steps)
            player = None  # the next piece begins a case
        else:
            if player is None or player[0] != name:
                player = name, Player(case, case.lanes, 1)
                player[1].nanoseconds(WARM_UP)
            answer = player[1].nanoseconds(seconds)
        print(json.dumps(answer), flush=True)


# -- beside them -----------------------------------------------------------------------------------


class Build:
    """The process of a checkout.

    Parameters
    ----------
    folder : Path
    cpu : int, optional
        The processor it runs on.

    Raises
    ------
    RuntimeError
        If the process imports another build, or ends.
    """

    def __init__(self, folder: Path, cpu: int | None) -> None:
        self.folder = folder
        command = [sys.executable, "-P", __file__, "--serve", json.dumps(cpu)]
        env = {**os.environ, "PYTHONPATH": str(folder), "OMP_WAIT_POLICY": "passive"}
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._process = subprocess.Popen(command, cwd=folder, env=env, **pipes)
        found = self._read()
        if not Path(found).is_relative_to(folder):
            self.close()
            raise RuntimeError(f"{folder}: not this build was imported, but {found}")

    def ask(self, name: str, seconds: float | None = None) -> float:
        """Return the checksum of a case, or the nanoseconds of a step in a piece of it."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([name, seconds]) + "\n")
        self._process.stdin.flush()
        answer: float = self._read()
        return answer

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.close()  # or what is left of it is found in whatever runs then
            raise RuntimeError(f"{self.folder}: the process of this build has ended")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def same_outputs(builds: Sequence[Build], names: Sequence[str]) -> bool:
    """Compare the checksums of each case, and print whether they are the same."""
    same = True
    for name in names:
        sums = [build.ask(name) for build in builds]
        verdict = "the same" if len({*sums}) == 1 else f"DIFFERENT: {sums}"
        print(f"{name:20} outputs {verdict}", flush=True)
        same &= len({*sums}) == 1
    return same


def time_rounds(
    builds: Sequence[Build], name: str, rounds: int, seconds: float
) -> Iterator[list[float]]:
    """Yield the nanoseconds of a step of each build, by round; every other one goes backwards."""
    for build in builds:
        build.ask(name, 0.0)
    for k in range(rounds):
        order = range(len(builds)) if k % 2 == 0 else reversed(range(len(builds)))
        times = {i: builds[i].ask(name, seconds) for i in order}
        yield [times[i] for i in range(len(builds))]


def report(name: str, folders: Sequence[Path], times: Sequence[Sequence[float]]) -> list[float]:
    """Print a line for each build of a case; return the medians of their ratios to the first."""
    medians = []
    for i, folder in enumerate(folders):
        own = [each[i] for each in times]
        ratios = sorted(each[0] / each[i] for each in times)
        low, high = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
        medians.append(statistics.median(ratios))
        print(
            f"{name:20} {folder.name:16} median {statistics.median(own):9.1f} ns  least "
            f"{min(own):9.1f}  speed x{medians[-1]:.3f} [{low:.3f}, {high:.3f}] of {len(ratios)}",
            flush=True,
        )
    return medians


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parse = argparse.ArgumentParser(
        prog="python -m tools.ab_builds", description="Compare builds: outputs, then speed.",
        epilog=f"cases: {', '.join(CASES)}. example: python -m tools.ab_builds ../old . "
        "--cases lantern-walk --floor 0.98",
    )  # fmt: skip
    add = parse.add_argument
    add("builds", nargs="+", type=Path, help="checkouts, built in place; the first is the old one")
    add("--cases", nargs="+", choices=CASES, default=list(CASES), metavar="CASE")
    add("--rounds", type=int, default=8, help="in turns, of each restart; default 8")
    add("--restarts", type=int, default=2, help="of the processes; default 2")
    add("--seconds", type=float, default=0.5, help="CPU seconds of a piece; default 0.5")
    add("--cpu", type=int, help="the processor to run on; default any")
    add("--floor", type=float, default=0.0, help="least median ratio; default 0")
    return parse


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parse = parser()
    args = parse.parse_args(argv)
    if len(args.builds) < 2 or args.rounds < 1 or args.restarts < 1 or not args.seconds > 0:
        parse.error("two builds at least, --rounds and --restarts from 1, --seconds above 0")
    folders = [folder.absolute() for folder in args.builds]
    times: dict[str, list[list[float]]] = {name: [] for name in args.cases}
    try:
        for restart in range(args.restarts):
            with ExitStack() as stack:
                builds = []
                for folder in folders:
                    builds.append(Build(folder, args.cpu))
                    stack.callback(builds[-1].close)
                if restart == 0 and not same_outputs(builds, args.cases):
                    return 1
                for name in args.cases:
                    times[name] += time_rounds(builds, name, args.rounds, args.seconds)
    except RuntimeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    medians = [ratio for name in args.cases for ratio in report(name, folders, times[name])]
    return int(min(medians) < args.floor)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(json.loads(sys.argv[2]))
    else:
        sys.exit(main())

"""Trainings that are killed at any moment and gone on with, beside the same ones left alone.

A child process is forked from a server that has imported everything, so that a tiny run takes less
than a second. In it the moments are counted at which a run does something that stays: files that
are opened to be written, renamed or removed, lines of logs, statements of SQLite, and steps of the
lanes. At the chosen one the process kills itself by SIGKILL: nothing is flushed or closed.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import pydoc
import signal
import sqlite3
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

import numpy as np
import torch

from training.run import checkpoint
from training.run.checkpoint import CheckpointWriter
from training.run.config_files import merge
from training.run.jsonl import JsonLines
from training.run.stats import IterationSums
from training.train import main

KILLED = -signal.SIGKILL
CLOCK = (
    *("time", "wall_s", "sps", "sps_cpu", "phases", "env_step", "mem", "duration_s", "updated_at"),
    *("config", "config_sha256", "versions", "host", "git_rev", "dirty", "timestamp", "created"),
)
ABOUT_THE_PROCESS = ("start", "resume", "checkpoint", "stopped", "end")  # events
LEFT_OUT = ("config.json", ".lock", "mailbox.pt", "tb", "checkpoints")
PRELOADED = ["tests.training.kills", "training.callbacks.start", "tests.training.preloaded"]
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


@dataclass(frozen=True)
class Kind:
    """A training that is killed.

    Parameters
    ----------
    config : mapping
    patches : mapping of str to value
        Attributes of modules and classes, by their paths, as a tiny run needs them.
    stores : tuple of str
        SQLite files that it writes beside its folder, and their tables.
    registers : str or None
        Path of the function that makes its game or its trainer known.
    is_slow : bool
        Whether no kill of it is tried every day.
    """

    config: Mapping[str, Any]
    patches: Mapping[str, Any] = field(default_factory=dict)
    stores: tuple[tuple[str, str], ...] = ()
    registers: str | None = None
    is_slow: bool = False


class Moments:
    """Counts the moments of a process, and ends it at one of them.

    Parameters
    ----------
    folder : Path
        What is written below it counts.
    last : int or None
        Number of the moment at which the process ends.
    """

    def __init__(self, folder: Path, last: int | None) -> None:
        self._folder, self._last = str(folder), last
        self._lock = threading.Lock()
        self.names: list[str] = []

    def pass_by(self, name: str) -> None:
        with self._lock:
            if self._last is not None and len(self.names) == self._last:
                os.kill(os.getpid(), signal.SIGKILL)
            self.names.append(name)

    def hear(self, event: str, args: tuple[Any, ...]) -> None:
        """Be the audit hook of the interpreter."""
        if event == "open" and isinstance(args[2], int) and not args[2] & WRITES:
            return
        if event not in ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir"):
            return
        if isinstance(args[0], str | os.PathLike) and self._folder in os.fspath(args[0]):
            self.pass_by(f"{event} {Path(args[0]).name}")

    def listen(self) -> None:
        """Count from now on."""
        sys.addaudithook(self.hear)
        passing = self

        def before(owner: type, method: str) -> None:
            original = getattr(owner, method)

            def counted(self: Any, *args: Any, **options: Any) -> Any:
                passing.pass_by(f"{owner.__name__}.{method}")
                return original(self, *args, **options)

            setattr(owner, method, counted)

        before(IterationSums, "add")
        before(JsonLines, "write")

        class Connection(sqlite3.Connection):
            def execute(self, *args: Any) -> Any:
                passing.pass_by(f"SQLite {args[0].split()[0]}")
                return super().execute(*args)

        connect = sqlite3.connect
        sqlite3.connect = lambda *a, **o: connect(*a, **(o | {"factory": Connection}))


def write_late() -> None:
    """Write every checkpoint as late as a slow disk might, when somebody waits for it."""
    start, written, close = CheckpointWriter.start, CheckpointWriter.written, CheckpointWriter.close
    waited: dict[CheckpointWriter, threading.Event] = {}

    def start_late(self: CheckpointWriter, steps: int, write: Any) -> None:
        asked = waited[self] = threading.Event()
        start(self, steps, lambda: asked.wait() and write())

    def release(self: CheckpointWriter) -> None:
        if self in waited:
            waited[self].set()

    def written_late(self: CheckpointWriter, wait: bool = False) -> int | None:
        if wait:
            release(self)
        return written(self, wait)

    def close_late(self: CheckpointWriter) -> None:
        release(self)
        close(self)

    CheckpointWriter.start, CheckpointWriter.written = start_late, written_late
    CheckpointWriter.close = close_late


def train(folder: Path, kind: Kind, resume: bool, last: int | None, late: bool) -> None:
    """Train in this process, which ends with it; the moments go to a file if none is the last."""
    os.chdir(folder)
    said = os.open("said.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(said, 1)
    os.dup2(said, 2)
    assert sys.modules.keys() >= set(PRELOADED), "the server has not imported what trainings do"
    for path, value in kind.patches.items():
        owner, _, name = path.rpartition(".")
        setattr(pydoc.locate(owner), name, value)
    if kind.registers:
        pydoc.locate(kind.registers)()
    Path("given.json").write_text(json.dumps(kind.config))
    moments = Moments(folder, last)
    if late:
        write_late()
    moments.listen()
    flags = ["--resume"] if resume else ["--config", "given.json"]
    status = main([*flags, "--runs", str(folder), "--name", "run", "--no-evaluation"])
    if last is None:
        names, moments._folder = moments.names, "nothing more"
        Path("moments.json").write_text(json.dumps(names))
    os._exit(status)


def context() -> Any:
    """Return what forks children off a process that has imported everything.

    A process has one such server. One that ``fastenv.testing`` started before has not imported
    torch, which each training would then import for itself: it ends here.
    """
    found, server = multiprocessing.get_context("forkserver"), forkserver._forkserver
    if server._preload_modules != PRELOADED:
        server._stop()
        found.set_forkserver_preload(PRELOADED)
    return found


def run(folder: Path, kind: Kind, *, resume=False, last: int | None = None, late=False) -> int:
    """Train in a child process; return its exit status."""
    folder.mkdir(exist_ok=True)
    child = context().Process(target=train, args=(folder, kind, resume, last, late))
    child.start()
    child.join()
    assert child.exitcode is not None
    return child.exitcode


# -- what a training came to -----------------------------------------------------------------------


def result(folder: Path, kind: Kind) -> dict[str, Any]:
    """Return everything that a training leaves, but for what comes from clock and machine."""
    run = folder / "run"
    found: dict[str, Any] = {}
    for path in sorted(p for p in run.rglob("*") if p.is_file()):
        name = str(path.relative_to(run))
        if not name.startswith(LEFT_OUT):
            found[name] = _content(path)
    found["checkpoints"] = sorted(path.name for path in checkpoint.list_whole(run / "checkpoints"))
    for name in ("checkpoints", "checkpoints/best"):
        newest = checkpoint.newest(run / name)
        if newest is not None:
            saved = {p.name: _content(p) for p in newest.iterdir() if p.name != "MANIFEST.json"}
            found |= {f"{name}/newest": newest.name, f"{name}/content": saved}
    for name, table in kind.stores:
        found[name] = _table(folder / name, table)
    return found


def _content(path: Path) -> Any:
    if path.suffix == ".jsonl":
        lines = [_timeless(json.loads(line)) for line in path.read_text().splitlines()]
        return [line for line in lines if line.get("event") not in ABOUT_THE_PROCESS]
    if path.suffix == ".json":
        return _timeless(json.loads(path.read_text()))
    if path.suffix == ".pt":
        return torch.load(path, weights_only=True)
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            return {name: torch.from_numpy(arrays[name]) for name in arrays.files}
    if path.suffix == ".sqlite":
        return _table(path, "ratings")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _table(path: Path, table: str) -> list[dict[str, Any]]:
    with sqlite3.connect(path) as file:
        rows = file.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3")
        names = [column[0] for column in rows.description]
        return sorted((_timeless(dict(zip(names, row, strict=True))) for row in rows), key=repr)


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _timeless(v) for k, v in value.items() if k not in CLOCK}
    return [_timeless(item) for item in value] if isinstance(value, list) else value


# -- the trainings ---------------------------------------------------------------------------------

TINY = {
    "env": "SkullKingWorker-v0",
    "num_envs": 8,
    "total_steps": 768,
    "torch_threads": 1,
    "deterministic": True,
    "device": "cpu",
    "ppo": {
        "n_steps": 8,
        "batch_size": 32,
        "n_epochs": 1,
        "net_arch": [16],
        "precision": "fp32",
    },
    "checkpoints": {"every": 192, "keep": 2},
    "evaluation": {"during": "off", "after_training": False},
}
EVALUATED = {
    "during": "inline",
    "every": 128,
    "patience": 3,
    "games": 2,
    "episodes": 4,
    "curve_opponents": ["random"],
    "bootstrap": 20,
    "after_training": False,
}
DRMARIO = {
    "env": "DrMarioPlacement-v0",
    "env_options": {"speed": "high"},
    "native": {"trunk": "shared", "heads": "placements"},
}
OVER = {"info": "reason", "at_least": 1}  # every episode is a success
TIMES = {
    "stages": [{"name": "a", "knobs": {"level": -15}}, {"name": "b", "knobs": {"level": -14}}],
    "success": OVER,
    "target": 0.5,
    "n_max": 4000,
    "tests": 20,
    "gate_every": 1,
    "lanes": 8,
    "times": ["frames"],
}
WORKER_TRACKERS = {
    "visits": {"cell": {"info": "round", "bin": 2}, "count_bonus": 0.01, "episode_bonus": 0.1},
    "progress": {"events": [{"name": "tricks", "source": "won"}]},
    "quests": {"stages": [{"quest": "goal", "when": {"won": [1, None]}, "reward": 0.5}]},
    "archive": {"cell": "round", "p_archive": 0.3},
}
NODE = {"obs": 22, "times": 31}
PROSPECTOR = {
    "env": "Prospector-v0",
    "env_options": {"time_max": 60},
    "window_ticks": 50,
    "trackers": {
        "visits": {
            **{"cell": NODE, "num_cells": 32, "place": NODE, "num_places": 32},
            "count_bonus": 0.1,
        },
        "progress": {"events": [{"name": "credits", "source": "credits"}]},
        "archive": {"cell": NODE, "score": "credits", "visits": "visits", "max_cells": 32},
    },
}
POOL = {"start": 100, "every": 100, "keep": 2}
TWO_ROUNDS = {"env": "SkullKingFlat-v0", "env_options": {"schedule": [1, 2]}}
EXPERT = TWO_ROUNDS | {"trainer": "expert"}
BIDS = {"rest_search": "decisions=bids,worlds=2,rollouts=policy", "rest_share": 0.25}
LATE = {"late_search": "worlds=2,rollouts=policy", "late_start": 0.1, "late_share": 0.25}
TEACHERS = {
    "a bot": {"teacher": "rule_hard", "share": 0.5, "window": 2},
    "a bot that draws": {"teacher": "random", "share": 0.5},
    "a search beside": {"search": "worlds=4,blocks=1", "share": 0.5, "ppo": "rest", "delay": 1},
    "two searches": {"search": "worlds=2", "share": 0.5, "ppo": "rest", **BIDS},
    "a search late": {"search": "worlds=2", "share": 0.5, "ppo": "rest", "delay": 1, **LATE},
    "a bot that searches": {"teacher": "search:heuristic,worlds=4", "share": 0.1},
}
GREEDY = {"teacher": "greedy", "share": 0.5, "ppo": "none", "window": 2}
PAIR = {
    "trainer": "hier",
    "env_options": {"opponents": "rule_medium"},
    "total_steps": 2200,
    "num_envs": 16,
    "ppo": {"batch_size": 64},
    "hier": {"warm_start": 512, "manager": {"n_epochs": 1, "n_steps": 20, "batch_size": 80}},
    "checkpoints": {"every": 500},
}
PAIR_IN_GAMES = {
    "trainer": "hier",
    "env_options": {"schedule": [1, 3], "opponents": "rule_easy", "agent_seat": "rotate"},
    "num_envs": 16,
    "hier": {
        "mode": "game",
        "warm_start": 128,
        "ratio": 1.0,
        "manager": {"n_epochs": 1, "n_steps": 4, "num_envs": 8, "batch_size": 32},
    },
    "selfplay": {"start": 128, "every": 128},
    "checkpoints": {"every": 128},
}
STAGES = {
    "stages": [
        {"name": "early", "knobs": {"allowed_phases": ["early"]}},
        {"name": "late", "knobs": {"allowed_phases": ["late"]}},
    ],
    "success": {"info": "ended_round", "at_least": 1},  # every episode is a success
    "target": 0.6,
    "n_max": 200,
    "tests": 3,
    "gate_every": 2,  # behind a checkpoint too: the stage has changed, the test is made again
    "lanes": 8,
}
AVERAGED = {"start": 0, "every": 256, "bots": 0, "latest": 0.5, "average": 500, "magnet": 0.2}
DQN = {
    **{"net_arch": [16], "batch_size": 16, "learning_starts": 64, "capacity": 320},
    **{"iteration_steps": 16, "replay_ratio": 1.0, "num_quantiles": 5, "prioritized": True},
    **{"noisy": True, "epsilon_start": 0.05, "recurrent": "ssm_gru_lstm", "recurrent_size": 8},
    **{"seq_len": 6, "burn_in": 2},
}
RACE = {"env": "Race-v0", "env_options": {"opponent": "random", "goal": 8}}
RACE_KNOWN = "tests.training.third_game.register"


def tiny(changes: Mapping[str, Any], **about: Any) -> Kind:
    """Return a tiny training with other options."""
    learns_by_ppo = changes.get("trainer") not in ("dqn", "reinforce")
    whole = TINY if learns_by_ppo else TINY | {"ppo": {}}
    return Kind(merge(whole, dict(changes)), **about)


KINDS = {
    "schedule": tiny(
        {"schedules": {"opponents": [[0, "rule_easy"], [192, "rule_hard"], [400, "random"]]}}
    ),
    "stages": tiny({"gate": STAGES}),
    "stages, sb3": tiny({"gate": STAGES, "trainer": "sb3"}, is_slow=True),
    "trackers": tiny({"trackers": WORKER_TRACKERS}, is_slow=True),
    "windows and trackers": tiny(PROSPECTOR, is_slow=True),
    "delayed actions": tiny(
        {
            "env": "Prospector-v0",
            "env_options": {"time_max": 60},
            "mask_schedule": [{"action": 68, "ticks": 20, "anneal_steps": 576}],
        }
    ),
    "in hindsight": tiny({"env": "SkullKingManager-v0", "native": {"hindsight": "tricks"}}),
    "sb3": tiny({"trainer": "sb3", "trackers": WORKER_TRACKERS}),
    "ensemble": tiny({"trainer": "ensemble", "num_envs": 16, "ensemble": {"seeds": [1, 7]}}),
    "dqn": tiny(
        {"trainer": "dqn", "dqn": DQN | {"recurrent": "none"}, "trackers": WORKER_TRACKERS},
        is_slow=True,
    ),
    "dqn with a memory": tiny(
        {"trainer": "dqn", "dqn": DQN, "trackers": WORKER_TRACKERS}, is_slow=True
    ),
    "a pair": tiny(PAIR, is_slow=True),
    "a pair in hindsight": tiny(
        merge(PAIR, {"hier": {"manager": {"hindsight": "tricks"}, "worker": {"hindsight": "sil"}}})
    ),
    "a pair in games, self-play": tiny(PAIR_IN_GAMES),
    "the race": tiny(RACE, registers=RACE_KNOWN),
    "the race, sb3": tiny(RACE | {"trainer": "sb3"}, registers=RACE_KNOWN, is_slow=True),
    "a trainer of a user": tiny(
        {"trainer": "reinforce"}, registers="tests.training.toy_trainer.register"
    ),
    **{
        f"expert, {name}": tiny(EXPERT | {"expert": expert}, is_slow=k % 2 == 1)
        for k, (name, expert) in enumerate(TEACHERS.items())
    },
    "expert of placements": tiny(
        DRMARIO | {"trainer": "expert", "expert": GREEDY, "num_envs": 16}, is_slow=True
    ),
    "self-play, matches": tiny(
        {"env": "DrMarioVersus-v0", "env_options": {"opponent": "random"}, "selfplay": POOL},
        is_slow=True,
    ),
    "best times": Kind(
        TINY
        | DRMARIO
        | {"best_times": "times.sqlite", "gate": TIMES, "num_envs": 16, "total_steps": 2560}
        | {"episode_events": True},
        {
            "training.games.drmario.goals.MET": OVER,
            "training.callbacks.times.STREAK": 24,
            "training.callbacks.stage_schedules.FEWEST_EPISODES": 10,
            "training.callbacks.stage_schedules.FEWEST_DECISIONS": 10,
            "training.callbacks.stage_schedules.FEWEST_EFFECTIVE": 8.0,
        },
        (("times.sqlite", "clears"),),
        is_slow=True,
    ),
    "early stopping": tiny({"evaluation": EVALUATED, "total_steps": 2048}, is_slow=True),
    "self-play": tiny(TWO_ROUNDS | {"selfplay": POOL}),
    "self-play, averaged": tiny({"env": "KuhnPoker-v0", "selfplay": AVERAGED}),
    "expert iteration": tiny(
        EXPERT
        | {
            "native": {"heads": "cards", "critic_view": True},
            "selfplay": POOL,
            "expert": {"search": "worlds=4", "share": 0.5, "window": 2, "ppo": "rest"},
        },
        is_slow=True,
    ),
    "foreign, with a memory": tiny(
        {
            "env": "tests.training.foreign.environments:Ladder",
            "native": {"recurrent": "gru", "recurrent_size": 16, "seq_len": 8},
        },
        is_slow=True,
    ),
    "foreign self-play": tiny(
        {"env": "pettingzoo.classic.connect_four.connect_four:env", "selfplay": POOL},
        is_slow=True,
    ),
    "foreign dqn": tiny(
        {
            "env": "CartPole-v1",
            "trainer": "dqn",
            "dqn": {
                **{"net_arch": [16], "batch_size": 32, "learning_starts": 64, "capacity": 512},
                **{"iteration_steps": 8, "precision": "fp32"},
            },
        },
        is_slow=True,
    ),
}

"""Trainings spread over processes and cores: RLlib and torchrun beside one process.

Each is a whole short run (``training.train``) in processes of its own; they take turns. What a row
says of a run is read from the folder of that run.
"""

from __future__ import annotations

import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import psutil

from benchmarks.learners import trainer_row
from fastenv.errors import ConfigError
from training.bench.runner import BenchmarkOptions, Suite
from training.bench.targets import Row
from training.bench.timing import Sample, keep_row, tell_repeat
from training.rllib.options import RLlibConfig, RLlibRun
from training.run import envs, files, machine
from training.run.config import RunConfig
from training.run.config_files import merge
from training.run.folder import RunFolder
from training.run.jsonl import read_lines
from training.run.option_layers import config_of

MODE = "scale"
WARMUP = 2  # iterations
OTHERS = 0.2  # cores that something else may use
LIMIT_S = 900.0
LOOK_S = 0.25
RLLIB = ".venv-rllib/bin/python"
RLLIB_PYTHON = machine.ROOT / RLLIB
NO_RLLIB = "there is no .venv-rllib (make rllib)"
METHOD = (
    f"whole runs in processes of their own, in turns, behind {WARMUP} iterations; logs included; "
    "CPU time of all processes of a run"
)
COMMON: dict[str, Any] = {
    "env": RunConfig.get_default("env"),
    "num_envs": 64,
    "torch_threads": 1,
    "env_options": {"opponents": "rule_medium"},
    "ppo": {"n_steps": 128, "batch_size": 4096, "n_epochs": 4, "precision": "fp32"},
    "checkpoints": {"every": 1 << 40},
}
ROLLOUT = RunConfig.from_mapping(COMMON).rollout
MAKE_TRAIN = "skullking.yaml"


@dataclass(frozen=True)
class Way:
    """A way to spread a training.

    Parameters
    ----------
    iterations : int
        That are timed.
    options : mapping
        Over those that all have.
    ranks : int
        Processes of torchrun; 1 for none.
    config : str or None
        File of ``training/configs`` whose options it has in place of those that all have.
    one_core : bool
        Whether it may use one core alone.
    """

    iterations: int
    options: Mapping[str, Any] = field(default_factory=dict)
    ranks: int = 1
    config: str | None = None
    one_core: bool = False

    @property
    def rllib(self) -> bool:
        """Whether it needs Ray."""
        return self.options.get("trainer") == "rllib"

    def all_options(self, common: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of its runs, but for their length.

        Parameters
        ----------
        common : mapping
            Options that all ways without a config have.
        """
        if self.config is None:
            return merge(dict(common), dict(self.options))
        path = machine.ROOT / "training/configs" / self.config
        own = config_of(["--config", str(path)]).to_dict()
        own["checkpoints"] |= COMMON["checkpoints"]
        return merge(own, dict(self.options))

    def command(self) -> list[str]:
        """Make the command that starts ``training.train`` in its processes."""
        if self.rllib:
            return [str(RLLIB_PYTHON), "-m", "training.train"]
        if self.ranks == 1:
            return [sys.executable, "-m", "training.train"]
        torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={self.ranks}"]
        return [sys.executable, *torchrun, "-m", "training.train"]


def _make_rllib(iterations: int, runners: int, **options: Any) -> Way:
    return Way(iterations, {"trainer": "rllib", "rllib": {"env_runners": runners}, **options})


# As many as in the native trainer's other bars; and as a cluster grows, with 64 an env runner. The
# decisions of an iteration are the same.
MORE_LANES: dict[str, Any] = {"num_envs": 512, "ppo": {"n_steps": 16}}
TWICE_LANES: dict[str, Any] = {"num_envs": 128, "ppo": {"n_steps": 64}}
# As chosen by default on one core and on two: the search has a thread beside that of the network.
THREADS = {"env_threads": 1, "torch_threads": 1}
WAYS = {
    "native": Way(32),
    "native, 2 threads": Way(32, {"torch_threads": 2}),
    "torchrun": Way(32, ranks=2),
    "native, more lanes": Way(32, MORE_LANES),
    "torchrun, more lanes": Way(32, MORE_LANES, ranks=2),
    "make train, one core": Way(6, THREADS, config=MAKE_TRAIN, one_core=True),
    "make train": Way(6, THREADS, config=MAKE_TRAIN),
    "make train, torchrun": Way(6, THREADS, ranks=2, config=MAKE_TRAIN),
    "rllib": _make_rllib(10, 1),
    "rllib, 2 runners": _make_rllib(10, 2, **TWICE_LANES),
    "rllib, reference": _make_rllib(8, 1, backend="reference"),
}


@dataclass(frozen=True)
class Turn:
    """A run that was timed: its folder, speed and phases.

    Parameters
    ----------
    config : RunConfig
    summary : dict
        ``summary.json``.
    sample : Sample
        Of all processes together.
    phases : dict of str to float
        Seconds.
    others : float
        Cores that other processes of the machine used meanwhile.
    """

    config: Any
    summary: dict[str, Any]
    sample: Sample
    phases: dict[str, float]
    others: float


def there(ways: Mapping[str, Way] = WAYS) -> dict[str, Way]:
    """Return the ways that can be measured here: without Ray, those that do without it."""
    return {k: way for k, way in ways.items() if not way.rllib or RLLIB_PYTHON.is_file()}


def all_rows(
    repeats: int,
    iterations: int | None = None,
    common: Mapping[str, Any] = COMMON,
    ways: Mapping[str, Way] = WAYS,
) -> list[Row]:
    """Run everything, in turns; return a row for each way.

    Parameters
    ----------
    repeats : int
    iterations : int, optional
        That are timed of each run; default those of its way.
    common : mapping
        Options of all runs.
    ways : mapping of str to Way

    Raises
    ------
    ConfigError
        If a run fails.
    """
    here = there(ways)
    turns: dict[str, list[Turn]] = {key: [] for key in here}
    for repeat in range(1, repeats + 1):
        for key, way in here.items():
            turns[key].append(take_turn(way, common, iterations or way.iterations))
            sample = turns[key][-1].sample
            keep_row({"kind": "repeat", "name": key, "repeat": repeat, **sample.record()})
            tell_repeat(repeat, repeats, key, sample.per_s)
    return [row(key, here[key], runs) for key, runs in turns.items()]


def take_turn(way: Way, common: Mapping[str, Any], iterations: int) -> Turn:
    """Run a training and time it.

    Raises
    ------
    ConfigError
        If it fails; with its last line.
    """
    options = way.all_options(common)
    rollout = RunConfig.from_mapping(options).rollout
    options["total_steps"] = (WARMUP + iterations) * rollout
    with tempfile.TemporaryDirectory() as folder:
        load = machine.load()
        at = Path(folder)
        return turn_of(*train(way.command(), options, at, "run", LIMIT_S, way.one_core), load)


def turn_of(run: RunFolder, meter: Meter, load: float) -> Turn:
    """Read the speed and phases of a run behind its first iterations."""
    records = read_lines(run.metrics)
    before, timed = records[WARMUP - 1], records[WARMUP:]
    if not timed:
        raise ConfigError(f"{run.path} has {len(records)} iterations: none is left to be timed.")
    wall = timed[-1]["wall_s"] - before["wall_s"]
    cpu, busy = meter.between(before["time"], timed[-1]["time"])
    phases: dict[str, float] = {}
    for record in timed:
        for name, seconds in record["phases"].items():
            phases[name] = phases.get(name, 0.0) + seconds
    steps = timed[-1]["step"] - before["step"]
    sample = Sample(steps, wall, max(cpu, 1e-9), load, machine.load())
    summary = files.read_json(run.path / "summary.json")
    return Turn(run.config, summary, sample, phases, max(0.0, (busy - cpu) / wall))


# -- a run in processes of its own, with the CPU time of all of them -------------------------------


class Meter:
    """Starts a command and follows the CPU time of its processes, of those that ended too.

    Parameters
    ----------
    command : sequence of str
    out : file
        For what it says.
    one_core : bool
        Whether its processes may use the first of this process's cores alone.
    """

    def __init__(self, command: Sequence[str], out: IO[bytes], one_core: bool = False) -> None:
        self._process = subprocess.Popen(
            command, cwd=machine.ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
        self._root = psutil.Process(self._process.pid)
        if one_core:  # before it has imported anything, and so has looked at its cores
            self._root.cpu_affinity(self._root.cpu_affinity()[:1])
        self._seen: dict[psutil.Process, float] = {}
        self._at: list[tuple[float, float, float]] = []

    def follow(self, limit_s: float) -> int:
        """Wait for its end; return the exit status. One that takes too long is ended."""
        deadline = time.monotonic() + limit_s
        while self._process.poll() is None:
            self._look()
            if time.monotonic() > deadline:
                self._end()
            time.sleep(LOOK_S)
        return self._process.returncode

    def _end(self) -> None:
        with suppress(psutil.Error):  # one may have ended just now
            for each in [*self._root.children(recursive=True), self._root]:
                each.kill()

    def _look(self) -> None:
        try:
            every = [self._root, *self._root.children(recursive=True)]
        except psutil.Error:
            return
        for each in every:
            try:
                used = each.cpu_times()
            except psutil.Error:
                continue  # it has just ended; what it had used before is known
            self._seen[each] = used.user + used.system
        used_by_all = psutil.cpu_times()
        waiting = sum(getattr(used_by_all, name, 0.0) for name in ("idle", "iowait"))
        busy = sum(used_by_all) - getattr(used_by_all, "guest", 0.0) - waiting
        self._at.append((time.time(), sum(self._seen.values()), busy))

    def between(self, begin: float, end: float) -> tuple[float, float]:
        """Return the CPU seconds of the command, and of the whole machine, between two times.

        Parameters
        ----------
        begin, end : float
            On the clock ``time.time``.
        """
        at, own, busy = np.array(self._at).T
        first, last = (tuple(np.interp(x, at, y) for y in (own, busy)) for x in (begin, end))
        return float(last[0] - first[0]), float(last[1] - first[1])


def train(
    command: Sequence[str],
    options: dict[str, Any],
    folder: Path,
    name: str,
    limit_s: float,
    one_core: bool = False,
) -> tuple[RunFolder, Meter]:
    """Train to the end in other processes, without an evaluation.

    Parameters
    ----------
    command : sequence of str
        What starts ``training.train``.
    options : dict
        Of the run.
    folder : Path
        Takes the run, its config and what it says.
    name : str
    limit_s : float
    one_core : bool
        See :class:`Meter`.

    Raises
    ------
    ConfigError
        If it fails; with its last line.
    """
    folder.mkdir(parents=True, exist_ok=True)
    config, log = folder / f"{name}.json", folder / f"{name}.log"
    files.write_json(config, options)
    arguments = ["--config", str(config), "--runs", str(folder), "--name", name, "--no-evaluation"]
    with log.open("wb") as out:
        meter = Meter([*command, *arguments], out, one_core)
        code = meter.follow(limit_s)
    if code != 0:
        last = (log.read_text("utf-8", "replace").strip().splitlines() or ["no message"])[-1]
        raise ConfigError(f"{shlex.join(command)} failed: {last}")
    return RunFolder.open(folder / name), meter


# -- rows ------------------------------------------------------------------------------------------


def row(key: str, way: Way, turns: Sequence[Turn]) -> Row:
    """Make the row of a way.

    Parameters
    ----------
    key : str
        Of the way.
    way : Way
    turns : sequence of Turn
    """
    config, summary = turns[0].config, turns[0].summary
    engine = envs.make_trial_lane(config).engines[0]
    rllib = config.rllib if way.rllib else RLlibConfig()
    spread = {
        "backend": summary["backend"],
        "ranks": summary.get("ranks", 1),
        "env_runners": rllib.env_runners if way.rllib else None,
        "learners": rllib.learners if way.rllib else None,
        "one_core": way.one_core or None,
    }
    samples = [turn.sample for turn in turns]
    timed = trainer_row(config, engine, summary["precision"], samples, MODE, **spread)
    split = [
        {name: 1e6 * s / turn.sample.steps for name, s in turn.phases.items()} for turn in turns
    ]
    fields = {
        **timed,
        "backend": summary["backend"],
        "name": name_of(config, summary) + ", on one core" * way.one_core,
        "way": key,
        "setting": setting_of(timed),
        "cores": machine.physical_cores(),
        "ranks": spread["ranks"],
        "env_runners": rllib.env_runners,
        "learners": rllib.learners,
        "ray": summary["versions"].get("ray"),
        "command": shlex.join([RLLIB if way.rllib else "python", *way.command()[1:]]),
        "method": METHOD,
        "us_per_step": {n: statistics.median(each[n] for each in split) for n in split[0]},
        "us_per_step_all": {n: [each[n] for each in split] for n in split[0]},
        "others_cores": [round(turn.others, 3) for turn in turns],
        "noisy": any(turn.others > OTHERS for turn in turns),
    }
    if way.rllib:
        fields["sampled_per_s_all"] = every = [
            1e6 / us for us in fields["us_per_step_all"]["sample"]
        ]
        fields["sampled_per_s"] = statistics.median(every)
    return fields


def name_of(config: Any, summary: Mapping[str, Any]) -> str:
    """Name what a run was spread over, by its config and summary."""
    if isinstance(config, RLlibRun):
        runners, learners = config.rllib.env_runners, config.rllib.learners
        several = f"{learners} learner{'s' * (learners != 1)}"
        learning = several if learners else "learns in its driver"
        spread = f"{runners} env runner{'s' * (runners != 1)}"
        return f"RLlib {summary['versions']['ray']}, {spread}, {learning}"
    ranks, threads = summary["ranks"], config.torch_threads
    spread = "1 process" if ranks == 1 else f"{ranks} ranks of torchrun"
    each = " each" * (ranks > 1)
    return f"{config.trainer}, {spread}, {threads} torch thread{'s' * (threads != 1)}{each}"


def setting_of(row: Mapping[str, Any]) -> str:
    """Describe the setting of a row, as the targets name it."""
    widths = "x".join(map(str, row["net_arch"]))
    return (
        f"{row['env']}, {row['num_envs']} lanes, {row['rollout_steps']} steps, minibatches of "
        f"{row['minibatch']:,}, {row['epochs']} epochs, {widths} {row['activation']}, "
        f"{row['precision']}"
    )


def measure(options: BenchmarkOptions) -> list[Row]:
    """Measure the rows that a command line asks for; ``--steps`` are those of each run."""
    if not RLLIB_PYTHON.is_file():
        options.console.print(f"{NO_RLLIB}, and the runs of RLlib are left out")
    steps = options.args.steps
    return all_rows(options.repeats, None if steps is None else max(1, steps // ROLLOUT))


SUITE = Suite(
    measure,
    title="Bars of several processes; wall, paired turns",
    targets=("scale",),
)

"""The folder of a run: ``runs/<name>/`` with config, metrics, checkpoints and summary.

================================  ==================================================================
``config.json``                   all options and their hash
``metrics.jsonl``                 one record an iteration
``windows.jsonl``                 one record a window of ticks, if ``window_ticks`` is set
``events.jsonl``, ``tb/``         start, checkpoints, changes, end; TensorBoard
``checkpoints/``                  ``ckpt_<steps>/``, ``latest``; ``best/``, evaluated best
``model.safetensors``             in their place: weights alone (``training export --hub``)
``evaluations.jsonl``             one record an evaluation during the training
``pool/``, ``ratings.sqlite``     snapshots of self-play, and their ratings
``map/``                          the live map (:mod:`training.logs.live_map`)
``certificates/``                 result of each test of the gate (:mod:`training.callbacks.gate`)
``summary.json``                  where the run stands, on what it ran
``evaluation.json``               results of ``training evaluate``
``episodes.jsonl``                its episodes, one a line
``evaluation.txt``                its tables at the end of the training
``film.gif``                      an episode at that time (``evaluation.film``)
``milestones.json``               when a run reached what (``training compare milestones``)
``replays/``                      recorded episodes (``training watch replay``)
``replay_index.json``             what they are
``.lock``                         held by the process that trains it (:meth:`RunFolder.lock`)
================================  ==================================================================

A folder appears whole (config included) or not at all, and is never written over: a second run of
the same name is refused unless it resumes the first. One process at a time trains a run; others may
read it meanwhile.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from fastenv.errors import ConfigError, FastEnvError
from training.run import files, games, machine
from training.run.config import RunConfig
from training.run.options import canonical_json, hash_json

FORMAT = "fastenv-run"
VERSION = 1
WEIGHTS = "model.safetensors"
CERTIFICATES = "certificates"
# What may differ when a run goes on: how long, on how many threads, and what is done with results.
MAY_CHANGE = (
    "total_steps",
    "env_threads",
    "torch_threads",
    "checkpoints",
    "evaluation",
    "live_map",
    "wandb",
    "rllib",
    "name",
)


class RunError(FastEnvError, RuntimeError):
    """A run folder is missing, incomplete or there already; the message says which."""


class BusyError(RunError):
    """Another process is training the run."""


class RunFolder:
    """One run on disk.

    Parameters
    ----------
    path : Path
        The folder; use :meth:`create` or :meth:`open`.
    config : RunConfig
    """

    def __init__(self, path: Path, config: RunConfig) -> None:
        self.path = path
        self.config: Any = config  # with the sections of its trainer

    @property
    def name(self) -> str:
        """Name of the folder."""
        return self.path.name

    @property
    def checkpoints(self) -> Path:
        """Folder of the checkpoints."""
        return self.path / "checkpoints"

    @property
    def weights(self) -> Path:
        """The weights of an agent that was exported for a hub (:mod:`training.run.weights`)."""
        return self.path / WEIGHTS

    @property
    def metrics(self) -> Path:
        """One JSON object a line and iteration."""
        return self.path / "metrics.jsonl"

    @property
    def events(self) -> Path:
        """One JSON object a line: start, checkpoints, changes of knobs, end."""
        return self.path / "events.jsonl"

    @property
    def windows(self) -> Path:
        """One JSON object a line and window of ticks (option ``window_ticks``)."""
        return self.path / "windows.jsonl"

    @property
    def evaluations(self) -> Path:
        """One JSON object a line and evaluation during the training (``evaluation.during``)."""
        return self.path / "evaluations.jsonl"

    @property
    def certificates(self) -> Path:
        """Folder of the certificates of a gate, one for each test."""
        return self.path / CERTIFICATES

    @property
    def replays(self) -> Path:
        """Folder of recorded episodes and their ``replay_index.json``."""
        return self.path / "replays"

    @classmethod
    def create(cls, root: Path, config: RunConfig) -> Self:
        """Make the folder of a new run.

        Raises
        ------
        RunError
            If something of that name is there already, which is left as it is, or if ``root`` is
            no folder and none can be made there.
        """
        name = config.name or choose_name(root, config.env)
        path = root / name
        taken = f"{path} is there already: use --resume to continue it, or choose another --name."
        if path.exists():
            raise RunError(taken)
        named = config.replace(name=name)
        with ExitStack() as unfinished:
            try:
                whole = unfinished.enter_context(files.temporary_folder(root)) / name
            except OSError as error:
                raise RunError(f"{root} cannot hold a run: {error.strerror}.") from error
            (whole / "checkpoints").mkdir(parents=True)
            files.write_json(whole / "config.json", _config_record(named))
            files.sync_folder(whole)
            if not files.put_in_place(whole, path):  # another process was quicker with this name
                if config.name is None:
                    return cls.create(root, config)
                raise RunError(taken)
        return cls(path, named)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the folder of a run.

        Raises
        ------
        RunError
            If it is not there, or not a whole run folder.
        """
        if not path.is_dir():
            raise RunError(f"there is no run at {path}.")
        config_file = path / "config.json"
        if not config_file.is_file() or not has_agent(path):
            raise RunError(
                f"{path} is no whole run folder: config.json or checkpoints/ is missing."
            )
        try:
            record = files.read_json(config_file)
            known = record["format"] == FORMAT and record["version"] == VERSION
            values, recorded = dict(record["config"]), record["sha256"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RunError(f"{config_file} is half written or not a run's config.") from error
        if not known:
            raise RunError(f"{config_file} is of another format or version.")
        try:
            config = RunConfig.from_mapping(values)
        except ConfigError as error:
            raise RunError(f"{config_file} holds an impossible config: {error}") from error
        # Options that a later version has added have their usual values.
        if hash_json(values) != recorded:
            raise RunError(f"{config_file} was changed since the run began: its hash is wrong.")
        return cls(path, config)

    @classmethod
    def find(cls, name: str, root: Path) -> Self:
        """Open a run by the path of its folder, or by its name under ``root``.

        Raises
        ------
        RunError
            See :meth:`open`.
        """
        path = Path(name)
        return cls.open(path if path.is_dir() else root / name)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the run for this process; the kernel releases the lock however the process ends.

        Raises
        ------
        BusyError
            If another process is training it.
        RunError
            If files cannot be locked here.
        """
        with ExitStack() as held:
            try:
                held.enter_context(files.hold(self.path / ".lock"))
            except BlockingIOError as error:
                raise BusyError(
                    f"{self.path} is being trained by another process: wait for it or stop it, "
                    "then use --resume, or choose another --name."
                ) from error
            except OSError as error:
                raise RunError(
                    f"{self.path} cannot be locked ({error.strerror}): keep --runs where it can be "
                    "written to, on a file system with file locks."
                ) from error
            files.remove_leftovers(self.path)
            yield

    def continue_with(self, wanted: RunConfig) -> None:
        """Take the options that may change from ``wanted``; the config on disk stays as it was.

        Raises
        ------
        RunError
            If other options differ; names them. Or if there are weights alone to go on from.
        """
        if not self.checkpoints.is_dir():
            raise RunError(f"{self.path} has only weights: no training can be resumed from it.")
        old, new = flatten(self.config.to_dict()), flatten(wanted.to_dict())
        keys = sorted(old.keys() | new.keys())
        # A mapping that only one of them has empty is named by what the other has in it.
        sections = {key.rpartition(".")[0] for key in keys}
        different = [
            key
            for key in keys
            if key not in sections
            and key.partition(".")[0] not in MAY_CHANGE
            and canonical_json(old.get(key)) != canonical_json(new.get(key))
        ]
        if different:
            raise RunError(
                f"{self.path} was begun with another {', '.join(different)}: "
                f"only {', '.join(MAY_CHANGE[:-1])} may change when a run is resumed."
            )
        self.config = wanted.replace(name=self.name)

    def discard_unless_begun(self) -> None:
        """Remove the folder if no training has ever written to it."""
        if not self.events.exists() and not any(self.checkpoints.iterdir()):
            shutil.rmtree(self.path)

    def is_finished(self) -> bool:
        """Tell whether ``summary.json`` says that the training has come to its end."""
        return files.read_object(self.path / "summary.json").get("status") == "finished"

    def write_summary(self, values: dict[str, Any]) -> None:
        """Replace ``summary.json``."""
        record = {
            "run": self.name,
            "env": self.config.env,
            "trainer": self.config.trainer,
            "config_sha256": self.config.sha256(),
            **values,
            **machine.built_from(),
        }
        files.write_json(self.path / "summary.json", record)


def has_agent(path: Path) -> bool:
    """Tell whether a folder has a folder of checkpoints, or a file of weights in its place."""
    return (path / "checkpoints").is_dir() or (path / WEIGHTS).is_file()


def name_of_agent(path: Path) -> str:
    """Return the name of the folder that a trained agent lies in: of its run, or an exported one.

    Parameters
    ----------
    path : Path
        Its checkpoint, which may be in ``checkpoints/best``, or its file of weights.
    """
    runs = [folder.parent for folder in path.parents if folder.name == "checkpoints"]
    folder = path.parent if path.name == WEIGHTS or not runs else runs[0]
    return Path(os.path.abspath(folder)).name  # a folder that is called "." has a name elsewhere


def flatten(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested options to ``section.option`` and value; an empty mapping is a value."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        nested = isinstance(value, dict) and value
        flat |= flatten(value, f"{prefix}{key}.") if nested else {prefix + key: value}
    return flat


def choose_name(root: Path, env: str) -> str:
    """Choose an unused name of a run: the id, the time, and a number if need be."""
    stem = re.split("[/:]", env)[-1] + datetime.now(UTC).strftime("-%Y%m%d-%H%M%S")
    free = (name for k in range(10_000) if not (root / (name := f"{stem}-{k}")).exists())
    return stem if not (root / stem).exists() else next(free)


def _config_record(config: RunConfig) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "created": machine.now(),
        "sha256": config.sha256(),
        "config": config.to_dict(),
        **machine.revision(),
        "versions": machine.versions(games.modules_of(config.env)),
    }

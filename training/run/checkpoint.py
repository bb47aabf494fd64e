"""Checkpoints: folders that appear whole or not at all, and load without running code from them.

``ckpt_<steps>/`` holds ``model.pt`` (tensors and plain numbers, read with ``weights_only``),
``trainer.json`` (counters and generators), ``engine.npz`` (the state row of every lane),
``trackers.pt`` if the run has trackers, ``replay.npz`` if its trainer keeps what it has seen, and
``MANIFEST.json`` (size and sha256 of each file, and a sha256 of itself). ``latest`` names the
newest. ``best/`` is such a folder of checkpoints too, with the one that was evaluated best.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import shutil
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fastenv.errors import FastEnvError, FileError, show, show_reason
from fastenv.files import check_zip, read_npz, read_regular, show_path
from fastenv.spec import GameSpec
from training.run import files
from training.run.engine import Engine
from training.run.options import hash_json

FORMAT = "fastenv-checkpoint"
VERSION = 1
CONTENT = ("model.pt", "trainer.json", "engine.npz")
TRACKERS = "trackers.pt"
REPLAY = "replay.npz"
OPTIONAL = (TRACKERS, REPLAY)
BEST = "best"
# Beginnings of the names of parameters that do not decide what is played; an export has none.
VALUE = ("value_tower.", "value_head.")
AVERAGE = "average"  # of the averaged policy of self-play, among what is learnt beside PPO


class CheckpointError(FastEnvError, RuntimeError):
    """A checkpoint is missing, damaged or not of this run; the message says what is wrong."""


class DamagedCheckpointError(CheckpointError):
    """A checkpoint is damaged; one before it may be whole."""


@dataclass(frozen=True)
class State:
    """The complete state of a training, at the boundary between two iterations.

    Parameters
    ----------
    steps : int
        Decisions until then, of all lanes and processes.
    model : dict
        Nested dicts and lists of tensors in host memory and plain numbers; ``policy`` has what
        plays.
    values : dict
        JSON values, such as counters and states of generators.
    rows : ndarray
        State rows of the lanes: records (lanes,), or their bytes (lanes, size).
    arrays : dict of str to ndarray
        Further arrays of an entry a lane.
    replay : dict of str to ndarray, or None
        What was stored to learn from; None without. It is large, and read where a training goes on
        alone (:func:`read_replay`).
    trackers : dict or None
        Nested dicts of tensors and plain values; None if the run has no trackers.
    path : Path
        The checkpoint it was read from; empty otherwise.
    """

    steps: int
    model: dict[str, Any]
    values: dict[str, Any]
    rows: np.ndarray
    arrays: dict[str, np.ndarray]
    replay: dict[str, np.ndarray] | None = None
    trackers: dict[str, Any] | None = None
    path: Path = Path()


def save(
    folder: Path,
    state: State,
    identity: dict[str, Any],
    *,
    keep: int,
    keep_every: int | None = None,
) -> Path:
    """Write a checkpoint, point ``latest`` at it and remove those that need not stay.

    Checkpoints of more steps are removed too: the run has gone back behind them.

    Parameters
    ----------
    folder : Path
        The ``checkpoints`` folder of a run.
    state : State
        Its steps name the checkpoint.
    identity : dict
        JSON values that a run must share to load it, such as env and state layout.
    keep : int
        Number of checkpoints that stay.
    keep_every : int, optional
        The first checkpoint at or behind each multiple of so many decisions stays for ever.

    Returns
    -------
    Path
        The folder of the checkpoint.
    """
    final = folder / f"ckpt_{state.steps:012d}"
    folder.mkdir(parents=True, exist_ok=True)
    files.remove_leftovers(folder)
    unfinished = folder / f".tmp-{os.getpid()}-{final.name}"
    unfinished.mkdir()
    _write_tensors(unfinished / "model.pt", state.model)
    values = json.dumps(state.values, allow_nan=False)
    (unfinished / "trainer.json").write_text(values, encoding="utf-8")
    width = state.rows.itemsize * math.prod(state.rows.shape[1:])
    rows = np.ascontiguousarray(state.rows).view(np.uint8).reshape(len(state.rows), width)
    named: dict[str, Any] = {"rows": rows, **state.arrays}
    np.savez(unfinished / "engine.npz", **named)
    if state.trackers is not None:
        _write_tensors(unfinished / TRACKERS, state.trackers)
    if state.replay is not None:
        np.savez(unfinished / REPLAY, **state.replay)  # type: ignore[arg-type]
    _write_manifest(unfinished, state.steps, identity)
    _put_in_place(unfinished, final)
    prune(folder, final, keep, keep_every)
    return final


def _write_tensors(path: Path, value: dict[str, Any]) -> None:
    # Not straight to the disk: of one that is full torch only says that a position is unexpected.
    content = io.BytesIO()
    torch.save(value, content)
    path.write_bytes(content.getbuffer())


def _write_manifest(unfinished: Path, steps: int, identity: dict[str, Any]) -> None:
    """Make the files of a checkpoint durable, and write their sizes and hashes."""
    present = [name for name in (*CONTENT, *OPTIONAL) if (unfinished / name).exists()]
    for name in present:
        files.sync_file(unfinished / name)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "steps": steps,
        "identity": identity,
        "files": {
            name: {
                "bytes": (unfinished / name).stat().st_size,
                "sha256": files.sha256(unfinished / name),
            }
            for name in present
        },
    }
    files.write_json(unfinished / "MANIFEST.json", manifest | {"sha256": _sha256_of(manifest)})


def _sha256_of(manifest: dict[str, Any]) -> str:
    """Hash a manifest without the field that holds its hash."""
    rest = {key: value for key, value in manifest.items() if key != "sha256"}
    return hash_json(rest)


def _put_in_place(unfinished: Path, final: Path) -> None:
    """Move a written checkpoint to its place, as the newest one."""
    if final.exists():  # the same steps again: the same content, as training is deterministic
        _remove(final)
    os.replace(unfinished, final)
    files.sync_folder(final.parent)
    files.write_text(final.parent / "latest", final.name + "\n")


def prune(folder: Path, newest: Path, keep: int, keep_every: int | None) -> None:
    """Remove the checkpoints of a run that need not stay, see :func:`save`.

    A run that is killed while it does so does it again when it is resumed.
    """
    for old in _find_superfluous(folder, newest, keep, keep_every):
        _remove(old)


def _find_superfluous(folder: Path, newest: Path, keep: int, keep_every: int | None) -> list[Path]:
    every = _list_all(folder)
    until = every.index(newest) + 1
    stay = set(every[max(0, until - keep) : until])
    if keep_every:
        block = 0
        for path in every[:until]:
            if (reached := steps_of(path) // keep_every) > block:
                block = reached
                stay.add(path)
    return [path for path in every if path not in stay]


def _remove(path: Path) -> None:
    """Remove a checkpoint, so that a part of it is never taken for a whole one."""
    aside = path.with_name(f".tmp-{os.getpid()}-removed")
    os.replace(path, aside)
    shutil.rmtree(aside)


def keep_only(folder: Path, steps: Collection[int]) -> None:
    """Remove all checkpoints of a folder but those of some numbers of decisions."""
    for path in _list_all(folder):
        if steps_of(path) not in steps:
            _remove(path)


def steps_of(path: Path) -> int:
    """Return the decisions at a checkpoint, from its name."""
    return int(path.name.removeprefix("ckpt_"))


def newest(folder: Path) -> Path | None:
    """Find the newest whole checkpoint of a run, None if there is none."""
    whole = list_whole(folder)
    pointer = folder / "latest"
    if pointer.is_file():
        named = folder / read_regular(pointer, 1000).decode(errors="replace").strip()
        if named in whole:
            return named
    return whole[-1] if whole else None


def load_newest(
    folder: Path, identity: dict[str, Any], warn: Callable[[str], None]
) -> State | None:
    """Read the newest checkpoint of a run that is whole, None if it has none at all.

    Parameters
    ----------
    folder : Path
        The ``checkpoints`` folder of a run.
    identity : dict
        See :func:`load`.
    warn : callable
        Takes one sentence if newer ones are damaged.

    Raises
    ------
    CheckpointError
        If there are checkpoints and none of them is whole, or the one to go on from is foreign.
    """
    first, every = newest(folder), _list_all(folder)
    if first is not None:  # it may not be the last one if the process was killed just then
        every = [*(path for path in every if path != first), first]
    reasons = []
    for path in reversed(every):
        try:
            state = load(path, identity)
        except DamagedCheckpointError as error:
            reasons.append(str(error))
            continue
        if reasons:
            warn(f"{reasons[0].rstrip('.')}: {path.name}, the newest whole one, is taken instead.")
        return state
    if every:
        raise CheckpointError(
            f"{folder.parent} has no whole checkpoint to go on from: "
            f"{reasons[0].removeprefix(str(folder)).lstrip('/')}"
        )
    return None


def load(path: Path, identity: dict[str, Any]) -> State:
    """Read a checkpoint but for its replay, checking every byte first.

    Parameters
    ----------
    path : Path
        Folder of the checkpoint.
    identity : dict
        What it must have been saved with.

    Raises
    ------
    DamagedCheckpointError
        If it is not what was saved.
    CheckpointError
        If it is of another format or of another environment, or holds something else.
    """
    manifest = _read_manifest(path)
    has_trackers = TRACKERS in manifest["files"]
    for name in (*CONTENT, *(name for name in OPTIONAL if name in manifest["files"])):
        _check_file(path / name, manifest["files"].get(name))
    check_identity(path, manifest["identity"], identity)
    model = _read(path / "model.pt", _read_tensors)
    values = _read(path / "trainer.json", _read_mapping)
    arrays = _read(path / "engine.npz", _read_lanes)
    trackers = _read(path / TRACKERS, _read_tensors) if has_trackers else None
    rows = arrays.pop("rows")
    steps = manifest["steps"]
    return State(steps, model, values, rows, arrays, trackers=trackers, path=path)


def read_replay(path: Path) -> dict[str, np.ndarray] | None:
    """Read what a checkpoint has stored to learn from, None if there is nothing.

    Raises
    ------
    CheckpointError
        If it is no archive of arrays.
    """
    file = path / REPLAY
    return _read(file, _read_arrays) if file.is_file() else None


def check_identity(path: Path, saved: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Refuse a checkpoint of another environment or network.

    Raises
    ------
    CheckpointError
        Naming the first difference.
    """
    if "state layout" in wanted and "state layout" not in saved:
        raise CheckpointError(
            f"{path} is of an exported agent, which cannot be trained on: begin a new run with it "
            "(native.warm_start)."
        )
    for key, value in wanted.items():
        its, here = saved.get(key), value
        if its == here:
            continue
        if isinstance(its, Mapping) and isinstance(here, Mapping):  # what is equal says nothing
            names = [name for name in {**here, **its} if its.get(name) != here.get(name)]
            its, here = ({name: each.get(name) for name in names} for each in (its, here))
        raise CheckpointError(
            f"{path} is foreign: its {key} is {show(its)}, here it is {show(here)}."
        )


def _check_file(file: Path, recorded: dict[str, Any] | None) -> None:
    try:
        same = recorded is not None and files.sha256(file) == recorded["sha256"]
    except FileError as error:
        raise DamagedCheckpointError(str(error)) from error
    if not same:
        raise DamagedCheckpointError(f"{file} is damaged: it is not the file that was saved.")


def _read(file: Path, content: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    """Read a file whose bytes are as they were saved, though any program may have made it.

    Raises
    ------
    CheckpointError
        If it is no file of a checkpoint.
    """
    try:
        return content(file)
    except Exception as error:  # parsers raise whatever comes to them, MemoryError included
        raise CheckpointError(
            f"{show_path(file)} cannot be read: it holds something else than a checkpoint's "
            f"tensors, numbers and rows ({show_reason(error)})."
        ) from error


def _read_tensors(file: Path) -> dict[str, Any]:
    check_zip(file, file.stat().st_size)  # nothing in it is compressed
    tensors = torch.load(file, map_location="cpu", weights_only=True)
    if not isinstance(tensors, dict):
        raise ValueError(f"a {type(tensors).__name__} in the place of a dict")
    return tensors


def _read_mapping(file: Path) -> dict[str, Any]:
    values = files.read_json(file)
    if not isinstance(values, dict):
        raise ValueError(f"a {type(values).__name__} in the place of an object")
    return values


def _read_arrays(file: Path) -> dict[str, np.ndarray]:
    return read_npz(file, file.stat().st_size)  # nothing in it is compressed


def _read_lanes(file: Path) -> dict[str, Any]:
    arrays = _read_arrays(file)
    rows = arrays["rows"]
    if rows.dtype != np.uint8 or rows.ndim != 2:
        raise ValueError(f"rows of {rows.dtype} and shape {rows.shape} in the place of bytes")
    return arrays


def copy_to_host(value: Any) -> Any:
    """Copy nested dicts and lists, with every tensor in host memory."""
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu", copy=True)
    if isinstance(value, dict):
        return {key: copy_to_host(item) for key, item in value.items()}
    return [copy_to_host(item) for item in value] if isinstance(value, list) else value


def identity_of(env: str, engine: Engine) -> dict[str, Any]:
    """Make the identity that a checkpoint must share with an environment to be played in it.

    Of observations that are no vectors of float32 every array counts, with its type and shape.
    """
    dtype, shape = np.dtype(engine.obs_dtype), tuple(engine.obs_shape)
    same = {"env": env.rpartition("/")[2]}
    if dtype == np.float32 and len(shape) == 1:
        return {**same, "observation length": shape[0]}
    parts = {name: part[0] for name, part in (dtype.fields or {}).items()}
    parts = parts or {"": np.dtype((dtype, shape))}
    arrays = [[name, str(part.base), list(part.shape)] for name, part in parts.items()]
    return {**same, "observation": arrays}


def identity_of_agent(config: Any, engine: Engine) -> dict[str, Any]:
    """Make the identity that a checkpoint must share with a run to be played as its agent.

    Parameters
    ----------
    config : RunConfig
    engine : Engine
        Of the run's environment.
    """
    return {**identity_of(config.env, engine), **config.identity}


def identity_of_rows(spec: GameSpec, lanes: int) -> dict[str, Any]:
    """Make the identity that a checkpoint must share with an engine to resume in its lanes.

    A layout is known by its first names: bytes that have another one now are the same.
    """
    dtype = spec.state_dtype if spec.former_dtype is None else spec.former_dtype
    layout = json.dumps([list(map(str, (dtype.fields or {}).items())), dtype.itemsize])
    return {"state layout": hashlib.sha256(layout.encode()).hexdigest()[:16], "lanes": lanes}


def _list_all(folder: Path) -> list[Path]:
    """List all checkpoints, whole or not, oldest first."""
    return sorted(p for p in folder.glob("ckpt_*") if p.name.removeprefix("ckpt_").isdecimal())


def list_whole(folder: Path) -> list[Path]:
    """List all whole checkpoints of a run, oldest first."""
    return [path for path in _list_all(folder) if (path / "MANIFEST.json").is_file()]


def _read_manifest(path: Path) -> dict[str, Any]:
    """Read and check the manifest of a checkpoint.

    Raises
    ------
    DamagedCheckpointError
        If it is not what was saved; earlier versions saved it without a hash.
    CheckpointError
        If it is of another format or version.
    """
    try:
        manifest = files.read_json(path / "MANIFEST.json")
        same = "sha256" not in manifest or manifest["sha256"] == _sha256_of(manifest)
        known = manifest["format"] == FORMAT and manifest["version"] == VERSION
        kinds = {"steps": int, "identity": dict, "files": dict}
        right = all(type(manifest[key]) is kind for key, kind in kinds.items())
        right = right and all(type(r["sha256"]) is str for r in manifest["files"].values())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedCheckpointError(
            f"{path} has no readable MANIFEST.json, so it is not whole."
        ) from error
    if not same:
        raise DamagedCheckpointError(f"{path / 'MANIFEST.json'} is damaged: its hash is wrong.")
    if not known:
        raise CheckpointError(f"{path} is foreign: not a checkpoint of this format and version.")
    if not right:
        raise DamagedCheckpointError(f"{path / 'MANIFEST.json'} is not that of a checkpoint.")
    return manifest


# -- written beside the training -------------------------------------------------------------------


class CheckpointWriter:
    """Writes snapshots to disk while the training goes on.

    Attributes
    ----------
    skipped : int
        Snapshots that were not taken because the one before was still being written.
    """

    def __init__(self) -> None:
        self.skipped = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="checkpoints")
        self._writing: tuple[int, Future[object]] | None = None

    @property
    def busy(self) -> bool:
        """Whether a checkpoint is being written, or :meth:`written` has yet to report it."""
        return self._writing is not None

    def start(self, steps: int, write: Callable[[], object]) -> None:
        """Begin to write the checkpoint of ``steps``; not while :attr:`busy`."""
        if self.busy:
            raise RuntimeError("a checkpoint is still being written")
        self._writing = steps, self._thread.submit(write)

    def written(self, wait: bool = False) -> int | None:
        """Return the steps of a checkpoint that has been written since the last call, else None.

        Parameters
        ----------
        wait : bool
            For the one that is being written.

        Raises
        ------
        CheckpointError
            If it could not be written.
        """
        if self._writing is None or not (wait or self._writing[1].done()):
            return None
        (steps, written), self._writing = self._writing, None
        try:
            written.result()
        except OSError as error:
            raise CheckpointError(
                f"the checkpoint at {steps:,} decisions could not be written ({error}): the "
                "one before it is complete; free disk space and use --resume."
            ) from error
        return steps

    def close(self) -> None:
        """Wait for what is being written and end the thread.

        Raises
        ------
        CheckpointError
            If it could not be written.
        """
        self._thread.shutdown()
        self.written(wait=True)

"""Checkpoints: folders that appear whole or not at all, and load without running code from them.

``ckpt_<steps>/`` holds ``model.pt`` (tensors and plain numbers, read with ``weights_only``),
``trainer.json`` (counters and generators), ``engine.npz`` (the state row of every lane),
``trackers.pt`` if the run has trackers, and ``MANIFEST.json`` (size and sha256 of each). ``latest``
names the newest. ``best/`` is such a folder of checkpoints too, with the one that was evaluated
best.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import pickle
import random
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fastenv import BatchEngine
from fastenv.errors import FastEnvError
from training.run import files

FORMAT = "fastenv-checkpoint"
VERSION = 1
CONTENT = ("model.pt", "trainer.json", "engine.npz")
TRACKERS = "trackers.pt"
BEST = "best"


class CheckpointError(FastEnvError, RuntimeError):
    """A checkpoint is missing, damaged or not of this run; the message says what is wrong."""


class DamagedCheckpointError(CheckpointError):
    """A checkpoint is not what was saved; one before it may be."""


@dataclass(frozen=True)
class Checkpoint:
    """What a training goes on from, or an evaluation plays with.

    Parameters
    ----------
    path : Path
    steps : int
        Decisions taken until then.
    model : dict
        Nested dicts and lists of tensors and plain numbers.
    trainer : dict
        JSON values.
    rows : ndarray of uint8, shape (lanes, bytes of a state row)
    arrays : dict of str to ndarray
        Further arrays of one entry a lane.
    trackers : dict or None
        Nested dicts of tensors and plain values; None if the run has no trackers.
    """

    path: Path
    steps: int
    model: dict[str, Any]
    trainer: dict[str, Any]
    rows: np.ndarray
    arrays: dict[str, np.ndarray]
    trackers: dict[str, Any] | None = None


def save(
    folder: Path,
    steps: int,
    *,
    identity: dict[str, Any],
    model: dict[str, Any],
    trainer: dict[str, Any],
    states: np.ndarray,
    arrays: dict[str, np.ndarray],
    trackers: dict[str, Any] | None = None,
    keep: int,
    keep_every: int | None = None,
) -> Path:
    """Write a checkpoint, point ``latest`` at it and remove those that need not stay.

    Checkpoints of more steps are removed too: the run has gone back behind them.

    Parameters
    ----------
    folder : Path
        The ``checkpoints`` folder of a run.
    steps : int
        Decisions taken until now; names the checkpoint.
    identity : dict
        JSON values that a run must share to load it, such as env and state layout.
    model, trainer, arrays, trackers : dict
        See :class:`Checkpoint`.
    states : ndarray, shape (lanes,)
        State rows of the engine.
    keep : int
        Number of checkpoints that stay.
    keep_every : int, optional
        The first checkpoint at or behind each multiple of so many decisions stays for ever.

    Returns
    -------
    Path
        The folder of the checkpoint.
    """
    final = folder / f"ckpt_{steps:012d}"
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(".tmp-*"):  # by a process that was killed
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    unfinished = folder / f".tmp-{os.getpid()}-{final.name}"
    unfinished.mkdir()
    _write_tensors(unfinished / "model.pt", model)
    (unfinished / "trainer.json").write_text(json.dumps(trainer, allow_nan=False), encoding="utf-8")
    width = states.itemsize * math.prod(states.shape[1:])
    rows = np.ascontiguousarray(states).view(np.uint8).reshape(len(states), width)
    np.savez(unfinished / "engine.npz", rows=rows, **arrays)
    if trackers is not None:
        _write_tensors(unfinished / TRACKERS, trackers)
    content = CONTENT if trackers is None else (*CONTENT, TRACKERS)
    for name in content:
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
            for name in content
        },
    }
    files.write_json(unfinished / "MANIFEST.json", manifest)
    if final.exists():  # the same steps again: the same content, as training is deterministic
        _remove(final)
    os.replace(unfinished, final)
    files.sync_folder(folder)
    files.write_text(folder / "latest", final.name + "\n")
    for old in _superfluous(folder, final, keep, keep_every):
        _remove(old)
    return final


def _write_tensors(path: Path, value: dict[str, Any]) -> None:
    # Not straight to the disk: of one that is full torch only says that a position is unexpected.
    content = io.BytesIO()
    torch.save(value, content)
    path.write_bytes(content.getbuffer())


def _superfluous(folder: Path, newest: Path, keep: int, keep_every: int | None) -> list[Path]:
    every = _every(folder)
    until = every.index(newest) + 1
    stay = set(every[max(0, until - keep) : until])
    block = 0
    for path in every[:until] if keep_every else ():
        if (reached := int(path.name.removeprefix("ckpt_")) // keep_every) > block:
            block = reached
            stay.add(path)
    return [path for path in every if path not in stay]


def _remove(path: Path) -> None:
    """Remove a checkpoint, such that no half of it is ever taken for one."""
    aside = path.with_name(f".tmp-{os.getpid()}-removed")
    os.replace(path, aside)
    shutil.rmtree(aside)


def newest(folder: Path) -> Path | None:
    """Return the newest whole checkpoint of a run, None if there is none."""
    found = whole(folder)
    pointer = folder / "latest"
    if pointer.is_file():
        named = folder / pointer.read_text(encoding="utf-8", errors="replace").strip()
        if named in found:
            return named
    return found[-1] if found else None


def load_newest(
    folder: Path, identity: dict[str, Any], warn: Callable[[str], None]
) -> Checkpoint | None:
    """Read the newest checkpoint of a run that is whole, None if it has none at all.

    Parameters
    ----------
    folder : Path
        The ``checkpoints`` folder of a run.
    identity : dict
        See :func:`load`.
    warn : callable
        Is told in one sentence if newer ones are damaged.

    Raises
    ------
    CheckpointError
        If there are checkpoints and none of them is whole, or the one to go on from is foreign.
    """
    first, every = newest(folder), _every(folder)
    if first is not None:  # it may not be the last one if the process was killed just then
        every = [*(path for path in every if path != first), first]
    reasons = []
    for path in reversed(every):
        try:
            found = load(path, identity)
        except DamagedCheckpointError as error:
            reasons.append(str(error))
            continue
        if reasons:
            warn(f"{reasons[0].rstrip('.')}: {path.name}, the newest whole one, is taken instead.")
        return found
    if every:
        raise CheckpointError(
            f"{folder.parent} has no whole checkpoint to go on from: "
            f"{reasons[0].removeprefix(str(folder)).lstrip('/')}"
        )
    return None


def load(path: Path, identity: dict[str, Any]) -> Checkpoint:
    """Read a checkpoint, checking every byte first.

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
    manifest = _manifest(path)
    has_trackers = TRACKERS in manifest["files"]
    for name in (*CONTENT, TRACKERS) if has_trackers else CONTENT:
        recorded = manifest["files"].get(name)
        file = path / name
        if recorded is None or not file.is_file() or files.sha256(file) != recorded["sha256"]:
            raise DamagedCheckpointError(f"{file} is damaged: it is not the file that was saved.")
    for key, value in identity.items():
        saved = manifest["identity"].get(key)
        if saved != value:
            raise CheckpointError(
                f"{path} is foreign: its {key} is {saved!r}, here it is {value!r}."
            )
    try:
        model = torch.load(path / "model.pt", map_location="cpu", weights_only=True)
        trainer = json.loads((path / "trainer.json").read_text(encoding="utf-8"))
        with np.load(path / "engine.npz", allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        rows = arrays.pop("rows")
        trackers = torch.load(path / TRACKERS, weights_only=True) if has_trackers else None
    except (
        *(OSError, ValueError, KeyError, RuntimeError, EOFError),
        *(pickle.UnpicklingError, zipfile.BadZipFile),
    ) as error:
        raise CheckpointError(
            f"{path} cannot be read ({type(error).__name__}): it holds something else than "
            "tensors, numbers and rows."
        ) from error
    return Checkpoint(path, int(manifest["steps"]), model, trainer, rows, arrays, trackers)


def to_host(value: Any) -> Any:
    """Return nested dicts and lists with every tensor copied to host memory."""
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu", copy=True)
    if isinstance(value, dict):
        return {key: to_host(item) for key, item in value.items()}
    return [to_host(item) for item in value] if isinstance(value, list) else value


def identity_of(env: str, engine: BatchEngine) -> dict[str, Any]:
    """Return what a checkpoint must share with an environment to be played in it.

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


def identity_of_rows(state_dtype: np.dtype, lanes: int) -> dict[str, Any]:
    """Return what else it must share with an engine to go on in its lanes."""
    layout = json.dumps([list(map(str, state_dtype.fields.items())), state_dtype.itemsize])
    return {"state layout": hashlib.sha256(layout.encode()).hexdigest()[:16], "lanes": lanes}


def _every(folder: Path) -> list[Path]:
    """Return all checkpoints, whole or not, oldest first."""
    return sorted(p for p in folder.glob("ckpt_*") if p.name.removeprefix("ckpt_").isdecimal())


def whole(folder: Path) -> list[Path]:
    """Return all whole checkpoints of a run, oldest first."""
    return [path for path in _every(folder) if (path / "MANIFEST.json").is_file()]


def _manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((path / "MANIFEST.json").read_text(encoding="utf-8"))
        known = manifest["format"] == FORMAT and manifest["version"] == VERSION
        known = known and all(isinstance(manifest[key], dict) for key in ("identity", "files"))
        int(manifest["steps"])
        known = known and all(isinstance(r["sha256"], str) for r in manifest["files"].values())
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedCheckpointError(
            f"{path} has no readable MANIFEST.json, so it is not whole."
        ) from error
    if not known:
        raise CheckpointError(f"{path} is foreign: not a checkpoint of this format and version.")
    return manifest


# -- generators ------------------------------------------------------------------------------------


def global_generators() -> dict[str, Any]:
    """Return the states of Python's and NumPy's global generators as JSON values."""
    version, words, gauss = random.getstate()
    legacy = np.random.get_state(legacy=False)  # noqa: NPY002 (stock trainers draw from it)
    legacy["state"] = {"key": legacy["state"]["key"].tolist(), "pos": int(legacy["state"]["pos"])}
    return {"python": [version, list(words), gauss], "numpy": legacy}


def set_global_generators(saved: dict[str, Any]) -> None:
    """Put back what :func:`global_generators` returned."""
    version, words, gauss = saved["python"]
    random.setstate((version, tuple(words), gauss))
    legacy = dict(saved["numpy"])
    key = np.array(legacy["state"]["key"], np.uint32)
    legacy["state"] = {"key": key, "pos": legacy["state"]["pos"]}
    np.random.set_state(legacy)  # noqa: NPY002


@contextmanager
def generators_kept() -> Iterator[None]:
    """Leave the global generators as they were, whatever draws from them meanwhile."""
    saved, drawn = global_generators(), torch.get_rng_state()
    try:
        yield
    finally:
        set_global_generators(saved)
        torch.set_rng_state(drawn)

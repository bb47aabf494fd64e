"""Checkpoints: folders that appear whole or not at all, and load without running code from them.

``ckpt_<steps>/`` holds ``model.pt`` (tensors and plain numbers, read with ``weights_only``),
``trainer.json`` (counters and generators), ``engine.npz`` (the state row of every lane) and
``MANIFEST.json`` (size and sha256 of each). ``latest`` names the newest.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import pickle
import random
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fastenv.errors import FastEnvError
from training import files

FORMAT = "fastenv-checkpoint"
VERSION = 1
CONTENT = ("model.pt", "trainer.json", "engine.npz")


class CheckpointError(FastEnvError, RuntimeError):
    """A checkpoint is missing, damaged or not of this run; the message says what is wrong."""


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
    """

    path: Path
    steps: int
    model: dict[str, Any]
    trainer: dict[str, Any]
    rows: np.ndarray
    arrays: dict[str, np.ndarray]


def save(
    folder: Path,
    steps: int,
    *,
    identity: dict[str, Any],
    model: dict[str, Any],
    trainer: dict[str, Any],
    states: np.ndarray,
    arrays: dict[str, np.ndarray],
    keep: int,
) -> Path:
    """Write a checkpoint, point ``latest`` at it and remove the oldest ones.

    Parameters
    ----------
    folder : Path
        The ``checkpoints`` folder of a run.
    steps : int
        Decisions taken until now; names the checkpoint.
    identity : dict
        JSON values that a run must share to load it, such as env and state layout.
    model, trainer, arrays : dict
        See :class:`Checkpoint`.
    states : ndarray, shape (lanes,)
        State rows of the engine.
    keep : int
        Number of checkpoints that stay.

    Returns
    -------
    Path
        The folder of the checkpoint.
    """
    final = folder / f"ckpt_{steps:012d}"
    unfinished = folder / f".tmp-{os.getpid()}-{final.name}"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    torch.save(model, unfinished / "model.pt")
    (unfinished / "trainer.json").write_text(json.dumps(trainer, allow_nan=False), encoding="utf-8")
    width = states.itemsize * math.prod(states.shape[1:])
    rows = np.ascontiguousarray(states).view(np.uint8).reshape(len(states), width)
    np.savez(unfinished / "engine.npz", rows=rows, **arrays)
    for name in CONTENT:
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
            for name in CONTENT
        },
    }
    files.write_json(unfinished / "MANIFEST.json", manifest)
    if final.exists():  # the same steps again: the same content, as training is deterministic
        shutil.rmtree(final)
    os.replace(unfinished, final)
    files.sync_folder(folder)
    files.write_text(folder / "latest", final.name + "\n")
    for old in _whole(folder)[:-keep]:
        shutil.rmtree(old)
    return final


def newest(folder: Path) -> Path | None:
    """Return the newest whole checkpoint of a run, None if there is none."""
    whole = _whole(folder)
    pointer = folder / "latest"
    if pointer.is_file():
        named = folder / pointer.read_text(encoding="utf-8", errors="replace").strip()
        if named in whole:
            return named
    return whole[-1] if whole else None


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
    CheckpointError
        If it is damaged, of another format, or of another environment.
    """
    manifest = _manifest(path)
    for name in CONTENT:
        recorded = manifest["files"].get(name)
        file = path / name
        if recorded is None or not file.is_file() or files.sha256(file) != recorded["sha256"]:
            raise CheckpointError(
                f"{file} is damaged: it is not the file that was saved; remove {path} to go on "
                "from the checkpoint before it."
            )
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
    except (
        *(OSError, ValueError, KeyError, RuntimeError, EOFError),
        *(pickle.UnpicklingError, zipfile.BadZipFile),
    ) as error:
        raise CheckpointError(
            f"{path} cannot be read ({type(error).__name__}): it holds something else than "
            "tensors, numbers and rows."
        ) from error
    return Checkpoint(path, int(manifest["steps"]), model, trainer, rows, arrays)


def identity_of(env: str, obs_dim: int) -> dict[str, Any]:
    """Return what a checkpoint must share with an environment to be played in it."""
    return {"env": env.rpartition("/")[2], "observation length": int(obs_dim)}


def identity_of_rows(state_dtype: np.dtype, lanes: int) -> dict[str, Any]:
    """Return what else it must share with an engine to go on in its lanes."""
    layout = json.dumps([list(map(str, state_dtype.fields.items())), state_dtype.itemsize])
    return {"state layout": hashlib.sha256(layout.encode()).hexdigest()[:16], "lanes": lanes}


def _whole(folder: Path) -> list[Path]:
    return sorted(p for p in folder.glob("ckpt_*") if (p / "MANIFEST.json").is_file())


def _manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((path / "MANIFEST.json").read_text(encoding="utf-8"))
        known = manifest["format"] == FORMAT and manifest["version"] == VERSION
        known = known and all(isinstance(manifest[key], dict) for key in ("identity", "files"))
        int(manifest["steps"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
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

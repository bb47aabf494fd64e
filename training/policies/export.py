"""A small run folder with one checkpoint, which holds what decides the play alone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from training.evaluation.trained import load
from training.run import checkpoint, files, trainers
from training.run.folder import RunError, RunFolder

# Parts of a native network that do not decide what is played.
_VALUE = ("value_tower.", "value_head.", "value_intrinsic.")


def export(run: RunFolder, folder: Path, name: str | None = None, *, half: bool = False) -> Path:
    """Write the network of a run's checkpoint as a run folder of its own.

    Parameters
    ----------
    run : RunFolder
    folder : Path
        Must not be there yet.
    name : str, optional
        Checkpoint; default the newest.
    half : bool
        Keep parameters as float16, half as large; they are float32 again where they are played.

    Returns
    -------
    Path
        The checkpoint that was written.

    Raises
    ------
    RunError, CheckpointError
        If ``folder`` is there already, or the run has no such whole checkpoint.
    """
    if folder.exists():
        raise RunError(f"{folder} is there already: name a new folder.")
    trained = load(run, name)
    saved = checkpoint.load(trained.path, {})
    unfinished = folder.with_name(f".tmp-{os.getpid()}-{folder.name}")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    shutil.copyfile(run.path / "config.json", unfinished / "config.json")
    written = checkpoint.save(
        unfinished / "checkpoints",
        saved.steps,
        identity=trainers.get_module(run.config.trainer).identity(run, trained.engine()),
        model={"policy": _player(saved.model["policy"], half)},
        trainer={"exported_from": run.name},
        states=np.zeros((0, saved.rows.shape[1]), np.uint8),
        arrays={},
        keep=1,
    )
    os.rename(unfinished, folder)
    files.sync_folder(folder.parent)
    return folder / "checkpoints" / written.name


def _player(parameters: Mapping[str, Any], half: bool) -> dict[str, Any]:
    """Return the parameters, of one network or of several by name, without those of the values."""
    return {
        name: _player(value, half) if isinstance(value, Mapping) else _rounded(value, half)
        for name, value in parameters.items()
        if not name.startswith(_VALUE)
    }


def _rounded(value: Any, half: bool) -> Any:
    """Return a tensor of floats in half precision if that is wanted, anything else as it is."""
    return value.half() if half and value.is_floating_point() else value

"""Agents to give away: small folders that hold what decides the play alone.

One is a run folder with one checkpoint. The other has its weights as safetensors, and a card, for
hubs of models.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from training.players import card
from training.players.trained import Trained, load, read_again
from training.run import checkpoint, files, trainers, weights
from training.run.folder import WEIGHTS, RunError, RunFolder


def export(
    run: RunFolder,
    folder: Path,
    name: str | None = None,
    *,
    half: bool = False,
    values: bool = False,
) -> Path:
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
    values : bool
        Keep the network of the values too, which decides nothing.

    Returns
    -------
    Path
        The checkpoint that was written.

    Raises
    ------
    RunError, CheckpointError
        If ``folder`` is there already, or the run has no such whole checkpoint.
    """
    trained = _load(run, folder, name)
    saved = read_again(trained)
    with _whole(folder) as unfinished:
        shutil.copyfile(run.path / "config.json", unfinished / "config.json")
        written = checkpoint.save(
            unfinished / "checkpoints",
            saved.steps,
            identity=_identity(run, trained),
            model={"policy": _kept(saved.model["policy"], half, values)},
            trainer={"exported_from": run.name},
            states=np.zeros((0, saved.rows.shape[1]), np.uint8),
            arrays={},
            keep=1,
        )
    return folder / "checkpoints" / written.name


def export_for_hub(
    run: RunFolder,
    folder: Path,
    name: str | None = None,
    *,
    half: bool = False,
    values: bool = False,
    make_card: Callable[[RunFolder, Trained], str],
) -> Path:
    """Write the network of a run's checkpoint as a folder that can be uploaded to a hub of models.

    It has ``model.safetensors``, ``config.json`` and the card ``README.md``: the one in the folder
    of the run if it has metadata, else one of what the run knows. ``load_policy`` reads it.

    Parameters
    ----------
    run, folder, name, half, values
        See :func:`export`.
    make_card : callable
        Writes the card of what a run knows.

    Returns
    -------
    Path
        The file of weights.

    Raises
    ------
    RunError, CheckpointError
        See :func:`export`.
    ConfigError
        If the card of the run cannot be read by hubs.
    ImportError
        Without safetensors.
    """
    trained = _load(run, folder, name)
    text = card.read(run.path) or make_card(run, trained)
    saved = read_again(trained)
    policy = _kept(saved.model["policy"], half, values)
    with _whole(folder) as unfinished:
        shutil.copyfile(run.path / "config.json", unfinished / "config.json")
        weights.save(unfinished / WEIGHTS, saved.steps, _identity(run, trained), policy)
        files.write_text(unfinished / card.FILE, text)
    return folder / WEIGHTS


def network_in(folder: Path) -> Path | None:
    """Return the one file of safetensors in a folder that holds no agent, None without one."""
    found = [] if (folder / "config.json").exists() else sorted(folder.glob("*.safetensors"))
    return found[0] if len(found) == 1 else None


def copy_network(file: Path, folder: Path) -> Path:
    """Copy a network that is no agent, and its card, into a folder that can be uploaded.

    Raises
    ------
    RunError
        If ``folder`` is there already, or the network has no card.
    ConfigError
        If hubs cannot read the card.
    """
    _refuse_taken(folder)
    text = card.read(file.parent)
    if text is None:
        raise RunError(f"{file.parent} has no {card.FILE} with metadata: write its card first.")
    with _whole(folder) as unfinished:
        shutil.copyfile(file, unfinished / file.name)
        files.write_text(unfinished / card.FILE, text)
    return folder / file.name


def _load(run: RunFolder, folder: Path, name: str | None) -> Trained:
    """Read what is exported, unless its place is taken."""
    _refuse_taken(folder)
    return load(run, name)


def _refuse_taken(folder: Path) -> None:
    if folder.exists():
        raise _taken(folder)


def _taken(folder: Path) -> RunError:
    return RunError(f"{folder} is there already: name a new folder.")


@contextmanager
def _whole(folder: Path) -> Iterator[Path]:
    """Make a folder that appears under its name once all is in it."""
    with files.temporary_folder(folder.parent) as aside:
        unfinished = aside / folder.name
        unfinished.mkdir()
        yield unfinished
        if not files.put_in_place(unfinished, folder):  # another export was quicker
            raise _taken(folder)


def _identity(run: RunFolder, trained: Trained) -> dict[str, Any]:
    found: dict[str, Any] = trainers.get_module(run.config.trainer).identity(run, trained.engine())
    return found


def _kept(parameters: Mapping[str, Any], half: bool, values: bool) -> dict[str, Any]:
    """Return the parameters, of one network or of several by name, without those left out."""
    return {
        name: _kept(value, half, values) if isinstance(value, Mapping) else _rounded(value, half)
        for name, value in parameters.items()
        if values or not name.startswith(checkpoint.VALUE)
    }


def _rounded(value: Any, half: bool) -> Any:
    """Return a tensor of floats in half precision if that is wanted, anything else as it is."""
    return value.half() if half and value.is_floating_point() else value

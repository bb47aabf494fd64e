"""Export of agents: small folders with the parameters that decide the play, and no others.

One kind is a run folder with one checkpoint. The other has its weights as safetensors, and a card,
for hubs of models.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from training.players import card
from training.players.trained import TrainedAgent, load, read_again
from training.run import checkpoint, files, weights
from training.run.folder import WEIGHTS, RunError, RunFolder
from training.run.options import require

# Beginning of the names of what observations are scaled by: float16 ends at 65,504, counts do not.
SCALE = "encoder.scale."


def export(
    run: RunFolder,
    folder: Path,
    name: str | None = None,
    *,
    half: bool = False,
    values: bool = False,
    average: bool = False,
    make_card: Callable[[RunFolder, TrainedAgent], str] | None = None,
) -> Path:
    """Write the network of a run's checkpoint as a folder of its own; ``load_policy`` reads it.

    It is a run folder with one checkpoint. With ``make_card`` it can be uploaded to a hub of
    models: it has ``model.safetensors``, ``config.json`` and the card ``README.md``, which is the
    one in the folder of the run if that has metadata, else one written from that folder.

    Parameters
    ----------
    run : RunFolder
    folder : Path
        Must not be there yet.
    name : str, optional
        Checkpoint; default the newest.
    half : bool
        Keep parameters as float16, half as large; they are float32 again where they are played.
        The scale of observations stays as it is.
    values : bool
        Keep the network of the values too, which decides nothing.
    average : bool
        Write the averaged policy of self-play in place of the last one.
    make_card : callable, optional
        Writes a card from the folder of a run.

    Returns
    -------
    Path
        The checkpoint that was written, or the file of weights.

    Raises
    ------
    RunError, CheckpointError
        If ``folder`` is there already, or the run has no such whole checkpoint.
    ConfigError
        If the run keeps no average, or hubs cannot read its card.
    ImportError
        Without safetensors, for a hub.
    """
    refuse_taken(folder)
    trained = load(run, name)
    text = "" if make_card is None else card.read(run.path) or make_card(run, trained)
    saved = read_again(trained.path)
    parameters = saved.model["policy"]
    if average:
        kept = (saved.model.get("auxiliary") or {}).get(checkpoint.AVERAGE)
        allowed = f"left out: {run.name} keeps no averaged policy (selfplay.average)"
        require(kept is not None, "--average", True, allowed)
        parameters = kept
    policy = _select_parameters(parameters, half, values)
    identity = checkpoint.identity_of_agent(run.config, trained.engine())
    with _make_whole(folder) as unfinished:
        shutil.copyfile(run.path / "config.json", unfinished / "config.json")
        if make_card is not None:
            weights.save(unfinished / WEIGHTS, saved.steps, identity, policy)
            files.write_text(unfinished / card.FILE, text)
            return folder / WEIGHTS
        rows = np.zeros((0, saved.rows.shape[1]), np.uint8)
        state = checkpoint.State(
            saved.steps, {"policy": policy}, {"exported_from": run.name}, rows, arrays={}
        )
        written = checkpoint.save(unfinished / "checkpoints", state, identity, keep=1)
        return folder / "checkpoints" / written.name


def network_in(folder: Path) -> Path | None:
    """Find the one file of safetensors in a folder that holds no agent; None without one."""
    networks = [] if (folder / "config.json").exists() else sorted(folder.glob("*.safetensors"))
    return networks[0] if len(networks) == 1 else None


def copy_network(file: Path, folder: Path) -> Path:
    """Copy a network that is no agent, and its card, into a folder that can be uploaded.

    Raises
    ------
    RunError
        If ``folder`` is there already, or the network has no card.
    ConfigError
        If hubs cannot read the card.
    """
    refuse_taken(folder)
    text = card.read(file.parent)
    if text is None:
        raise RunError(f"{file.parent} has no {card.FILE} with metadata: write its card first.")
    with _make_whole(folder) as unfinished:
        shutil.copyfile(file, unfinished / file.name)
        files.write_text(unfinished / card.FILE, text)
    return folder / file.name


def refuse_taken(folder: Path) -> None:
    """Refuse a folder that is there already; RunError."""
    if folder.exists():
        raise _taken(folder)


def _taken(folder: Path) -> RunError:
    return RunError(f"{folder} is there already: name a new folder.")


@contextmanager
def _make_whole(folder: Path) -> Iterator[Path]:
    """Make a folder that appears under its name once all is in it."""
    with files.temporary_folder(folder.parent) as aside:
        unfinished = aside / folder.name
        unfinished.mkdir()
        yield unfinished
        if not files.put_in_place(unfinished, folder):  # another export was quicker
            raise _taken(folder)


def _select_parameters(parameters: Mapping[str, Any], half: bool, values: bool) -> dict[str, Any]:
    """Select the parameters to export, of one network or of several by name."""
    return {
        name: _select_parameters(value, half, values)
        if isinstance(value, Mapping)
        else _halve(value, half and not name.startswith(SCALE))
        for name, value in parameters.items()
        if values or not name.startswith(checkpoint.VALUE)
    }


def _halve(value: Any, half: bool) -> Any:
    """Convert a tensor of floats to half precision if ``half``; anything else stays as it is."""
    return value.half() if half and value.is_floating_point() else value

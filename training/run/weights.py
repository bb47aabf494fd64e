"""The weights of an agent in safetensors, as hubs of models keep them.

``model.safetensors`` stands beside ``config.json`` in the place of ``checkpoints/``. It holds the
parameters that decide the play. Its metadata say after how many decisions they were taken and what
an environment must share with them. No training goes on from it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fastenv.errors import FileError, show_reason
from fastenv.files import open_regular, parse_json, show_path
from training.run import files
from training.run.checkpoint import CheckpointError, DamagedCheckpointError, State, check_identity
from training.run.options import canonical_json

FORMAT = {"format": "fastenv-agent", "version": "1"}
MOST = 1 << 33  # bytes of a file
_WRONG = (TypeError, ValueError, RuntimeError)  # of what a stranger may have written
BETWEEN = "/"  # the names of nested networks, such as worker/trunk.0.weight


def save(path: Path, steps: int, identity: Mapping[str, Any], policy: Mapping[str, Any]) -> None:
    """Write the parameters of an agent.

    Parameters
    ----------
    path : Path
    steps : int
        Decisions after which they were taken.
    identity : mapping
        See :func:`training.run.checkpoint.save`.
    policy : mapping
        Nested mappings of tensors.

    Raises
    ------
    CheckpointError
        If there is something else than tensors among them.
    ImportError
        Without safetensors.
    """
    library, tensors = load_library("Weights of agents"), dict(_flatten(policy))
    for name, value in tensors.items():
        if not isinstance(value, torch.Tensor):
            kind = type(value).__name__
            raise CheckpointError(f"{name} of the policy is a {kind}: must be a tensor to export.")
    tensors = {name: value.detach().clone().contiguous() for name, value in tensors.items()}
    about = {"steps": steps, "identity": identity, "sha256": digest(tensors)}
    head = {**FORMAT, "about": canonical_json(about)}
    files.write_bytes(path, library.torch.save(tensors, head))


def load(path: Path, identity: Mapping[str, Any]) -> State:
    """Read the parameters of an agent, checking every byte.

    Parameters
    ----------
    path : Path
    identity : mapping
        What they must have been saved with.

    Returns
    -------
    State
        Without rows, trainer and trackers.

    Raises
    ------
    DamagedCheckpointError
        If the file is not what was saved.
    CheckpointError
        If it is of another format or of another environment.
    ImportError
        Without safetensors.
    """
    library = load_library("Weights of agents")
    try:
        head, tensors = read_tensors(library, path, MOST)
        if {name: head.get(name) for name in FORMAT} != FORMAT:
            raise CheckpointError(f"{show_path(path)} is foreign: no agent of this version.")
        steps, saved, expected = _parse_about(head["about"])
        same, policy = expected == digest(tensors), _nest(tensors)
    except (library.SafetensorError, FileError, LookupError, OSError, *_WRONG) as error:
        raise DamagedCheckpointError(
            f"{show_path(path)} cannot be read as weights of an agent ({show_reason(error)})."
        ) from error
    if not same:
        raise DamagedCheckpointError(f"{show_path(path)} is damaged: its hash is wrong.")
    check_identity(path, saved, identity)
    rows = np.zeros((0, 0), np.uint8)
    return State(steps, {"policy": policy}, {}, rows, {}, path=path)


def load_library(what: str) -> Any:
    """Import the library ``safetensors``.

    Parameters
    ----------
    what : str
        What needs it, for the message.

    Raises
    ------
    ImportError
        It is not installed; the message says how.
    """
    try:
        import safetensors
        import safetensors.torch
    except ImportError as error:
        raise ImportError(f"{what} need safetensors: pip install '.[train]'.") from error
    return safetensors


def read_tensors(
    library: Any, path: Path, most: int
) -> tuple[dict[str, str], dict[str, torch.Tensor]]:
    """Read the metadata and the tensors of a file of at most so many bytes."""
    with open_regular(path, most), library.safe_open(path, "pt") as file:
        return file.metadata() or {}, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def _parse_about(text: str) -> tuple[int, dict[str, Any], str]:
    about = parse_json(text, "what it says of itself")
    steps, identity, expected = about["steps"], about["identity"], about["sha256"]
    if type(steps) is not int or type(identity) is not dict or type(expected) is not str:
        raise ValueError("steps, identity or sha256 are of another kind")
    return steps, identity, expected


def _flatten(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{before}{name}{BETWEEN}")
        else:
            yield before + name, value


def _nest(tensors: Mapping[str, torch.Tensor]) -> dict[str, Any]:
    """Nest tensors by their flattened names."""
    nested: dict[str, Any] = {}
    for name, value in tensors.items():
        *outer, last = name.split(BETWEEN)
        inner = nested
        for part in outer:
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                raise ValueError(f"{part} is a tensor and a network at once")
        inner[last] = value
    return nested


def digest(tensors: Mapping[str, torch.Tensor]) -> str:
    """Hash names, types, shapes and numbers by sha256."""
    sha256 = hashlib.sha256()
    for name, value in sorted(tensors.items()):
        sha256.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
        sha256.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return sha256.hexdigest()

"""Weights in safetensors: those of an agent, and files of single networks.

An agent's, as hubs of models keep them: ``model.safetensors`` stands beside ``config.json`` in the
place of ``checkpoints/``. It holds the parameters that decide the play. Its metadata say after how
many decisions they were taken and what an environment must share with them. No training goes on
from it.

A single network is neither agent nor checkpoint (:class:`NetworkFile`). The metadata name the
format and, of networks that have options, hold these as JSON: the network is made from them before
it is given its numbers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from fastenv.errors import ConfigError, FileError, show, show_reason
from fastenv.files import open_regular, parse_json, show_path
from training.run import files
from training.run.checkpoint import CheckpointError, DamagedCheckpointError, State, check_identity
from training.run.options import Options, canonical_json, require

FORMAT = {"format": "fastenv-agent", "version": "1"}
MOST = 1 << 33  # bytes of a file
MOST_OF_NETWORK = 1 << 27  # bytes of a file of a single network
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
        if not isinstance(value, Tensor):
            kind = type(value).__name__
            raise CheckpointError(f"{name} of the policy is a {kind}: must be a tensor to export.")
    about = {"steps": steps, "identity": identity, "sha256": digest(tensors)}
    _write(library, path, tensors, {**FORMAT, "about": canonical_json(about)})


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
        head, tensors = _read(library, path, MOST)
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


def _write(
    library: Any, path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, str]
) -> None:
    """Write tensors, each as a copy of its own, and texts about them."""
    own = {name: value.detach().clone().contiguous() for name, value in tensors.items()}
    files.write_bytes(path, library.torch.save(own, dict(about)))


def _read(library: Any, path: Path, most: int) -> tuple[dict[str, str], dict[str, Tensor]]:
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


def _nest(tensors: Mapping[str, Tensor]) -> dict[str, Any]:
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


def digest(tensors: Mapping[str, Tensor]) -> str:
    """Hash names, types, shapes and numbers by sha256."""
    sha256 = hashlib.sha256()
    for name, value in sorted(tensors.items()):
        sha256.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
        sha256.update(value.detach().cpu().reshape(-1).view(torch.uint8).numpy().data)
    return sha256.hexdigest()


# -- single networks -------------------------------------------------------------------------------


class NetworkOptions(Options):
    """Options that make a network."""

    def net(self) -> nn.Module:
        """Make a new network."""
        raise NotImplementedError


OptionsT = TypeVar("OptionsT", bound=NetworkOptions)


@dataclass(frozen=True)
class NetworkFile:
    """A kind of files of single networks.

    Parameters
    ----------
    format : str
        In the metadata.
    kind : str
        What a file holds, in words.
    option : str
        What names such a file, in messages.
    command : str
        What writes one.
    """

    format: str
    kind: str
    option: str
    command: str

    def save(self, path: Path, head: NetworkOptions, net: nn.Module) -> None:
        """Write a network with its options.

        Raises
        ------
        ImportError
            Without safetensors.
        """
        self.write(path, net.state_dict(), {"head": json.dumps(head.to_dict())})

    def write(self, path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, str]) -> None:
        """Write tensors, and texts about them; see :meth:`save`."""
        _write(self.library(), path, tensors, {"format": self.format, **about})

    def load(self, path: Path, head: type[OptionsT]) -> tuple[OptionsT, Any]:
        """Read a network.

        Parameters
        ----------
        path : Path
        head : type
            Of its options, whose ``net()`` makes it.

        Returns
        -------
        head : NetworkOptions
        net : Module
            In float32, whatever the file holds.

        Raises
        ------
        ConfigError
            If it is none of this kind, or damaged.
        ImportError
            Without safetensors.
        """
        about, tensors = self.read(path)
        try:
            values = parse_json(about["head"], "its head")
        except FileError as error:
            raise self._make_refusal(path, error) from error
        except (KeyError, ValueError) as error:
            raise ConfigError(f"{path} is no {self.kind}: {show_reason(error)}.") from error
        try:
            options = head.from_mapping(values)
        except ConfigError as error:
            raise ConfigError(f"{self.kind} {path}: {error}") from error
        net: Any = options.net()
        self.fill(path, net, tensors)
        return options, net

    def read(self, path: Path) -> tuple[dict[str, str], dict[str, Tensor]]:
        """Read what :meth:`write` has written, the texts first; errors as of :meth:`load`."""
        library, allowed = self.library(), f"a file that {self.command} has written"
        try:
            about, tensors = _read(library, path, MOST_OF_NETWORK)
        except FileError as error:
            raise self._make_refusal(path, error) from error
        except (library.SafetensorError, KeyError, ValueError, OSError) as error:
            raise ConfigError(f"{path} is no {self.kind}: {show_reason(error)}.") from error
        require(about.get("format") == self.format, self.option, str(path), allowed)
        return about, tensors

    def fill(self, path: Path, net: nn.Module, tensors: Mapping[str, Tensor]) -> None:
        """Give a network the numbers of a file, in float32; errors as of :meth:`load`."""
        try:
            net.load_state_dict({name: value.float() for name, value in tensors.items()})
        except RuntimeError as error:
            raise ConfigError(f"{path} holds another network: {show_reason(error)}.") from error
        finite = all(bool(value.isfinite().all()) for value in net.state_dict().values())
        require(finite, self.option, str(path), "a network of finite numbers")

    def _make_refusal(self, path: Path, error: FileError) -> ConfigError:
        return ConfigError(f"{self.option}={show(str(path))} is not possible: {error}")

    def library(self) -> Any:
        """Load the library safetensors; ImportError names the kind of file that needs it."""
        return load_library(f"{self.kind[0].upper()}{self.kind[1:]}s")

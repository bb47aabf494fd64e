"""The pool of self-play: frozen snapshots of the learner, each written to a file first."""

from __future__ import annotations

import hashlib
import io
import pickle
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from fastenv.files import read_regular
from training.nets.actor_critic import FeedForwardNet
from training.run import files
from training.run.checkpoint import CheckpointError


class SnapshotNet(FeedForwardNet, Protocol):
    """A network that can be frozen: an ``ActorCritic``, or several that are one."""

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> Any:
        """Load parameters."""

    def eval(self) -> Any:
        """Switch to evaluation mode."""

    def requires_grad_(self, requires_grad: bool) -> Any:
        """Switch the gradients of its parameters on or off."""


@dataclass(frozen=True)
class Member:
    """A snapshot.

    Parameters
    ----------
    id : int
        Snapshots are numbered from 0 in the order in which they were taken.
    steps : int
        Decisions the learner had taken.
    sha256 : str
        Of its file.
    net : SnapshotNet
        Frozen, on the CPU.
    """

    id: int
    steps: int
    sha256: str
    net: SnapshotNet


class Pool:
    """Snapshots that can be drawn as opponents, and older ones that still play.

    Parameters
    ----------
    folder : Path
        Where the files are; made when the first snapshot is taken. Files stay there, because an
        older checkpoint may need them.
    keep : int
        Newest snapshots that can be drawn.
    make_net : callable
        Returns a network like the learner's.

    Attributes
    ----------
    members : dict of int to Member
        By id, oldest first.
    active : tuple of int
        Those that can be drawn, oldest first.
    """

    def __init__(self, folder: Path, keep: int, make_net: Callable[[], SnapshotNet]) -> None:
        self.folder, self.keep, self._make_net = folder, keep, make_net
        self.members: dict[int, Member] = {}
        self.active: tuple[int, ...] = ()

    def add(self, number: int, steps: int, parameters: Mapping[str, Tensor]) -> Member:
        """Write a snapshot to its file and let it be drawn, in place of the oldest if need be.

        Parameters
        ----------
        number : int
            Its id.
        steps : int
            Decisions the learner has taken.
        parameters : mapping of str to Tensor
            The ``state_dict`` of the learner's network, on any device.

        Raises
        ------
        CheckpointError
            If the file cannot be written.
        """
        copied = {name: x.detach().to("cpu", copy=True) for name, x in parameters.items()}
        content = io.BytesIO()
        torch.save({"id": number, "steps": steps, "policy": copied}, content)
        try:
            self.folder.mkdir(exist_ok=True)
            files.remove_leftovers(self.folder)
            files.write_bytes(self._get_path(number), content.getvalue())
        except OSError as error:
            raise CheckpointError(
                f"snapshot {self._get_path(number)} could not be written ({error}): make room and "
                "go on with --resume."
            ) from error
        digest = hashlib.sha256(content.getvalue()).hexdigest()
        member = self.members[number] = Member(number, steps, digest, self._make_frozen(copied))
        self.active = (*self.active, number)[-self.keep :]
        return member

    def forget(self, playing: Collection[int]) -> None:
        """Drop the networks of snapshots that can no longer be drawn and do not play."""
        needed = {*self.active, *playing}
        self.members = {number: m for number, m in self.members.items() if number in needed}

    def weights(self) -> np.ndarray:
        """Compute the probability of each active snapshot, float64, shape (len(active),).

        It is proportional to the rank by age, the newest highest.
        """
        ranks = np.arange(1, len(self.active) + 1, dtype=np.float64)
        chances: np.ndarray = ranks / ranks.sum()
        return chances

    # -- saving ----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return JSON values for a checkpoint; the parameters are in the files."""
        members = [[m.id, m.steps, m.sha256] for m in self.members.values()]
        return {"members": members, "active": list(self.active)}

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Put back what :meth:`state_dict` returned.

        Raises
        ------
        CheckpointError
            If the file of a snapshot is missing or not the one that was written.
        """
        self.members = {
            number: Member(number, steps, digest, self._make_frozen(self._read(number, digest)))
            for number, steps, digest in saved["members"]
        }
        self.active = tuple(saved["active"])

    def _get_path(self, number: int) -> Path:
        return self.folder / f"{number:03d}.pt"

    def _read(self, number: int, digest: str) -> dict[str, Tensor]:
        path = self._get_path(number)
        problem = f"{path} is missing or damaged: put back the snapshot that was written there"
        try:
            content = read_regular(path, sys.maxsize)
            if hashlib.sha256(content).hexdigest() != digest:
                raise CheckpointError(f"{problem}.")
            stored = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
            parameters: dict[str, Tensor] = stored["policy"]
        except (ValueError, LookupError, TypeError, EOFError, pickle.UnpicklingError) as error:
            raise CheckpointError(f"{problem} ({type(error).__name__}).") from error
        return parameters

    def _make_frozen(self, parameters: Mapping[str, Tensor]) -> SnapshotNet:
        net = self._make_net()
        net.load_state_dict(parameters)
        net.eval()
        net.requires_grad_(False)
        return net

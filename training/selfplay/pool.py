"""The pool of self-play: frozen snapshots of the learner, their player and their engine.

Each snapshot is written to a file first. :class:`PoolPlayer` plays all seats but the learner's, and
:class:`PoolEngine` seats it inside the learner's step.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from fastenv import BatchEngine
from fastenv.files import read_regular
from fastenv.seats import EXTERNAL
from training.nets.actor_critic import FeedForwardNet
from training.nets.distribution import Sampler, masked_log_probs
from training.nets.layout import as_tensor
from training.players.network import Sight, shown
from training.run import files
from training.run.checkpoint import CheckpointError
from training.selfplay.seated import Array, SeatedEngine


class SnapshotNet(FeedForwardNet, Protocol):
    """A network that can be frozen: an ``ActorCritic``, or several that are one."""

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> Any:
        """Load parameters."""

    def eval(self) -> Any:
        """Switch to evaluation mode."""

    def requires_grad_(self, requires_grad: bool) -> Any:
        """Switch the gradients of its parameters on or off."""


LATEST = -2  # in place of the id of a snapshot: the learner as it was when the iteration began


@dataclass(frozen=True)
class PoolMember:
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
    members : dict of int to PoolMember
        By id, oldest first.
    active : tuple of int
        Those that can be drawn, oldest first.
    latest : SnapshotNet or None
        The learner as it was when the iteration began, where it is an opponent.
    """

    def __init__(self, folder: Path, keep: int, make_net: Callable[[], SnapshotNet]) -> None:
        self.folder, self.keep, self._make_net = folder, keep, make_net
        self.members: dict[int, PoolMember] = {}
        self.active: tuple[int, ...] = ()
        self.latest: SnapshotNet | None = None

    def show_latest(self, parameters: Mapping[str, Tensor]) -> None:
        """Let the learner play as it is now: ``parameters`` are those of its network."""
        if self.latest is None:
            self.latest = self._make_frozen(parameters)
        else:
            self.latest.load_state_dict(parameters)

    def net(self, number: int) -> SnapshotNet:
        """Return the network of a snapshot, or with :data:`LATEST` that of the learner."""
        if number != LATEST:
            return self.members[number].net
        assert self.latest is not None
        return self.latest

    def add(self, number: int, steps: int, parameters: Mapping[str, Tensor]) -> PoolMember:
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
        member = self.members[number] = PoolMember(number, steps, digest, self._make_frozen(copied))
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
            number: PoolMember(number, steps, digest, self._make_frozen(self._read(number, digest)))
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


class PoolPlayer:
    """Snapshots, drawn for every seat anew; see :class:`training.players.player.Player`.

    All seats of a snapshot are one forward pass.

    Parameters
    ----------
    engine : BatchEngine
    pool : Pool
        The frozen policies.
    seed : int
        Of the generators that draw opponents and their actions, of all lanes together.
    latest : float
        How often a seat gets :attr:`Pool.latest` in place of a snapshot.
    sight : callable, optional
        Observations of their networks; default those of the engine.

    Attributes
    ----------
    snapshots : ndarray of int32, shape (n, P - 1)
        Snapshot in each seat after the learner's, -1 where a bot plays.
    """

    def __init__(
        self,
        engine: Any,
        pool: Pool,
        *,
        seed: int,
        latest: float = 0.0,
        sight: Sight = shown,
    ) -> None:
        self._latest = latest
        n = engine.num_envs
        self._pool, self._see = pool, sight
        self._draws = np.random.default_rng(seed)
        self._sampler = Sampler(seed, torch.device("cpu"))
        self.snapshots = np.full((n, engine.external_seats.count - 1), -1, np.int32)
        self._logits = torch.zeros(n, engine.num_actions)

    def begin(self, engine: Any, lanes: np.ndarray, seeds: np.ndarray | None = None) -> None:
        """Draw the snapshots of games that begin.

        ``seeds`` change nothing: lanes share the generators, whose states are in checkpoints.
        """
        self.snapshots[lanes] = -1
        met = lanes[engine.has_outside(lanes)]
        if met.size:
            shape = (len(met), self.snapshots.shape[1])
            active = np.array(self._pool.active)
            drawn = self._draws.choice(active, size=shape, p=self._pool.weights())
            if self._latest:
                drawn = np.where(self._draws.random(shape) < self._latest, LATEST, drawn)
            self.snapshots[met] = drawn

    def act(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Return the actions of the snapshots whose decisions are due."""
        engine.refresh()
        deciding = self.snapshots[lanes, engine.get_places(lanes) - 1]
        order = np.argsort(deciding, kind="stable")
        bounds = np.flatnonzero(np.diff(deciding[order], prepend=-3, append=-3))
        logits, seen = self._logits[: len(lanes)], self._see(engine, lanes)
        with torch.inference_mode(), torch.autocast("cpu", enabled=False):
            for first, last in pairwise(bounds):
                group = order[first:last]
                net = self._pool.net(int(deciding[group[0]]))
                logits[group] = net.logits(as_tensor(seen[group]))
            legal = torch.from_numpy(engine.mask[lanes] != 0)
            log_probs = masked_log_probs(logits, legal)
            chosen = self._sampler(log_probs, legal)
        actions: np.ndarray = chosen.numpy().astype(np.int32)
        return actions

    # -- saving ----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return the state, beside the rows, as JSON values."""
        generator: Tensor = self._sampler.state_dict()["generator"]
        return {
            "players": self.snapshots.tolist(),
            "draws": self._draws.bit_generator.state,
            "sampler": generator.numpy().tobytes().hex(),
        }

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Put back what :meth:`state_dict` returned."""
        self.snapshots[:] = saved["players"]
        self._draws.bit_generator.state = saved["draws"]
        state = torch.frombuffer(bytearray.fromhex(saved["sampler"]), dtype=torch.uint8)
        self._sampler.load_state_dict({"generator": state})


# Called with the players (k, P) and totals (k, P) of the matches that have just ended, in seat
# order; the learner is -1.
OnMatches = Callable[[Array, Array], None]


class PoolEngine(SeatedEngine):
    """:class:`SeatedEngine` against the snapshots of a pool, from :meth:`begin` on.

    Parameters
    ----------
    engine : BatchEngine
        See :class:`SeatedEngine`.
    others : PoolPlayer
        Made for it.
    bots : float
        Share of the lanes that keep the opponents they are configured with.
    spread : bool
        They are spread evenly over all lanes; else they are the first ones.
    on_matches : callable, optional
        See :data:`OnMatches`.
    """

    others: PoolPlayer

    def __init__(
        self,
        engine: BatchEngine,
        others: PoolPlayer,
        *,
        bots: float,
        spread: bool = False,
        on_matches: OnMatches | None = None,
    ) -> None:
        super().__init__(engine, others)
        self._on_matches = on_matches
        n = engine.num_envs
        kept = round(bots * n)
        self._of_bots = np.arange(n) < kept
        if spread:
            self._of_bots = np.diff(np.arange(n + 1) * kept // n) > 0
        self._begun = False

    def configure(self, name: str, value: Any, idx: npt.ArrayLike | None = None) -> None:
        """Set a knob; the opponents of lanes that play against the pool are the pool's."""
        if name == self._opponents and self._begun:
            chosen = np.zeros(self._engine.num_envs, np.bool_)
            chosen[... if idx is None else np.asarray(idx)] = True
            idx = np.flatnonzero(chosen & self._of_bots)
        self._engine.configure(name, value, idx)

    def begin(self) -> None:
        """Let the lanes that are not the bots' play against the pool, from their next reset on."""
        if not self._begun:
            self._begun = True
            lanes = np.flatnonzero(~self._of_bots)
            self._engine.configure(self._opponents, EXTERNAL, lanes)

    def _matches_over(self, lanes: Array) -> None:
        """Report players and results of matches by seat."""
        if self._on_matches is None:
            return
        size, learner = self._num_players, self._engine.get_agents(lanes)
        players = np.full((len(lanes), size), -1, np.int32)
        for k in range(1, size):
            seat = (learner + k) % size
            others = self.others.snapshots[lanes, k - 1]
            players[np.arange(len(lanes)), seat] = np.where(others == LATEST, -1, others)
        self._on_matches(players, self._engine.get_outcomes(lanes))

    # -- saving ----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return the state, beside the rows, as JSON values."""
        return {"begun": self._begun, **self.others.state_dict()}

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Put back what :meth:`state_dict` returned."""
        if saved["begun"]:
            self.begin()
        self.others.load_state_dict(saved)

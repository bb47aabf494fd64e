"""Self-play of a pair: a snapshot is a Manager and a Worker, which play whole games together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fastenv import BatchEngine
from training.apps.skullking.hier.options import HierRun
from training.apps.skullking.whole_games import WholeGames
from training.nets.actor_critic import ActorCritic, make_logits
from training.nets.layout import obs_layout
from training.ppo.options import NativeRun
from training.selfplay.league import League


class PairNet(nn.Module):
    """Both networks as one of the pool; see :class:`training.selfplay.pool.SnapshotNet`.

    Parameters
    ----------
    options : mapping
        Of the Worker's environment.
    manager, worker : ActorCritic
        On the CPU.
    """

    def __init__(
        self, options: Mapping[str, Any], manager: ActorCritic, worker: ActorCritic
    ) -> None:
        super().__init__()
        self.manager, self.worker = manager, worker
        self._games = WholeGames(options, make_logits(manager), make_logits(worker))

    def logits(self, obs: Tensor) -> Tensor:
        """Return logits, float32, shape (n, A).

        Parameters
        ----------
        obs : Tensor of uint8, shape (n, S)
            The bytes of what :meth:`WholeGames.encode_asked` returns.
        """
        seen: np.ndarray = obs.numpy().view(self._games.obs_dtype)[:, 0]
        return torch.from_numpy(self._games.logits(seen))


def as_player(nets: Mapping[str, ActorCritic]) -> nn.Module:
    """Return the networks that learn as one whose parameters a :class:`PairNet` can load."""
    return nn.ModuleDict({name: nets[name] for name in ("manager", "worker")})


def make_league(
    config: HierRun,
    folder: Path,
    runs: Mapping[str, NativeRun],
    observers: Mapping[str, BatchEngine],
) -> League:
    """Return the league of a run, without engines yet.

    Parameters
    ----------
    config : HierRun
        Its section ``selfplay`` is set.
    folder : Path
        Of the run.
    runs : mapping of str to NativeRun
        Options of ``"manager"`` and ``"worker"``.
    observers : mapping of str to BatchEngine
        Show what each sees.
    """
    options = config.env_options

    def make_pair() -> PairNet:
        nets = {
            name: ActorCritic(obs_layout(observers[name]), run.ppo, run.native)
            for name, run in runs.items()
        }
        return PairNet(options, nets["manager"], nets["worker"])

    games = WholeGames(options, _refuse_to_act, _refuse_to_act)

    def see(engine: BatchEngine, lanes: np.ndarray) -> np.ndarray:
        return games.encode_asked(engine.get_states(lanes))

    return League(config, folder, make_pair, see)


def _refuse_to_act(obs: np.ndarray) -> np.ndarray:
    raise AssertionError("these games are only looked at")

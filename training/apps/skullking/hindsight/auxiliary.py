"""Hindsight as an auxiliary loss of the native trainer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fastenv.skullking.config import SkullKingConfig
from training.apps.skullking.hindsight import losses
from training.apps.skullking.hindsight.modes import MODES, Mode
from training.apps.skullking.hindsight.samples import ManagerSource, Source, WorkerSource
from training.apps.skullking.rules import rules_of
from training.callbacks.windows import step_columns
from training.nets.actor_critic import ActorCritic
from training.ppo.options import ActorCriticRun, NativeConfig, PPOConfig
from training.ppo.parts import Rollout
from training.run.engine import Engine
from training.run.options import require
from training.run.seating import has_agents
from training.run.seeds import stream_seed

# Takes the network and samples of the mode's policy.
Loss = Callable[[ActorCritic, Any], Tensor]
LOSSES: dict[str, Loss] = {
    "value": losses.value_loss,
    "sil": losses.imitation_loss,
    "is": losses.importance_loss,
    "tricks": losses.tricks_loss,
    "bid": losses.bid_loss,
}


class Hindsight:
    """A loss on samples of the rollout in hindsight; see :class:`training.ppo.auxiliary.Auxiliary`.

    Every pass of PPO over a rollout is one over these samples too, in an order of their own, cut
    into as many parts as there are minibatches.

    Parameters
    ----------
    mode : Mode
    source : Source
    loss : callable
    steps, lanes : int
        Size of a rollout, T and N.
    seed : int
        Of the orders.
    """

    def __init__(
        self, mode: Mode, source: Source, loss: Loss, steps: int, lanes: int, seed: int
    ) -> None:
        self._mode, self._source, self._loss = mode, source, loss
        self._columns = {name: np.zeros((steps, lanes), np.int32) for name in source.columns}
        self._generator = torch.Generator().manual_seed(seed)

    def decide(self, t: int, engine: Any, logits: Tensor) -> Tensor:
        """Leave decisions to the network."""
        return logits

    def rest(self) -> None:
        """Let PPO learn all of them."""

    def observe(self, t: int, engine: Any) -> None:
        """Keep the columns of a step."""
        for name, column in step_columns(engine, self._source.columns).items():
            self._columns[name][t] = column

    def begin(self, rollout: Rollout, minibatches: int) -> None:
        """Gather the samples of a rollout."""
        self._samples = self._source(rollout, self._columns)
        self._minibatches = minibatches
        self._sum, self._count = torch.zeros((), device=rollout.device), 0

    def loss(self, net: ActorCritic, minibatch: int) -> Tensor | None:
        """Return the weighted loss of a part of the samples; None if there are too few."""
        samples = self._samples
        part = minibatch % self._minibatches
        if part == 0:
            order = torch.randperm(len(samples[0]), generator=self._generator)
            self._parts = order.to(samples[0].device).tensor_split(self._minibatches)
        index = self._parts[part]
        if not len(index):
            return None
        picked = type(samples)(*(x.index_select(0, index) for x in samples))
        loss = self._loss(net, picked)
        self._sum += loss.detach()
        self._count += 1
        return self._mode.weight * loss

    def metrics(self) -> dict[str, float]:
        """Return the mean loss before its weight, and how many samples there were."""
        metrics = {"hindsight_samples": float(len(self._samples[0]))}
        if self._count:
            metrics["hindsight_loss"] = float(self._sum) / self._count
        return metrics

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the generator."""
        return {"generator": self._generator.get_state()}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Put back what :meth:`state_dict` returned."""
        self._generator.set_state(saved["generator"])


def make_run_auxiliary(config: ActorCriticRun, engine: Engine) -> Hindsight:
    """Return the auxiliary loss of a run that asks for one.

    Raises
    ------
    ConfigError
        If the mode does not fit the environment or the network.
    """
    game = rules_of(engine.game)
    if game.tier == "worker":
        allowed = "empty with native.hindsight, which computes the rewards of whole rounds itself"
        require(not config.trackers, "trackers", dict(config.trackers), allowed)
        mode = config.native.hindsight
        allowed = "'off' with trained opponents, who might have played otherwise to another goal"
        require(not has_agents(config.env_options), "native.hindsight", mode, allowed)
    seed = stream_seed(config.seed, "auxiliary")
    return make(game, config.ppo, config.native, config.num_envs, seed)


def make(
    game: SkullKingConfig, ppo: PPOConfig, native: NativeConfig, num_envs: int, seed: int
) -> Hindsight:
    """Return the auxiliary loss of ``native.hindsight``, which is one of the modes.

    Parameters
    ----------
    game : SkullKingConfig
        Of the environment.
    ppo : PPOConfig
    native : NativeConfig
        Of the trainer.
    num_envs : int
        Lanes of the trainer.
    seed : int

    Raises
    ------
    ConfigError
        See :func:`check`.
    """
    check(game, native)
    name = native.hindsight
    mode = MODES[name]
    source: Source = ManagerSource()
    if game.tier == "worker":
        source = WorkerSource(game, ppo.gamma)
    return Hindsight(mode, source, LOSSES[name], ppo.n_steps, num_envs, seed)


def check(game: SkullKingConfig, native: NativeConfig) -> None:
    """Refuse a mode that cannot be used here.

    Raises
    ------
    ConfigError
        It is not known, belongs to the other policy, or does not fit the game or the network.
    """
    name, policy = native.hindsight, game.tier
    fitting = [mode for mode, its in MODES.items() if its.policy == policy]
    allowed = " or ".join(map(repr, ("off", *fitting)))
    require(name in fitting, "native.hindsight", name, f"{allowed} in the {policy} tier")
    allowed = f"'off' with a memory (recurrent={native.recurrent!r})"
    require(native.recurrent == "none", "native.hindsight", name, allowed)
    if policy == "worker":
        allowed = f"'off' with reward={game.reward!r}: it computes the shaped reward"
        require(game.reward == "shaped", "native.hindsight", name, allowed)
    else:
        allowed = f"'off' with scoring={game.scoring!r}: there is more to decide than a bid"
        require(game.scoring != "rascal_cannon", "native.hindsight", name, allowed)

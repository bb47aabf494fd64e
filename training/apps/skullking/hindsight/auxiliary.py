"""Hindsight as an auxiliary loss of the native trainer: samples of finished rounds, and losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from training.apps.skullking.hindsight import MODES
from training.apps.skullking.hindsight.relabel import Relabeller, relabel_bids
from training.apps.skullking.rules import rules_of
from training.nets.actor_critic import ActorCritic
from training.nets.distribution import log_prob, masked_log_probs
from training.ppo.loss import Auxiliary, split_shuffled
from training.ppo.options import ActorCriticRun
from training.ppo.rollout import Rollout
from training.run.engine import Engine, as_bytes, step_columns
from training.run.options import require
from training.run.seating import has_agents
from training.run.seeds import stream_seed

Array = npt.NDArray[Any]

# -- samples of a finished rollout -----------------------------------------------------------------


class WorkerSamples(NamedTuple):
    """k decisions of finished rounds, as if the tricks won had been the goal.

    ``obs`` (k, D) and the return ``ret`` (k,) are relabelled; ``mask`` (k, A), ``action`` (k,) and
    its log-probability ``logp`` (k,) under the goal of the time are those of the rollout.
    """

    obs: Tensor
    mask: Tensor
    action: Tensor
    logp: Tensor
    ret: Tensor


class ManagerSamples(NamedTuple):
    """k bids whose rounds were played out.

    ``obs`` is (k, D); ``bid``, the tricks ``won`` and the ``cards`` dealt are int64 (k,). The other
    bids (``others`` (k, 3), int64, where ``there``) would have been worth ``rewards`` (k, 3).
    """

    obs: Tensor
    bid: Tensor
    won: Tensor
    cards: Tensor
    others: Tensor
    rewards: Tensor
    there: Tensor


# -- losses, each a mean over samples, before its weight -------------------------------------------


def value_loss(net: ActorCritic, samples: WorkerSamples) -> Tensor:
    """Return the squared error of the values under the achieved goal."""
    state = net.initial_state(len(samples.obs))
    return F.mse_loss(net.value(samples.obs, state=state).float(), samples.ret)


def imitation_loss(net: ActorCritic, samples: WorkerSamples) -> Tensor:
    """Imitate decisions that turned out better than the value of the achieved goal (``sil``)."""
    log_prob, advantage = _log_prob_and_advantage(net, samples)
    return -(advantage.clamp(min=0.0) * log_prob).mean()


def importance_loss(net: ActorCritic, samples: WorkerSamples) -> Tensor:
    """Follow the policy gradient under the achieved goal, weighted by the ratio to the rollout.

    The weight, probability under the achieved goal now over probability under the goal of the time
    then, is truncated at 1 and is not differentiated.
    """
    log_prob, advantage = _log_prob_and_advantage(net, samples)
    weight = (log_prob.detach() - samples.logp).exp().clamp(max=1.0)
    return -(weight * advantage * log_prob).mean()


def _log_prob_and_advantage(net: ActorCritic, samples: WorkerSamples) -> tuple[Tensor, Tensor]:
    """Return log-probabilities, and returns less values, through which no gradient flows."""
    logits, value = net(samples.obs)
    log_probs = masked_log_probs(logits, samples.mask)
    return log_prob(log_probs, samples.action), samples.ret - value.detach().float()


def tricks_loss(net: ActorCritic, samples: ManagerSamples) -> Tensor:
    """Return the cross-entropy of the tricks won, given the bid that was taken."""
    log_probs = tricks_log_probs(net, samples.obs, samples.cards)
    rows = torch.arange(len(samples.bid), device=samples.bid.device)
    return -log_probs[rows, samples.bid, samples.won].mean()


def tricks_log_probs(net: ActorCritic, obs: Tensor, cards: Tensor) -> Tensor:
    """Return log-probabilities of the tricks won given each bid, shape (k, bids, tricks).

    Parameters
    ----------
    net : ActorCritic
        With the head of mode ``tricks``.
    obs : Tensor, shape (k, D)
    cards : Tensor of int64, shape (k,)
        Cards dealt: more tricks than that have no probability.
    """
    bids = net.num_actions
    logits = net.auxiliary(obs).view(-1, bids, bids)
    possible = torch.arange(bids, device=cards.device) <= cards[:, None, None]
    return masked_log_probs(logits, possible)


def bid_loss(net: ActorCritic, samples: ManagerSamples) -> Tensor:
    """Return the mean squared error of what other bids would have been worth."""
    worth = net.auxiliary(samples.obs).float().gather(1, samples.others)
    error = (worth - samples.rewards).square() * samples.there
    return error.sum() / samples.there.sum()


# Takes the network and samples of the mode's policy.
Loss = Callable[[ActorCritic, Any], Tensor]
LOSSES: dict[str, Loss] = {
    "value": value_loss,
    "sil": imitation_loss,
    "is": importance_loss,
    "tricks": tricks_loss,
    "bid": bid_loss,
}

# -- beside PPO ------------------------------------------------------------------------------------


class Hindsight(Auxiliary):
    """A loss on samples of the rollout in hindsight.

    Every pass of PPO over a rollout is one over these samples too, in an order of their own, cut
    into as many parts as there are minibatches.

    Parameters
    ----------
    mode : str
        See :data:`training.apps.skullking.hindsight.MODES`.
    steps, lanes : int
        Size of a rollout, T and N.
    seed : int
        Of the orders.
    """

    def __init__(self, mode: str, steps: int, lanes: int, seed: int) -> None:
        self._weight, self._loss = MODES[mode].weight, LOSSES[mode]
        # Of the round that a decision has ended, if it has.
        self._columns = {
            name: np.zeros((steps, lanes), np.int32) for name in ("ended_cards", "ended_won")
        }
        self._generator = torch.Generator().manual_seed(seed)

    def gather(self, rollout: Rollout, cards: Array, won: Array) -> WorkerSamples | ManagerSamples:
        """Gather all samples of a rollout, given cards and tricks of ended rounds, int32 (T, N)."""
        raise NotImplementedError

    def observe(self, t: int, engine: Any) -> None:
        """Keep the columns of a step."""
        for name, column in step_columns(engine, tuple(self._columns)).items():
            self._columns[name][t] = column

    def begin(self, rollout: Rollout, minibatches: int) -> None:
        """Gather the samples of a rollout."""
        self._samples = self.gather(rollout, *self._columns.values())
        self._minibatches = minibatches
        self._sum, self._count = torch.zeros((), device=rollout.device), 0

    def loss(self, net: ActorCritic, minibatch: int, logits: Tensor | None = None) -> Tensor | None:
        """Return the weighted loss of a part of the samples; None if there are too few."""
        samples = self._samples
        if minibatch == 0:
            self._parts = split_shuffled(samples[0], self._minibatches, self._generator)
        index = self._parts[minibatch]
        if not len(index):
            return None
        picked = type(samples)(*(x.index_select(0, index) for x in samples))
        loss = self._loss(net, picked)
        self._sum += loss.detach()
        self._count += 1
        return self._weight * loss

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


class WorkerHindsight(Hindsight):
    """Hindsight of a Worker: its decisions of finished rounds, with the tricks won as the goal.

    Parameters
    ----------
    engine : BatchEngine
        Of the Worker tier.
    gamma : float
        Discount of a decision.
    mode, steps, lanes, seed
        See :class:`Hindsight`.
    """

    def __init__(
        self, engine: Any, gamma: float, mode: str, steps: int, lanes: int, seed: int
    ) -> None:
        super().__init__(mode, steps, lanes, seed)
        self._relabel = Relabeller(engine, gamma)
        self._rows = np.empty((steps, lanes), engine.spec.state_dtype)

    def decide(self, t: int, engine: Any, logits: Tensor) -> Tensor:
        """Keep the rows before a decision."""
        as_bytes(self._rows)[t] = as_bytes(engine.get_states())
        return logits

    def gather(self, rollout: Rollout, cards: Array, won: Array) -> WorkerSamples:
        """Gather the decisions of the finished rounds."""
        reward, done = rollout.reward.cpu().numpy(), rollout.done.cpu().numpy()
        relabelled = self._relabel(self._rows, reward, done, cards, won)
        place, obs, ret = (
            torch.from_numpy(x).to(rollout.device)
            for x in (relabelled.place, relabelled.obs, relabelled.ret)
        )
        mask, action, logp = (
            x.flatten(0, 1).index_select(0, place)
            for x in (rollout.mask, rollout.action, rollout.logp)
        )
        return WorkerSamples(obs, mask, action, logp, ret)


class ManagerHindsight(Hindsight):
    """Hindsight of a Manager: its bids whose step played their round out, and their results."""

    def gather(self, rollout: Rollout, cards: Array, won: Array) -> ManagerSamples:
        """Gather the bids of the finished rounds."""
        cards, won = cards.reshape(-1), won.reshape(-1)
        index = np.flatnonzero(cards)
        bid = rollout.action.flatten().cpu().numpy()[index]
        cards, won = cards[index], won[index]
        obs = rollout.obs[:-1].flatten(0, 1)
        obs = obs.index_select(0, torch.from_numpy(index).to(obs.device))
        rest = (bid, won.astype(np.int64), cards.astype(np.int64), *relabel_bids(cards, bid, won))
        return ManagerSamples(*(x.to(rollout.device) for x in (obs, *map(torch.from_numpy, rest))))


def make_run_auxiliary(config: ActorCriticRun, engine: Engine) -> Hindsight:
    """Return the auxiliary loss of a run whose ``native.hindsight`` is one of the modes.

    Raises
    ------
    ConfigError
        The mode is not known, belongs to the other policy, or does not fit the game or the network.
    """
    game, ppo, native = rules_of(engine.game), config.ppo, config.native
    name, policy = native.hindsight, game.tier
    if policy == "worker":
        allowed = "empty with native.hindsight, which computes the rewards of whole rounds itself"
        require(not config.trackers, "trackers", dict(config.trackers), allowed)
        allowed = "'off' with trained opponents, who might have played otherwise to another goal"
        require(not has_agents(config.env_options), "native.hindsight", name, allowed)
    fitting = [mode for mode, its in MODES.items() if its.policy == policy]
    allowed = " or ".join(map(repr, ("off", *fitting)))
    require(name in fitting, "native.hindsight", name, f"{allowed} in the {policy} tier")
    allowed = f"'off' with a memory (recurrent={native.recurrent!r})"
    require(native.recurrent == "none", "native.hindsight", name, allowed)
    how = name, ppo.n_steps, config.num_envs, stream_seed(config.seed, "auxiliary")
    if policy == "worker":
        allowed = f"'off' with reward={game.reward!r}: it computes the shaped reward"
        require(game.reward == "shaped", "native.hindsight", name, allowed)
        return WorkerHindsight(engine, ppo.gamma, *how)
    allowed = f"'off' with scoring={game.scoring!r}: there is more to decide than a bid"
    require(game.scoring != "rascal_cannon", "native.hindsight", name, allowed)
    return ManagerHindsight(*how)

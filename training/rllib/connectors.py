"""Connectors of lanes, network and learner in RLlib's processes: whole arrays, not items.

RLlib's own connectors take every item of every lane apart and together again, whatever its
structure, which costs more than lanes and network do. Here observations are two arrays, there is
one agent and the network has no state, so that rows are stacked once. What is acted on and learnt
from is the same; tests compare it with RLlib's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.evaluation.postprocessing import Postprocessing

from fastenv.adapters.rllib import MASK, OBSERVATIONS, advantages, durations

KEPT = (Columns.ACTION_LOGP, Columns.ACTION_DIST_INPUTS)  # of acting, for the learner


class LanesToModule(ConnectorV2):
    """Stacks the newest observations of all lanes."""

    def __call__(self, *, episodes: Sequence[Any], **kwargs: Any) -> dict[str, Any]:
        """Make the batch that the network acts on."""
        newest = [episode.get_observations(-1) for episode in episodes]
        return {
            Columns.OBS: {
                name: torch.from_numpy(np.stack([obs[name] for obs in newest]))
                for name in (OBSERVATIONS, MASK)
            }
        }


class ModuleToLanes(ConnectorV2):
    """Draws the actions of all lanes, or takes the likeliest where nothing is explored."""

    def __call__(
        self, *, rl_module: Any, batch: dict[str, Any], explore: bool | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Draw actions; return them, logits and log-probabilities, arrays with a row a lane."""
        logits = batch[Columns.ACTION_DIST_INPUTS]
        drawn = rl_module.get_exploration_action_dist_cls().from_logits(logits)
        actions = (drawn if explore else drawn.to_deterministic()).sample()
        columns = {Columns.ACTION_LOGP: drawn.logp(actions), Columns.ACTION_DIST_INPUTS: logits}
        columns[Columns.ACTIONS] = actions
        return {name: column.detach().cpu().numpy() for name, column in columns.items()}


class EpisodesToBatch(ConnectorV2):
    """Makes the batch to learn from: decisions with advantages, discounted by ``gamma**tau``.

    RLlib's own adds a row to each episode for the value of its last observation, and the learner
    computes on those rows in every epoch for nothing; here they are not in the batch.

    Parameters
    ----------
    gamma, lambda_ : float
    minibatch : int
    spare : int
        Env runners sample up to one decision a lane more than they are asked for, and for these few
        a whole minibatch more would repeat what is learnt already. So as many that are beyond whole
        minibatches are left out, drawn by chance; more, as behind a lost runner, are learnt from.
    """

    def __init__(
        self,
        input_observation_space: Any = None,
        input_action_space: Any = None,
        *,
        gamma: float,
        lambda_: float,
        minibatch: int,
        spare: int,
    ) -> None:
        super().__init__(input_observation_space, input_action_space)
        self.gamma, self.lambda_ = gamma, lambda_
        self.minibatch, self.spare = minibatch, spare

    def __call__(self, *, rl_module: Any, episodes: Sequence[Any], **kwargs: Any) -> dict[str, Any]:
        """Make the batch of the one module.

        Advantages have mean 0 and deviation 1 over all decisions.
        """
        module = rl_module[DEFAULT_MODULE_ID].unwrapped()  # wrapped where learners are several
        device = next(module.parameters()).device
        shown = [episode.get_observations() for episode in episodes]
        obs = {
            name: torch.from_numpy(np.concatenate([each[name] for each in shown])).to(device)
            for name in (OBSERVATIONS, MASK)
        }
        ends = np.cumsum([len(episode) + 1 for episode in episodes]) - 1
        real = np.ones(ends[-1] + 1, np.bool_)
        real[ends] = False
        over = np.zeros(len(real))
        over[ends - 1] = [episode.is_terminated for episode in episodes]
        rewards, discount = np.zeros(len(real)), np.ones(len(real))
        rewards[real] = np.concatenate([episode.get_rewards() for episode in episodes])
        discount[real] = self.gamma ** np.concatenate([durations(e)[: len(e)] for e in episodes])
        with torch.no_grad():
            predicted = module.compute_values({Columns.OBS: obs}).cpu().numpy().astype(np.float64)
        adv = advantages(predicted, rewards, over, real, discount, self.lambda_)
        targets, adv = (adv + predicted)[real], adv[real]
        columns = {
            Columns.ACTIONS: np.concatenate([episode.get_actions() for episode in episodes]),
            Postprocessing.ADVANTAGES: (adv - adv.mean()) / max(1e-4, adv.std()),
            Postprocessing.VALUE_TARGETS: targets,
        }
        for name in KEPT:
            columns[name] = np.concatenate([e.get_extra_model_outputs(name) for e in episodes])
        kept = self._choose_kept(len(targets))
        rows = torch.from_numpy(np.flatnonzero(real)[kept]).to(device)
        batch: dict[str, Any] = {Columns.OBS: {name: each[rows] for name, each in obs.items()}}
        for name, column in columns.items():
            tensor = torch.from_numpy(column[kept]).to(device)
            batch[name] = tensor.float() if tensor.is_floating_point() else tensor
        return {DEFAULT_MODULE_ID: batch}

    def _choose_kept(self, decisions: int) -> Any:
        """Choose the decisions to learn from, in their order."""
        whole = decisions - decisions % self.minibatch
        if whole == 0 or decisions - whole > self.spare:
            return slice(None)
        return torch.randperm(decisions)[:whole].sort().values.numpy()

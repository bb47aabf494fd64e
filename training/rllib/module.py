"""The parts that RLlib's processes run: lanes, the network, the learner, episode counts."""

from __future__ import annotations

import gc
from functools import partial
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from ray.rllib.algorithms.ppo.torch.ppo_torch_learner import PPOTorchLearner
from ray.rllib.callbacks.callbacks import RLlibCallback
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.torch import TorchRLModule

from fastenv.adapters.rllib import MASK, OBSERVATIONS, RLlibVectorEnv, masked_logits
from training.nets.actor_critic import ActorCritic
from training.nets.layout import obs_layout
from training.rllib.options import RLlibRun
from training.run.envs import make_trial_lane
from training.run.seeds import TRAINING_BIT, stream_seed


class RunnerLanes(RLlibVectorEnv):
    """Lanes of an env runner; structured observations are shown as the bytes of their records.

    Parameters
    ----------
    context : mapping
        As of :class:`RLlibVectorEnv`, and ``began``: the decisions before this process, so that a
        run that goes on, or a runner that takes the place of a lost one, has other games.
    """

    def __init__(self, context: Any) -> None:
        options = dict(context)
        self.began = int(options.pop("began", 0))
        super().__init__(options)

    def lane_seeds(self, seed: int) -> list[int]:
        """Draw a seed for each lane, none of which an evaluation uses."""
        drawn = np.random.SeedSequence([seed, self.began]).generate_state(self.num_envs, np.uint64)
        return [TRAINING_BIT | int(each) >> 2 for each in drawn]

    def shown_space(self) -> spaces.Space[Any]:
        """Return the space of ``observations`` of one lane."""
        dtype = self.engine.obs_dtype
        if dtype.names is None:
            return super().shown_space()
        return spaces.Box(0, 255, (dtype.itemsize,), np.uint8)

    def shown(self, obs: np.ndarray) -> Any:
        """Convert the observations of an engine for the network."""
        if obs.dtype.names is None:
            return obs
        return obs.view(np.uint8).reshape(len(obs), obs.dtype.itemsize)


def net_of(config: RLlibRun) -> ActorCritic:
    """Make the network of a run with its first parameters."""
    layout = obs_layout(make_trial_lane(config).engines[0])
    return ActorCritic(layout, config.ppo, config.native, stream_seed(config.seed, "init"))


class ActorCriticModule(TorchRLModule, ValueFunctionAPI):
    """The network of the native trainer; ``model_config["run"]`` has the options of the run."""

    def setup(self) -> None:
        """Make the network."""
        self.net = net_of(RLlibRun.from_mapping(self.model_config["run"]))

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        obs = batch[Columns.OBS]
        logits = self.net.logits(obs[OBSERVATIONS])
        return {Columns.ACTION_DIST_INPUTS: masked_logits(logits, obs[MASK])}

    def _forward_train(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        obs = batch[Columns.OBS]
        logits, values = self.net(obs[OBSERVATIONS])
        masked = masked_logits(logits, obs[MASK])
        return {Columns.ACTION_DIST_INPUTS: masked, Columns.EMBEDDINGS: values}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        """Return the values (n,) of a batch; ``embeddings`` of :meth:`_forward_train` are these."""
        if embeddings is not None:
            values: torch.Tensor = embeddings
            return values
        obs = batch[Columns.OBS][OBSERVATIONS]
        return self.net.value(obs, state=self.net.initial_state(len(obs)))


class ActorCriticLearner(PPOTorchLearner):
    """RLlib's PPO with the optimizer of the native trainer."""

    def update(self, *args: Any, num_total_minibatches: int = 0, **kwargs: Any) -> Any:
        """Learn from sampled decisions; see RLlib's learner.

        Several learners are told how many minibatches all of them take, which counts decisions
        that :class:`training.rllib.connectors.EpisodesToBatch` leaves out: those get none.
        """
        epochs, minibatch = kwargs.get("num_epochs", 1), kwargs.get("minibatch_size") or 0
        more = num_total_minibatches % epochs
        spare = epochs * self.config.learner_config_dict["spare"]
        if more < num_total_minibatches and more * minibatch <= spare:
            num_total_minibatches -= more
        return super().update(*args, num_total_minibatches=num_total_minibatches, **kwargs)

    def configure_optimizers_for_module(self, module_id: str, config: Any = None) -> None:
        """Make the optimizer of the network."""
        parameters = self.get_parameters(self._module[module_id])
        self.register_optimizer(
            module_id=module_id,
            optimizer=torch.optim.Adam(parameters, eps=config.learner_config_dict["adam_eps"]),
            params=parameters,
            lr_or_lr_schedule=config.lr,
        )


def state_of(learner: Any) -> dict[str, Any]:
    """Return parameters and optimizer of a learner, in host memory."""
    ((_, optimizer),) = learner.get_optimizers_for_module(DEFAULT_MODULE_ID)
    net = learner.module[DEFAULT_MODULE_ID].unwrapped().net
    policy = {name: value.detach().cpu() for name, value in net.state_dict().items()}
    return {"policy": policy, "optimizer": optimizer.state_dict()}


def set_state_of(learner: Any, state: dict[str, Any]) -> None:
    """Put back what :func:`state_of` returned."""
    ((_, optimizer),) = learner.get_optimizers_for_module(DEFAULT_MODULE_ID)
    learner.module[DEFAULT_MODULE_ID].unwrapped().net.load_state_dict(state["policy"])
    optimizer.load_state_dict(state["optimizer"])


def configure(runner: Any, knobs: dict[str, Any], began: int | None = None) -> None:
    """Set the knobs of an env runner's lanes, and in one that begins what its seeds depend on."""
    env: RunnerLanes = runner.env.unwrapped
    for name, value in knobs.items():
        env.configure(name, value)
    if began is not None:
        env.began = began


class Episodes(RLlibCallback):
    """Counts the episodes of an iteration, and sets up runners that come back.

    The algorithm has the attributes ``knobs`` and ``decisions``, kept up to date by the run.
    """

    def on_environment_created(self, **kwargs: Any) -> None:
        """Exclude all present objects from garbage collection.

        Episodes are so many small objects that Python goes through all of Ray and torch for every
        few thousand decisions, which takes as long as sampling thousands.
        """
        gc.freeze()

    def on_episode_end(
        self, *, episode: Any, prev_episode_chunks: Any = (), metrics_logger: Any, **kwargs: Any
    ) -> None:
        """Log return and length of an episode."""
        parts = [*prev_episode_chunks, episode]
        total = float(sum(part.get_return() for part in parts))
        metrics_logger.log_value("ended_returns", total, reduce="item_series")
        metrics_logger.log_value("ended_lengths", sum(map(len, parts)), reduce="item_series")

    def on_env_runners_recreated(
        self, *, algorithm: Any, env_runner_group: Any, env_runner_indices: list[int], **kwargs: Any
    ) -> None:
        """Set up the lanes of runners that take the place of lost ones."""
        env_runner_group.foreach_env_runner(
            partial(configure, knobs=algorithm.knobs, began=algorithm.decisions),
            remote_worker_ids=env_runner_indices,
            local_env_runner=False,
        )

"""A batch of environments for Ray RLlib's new API stack, and what a masked PPO needs there.

>>> from ray.tune.registry import register_env  # doctest: +SKIP
>>> register_env("skull king", RLlibVectorEnv)  # doctest: +SKIP
>>> config = (  # doctest: +SKIP
...     PPOConfig()
...     .environment("skull king", env_config={"env": "SkullKingWorker-v0"})
...     .env_runners(num_envs_per_env_runner=64, gym_env_vectorize_mode="vector_entry_point")
...     .rl_module(rl_module_spec=RLModuleSpec(module_class=MaskedPPOModule))
...     .learners(learner_class=SemiMarkovPPOLearner)
... )
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from fastenv.engine import BatchEngine
from fastenv.env import shown_obs
from fastenv.errors import ConfigError, show
from fastenv.memory import StepBuffers
from fastenv.vector import FastVectorEnv

RAY = "2.60"
_INSTALL = f"fastenv.adapters.rllib is for ray {RAY}: pip install 'ray[rllib]=={RAY}.*' torch"

try:
    import ray
    import torch
    from ray.rllib.algorithms.ppo.torch.default_ppo_torch_rl_module import DefaultPPOTorchRLModule
    from ray.rllib.algorithms.ppo.torch.ppo_torch_learner import PPOTorchLearner
    from ray.rllib.connectors.learner import GeneralAdvantageEstimation
    from ray.rllib.core.columns import Columns
    from ray.rllib.evaluation.postprocessing import Postprocessing
except ImportError as _error:
    raise ImportError(_INSTALL) from _error
if not ray.__version__.startswith(f"{RAY}."):
    raise ImportError(f"{_INSTALL} (here is ray {ray.__version__})")

__all__ = ["MaskedPPOModule", "RLlibVectorEnv", "SemiMarkovAdvantages", "SemiMarkovPPOLearner"]

Array = npt.NDArray[Any]
OBSERVATIONS, MASK = "observations", "action_mask"


class RLlibVectorEnv(VectorEnv[dict[str, Any], Array, Array]):
    """A :class:`fastenv.FastVectorEnv` as an RLlib env runner steps it.

    Parameters
    ----------
    context : mapping
        ``env``: an id or a game; ``num_envs``, which RLlib puts there; everything else goes to
        :class:`fastenv.FastVectorEnv`.

    Raises
    ------
    ConfigError
        No ``env``; another autoreset mode than ``next_step``; all agents of a game of several.

    Notes
    -----
    An observation is a dict: ``observations``, what the game shows, a dict itself where that is
    structured, and ``action_mask``, float32, shape (A,), as RLlib's own masked module has it. In
    games whose decisions last, the infos have ``tau``.

    RLlib gives the env runner of worker ``w`` the seed of the run plus ``w``. Lanes that counted on
    from there would share their games with those of the next worker, so the seeds of lanes are
    drawn from a sequence that begins with it.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(self, context: Mapping[str, Any]) -> None:
        options = dict(context)
        game = options.pop("env", None)
        if game is None:
            raise ConfigError("env=None: env_config must name an environment, such as {'env': ID}")
        if options.get("agents", "one") != "one":
            raise ConfigError(
                f"agents={show(options['agents'])}: must be 'one': RLlib steps one agent, a "
                "scripted opponent plays the others"
            )
        self.vec: FastVectorEnv = FastVectorEnv(game, info_mode="none", **options)
        if self.vec.autoreset_mode != AutoresetMode.NEXT_STEP:
            raise ConfigError(
                f"autoreset_mode={show(options['autoreset_mode'])}: must be 'next_step': from any "
                "other RLlib makes wrong episodes without a word"
            )
        self.engine: BatchEngine = self.vec.engine
        self.num_envs: int = self.vec.num_envs
        shown, actions = self.shown_space(), self.engine.num_actions
        legal = spaces.Box(0.0, 1.0, (actions,), np.float32)
        self.single_observation_space: spaces.Dict = spaces.Dict({OBSERVATIONS: shown, MASK: legal})
        # a mask has an entry for each
        self.single_action_space: spaces.Discrete[np.int64] = spaces.Discrete(actions)
        self.observation_space: spaces.Space[Any] = batch_space(
            self.single_observation_space, self.num_envs
        )
        self.action_space: spaces.Space[Any] = batch_space(self.single_action_space, self.num_envs)

    def shown_space(self) -> spaces.Space[Any]:
        """Return the space of ``observations`` of one lane."""
        return self.vec.single_observation_space

    def shown(self, obs: Array) -> Any:
        """Return the observations of an engine as they are shown: arrays of their own."""
        return shown_obs(obs)

    def lane_seeds(self, seed: int) -> list[int]:
        """Return a seed for each lane, drawn from that of an env runner."""
        drawn = np.random.SeedSequence(seed).generate_state(self.num_envs, np.uint64)
        return [int(each) >> 1 for each in drawn]

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start an episode in all lanes, or in those of ``options["reset_mask"]``.

        Parameters
        ----------
        seed : int or sequence of int, optional
            An int is spread over the lanes by :meth:`lane_seeds`; a sequence has one a lane.
        """
        seeds = self.lane_seeds(int(seed)) if isinstance(seed, (int, np.integer)) else seed
        self.vec.reset(seed=seeds, options=options)
        return self._observation(self.engine.obs.copy()), {}

    def step(self, actions: Any) -> tuple[dict[str, Any], Array, Array, Array, dict[str, Any]]:
        """Take one decision in every lane; all arrays are new, as RLlib keeps them.

        Parameters
        ----------
        actions : sequence of int, length n
            Those of lanes whose episode ended in the last step are ignored.
        """
        engine = self.engine
        began = engine.ended.copy()
        obs = np.empty_like(engine.obs)
        self.vec.step_into(actions, StepBuffers(obs=obs))
        infos: dict[str, Any] = {}
        if engine.spec.has_tau:
            infos["tau"] = np.where(began, 0, engine.tau)
        return (
            self._observation(obs),
            engine.reward.astype(np.float64),
            engine.terminated.astype(np.bool_),
            engine.truncated.astype(np.bool_),
            infos,
        )

    def _observation(self, obs: Array) -> dict[str, Any]:
        return {OBSERVATIONS: self.shown(obs), MASK: self.engine.mask.astype(np.float32)}

    def configure(self, name: str, value: Any) -> None:
        """Set a knob of the game; each lane takes it at its next reset."""
        self.vec.configure(name, value)


def masked_logits(logits: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return logits in float32, those of illegal actions at its smallest number, shape (n, A)."""
    logits = logits.float()
    return torch.where(mask > 0, logits, torch.finfo(logits.dtype).min)


class MaskedPPOModule(DefaultPPOTorchRLModule):
    """RLlib's PPO module on ``observations``; actions that ``action_mask`` forbids are never drawn.

    For observations that RLlib has an encoder for: plain ones.
    """

    def __init__(self, *args: Any, observation_space: spaces.Dict, **kwargs: Any) -> None:
        shown = observation_space[OBSERVATIONS]
        if not isinstance(shown, spaces.Box):
            raise ConfigError(
                f"observation_space={shown}: RLlib has no encoder for structured observations, so "
                "a module of your own is needed"
            )
        super().__init__(*args, observation_space=shown, **kwargs)
        self.observation_space: spaces.Dict = observation_space

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return self._masked(super()._forward, batch, **kwargs)

    def _forward_train(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return self._masked(super()._forward_train, batch, **kwargs)

    def _masked(self, forward: Any, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        obs = batch[Columns.OBS]
        found: dict[str, Any] = forward({**batch, Columns.OBS: obs[OBSERVATIONS]}, **kwargs)
        logits = found[Columns.ACTION_DIST_INPUTS]
        return {**found, Columns.ACTION_DIST_INPUTS: masked_logits(logits, obs[MASK])}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        """Return the values of the observations of a batch, shape (n,)."""
        shown = {**batch, Columns.OBS: batch[Columns.OBS][OBSERVATIONS]}
        values: torch.Tensor = super().compute_values(shown, embeddings)
        return values


def advantages(
    values: Array, rewards: Array, terminated: Array, real: Array, discount: Array, lambda_: float
) -> Array:
    """Return advantages of episodes behind each other, each with one more row at its end.

    Parameters
    ----------
    values, rewards, terminated : ndarray of float64, shape (n,)
        The row more has the value of the last observation.
    real : ndarray of bool, shape (n,)
        False in the rows more.
    discount : ndarray of float64, shape (n,)
        ``gamma**tau`` of each decision.
    lambda_ : float
        Of a decision, however long it lasts.

    Returns
    -------
    ndarray of float64, shape (n,)
        0 in the rows more.
    """
    follow = discount * (1.0 - terminated) * real
    delta = np.where(real, rewards - values, 0.0)
    delta[:-1] += follow[:-1] * values[1:]
    trace = lambda_ * follow
    found, last = np.zeros(len(values)), 0.0
    for t in range(len(values) - 1, -1, -1):
        found[t] = last = delta[t] + trace[t] * last
    return found


class SemiMarkovAdvantages(GeneralAdvantageEstimation):
    """Advantages with the discount ``gamma**tau`` of each decision, as RLlib's learners take them.

    Takes the place of ``GeneralAdvantageEstimation``. As there, advantages are brought to mean 0
    and deviation 1 over the whole batch; here over its decisions alone, without the rows that hold
    the values of last observations. ``tau`` comes from the infos.
    """

    def __call__(
        self, *, rl_module: Any, episodes: list[Any], batch: dict[str, Any], **kwargs: Any
    ) -> Any:
        """Add advantages and value targets to the batch of each module."""
        every = list(self.single_agent_episode_iterator(episodes, agents_that_stepped_only=False))
        for module_id, part in batch.items():
            module = rl_module[module_id].unwrapped()  # of several learners each has a wrapped one
            if module.is_stateful():
                raise ConfigError("SemiMarkovAdvantages is for modules without a state")
            own = [each for each in every if each.module_id in (None, module_id)]
            tau = np.concatenate([durations(each) for each in own])
            with torch.no_grad():
                predicted = module.compute_values(part)
            values = predicted.cpu().numpy().astype(np.float64)
            columns = (Columns.REWARDS, Columns.TERMINATEDS)
            rewards, over = (_array(part[name]).astype(np.float64) for name in columns)
            real = _array(part[Columns.LOSS_MASK]).astype(np.bool_)
            discount = np.power(self.gamma, tau)
            adv = advantages(values, rewards, over, real, discount, self.lambda_)
            learnt = adv[real]
            scaled = (adv - learnt.mean()) / max(1e-4, learnt.std())
            named = {Postprocessing.ADVANTAGES: scaled, Postprocessing.VALUE_TARGETS: adv + values}
            for name, array in named.items():
                part[name] = torch.from_numpy(array).float().to(predicted.device)
        return batch


def durations(episode: Any) -> Array:
    """Return the tau of each step of an episode, float64, shape (n,); 1 where none is told."""
    return np.array([info.get("tau", 1) for info in episode.get_infos()[1:]], np.float64)


def _array(column: Any) -> Array:
    return column.cpu().numpy() if isinstance(column, torch.Tensor) else np.asarray(column)


class SemiMarkovPPOLearner(PPOTorchLearner):
    """RLlib's PPO learner with :class:`SemiMarkovAdvantages`."""

    def build(self) -> None:
        """Build the learner and put our connector in the place of RLlib's."""
        super().build()
        if self._learner_connector is not None:
            self._learner_connector.remove(GeneralAdvantageEstimation.__name__)
            self._learner_connector.append(
                SemiMarkovAdvantages(gamma=self.config.gamma, lambda_=self.config.lambda_)
            )

"""Options of trainer ``rllib``: PPO, and the section ``rllib``."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from training.ppo.options import ONE_NETWORK, ActorCriticRun, NativeConfig
from training.run.config import Only
from training.run.options import Number, Options, Text, Whole, option, require

# Options of our trainer that RLlib does not have.
_OURS = (
    *("recurrent", "value_loss", "ent_schedule", "compile", "hindsight", "warm_start"),
    "normalize_rewards",
)


class RLlibConfig(Options):
    """The processes and machines over which Ray spreads a run; PPO itself is in ``ppo``."""

    SECTION: ClassVar[str] = "rllib."

    address: Text | None = option(
        None,
        "of a Ray cluster, such as ``auto``; null starts one on this machine, for this run alone",
    )
    env_runners: Whole = option(
        0,
        "processes that step lanes, an equal share of ``num_envs`` each; 0 for the trainer's own",
        ge=0,
    )
    learners: Whole = option(
        0,
        "processes that update, an equal share of each minibatch each; 0 for the trainer's own",
        ge=0,
    )
    gpus_per_learner: Number = option(0.0, "GPUs of each (untested)", ge=0)
    object_store_mb: Whole = option(
        512, "shared memory of a cluster that is started here, in MiB", ge=128
    )


class RLlibRun(ActorCriticRun):
    """A run of PPO of Ray RLlib (:mod:`training.rllib`)."""

    OWN_LANES: ClassVar[bool] = True
    ONLY: ClassVar[tuple[Only, ...]] = (
        *ONE_NETWORK,
        Only("deterministic", (False,)),
        Only("native.critic_view", (False,)),
        Only("native.normalize_observations", (False,)),
        Only("mask_schedule", ((),)),
        Only("episode_events", (False,)),
        Only("window_ticks", (0,)),
        Only("trackers", ({},)),
        Only("gate", ({},)),
        Only("ppo.precision", (None, "fp32")),
        Only("ppo.target_kl", (None,)),
        Only("ppo.lr_schedule", ("constant", "linear")),
        *(Only(f"native.{name}", (NativeConfig.model_fields[name].default,)) for name in _OURS),
    )

    trainer: Literal["rllib"] = option("rllib", "PPO of Ray RLlib")
    rllib: RLlibConfig = option(RLlibConfig, "over which processes Ray spreads a run")

    @model_validator(mode="after")
    def _check_processes(self) -> Self:
        """Refuse what does not divide over the processes."""
        rllib = self.rllib
        runners, learners = max(1, rllib.env_runners), max(1, rllib.learners)
        allowed = f"a divisor of num_envs={self.num_envs}"
        require(self.num_envs % runners == 0, "rllib.env_runners", rllib.env_runners, allowed)
        for name, size in (
            ("num_envs * ppo.n_steps", self.rollout),
            ("ppo.batch_size", self.ppo.batch_size),
        ):
            allowed = f"a divisor of {name}={size}"
            require(size % learners == 0, "rllib.learners", rllib.learners, allowed)
        return self

    def sizes(self, obs_bytes: int, num_actions: int) -> str:
        """Describe rollout, updates and processes in one line."""
        rllib, line = self.rllib, super().sizes(obs_bytes, num_actions)
        return f"{line}; {rllib.env_runners} env runners, {rllib.learners} learners of RLlib"

    def facts(self, device: str) -> dict[str, Any]:
        """Describe network, rollout and processes for the summary."""
        return {**super().facts(device), "ppo_num_workers": self.rllib.env_runners}

    def units(self, ranks: int) -> dict[str, int]:
        """Return the required divisors of the lanes, steps and minibatches of a rollout."""
        runners, learners = max(1, self.rllib.env_runners), max(1, self.rllib.learners)
        return {**super().units(learners), "lane_unit": math.lcm(runners, learners)}

"""Options of the ensemble trainer: PPO, and the section ``ensemble``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from training.ppo.options import ONE_NETWORK, ActorCriticRun, PPOConfig
from training.run.config import Only
from training.run.options import Number, Options, Whole, option, require


@dataclass(frozen=True)
class Member:
    """The options that one network of an ensemble has of its own.

    Parameters
    ----------
    seed : int
        All its generators derive from it.
    learning_rate, ent_coef, clip_range : float
        At the start; schedules are those of the ensemble.
    """

    seed: int
    learning_rate: float
    ent_coef: float
    clip_range: float


class EnsembleConfig(Options):
    """Options of an ensemble; lists have one value per seed, or are empty for the common value.

    Every member has an equal part of the lanes, and ``ppo.n_steps`` and ``ppo.batch_size`` of its
    own, so that it learns what a run alone with its seed and that many lanes would.
    """

    SECTION: ClassVar[str] = "ensemble."

    seeds: tuple[Whole, ...] = option((), "one a member, in place of the run's")
    learning_rates: tuple[Number, ...] = option((), "in place of ``ppo.learning_rate``")
    ent_coefs: tuple[Number, ...] = option((), "in place of ``ppo.ent_coef``")
    clip_ranges: tuple[Number, ...] = option((), "in place of ``ppo.clip_range``")

    @model_validator(mode="after")
    def _check(self) -> Self:
        for seed in self.seeds:
            require(0 <= seed < 2**32, "ensemble.seeds", seed, "from 0 to 2**32 - 1")
        for name in self.names()[1:]:
            values = getattr(self, name)
            fits = len(values) in (0, len(self.seeds))
            allowed = f"empty, or {len(self.seeds)} values, one for each of ensemble.seeds"
            require(fits, f"ensemble.{name}", values, allowed)
        for name in ("learning_rates", "clip_ranges"):
            for value in getattr(self, name):
                require(value > 0, f"ensemble.{name}", value, "above 0")
        for value in self.ent_coefs:
            require(value >= 0, "ensemble.ent_coefs", value, "at least 0")
        return self

    def members(self, ppo: PPOConfig) -> tuple[Member, ...]:
        """Make the members, with the values of ``ppo`` where they have none of their own."""
        size = len(self.seeds)
        rates = self.learning_rates or (ppo.learning_rate,) * size
        entropies = self.ent_coefs or (ppo.ent_coef,) * size
        clips = self.clip_ranges or (ppo.clip_range,) * size
        return tuple(map(Member, self.seeds, rates, entropies, clips))


class EnsembleRun(ActorCriticRun):
    """A run of several networks at once (:mod:`training.ensemble`)."""

    MEETS_AGENTS: ClassVar[bool] = True
    ONLY: ClassVar[tuple[Only, ...]] = (
        *ONE_NETWORK,
        Only(
            "evaluation.during", (None, "off"), ": its members are evaluated when they are trained"
        ),
        Only("evaluation.patience", (None,)),
        Only("native.recurrent", ("none",)),
        Only("native.attention", (0,)),
        Only("native.compile", ("off",)),
        Only("native.hindsight", ("off",)),
        Only("native.critic_view", (False,)),
        Only("native.normalize_observations", (False,)),
        Only("native.normalize_rewards", (False,)),
        Only("native.warm_start", (None,)),
        Only("ppo.precision", (None, "fp32", "bf16")),
        Only("gate", ({},), ": it is for one policy"),
        Only("trackers", ({},), ": they are for one policy"),
    )

    trainer: Literal["ensemble"] = option("ensemble", "several networks at once")
    ensemble: EnsembleConfig = option(EnsembleConfig, "who is trained beside whom")

    @model_validator(mode="after")
    def _check_seeds(self) -> Self:
        seeds = self.ensemble.seeds
        require(bool(seeds), "ensemble.seeds", seeds, "one seed or more with trainer='ensemble'")
        return self

    @property
    def members(self) -> tuple[int, ...]:
        """Seeds of the networks."""
        return self.ensemble.seeds

    @property
    def identity(self) -> dict[str, Any]:
        """What a checkpoint must share with these options to be played."""
        return {**super().identity, "members": list(self.members)}

    def units(self, ranks: int) -> dict[str, int]:
        """Return the required divisors of the lanes, steps and minibatches of a rollout."""
        size = len(self.members)
        return {**super().units(ranks), "lane_unit": size, "members": size}

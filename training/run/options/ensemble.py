"""Options of the ensemble trainer, the section ``ensemble`` of a run."""

from __future__ import annotations

from dataclasses import dataclass, fields

from training.run.options.ppo import PPOConfig
from training.run.values import require


@dataclass(frozen=True)
class EnsembleConfig:
    """Who is trained beside whom; lists are as long as ``seeds``, or empty for the same for all.

    Every member has an equal part of the lanes, and ``ppo.n_steps`` and ``ppo.batch_size`` of its
    own, so that it learns what a run alone with its seed and that many lanes would.

    Parameters
    ----------
    seeds : tuple of int
        One a member, in place of the run's.
    learning_rates, ent_coefs, clip_ranges : tuple of float
        In place of ``ppo.learning_rate``, ``ppo.ent_coef`` and ``ppo.clip_range``.
    """

    seeds: tuple[int, ...] = ()
    learning_rates: tuple[float, ...] = ()
    ent_coefs: tuple[float, ...] = ()
    clip_ranges: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        for seed in self.seeds:
            require(0 <= seed < 2**32, "ensemble.seeds", seed, "from 0 to 2**32 - 1")
        for field in fields(self)[1:]:
            values = getattr(self, field.name)
            fits = len(values) in (0, len(self.seeds))
            allowed = f"empty, or {len(self.seeds)} values, one for each of ensemble.seeds"
            require(fits, f"ensemble.{field.name}", values, allowed)
        for name in ("learning_rates", "clip_ranges"):
            for value in getattr(self, name):
                require(value > 0, f"ensemble.{name}", value, "above 0")
        for value in self.ent_coefs:
            require(value >= 0, "ensemble.ent_coefs", value, "at least 0")

    def members(self, ppo: PPOConfig) -> tuple[Member, ...]:
        """Return the members, with what ``ppo`` says where they have nothing of their own."""
        size = len(self.seeds)
        rates = self.learning_rates or (ppo.learning_rate,) * size
        entropies = self.ent_coefs or (ppo.ent_coef,) * size
        clips = self.clip_ranges or (ppo.clip_range,) * size
        return tuple(map(Member, self.seeds, rates, entropies, clips))


@dataclass(frozen=True)
class Member:
    """What one network of an ensemble has of its own.

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

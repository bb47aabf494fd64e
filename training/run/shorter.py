"""Runs that are shorter than one of their rollouts: the rollout gives way, not the length."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from training.run.config import RunConfig

_SIZES = {"n_steps": "steps", "batch_size": "batch", "num_envs": "lanes"}


@dataclass(frozen=True)
class Rollout:
    """Sizes of a rollout, and what they must be multiples of.

    Parameters
    ----------
    lanes, steps : int
        Decisions of a rollout are their product.
    batch : int
        Samples of a minibatch; divides the rollout, or the part of it that each member has.
    lane_unit, step_unit, batch_unit : int
    members : int
        Networks that share the lanes.
    """

    lanes: int
    steps: int
    batch: int
    lane_unit: int = 1
    step_unit: int = 1
    batch_unit: int = 1
    members: int = 1

    def fitted(self, total: int) -> Rollout:
        """Return one of about ``total`` decisions, if this one has more.

        It has fewer steps; only if one step of all lanes is more than ``total``, fewer lanes.
        """
        total = max(total, 2 * self.members)  # two samples at least, see below
        undivided = self.lanes % self.lane_unit != 0  # refused by name elsewhere, or left whole
        if undivided or total >= self.lanes * self.steps:
            return self
        steps = min(self.steps, _up(total / self.lanes, self.step_unit))
        lanes = self.lanes
        if steps == self.step_unit:
            lanes = min(lanes, _up(total / steps, self.lane_unit))
        return replace(self, lanes=lanes, steps=steps, batch=self._minibatch(lanes * steps))

    def _minibatch(self, rollout: int) -> int:
        """Return the largest minibatch that is not above ours and divides a rollout."""
        rollout //= self.members
        most = min(self.batch, rollout)
        least = min(self.batch, 2)  # of one sample there is no deviation
        fitting = range(most - most % self.batch_unit, least - 1, -self.batch_unit)
        found = next((size for size in fitting if rollout % size == 0), rollout)
        return rollout if 2 * found < most else found  # a few larger rather than many tiny ones


def shorten(config: RunConfig, ranks: int = 1) -> RunConfig:
    """Return options whose rollout is no longer than the run, as far as lanes can be divided.

    Parameters
    ----------
    config : RunConfig
    ranks : int
        Processes that share lanes and minibatches.
    """
    if config.trainer == "hier":
        return _shorten_both(config)
    native = config.native
    learners, runners = max(1, config.rllib.learners), max(1, config.rllib.env_runners)
    members = max(1, len(config.ensemble.seeds))
    chunk = native.seq_len if native.recurrent != "none" else 1
    dqn = config.trainer == "dqn"
    given = Rollout(
        config.num_envs,
        config.dqn.iteration_steps if dqn else config.ppo.n_steps,
        1 if dqn else config.ppo.batch_size,
        lane_unit=math.lcm(native.env_groups, members, learners, runners, ranks),
        step_unit=chunk,
        batch_unit=chunk * math.lcm(learners, ranks),
        members=members,
    )
    found = given.fitted(config.total_steps)
    if found == given:
        return config
    if dqn:
        fewer = replace(config.dqn, iteration_steps=found.steps)
        return replace(config, num_envs=found.lanes, dqn=fewer)
    ppo = replace(config.ppo, n_steps=found.steps, batch_size=found.batch)
    return replace(config, num_envs=found.lanes, ppo=ppo)


def _shorten_both(config: RunConfig) -> RunConfig:
    """Shorten the rollouts of Manager and Worker, which begins."""
    ppo, hier = config.ppo, config.hier
    own = hier.worker
    given = Rollout(
        config.num_envs, own.get("n_steps", ppo.n_steps), own.get("batch_size", ppo.batch_size)
    )
    if not all(type(size) is int and size >= 1 for size in (given.steps, given.batch)):
        return config  # refused by name elsewhere
    found = given.fitted(config.total_steps)
    if found == given:
        return config

    def fit(options: Mapping[str, Any]) -> dict[str, Any]:
        sizes = {n: getattr(found, size) for n, size in _SIZES.items() if n in options}
        return {**options, **sizes}

    return replace(
        config,
        num_envs=found.lanes,
        ppo=replace(ppo, n_steps=found.steps, batch_size=found.batch),
        hier=replace(hier, worker=fit(hier.worker), manager=fit(hier.manager)),
    )


def _up(number: float, unit: int) -> int:
    """Return the least multiple of ``unit`` that is not below ``number``."""
    return math.ceil(number / unit) * unit

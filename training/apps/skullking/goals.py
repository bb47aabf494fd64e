"""The same goals and deals for everybody: how often the goal of a round is reached.

One episode is one round with a given goal. All policies play the very same episodes (same seeds),
so their differences are paired.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np

from fastenv import BatchEngine
from training.evaluation.bootstrap import Interval, Resamples
from training.evaluation.policies import Policy, first_episodes

# Looks at an engine after a step that belonged to the first episode of some lanes, bool (n,).
Watch = Callable[[BatchEngine, np.ndarray], None]


@dataclass(frozen=True)
class Comparison:
    """Goal-hit rates of policies that played the same episodes.

    Parameters
    ----------
    rates : dict of str to dict of str to Interval
        Policy to ``overall`` and ``round_<r>`` to rate.
    differences : dict of str to Interval
        Policy to its overall rate minus that of ``baseline``, episodes paired.
    baseline : str
    episodes : int
    """

    rates: dict[str, dict[str, Interval]]
    differences: dict[str, Interval]
    baseline: str
    episodes: int

    def best(self, others: Collection[str]) -> str:
        """Return which of some policies reaches most goals."""
        return max(others, key=lambda policy: self.rates[policy]["overall"].value)

    def outside(self, policy: str, other: str) -> bool:
        """Tell whether a policy is better than another, outside both 95 % intervals."""
        return self.rates[policy]["overall"].low > self.rates[other]["overall"].high


def play(
    engine: BatchEngine, policy: Policy, seed: int, watch: Watch | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Play episode ``seed + i`` in lane ``i``.

    Parameters
    ----------
    engine : BatchEngine
    policy : Policy
    seed : int
    watch : callable, optional

    Returns
    -------
    rounds : ndarray of int, shape (n, 3)
        Number of the round (from 1), cards, and goal as it was given.
    hit : ndarray of bool, shape (n,)
    """
    engine.reset_many(seeds=seed)
    info = engine.info
    rounds = np.stack([info["round"], info["cards"], info["bid"]], axis=1)
    hit = np.zeros(engine.num_envs, np.bool_)
    for running, over in first_episodes(engine, policy):
        if watch is not None:
            watch(engine, running)
        hit[over] = info["ended_won"][over] == info["ended_bid"][over]
    return rounds, hit


def compare(
    engine: BatchEngine,
    policies: Mapping[str, Policy],
    seed: int,
    resamples: int,
    baseline: str = "rule_hard",
    watches: Mapping[str, Watch] | None = None,
) -> Comparison:
    """Let every policy play the same episodes, one a lane.

    Parameters
    ----------
    engine : BatchEngine
        Of a tier whose episodes are rounds with a goal.
    policies : mapping of str to Policy
        Must contain ``baseline``.
    seed : int
        Of the first episode.
    resamples : int
    baseline : str
    watches : mapping of str to callable, optional
        Who watches which policy.
    """
    hits, first = {}, None
    for name, policy in policies.items():
        rounds, hits[name] = play(engine, policy, seed, (watches or {}).get(name))
        first = rounds if first is None else first
        if not np.array_equal(rounds, first):
            raise AssertionError("equal seeds gave different goals or deals")
    assert first is not None
    number = first[:, 0]
    groups = {"overall": np.ones(len(number), np.bool_)}
    groups |= {f"round_{r}": number == r for r in np.unique(number)}
    columns = [(name, group) for name in policies for group in groups]
    numerators = np.stack([hits[name] & groups[group] for name, group in columns], axis=1)
    denominators = np.stack([groups[group] for _, group in columns], axis=1)
    drawn = Resamples(numerators, denominators, resamples, seed)
    rates: dict[str, dict[str, Interval]] = {name: {} for name in policies}
    for (name, group), interval in zip(columns, drawn.intervals(), strict=True):
        rates[name][group] = interval
    overall = {name: columns.index((name, "overall")) for name in policies}
    differences = {
        name: drawn.difference(overall[name], overall[baseline])
        for name in policies
        if name != baseline
    }
    return Comparison(rates, differences, baseline, engine.num_envs)

"""Options of the hierarchical trainer, the section ``hier`` of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from training.run.values import require

# What the two policies have instead of the defaults of ``ppo`` (docs/training.md): a
# rollout is used often, so an update ends early when the policy has moved far enough.
POLICY_DEFAULTS: dict[str, dict[str, Any]] = {
    "worker": {"n_epochs": 12, "ent_coef": 0.01, "target_kl": 0.02},
    "manager": {"n_epochs": 25, "ent_coef": 0.02, "target_kl": 0.02},
}


@dataclass(frozen=True)
class GoalShares:
    """Whose goals the Worker's lanes play to, as shares of the lanes.

    Parameters
    ----------
    manager : float
        The Manager's bids. Before there is a Manager, the others share its lanes.
    estimate : float
        What the hand promises, one less or one more.
    uniform : float
        From 0 to N, equally likely.
    """

    manager: float = 0.5
    estimate: float = 0.25
    uniform: float = 0.25

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        for name in ("manager", "estimate", "uniform"):
            value = getattr(self, name)
            require(0 <= value <= 1, f"hier.goals.{name}", value, "from 0 to 1")
        total = self.manager + self.estimate + self.uniform
        require(abs(total - 1) < 1e-9, "hier.goals", self, "three shares that add up to 1")
        rest = self.manager < 1
        require(rest, "hier.goals.manager", self.manager, "below 1: before it bids, others do")


@dataclass(frozen=True)
class GateOptions:
    """What the Worker must have shown before the Manager's cards are left to it.

    It plays rounds, uniformly drawn, to goals near what the hand promises; see
    :class:`training.callbacks.gate.GateConfig` for the test. Until it passes, ``rule_hard`` plays
    the cards.

    Parameters
    ----------
    target : float or None
        Share of goals that must be exceeded; None asks for nothing.
    margin : float or None
    alpha : float
    n_max : int
    tests : int
        After so many failures ``rule_hard`` plays to the end.
    every : int
        Iterations of the Worker between two tests at least.
    """

    target: float | None = None
    margin: float | None = None
    alpha: float = 0.05
    n_max: int = 20_000
    tests: int = 10
    every: int = 10


@dataclass(frozen=True)
class HierConfig:
    """How Manager and Worker are trained; the env of the run is the Worker's.

    Parameters
    ----------
    warm_start : int
        Decisions of the Worker before the Manager's first.
    ratio : float
        Decisions of the Worker for each of the Manager after that.
    worker, manager : mapping
        Options of the sections ``ppo`` and ``native`` that one policy has otherwise than the run;
        the Manager may have ``num_envs`` of its own. Epochs, entropy and KL limit have other
        defaults than there (``POLICY_DEFAULTS``).
    mode : {"round", "game"}
        An episode of the Manager is one bid, or the ten bids of a game, with history and scores.
    reward : {"shaped", "points"}
        Of the Manager: the table of docs/skullking.md, 10.4, or official points / 10.
    cards : {"sample", "best"}
        Whether the Worker draws the Manager's cards from its policy, as it explores, or plays the
        best.
    goals : GoalShares
    balance : {"episodes", "steps"}
        ``steps`` samples a Worker's rounds by 1 / N, so that every round has as many decisions;
        ``episodes`` by ``env_options.round_weights``.
    adaptive_epochs : bool
        ``clip(10 + 20 * min(1, Var(R) / Var_ref), 8, 30)`` epochs instead of ``n_epochs``, once
        ten rollouts have shown the reference.
    gate : GateOptions
    """

    warm_start: int = 1_000_000
    ratio: float = 5.0
    worker: Mapping[str, Any] = field(default_factory=dict)
    manager: Mapping[str, Any] = field(default_factory=dict)
    mode: str = "round"
    reward: str = "shaped"
    cards: str = "sample"
    goals: GoalShares = field(default_factory=GoalShares)
    balance: str = "episodes"
    adaptive_epochs: bool = False
    gate: GateOptions = field(default_factory=GateOptions)

    def __post_init__(self) -> None:
        """Refuse impossible values; those of the policies are refused where they are put in."""
        require(self.warm_start >= 0, "hier.warm_start", self.warm_start, "at least 0")
        require(self.ratio > 0, "hier.ratio", self.ratio, "above 0")
        for name, allowed in {
            "mode": ("round", "game"),
            "reward": ("shaped", "points"),
            "cards": ("sample", "best"),
            "balance": ("episodes", "steps"),
        }.items():
            value = getattr(self, name)
            require(value in allowed, f"hier.{name}", value, " or ".join(map(repr, allowed)))

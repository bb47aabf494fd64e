"""Options of trainer ``rllib``: the section ``rllib`` of a run."""

from __future__ import annotations

from dataclasses import dataclass

from training.run.values import require


@dataclass(frozen=True)
class RLlibConfig:
    """Over which processes and machines Ray spreads a run; what is learnt, ``ppo`` says.

    Parameters
    ----------
    address : str or None
        Of a Ray cluster, such as ``auto``; None starts one on this machine, for this run alone.
    env_runners : int
        Processes that step lanes, an equal share of ``num_envs`` each; 0 for the trainer's own.
    learners : int
        Processes that update, an equal share of each minibatch each; 0 for the trainer's own.
    gpus_per_learner : float
    object_store_mb : int
        Shared memory of a cluster that is started here, in MiB.
    """

    address: str | None = None
    env_runners: int = 0
    learners: int = 0
    gpus_per_learner: float = 0.0
    object_store_mb: int = 512

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        for name in ("env_runners", "learners", "gpus_per_learner"):
            value = getattr(self, name)
            require(value >= 0, f"rllib.{name}", value, "at least 0")
        enough = self.object_store_mb >= 128
        require(enough, "rllib.object_store_mb", self.object_store_mb, "at least 128")

    def check_sizes(self, num_envs: int, rollout: int, batch_size: int) -> None:
        """Refuse what does not divide over the processes."""
        runners, learners = max(1, self.env_runners), max(1, self.learners)
        allowed = f"a divisor of num_envs={num_envs}"
        require(num_envs % runners == 0, "rllib.env_runners", self.env_runners, allowed)
        for name, size in (
            ("num_envs * ppo.n_steps", rollout),
            ("ppo.batch_size", batch_size),
        ):
            allowed = f"a divisor of {name}={size}"
            require(size % learners == 0, "rllib.learners", self.learners, allowed)

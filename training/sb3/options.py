"""Options of the stock trainer."""

from __future__ import annotations

from typing import ClassVar, Literal

from training.ppo.options import OnPolicyRun
from training.run.config import Only
from training.run.options import option


class SB3Run(OnPolicyRun):
    """A run of stock ``sb3_contrib.MaskablePPO`` (:mod:`training.sb3`)."""

    COUNTS_TICKS: ClassVar[bool] = False
    EQUAL_ITERATIONS: ClassVar[bool] = True
    ONLY: ClassVar[tuple[Only, ...]] = (
        Only("selfplay", (None,)),
        Only("ppo.precision", (None, "fp32")),
        Only("ppo.activation", ("relu", "tanh")),
        Only("ppo.lr_schedule", ("constant", "linear")),
    )

    trainer: Literal["sb3"] = option("sb3", "stock PPO")

    @property
    def network(self) -> list[int]:
        """Widths of the hidden layers, as checkpoints have them."""
        return list(self.ppo.net_arch)

    def buffer_bytes(self, obs_bytes: int, num_actions: int) -> int:
        """Return the bytes of a rollout buffer; parameters as of :meth:`check_memory`."""
        # Mask, action, reward, flag, value, log-probability, advantage, return: 4-byte numbers.
        return self.rollout * (obs_bytes + 4 * (num_actions + 7))

"""The loop of a run as a callback of stock MaskablePPO."""

from __future__ import annotations

import time

from stable_baselines3.common.callbacks import BaseCallback

from training.run.finite import check_loss
from training.run.loop import Loop
from training.sb3.vec import DelayedActionVecEnv, TimedVecEnv

# Names of the values that MaskablePPO.train records, and what they are called in metrics.jsonl.
_TRAIN_VALUES = {
    "train/policy_gradient_loss": "policy_loss",
    "train/value_loss": "value_loss",
    "train/entropy_loss": "entropy_loss",
    "train/approx_kl": "kl",
    "train/clip_fraction": "clipfrac",
    "train/explained_variance": "explained_variance",
    "train/learning_rate": "lr",
    "train/loss": "loss",
}


class LoopCallback(BaseCallback):
    """Tells the loop of a run what SB3 does.

    The start of a rollout is the boundary between iterations: the update before it is done, nothing
    of the rollout has happened.

    Parameters
    ----------
    loop : Loop
    vec : TimedVecEnv
    delayed_actions : DelayedActionVecEnv, optional
        Follows the steps of the training.
    """

    def __init__(
        self,
        loop: Loop,
        vec: TimedVecEnv,
        delayed_actions: DelayedActionVecEnv | None = None,
    ) -> None:
        super().__init__()
        self._loop, self._vec = loop, vec
        self._delayed_actions = delayed_actions
        self._running = False

    def _on_rollout_start(self) -> None:
        self._border()
        if not self._loop.begin_iteration():
            return
        if self._delayed_actions is not None:
            self._delayed_actions.steps = self._loop.steps
        self._vec.busy_s = 0.0
        self._running = True

    def _on_step(self) -> bool:
        return not self._loop.stopped  # SB3 asks only after a step, which is not part of the run

    def _on_rollout_end(self) -> None:
        self._collected = time.perf_counter()

    def _on_training_end(self) -> None:
        if not self._loop.stopped:
            self._border()
            self._loop.finish()

    def _border(self) -> None:
        if not self._running:
            return
        self._running = False
        env, collected = self._vec.busy_s, self._collected
        phases = {
            "env": env,
            "collect": collected - self._loop.began - env,
            "update": time.perf_counter() - collected,
        }
        values = self.logger.name_to_value
        train = {ours: float(values[k]) for k, ours in _TRAIN_VALUES.items() if k in values}
        for name in ("loss", "policy_loss", "value_loss"):
            check_loss(train.get(name, 0.0), self._loop.iteration + 1)
        self._loop.end_iteration(train, phases)

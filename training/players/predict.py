"""A policy behind the ``predict`` of Stable-Baselines3."""

from __future__ import annotations

from typing import Any

import numpy as np

from training.players.policy import Policy, refuse_unless


class Predictor:
    """A policy as a model for ``sb3_contrib.common.maskable.evaluation.evaluate_policy``.

    Parameters
    ----------
    policy : Policy
    rng : numpy Generator or seed, optional
        For ``deterministic=False``.
    """

    def __init__(self, policy: Policy, rng: np.random.Generator | int | None = None) -> None:
        self.policy, self._rng = policy, np.random.default_rng(rng)

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
        action_masks: Any = None,
    ) -> tuple[np.ndarray, Any]:
        """Choose actions; return them and the next state, reset where ``episode_start`` is true.

        Raises
        ------
        ConfigError
            Without ``action_masks``; see also :meth:`Policy.act`.
        """
        allowed = "given: take evaluate_policy of sb3_contrib.common.maskable.evaluation"
        refuse_unless(action_masks is not None, "action_masks=None", allowed)
        if state is not None and episode_start is not None:
            state = np.where(np.asarray(episode_start, bool)[..., None], np.float32(0), state)
        actions, after = self.policy.act(
            observation, action_masks, state, deterministic=deterministic, rng=self._rng
        )
        return np.asarray(actions), after

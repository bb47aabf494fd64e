"""MaskablePPO whose collection does not go through the lanes one by one.

The stock class asks every info whether an episode ended, and evaluates the last observation of
each truncated episode by itself, a network call of batch 1. The engine knows both as arrays.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer
from sb3_contrib.common.maskable.utils import get_action_masks
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.utils import obs_as_tensor
from stable_baselines3.common.vec_env import VecEnv

from fastenv.adapters.sb3 import BatchVecEnv


class BatchMaskablePPO(MaskablePPO):
    """``MaskablePPO`` for a :class:`~fastenv.adapters.sb3.BatchVecEnv`, wrapped or not.

    Only ``collect_rollouts`` differs, and only in how it comes to its numbers: one value forward
    for all lanes truncated in a step, statistics of episodes from the arrays of the engine. Values
    of truncated lanes can differ from those of the stock class in the last bit, as products of
    matrices of different heights do. Infos are read in truncated lanes alone, so that wrappers
    which transform observations are respected; statistics are those of the engine, also with
    ``monitor=False``.
    """

    def collect_rollouts(  # type: ignore[override]
        self,
        env: VecEnv,
        callback: BaseCallback,
        rollout_buffer: MaskableRolloutBuffer,  # type: ignore[override]
        n_rollout_steps: int,
        use_masking: bool = True,
    ) -> bool:
        """Fill the buffer with a rollout of the current policy.

        Parameters
        ----------
        env : VecEnv
        callback : BaseCallback
            Called as by the stock class, with the same local variables.
        rollout_buffer : MaskableRolloutBuffer
        n_rollout_steps : int
        use_masking : bool

        Returns
        -------
        bool
            False if the callback ended the training.
        """
        vec = _unwrap(env)
        self.policy.set_training_mode(False)
        rollout_buffer.reset()
        callback.on_rollout_start()
        for n_steps in range(n_rollout_steps):  # noqa: B007 - callbacks read it
            with torch.no_grad():
                obs_tensor = obs_as_tensor(self._last_obs, self.device)  # type: ignore[arg-type]
                # a copy: the step overwrites the engine's masks
                action_masks = get_action_masks(env) if use_masking else None
                actions, values, log_probs = self.policy(obs_tensor, action_masks=action_masks)
            actions = actions.cpu().numpy()
            new_obs, rewards, dones, infos = env.step(actions)
            self.num_timesteps += env.num_envs
            callback.update_locals(locals())
            if not callback.on_step():
                return False
            self._finish_episodes(vec, rewards, dones, infos)
            rollout_buffer.add(
                self._last_obs,
                actions.reshape(-1, 1),
                rewards,
                self._last_episode_starts,
                values,
                log_probs,
                action_masks=action_masks,
            )
            self._last_obs = new_obs  # type: ignore[assignment]
            self._last_episode_starts = dones
        with torch.no_grad():
            obs_tensor = obs_as_tensor(new_obs, self.device)  # type: ignore[arg-type]
            values = self.policy.predict_values(obs_tensor)
        rollout_buffer.compute_returns_and_advantage(last_values=values, dones=dones)
        callback.on_rollout_end()
        return True

    def _finish_episodes(
        self,
        vec: BatchVecEnv,
        rewards: np.ndarray,
        dones: np.ndarray,
        infos: list[dict[str, Any]],
    ) -> None:
        """Count the episodes that ended, and add the bootstrap values of truncated ones."""
        self._count_episodes(vec, np.flatnonzero(dones))
        cut = np.flatnonzero(vec.engine.truncated)
        if cut.size:
            rewards[cut] += self.gamma * self._compute_final_values(infos, cut)

    def _compute_final_values(self, infos: list[dict[str, Any]], lanes: np.ndarray) -> np.ndarray:
        """Compute the values of the last observations of truncated episodes."""
        last = [infos[i]["terminal_observation"] for i in lanes]
        final: Any = (
            np.stack(last)
            if not isinstance(last[0], dict)
            else {name: np.stack([obs[name] for obs in last]) for name in last[0]}
        )
        with torch.no_grad():
            values = self.policy.predict_values(self.policy.obs_to_tensor(final)[0])
        return values.cpu().numpy().reshape(-1)

    def _count_episodes(self, vec: BatchVecEnv, ended: np.ndarray) -> None:
        """Do for the lanes that ended what ``_update_info_buffer`` does with their infos."""
        engine, success = vec.engine, vec.success_column
        now = round((time.time_ns() - self.start_time) / 1e9, 6)
        for i in ended[-self._stats_window_size :].tolist():  # the others would be pushed out
            total = round(float(engine.ep_return[i]), 6)
            episode = {"r": total, "l": int(engine.ep_length[i]), "t": now}
            self.ep_info_buffer.append(episode)  # type: ignore[union-attr]
            if success is not None:
                succeeded = bool(engine.final_info[success][i])
                self.ep_success_buffer.append(succeeded)  # type: ignore[union-attr]


def _unwrap(env: VecEnv) -> BatchVecEnv:
    """Return the environment below all wrappers; TypeError unless it is a ``BatchVecEnv``."""
    if not isinstance(env.unwrapped, BatchVecEnv):
        raise TypeError(
            "BatchMaskablePPO reads the arrays of a BatchVecEnv, and this environment is a "
            f"{type(env.unwrapped).__name__}: use sb3_contrib.MaskablePPO."
        )
    return env.unwrapped

"""Between engine and stock trainer: time, delayed actions, and steps that are shown to the run."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from fastenv.env import shown_obs
from training.run import schedules
from training.run.config import DelayedAction
from training.run.trainer import Trainer

# On-policy trainers copy masks and observations before the call that overwrites them, and write
# into no info: a `BatchVecEnv` of theirs need not copy too.
LENT: dict[str, Any] = {"mask_buffers": "engine", "obs_buffers": "pingpong", "infos": "shared"}


class TrainerVecEnv(VecEnvWrapper):
    """The lanes of a trainer, which are timed; the environment is left as it is.

    Parameters
    ----------
    venv : VecEnv
        A ``BatchVecEnv`` where there are rules or a trainer.
    rules : sequence of DelayedAction
        Actions that are removed from the masks at the start of episodes; see
        :func:`training.run.schedules.mask_delayed`.
    trainer : Trainer, optional
        Its ``on_step`` sees every step before the reward is stored.

    Attributes
    ----------
    busy_s : float
        Wall time in the environment, steps and masks, SB3's share included, since it was last set
        to zero.
    steps : int
        Decisions of training so far; to be kept up to date by the trainer.

    Raises
    ------
    ConfigError
        From :func:`training.run.schedules.check_delayed`.
    """

    def __init__(
        self, venv: VecEnv, rules: Sequence[DelayedAction] = (), trainer: Trainer | None = None
    ) -> None:
        super().__init__(venv)
        self._rules, self._trainer = tuple(rules), trainer
        self.busy_s, self.steps = 0.0, 0
        if rules:
            schedules.check_delayed(self.engine, self._rules)

    def _show(self, actions: np.ndarray | None, obs: Any) -> bool:
        """Show a step to the run; return whether there is one that looks at it."""
        hook = None if self._trainer is None else self._trainer.on_step
        if hook is not None:
            hook(self.engine, actions, obs, self.engine.mask)
        return hook is not None

    def reset(self) -> Any:
        """Reset all lanes."""
        obs = self.venv.reset()
        self._show(None, obs)
        return obs

    def restart(self, seeds: int | None = None) -> Any:
        """Begin a new episode in every lane; return the observations.

        Parameters
        ----------
        seeds : int, optional
            Of the first lane; default the generators of the lanes go on.
        """
        self.engine.reset_many(seeds=seeds)
        obs = shown_obs(self.engine.obs)
        self._show(None, obs)
        return obs

    def step_async(self, actions: np.ndarray) -> None:
        """Remember the actions and pass them on."""
        self._actions = np.array(actions)
        self.venv.step_async(actions)

    def step_wait(self) -> Any:
        """Step, timed; the reward is the engine's after trackers have added to it."""
        begin = perf_counter()
        obs, reward, dones, infos = self.venv.step_wait()
        self.busy_s += perf_counter() - begin
        if self._show(self._actions, obs):
            reward = self.engine.reward.astype(np.float32)
        return obs, reward, dones, infos

    def env_method(self, method_name: str, *args: Any, **kwargs: Any) -> list[Any]:
        """Call a method, timed; this is how the trainer asks for masks, without delayed actions."""
        begin = perf_counter()
        result = self.venv.env_method(method_name, *args, **kwargs)
        if method_name == "action_masks" and self._rules:
            if kwargs.get("indices") is not None:
                raise ValueError("masks are scheduled for all lanes at once")
            block = schedules.mask_delayed(self.engine, self._rules, self.steps)
            result = list(block) if len(result) == len(block) else [block]
        self.busy_s += perf_counter() - begin
        return result

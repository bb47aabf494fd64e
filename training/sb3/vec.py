"""Wrappers between engine and stock trainer: timing, delayed actions, the hook of trackers."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnvWrapper

from fastenv import BatchEngine
from fastenv.adapters.sb3 import BatchVecEnv
from fastenv.env import shown_obs
from training.run import schedules
from training.run.sections import DelayedAction
from training.run.trainer import Trainer

# On-policy trainers copy masks and observations before the call that overwrites them, and write
# into no info: a `BatchVecEnv` of theirs need not copy too.
LENT: dict[str, Any] = {"mask_buffers": "engine", "obs_buffers": "pingpong", "infos": "shared"}


class DelayedActionVecEnv(VecEnvWrapper):
    """Delays actions at the start of episodes: removes them from the masks that the trainer sees.

    The environment is left as it is.

    Parameters
    ----------
    venv : BatchVecEnv
    rules : sequence of DelayedAction
        See :func:`training.run.schedules.mask_delayed`.

    Attributes
    ----------
    steps : int
        Decisions of training so far; to be kept up to date by the trainer.

    Raises
    ------
    ConfigError
        From :func:`training.run.schedules.check_delayed`.
    """

    def __init__(self, venv: BatchVecEnv, rules: Sequence[DelayedAction]) -> None:
        super().__init__(venv)
        self._rules = tuple(rules)
        self.engine: BatchEngine = venv.engine
        schedules.check_delayed(self.engine, self._rules)
        self.steps = 0

    def ticks(self) -> dict[str, float]:
        """Return the ticks by which each action is delayed at present."""
        return {str(rule.action): rule.ticks_at(self.steps) for rule in self._rules}

    def reset(self) -> Any:
        """Reset all lanes."""
        return self.venv.reset()

    def step_wait(self) -> Any:
        """Step."""
        return self.venv.step_wait()

    def env_method(self, method_name: str, *args: Any, **kwargs: Any) -> list[Any]:
        """Call a method; masks come without delayed actions."""
        result = self.venv.env_method(method_name, *args, **kwargs)
        if method_name != "action_masks":
            return result
        if kwargs.get("indices") is not None:
            raise ValueError("masks are scheduled for all lanes at once")
        block = schedules.mask_delayed(self.engine, self._rules, self.steps)
        return list(block) if len(result) == len(block) else [block]

    def has_attr(self, attr_name: str) -> bool:
        """Tell whether the lanes have an attribute."""
        return self.venv.has_attr(attr_name)


class StepHookVecEnv(VecEnvWrapper):
    """Shows every step to the run before the trainer stores its reward.

    Parameters
    ----------
    venv : VecEnvWrapper
        Over a :class:`BatchVecEnv`.
    trainer : Trainer
        Its ``on_step`` is called.
    """

    def __init__(self, venv: VecEnvWrapper, trainer: Trainer) -> None:
        super().__init__(venv)
        batch: Any = venv.unwrapped
        self.engine: BatchEngine = batch.engine
        self._actions = np.zeros(self.num_envs, np.int64)
        self._trainer = trainer

    def _show(self, actions: np.ndarray | None, obs: Any) -> None:
        if self._trainer.on_step is not None:
            self._trainer.on_step(self.engine, actions, obs, self.engine.mask)

    def reset(self) -> Any:
        """Reset all lanes."""
        obs = self.venv.reset()
        self._show(None, obs)
        return obs

    def restart(self) -> Any:
        """Begin a new episode in every lane, whose generators go on; return the observations."""
        engine = self.engine
        engine.reset_many()
        obs = shown_obs(engine.obs)
        self._show(None, obs)
        return obs

    def step_async(self, actions: np.ndarray) -> None:
        """Remember the actions and pass them on."""
        self._actions = np.array(actions)
        self.venv.step_async(actions)

    def step_wait(self) -> Any:
        """Step; the reward is the engine's after trackers have added to it."""
        obs, _, dones, infos = self.venv.step_wait()
        self._show(self._actions, obs)
        return obs, self.engine.reward.astype(np.float32), dones, infos

    def has_attr(self, attr_name: str) -> bool:
        """Tell whether the lanes have an attribute."""
        return self.venv.has_attr(attr_name)


class TimedVecEnv(VecEnvWrapper):
    """Adds up the wall time spent in the environment: steps and masks, SB3's share included.

    Attributes
    ----------
    busy_s : float
        Seconds since it was last set to zero.
    """

    busy_s = 0.0

    def reset(self) -> Any:
        """Reset all lanes."""
        return self.venv.reset()

    def step_wait(self) -> Any:
        """Step, timed."""
        begin = perf_counter()
        result = self.venv.step_wait()
        self.busy_s += perf_counter() - begin
        return result

    def env_method(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Call a method, timed: this is how the trainer asks for masks."""
        begin = perf_counter()
        result = self.venv.env_method(*args, **kwargs)
        self.busy_s += perf_counter() - begin
        return result

    def has_attr(self, attr_name: str) -> bool:
        """Tell whether the lanes have an attribute."""
        return self.venv.has_attr(attr_name)

"""A ``VecEnv`` that knows how long it was busy."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from stable_baselines3.common.vec_env import VecEnvWrapper


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

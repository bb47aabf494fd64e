"""What commands that measure let one choose: their help needs no more of what measures."""

from __future__ import annotations

import argparse
import math

from fastenv.errors import ConfigError

MODES = ("env_only", "trainer", "trainer_eval", "breakdown")
WORKLOADS = {
    "masked_uniform": "random legal actions",
    "uniform": "random actions, legal or not",
    "hold": "the action that does nothing, always",
    "cash_out": "the action that ends the episode, always: a new world every step",
}
MINIBATCHES = 16
# What a cell of the matrix has unless told otherwise.
FACTORS = {
    "backend": "auto",
    "num_envs": 512,
    "env_threads": 1,
    "rollout_steps": 128,
    "minibatches": 16,
    "epochs": 4,
    "precision": "fp32",
}
CONFIGS = ("baseline", "numba", "cython", "fast", "large_net", "dummy", "hierarchical")


def check_numbers(args: argparse.Namespace, **least: float) -> None:
    """Refuse numbers that cannot be measured with; an option that is None is left out.

    Parameters
    ----------
    args : Namespace
        With ``seconds`` it has to be a time.
    **least
        By option, the least value that it may have.

    Raises
    ------
    ConfigError
    """
    for name, lowest in least.items():
        value = getattr(args, name)
        if value is not None and not value >= lowest:
            raise ConfigError(f"--{name.replace('_', '-')} {value}: must be at least {lowest}.")
    seconds = getattr(args, "seconds", None)
    if seconds is not None and not 0 < seconds < math.inf:
        raise ConfigError(f"--seconds {seconds:g}: must be a finite number above 0.")

"""What commands that measure let one choose: their help needs no more of what measures."""

from __future__ import annotations

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

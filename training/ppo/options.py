"""From the options of a run to those of the native trainer, and back in what it refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from fastenv.errors import ConfigError
from training.run.options.hindsight import head_size
from training.run.options.ppo import ExecutionConfig, PPOConfig

if TYPE_CHECKING:
    from training.run.config import RunConfig

# Options of the section ``ppo`` that go by another name here.
RENAMED = {
    "rollout_steps": "n_steps",
    "minibatch_size": "batch_size",
    "epochs": "n_epochs",
    "hidden": "net_arch",
}
_NATIVE = (
    *("clip_schedule", "ent_schedule", "adam_eps", "clip_range_vf", "value_clip", "value_loss"),
    *("norm_adv", "trunk", "encoder", "heads", "attention", "recurrent", "recurrent_size"),
    *(
        "seq_len",
        "burn_in",
        "refresh_states",
        "compile",
        "micro_batch",
        "obs_device",
        "timers",
        "hindsight",
    ),
)
_SHARED = (
    *("learning_rate", "lr_schedule", "gamma", "gae_lambda", "clip_range", "vf_coef", "ent_coef"),
    *("max_grad_norm", "target_kl", "activation"),
)
NAMES = (
    {ours: f"ppo.{theirs}" for ours, theirs in RENAMED.items()}
    | {name: f"ppo.{name}" for name in (*_SHARED, "precision")}
    | {name: f"native.{name}" for name in _NATIVE}
)


def learning(run: RunConfig) -> PPOConfig:
    """Return what is learnt in a run, for the native trainer.

    Raises
    ------
    ConfigError
        For options that contradict each other, by the names they have in a run.
    """
    values: dict[str, Any] = {name: getattr(run.ppo, name) for name in _SHARED}
    values |= {ours: getattr(run.ppo, theirs) for ours, theirs in RENAMED.items()}
    ours = {field.name for field in fields(PPOConfig)}
    values |= {name: getattr(run.native, name) for name in _NATIVE if name in ours}
    values["aux_head"] = head_size(run.native.hindsight)
    with names_of_the_run():
        return PPOConfig(**values)


def execution(run: RunConfig) -> ExecutionConfig:
    """Return how a run is computed by the native trainer.

    Raises
    ------
    ConfigError
        For impossible values, by the names they have in a run.
    """
    ours = {field.name for field in fields(ExecutionConfig)}
    values = {name: getattr(run.native, name) for name in _NATIVE if name in ours}
    values |= {"device": run.device, "precision": run.precision}
    with names_of_the_run():
        return ExecutionConfig(**values, deterministic=run.deterministic)


@contextmanager
def names_of_the_run() -> Iterator[None]:
    """Say in errors what the options are called in the config of a run."""
    try:
        yield
    except ConfigError as error:
        # A name stands before its value, before what it must be, or behind "ppo.".
        alone = "|".join(NAMES)
        pattern = rf"(?<![\w.])(?:ppo\.({alone})\b|({alone})(?==| must be))"
        text = re.sub(pattern, lambda found: NAMES[found[1] or found[2]], str(error))
        raise ConfigError(text) from error

"""Changes that a command makes to the options of a new run, each reported in one line.

In the order in which they are made: the best known options where an environment alone is named, a
minibatch for fewer lanes, a shorter run without the compiled core, a rollout for a short run.
Nothing else changes the options.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from fastenv.errors import show
from training.run import machine
from training.run.config import RunConfig
from training.run.config_files import merge
from training.run.folder import flatten
from training.run.options import whole_number
from training.run.presets import find_best_options

# Takes a line for people.
Say = Callable[[str], None]

REMEDY = (
    "To train all of it, install a C compiler and the headers of Python (Debian, Ubuntu: gcc, "
    "python3-dev), then run `make build` again."
)


def take_best_options(env: str, trainer: str, say: Say) -> dict[str, Any]:
    """Load the tuned options of an environment; empty if there are none."""
    name, values = find_best_options(env, trainer)
    if name is not None:
        say(f"the options are those of {name}, the best that are known for {env}")
    return values


def fit_minibatch(values: dict[str, Any], flags: dict[str, Any], say: Say) -> dict[str, Any]:
    """Reduce the minibatch to the rollout, where flags ask for fewer lanes than the options had.

    A minibatch that was chosen for more lanes is then the whole rollout; one that flags ask for as
    well stays.

    Parameters
    ----------
    values : dict
        Of all layers.
    flags : dict
        Of the command line alone.
    say : callable
    """
    ppo, ppo_flags = values.get("ppo"), flags.get("ppo", {})
    if "num_envs" not in flags or not isinstance(ppo, dict) or "batch_size" in ppo_flags:
        return values
    sizes = [whole_number(each) for each in (values["num_envs"], ppo.get("n_steps"))]
    batch = whole_number(ppo.get("batch_size"))
    if not all(type(size) is int and size >= 1 for size in (*sizes, batch)):
        return values  # refused by name elsewhere
    rollout = math.prod(sizes)
    if batch <= rollout:
        return values
    say(
        f"num_envs={sizes[0]:,} gives a rollout of {rollout:,} decisions, so ppo.batch_size is "
        f"{rollout:,} instead of {batch:,}"
    )
    return merge(values, {"ppo": {"batch_size": rollout}})


def fit_speed(config: RunConfig, slower: RunConfig, say: Say) -> RunConfig:
    """Take the options for a machine without the compiled core, if it does not work here.

    Parameters
    ----------
    config : RunConfig
    slower : RunConfig
        The same with those of the section ``without_core``.
    say : callable
    """
    if slower.total_steps == config.total_steps or config.backend != "auto":
        return config
    from training.run.envs import make_trial_lane

    backend = make_trial_lane(config).backend.name
    if backend == "fast":
        return config
    say(f"no compiled core, so on {backend} and {_compare(slower, config)}. {REMEDY}")
    return slower


def fit_rollout(config: RunConfig, say: Say) -> RunConfig:
    """Shorten the rollout to the length of the run."""
    shorter = config.shortened(machine.ranks())
    if shorter != config:
        say(
            f"total_steps={config.total_steps:,} is less than a rollout, which is shortened: "
            f"{_compare(shorter, config)}"
        )
    return shorter


def keep_rollout(config: RunConfig, begun: RunConfig) -> RunConfig:
    """Keep the length of the rollouts of a run that is resumed."""
    if config.rollout == begun.rollout:
        return config
    shorter = config.replace(total_steps=begun.total_steps).shortened(machine.ranks())
    return shorter.replace(total_steps=config.total_steps)


def _compare(config: RunConfig, other: RunConfig) -> str:
    """Describe in words the options that differ."""
    ours, theirs = flatten(config.to_dict()), flatten(other.to_dict())
    pairs = {name: (ours[name], theirs[name]) for name in ours if ours[name] != theirs[name]}
    return ", ".join(
        f"{name} {_format_value(a)} instead of {_format_value(b)}" for name, (a, b) in pairs.items()
    )


def _format_value(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | float) else show(value)

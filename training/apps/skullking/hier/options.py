"""From the options of a run to those of each of its two policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from fastenv.errors import ConfigError, UnknownOptionError
from training.run.envs import stream_seed
from training.run.options.hier import POLICY_DEFAULTS, GateOptions
from training.run.values import listed, require, shown

if TYPE_CHECKING:
    from training.callbacks.gate import GateConfig
    from training.run.config import RunConfig

POLICIES = ("worker", "manager")


def policy_run(run: RunConfig, policy: str) -> RunConfig:
    """Return the options of one policy as those of a run of its own with the native trainer.

    Parameters
    ----------
    run : RunConfig
        Of the hierarchical trainer.
    policy : {"worker", "manager"}

    Raises
    ------
    ConfigError
        For an unknown option or an impossible value; names policy and option.
    """
    hier = run.hier
    given: Mapping[str, Any] = getattr(hier, policy)
    values: dict[str, Any] = {**run.to_dict(), "trainer": "native", "hier": {}}
    for name, value in {**POLICY_DEFAULTS[policy], **given}.items():
        section = next((s for s in ("ppo", "native") if name in _names(run, s)), None)
        if section is not None:
            values[section][name] = value
        elif name == "num_envs" and policy == "manager":
            values[name] = value
        else:
            known = [*_names(run, "ppo"), *_names(run, "native")]
            known += ["num_envs"] if policy == "manager" else []
            raise UnknownOptionError(
                f"{shown(f'hier.{policy}.{name}')} is not an option; options: "
                f"{listed(name, known)}."
            )
    after = max(run.total_steps - hier.warm_start, 1)
    managers = max(round(after / (1 + hier.ratio)), 1)
    workers = max(run.total_steps - managers, 1)
    values["total_steps"] = managers if policy == "manager" else workers
    if policy == "manager":
        values["seed"] = stream_seed(run.seed, "manager")
    with names_of(policy):
        return type(run).from_mapping(values)


def check(run: RunConfig) -> None:
    """Refuse options that the hierarchical trainer cannot follow.

    Raises
    ------
    ConfigError
        Names option, value and what is allowed.
    """
    for policy in POLICIES:
        one = policy_run(run, policy)
        with names_of(policy):
            cell, groups = one.native.recurrent, one.native.env_groups
            allowed = "'none' with trainer='hier': a partner is a function of what it sees"
            require(cell == "none", "native.recurrent", cell, allowed)
            require(groups == 1, "native.env_groups", groups, "1 with trainer='hier'")
    require(run.window_ticks == 0, "window_ticks", run.window_ticks, "0 with trainer='hier'")
    for name in ("mask_schedule", "trackers", "gate"):
        value = getattr(run, name)
        require(not value, name, value, "empty with trainer='hier'")
    elsewhere = {"goal_mode": "hier.goals", "mode": "hier.mode"}
    if run.hier.balance == "steps":
        elsewhere["round_weights"] = "hier.balance='steps'"
    for section in ("env_options", "schedules"):
        for name, option in elsewhere.items():
            given = getattr(run, section).get(name)
            allowed = f"left out with trainer='hier', where {option} decides it"
            require(given is None, f"{section}.{name}", given, allowed)
    gate_config(run.hier.gate)


def gate_config(gate: GateOptions) -> GateConfig | None:
    """Return the gate of the Worker, None if there is none.

    Raises
    ------
    ConfigError
        See :class:`training.callbacks.gate.GateConfig`.
    """
    from training.callbacks.gate import GateConfig  # it needs the module of RunConfig

    if gate.target is None:
        return None
    values = asdict(gate)
    values["gate_every"] = values.pop("every")
    try:
        return GateConfig(**values)
    except ConfigError as error:
        raise ConfigError(f"hier.{error}") from error


@contextmanager
def names_of(policy: str) -> Iterator[None]:
    """Say in errors whose options they are about."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"hier.{policy}: {error}") from error


def _names(run: RunConfig, section: str) -> list[str]:
    return [field.name for field in fields(getattr(run, section))]

"""The description of a measured run, by which records, history, floors and trend know a figure.

A measured row has it as ``ran``, made from the objects that were timed, not from what was asked of
them. Two figures are of the same thing where their descriptions are equal, and there alone: what a
description does not name, no comparison can tell apart.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import fastenv
from fastenv import BatchEngine, Game
from training.run.engine import Engine
from training.run.options import Options

Ran = dict[str, Any]
DIGITS = 12  # of the digest of a file
# Options of a run that are described otherwise, or that do not change what is timed.
_SKIPPED = frozenset(
    (
        *("env", "env_options", "backend", "num_envs", "env_threads", "trainer"),
        *("torch_threads", "device", "name", "seed", "total_steps", "evaluation", "checkpoints"),
        *("ppo.precision", "dqn.precision", "native.trunk"),
    )
)
SAY_TRUNK = ("native",)  # trainers whose rows have it in their key
_SIZES = {
    "ppo": {
        "rollout_steps": "n_steps",
        "minibatch": "batch_size",
        "epochs": "n_epochs",
        "net_arch": "net_arch",
        "activation": "activation",
    },
    "dqn": {
        "rollout_steps": "iteration_steps",
        "minibatch": "batch_size",
        "net_arch": "net_arch",
        "activation": "activation",
    },
}


def describe_engine(engine: Engine, timed: str, *, adapter: str = "engine", **more: Any) -> Ran:
    """Describe an engine whose lanes were stepped.

    Parameters
    ----------
    engine : Engine
        That was stepped.
    timed : str
        What was timed, such as ``step_many``.
    adapter : str
        Through what it was stepped: the engine itself, or a view of it.
    **more
        Whatever else tells this figure from others; None is left out.
    """
    game = engine.game
    description = {
        "timed": timed,
        "adapter": adapter,
        "env": game.env_id,
        "options": options_of(game),
        "rom": rom_of(game),
        "backend": engine.backend,
        "num_envs": engine.num_envs,
        "num_threads": getattr(engine, "num_threads", 1),
        "opponent": getattr(engine, "opponent", None),
        "agent_seat": getattr(engine, "agent_seat", 0) or None,
        "info_columns": _get_columns(engine),
        **more,
    }
    return _to_plain({name: value for name, value in description.items() if value is not None})


def describe_run(config: Any, engine: Engine, timed: str, precision: str, **more: Any) -> Ran:
    """Describe a trainer that was timed.

    Parameters
    ----------
    config : RunConfig
        What it trained.
    engine : Engine
        That it stepped.
    timed : str
        What was timed of it, such as ``iterations``.
    precision : str
        Of the layers; what ``auto`` chose.
    **more
        As of :func:`describe_engine`; ``trainer`` where somebody else trains the same.
    """
    learning = config.net
    section = learning.SECTION.rstrip(".")
    sizes = {name: getattr(learning, field) for name, field in _SIZES[section].items()}
    trainer = more.pop("trainer", config.trainer)
    trunk = {"trunk": trunk_of(config)} if trainer in SAY_TRUNK else {}
    own = {f"{section}.{name}" for name in _SIZES[section].values()}
    about = {
        "trainer": trainer,
        "device": config.device if config.device != "auto" else _get_device(),
        "precision": precision,
        "torch_threads": config.torch_threads or 1,
        **sizes,
        **trunk,
        "num_envs": config.num_envs,  # in all groups or environments together
        "num_threads": config.engine_threads,
        "config": unusual(config, _SKIPPED | own) or None,
    }
    return describe_engine(engine, timed, **about, **more)


def run_fields(config: Any) -> dict[str, Any]:
    """Return what the row of a trainer says of its run, for people who read a record."""
    ppo = config.ppo
    return {
        "trainer": config.trainer,
        "env": config.env,
        "options": dict(config.env_options),
        "num_envs": config.num_envs,
        "num_threads": config.engine_threads,
        "rollout_steps": ppo.n_steps,
        "minibatch": ppo.batch_size,
        "epochs": ppo.n_epochs,
        "net_arch": list(ppo.net_arch),
    }


def trunk_of(config: Any) -> str:
    """Tell in a word whether policy and value share hidden layers; those of stock SB3 do not."""
    native = getattr(config, "native", None)
    return "separate" if native is None else str(native.trunk)


def key(row: Mapping[str, Any]) -> str | None:
    """Make the key that figures of the same thing share, None for a row without a description."""
    return json.dumps(row["ran"], sort_keys=True) if row.get("ran") else None


def label(ran: Mapping[str, Any]) -> str:
    """Put a description into words: equal words, equal thing."""
    first = [str(ran[name]) for name in _FIRST if name in ran]
    rest = (name for name in sorted(ran) if name not in _FIRST and ran[name] != {})
    return " ".join([*first, *(f"{name}={_format_value(ran[name])}" for name in rest)])


def _get_columns(engine: Any) -> list[str] | None:
    """Return the info columns that an engine writes, None if they are those of its game."""
    if not isinstance(engine, BatchEngine):
        return None
    spec, written = engine.spec, (*engine.info_columns, *engine.term_columns)
    every = (*spec.info_columns, *spec.term_columns)
    usual = every if spec.default_info is None else spec.default_info
    return None if set(written) == set(usual) else [*written]


_FIRST = ("timed", "env", "trainer", "backend")


def _format_value(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{name}:{_format_value(one)}" for name, one in sorted(value.items()))
    if isinstance(value, list):
        return "x".join(map(_format_value, value)) or "none"
    return str(value)


def options_of(game: Game) -> dict[str, Any]:
    """Return the options in which a game differs from its id's defaults; a file by its digest."""
    config: Any = getattr(game, "config", None)
    if game.env_id is None or not is_dataclass(config):
        return {}
    usual: Any = fastenv.make_game(game.env_id)
    chosen = {field.name: getattr(config, field.name) for field in fields(config)}
    return {
        name: digest(value)
        for name, value in chosen.items()
        if name != "rom" and value != getattr(usual.config, name)
    }


def rom_of(game: Game) -> str | None:
    """Return the first digits of the SHA-256 of the program that a game runs, None without one."""
    common = getattr(game, "common", None)
    cartridge = getattr(common, "cartridge", None)
    return None if cartridge is None else str(cartridge.sha256)[:DIGITS]


def engine_row(kind: str, engine: BatchEngine, timed: str, **how: Any) -> dict[str, Any]:
    """Describe what is timed of an engine on one thread, as its row says it."""
    row = {"kind": kind, "num_envs": engine.num_envs, "num_threads": 1}
    return row | {"ran": describe_engine(engine, timed, **how)}


def digest(value: Any) -> Any:
    """Return a value, or the first digits of the SHA-256 of the file that it names."""
    if isinstance(value, (str, Path)) and "/" in str(value):
        path = Path(value)
        if path.is_file():
            return hashlib.sha256(path.read_bytes()).hexdigest()[:DIGITS]
        return path.name
    return value


def unusual(options: Options, skip: Collection[str] = (), section: str = "") -> dict[str, Any]:
    """Return the options that differ from their defaults, sections likewise.

    Parameters
    ----------
    options : Options
    skip : collection of str
        Names of what is left out, such as ``ppo.n_steps``.
    section : str
        Stands before the names of these options.
    """
    changed = dict[str, Any]()
    for name in options.names():
        value, default = getattr(options, name), options.get_default(name)
        if section + name in skip or value == default:
            continue
        if isinstance(value, Options) and type(value) is type(default):
            value = unusual(value, skip, f"{section}{name}.")
        if value != {}:
            changed[name] = value
    return changed


def _get_device() -> str:
    from training.nets.precision import choose_device  # torch

    return choose_device("auto").type


def _to_plain(value: Any) -> Any:
    """Convert a value to what JSON reads back."""
    return json.loads(json.dumps(value, default=str))

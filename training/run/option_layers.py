"""Merge the layers of a command line into the options of a run, each over the one before.

The lowest are the defaults of :class:`RunConfig`; without preset and file, over them the usual
options of the environment.

A command changes the options of a new run in five places, and says each in one line, in this
order: the usual options where an environment alone is named, those of self-play in a game that
needs mixed strategies, a minibatch for fewer lanes, a shorter run without the compiled core, a
rollout for a short run. Nothing else changes them.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

from fastenv.errors import ConfigError, show
from training.run import games, machine, registry
from training.run.command_line import add_runs, new_parser
from training.run.config import BACKENDS, RunConfig, name_backend
from training.run.config_files import load_file, merge, parse_assignments
from training.run.folder import flatten
from training.run.options import require, whole_number
from training.run.seating import needs_mixing

_FLAGS = (
    *("env", "trainer", "name", "total_steps", "num_envs", "seed", "device", "torch_threads"),
    *("backend", "use_numba", "use_cython", "wandb"),
)
_BACKEND = ("use_numba", "use_cython", "env_impl")  # names of a backend in a file

CONFIGS = machine.ROOT / "training" / "configs"
# What a file says of learning; machine, checkpoints and evaluation are the user's own.
_LEARNING = (
    *("total_steps", "num_envs", "env_options", "schedules", "mask_schedule"),
    *("trainer", "ppo", "native", "expert", "hier", "trackers", "without_core"),
)
MIXED = "mixed.yaml"  # of self-play in a game that needs mixed strategies
# Takes a line for people.
Say = Callable[[str], None]
REMEDY = (
    "To train all of it, install a C compiler and the headers of Python (Debian, Ubuntu: gcc, "
    "python3-dev), then run `make build` again."
)
DESCRIPTION = (
    "Train an agent. Options come in layers, each over the one before: defaults, --preset, "
    "--config, flags. Without --preset and --config, the usual options of the environment are "
    "used."
)


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    usual = registry.DEFAULT_ENVS["train"]
    parse = new_parser("train", DESCRIPTION, f"--env {usual} --name first")
    parse.add_argument("--env", help=f"environment id, such as {usual}")
    parse.add_argument("--trainer", help=f"one of {', '.join(registry.TRAINERS)}")
    parse.add_argument("--config", help="YAML or JSON file of options")
    about = "named starting point, such as benchmark; docs/howto/training.md lists them"
    parse.add_argument("--preset", metavar="NAME", help=about)
    parse.add_argument("--name", help="name of the run, which is a folder under --runs")
    parse.add_argument("--total-steps", metavar="N", help="decisions to train for, as 2e6 or 2M")
    parse.add_argument("--num-envs", metavar="N", help="number of parallel environments (lanes)")
    parse.add_argument("--seed", type=int, help="training seed")
    parse.add_argument("--device", help="auto, cpu or cuda (untested)")
    parse.add_argument("--torch-threads", type=int, metavar="N", help="threads for the network")
    parse.add_argument("--backend", help=f"{', '.join(BACKENDS[:-1])} or {BACKENDS[-1]}")
    for flag, what in {"numba": "observations, masks and rewards", "cython": "rules"}.items():
        parse.add_argument(
            f"--use-{flag}", action="store_const", const=True, help=f"compile only {what}"
        )
    parse.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="OPTION=VALUE",
        help="set any option, such as ppo.n_steps=64; repeatable",
    )
    parse.add_argument(
        "--wandb", action="store_const", const=True, help="log to Weights & Biases too"
    )
    parse.add_argument("--resume", action="store_true", help="resume the run --name")
    parse.add_argument("--no-evaluation", action="store_true", help="train without evaluations")
    add_runs(parse)
    about = "print the options as YAML and exit"
    parse.add_argument("--print-config", action="store_true", help=about)
    about = "print the JSON schema of the options and exit"
    parse.add_argument("--print-schema", action="store_true", help=about)
    return parse


def config_of(flags: Sequence[str], say: Say | None = None) -> RunConfig:
    """Make the options of a new run from the flags of ``training train``.

    See :func:`merge_layers`.
    """
    return merge_layers(parser().parse_args(flags), {}, say)


def merge_layers(
    args: argparse.Namespace, base: dict[str, Any], say: Say | None = None
) -> RunConfig:
    """Merge the options of a command line over ``base``.

    A file may have a section ``without_core``: options for a shorter run, which take the place of
    its own where the compiled core does not work, unless flags say how long it is to be. A run that
    is resumed has a ``base``, and keeps the options that it began with.

    Parameters
    ----------
    args : argparse.Namespace
    base : dict
    say : callable, optional
        Takes one line for each such change; default the standard error.

    Raises
    ------
    ConfigError
        For an unknown option or an impossible value; names it.
    """
    say = say or partial(print, file=sys.stderr)
    flags = _read_flags(args)
    from_file = load_file(args.config) if args.config else {}
    if not (base or from_file or args.preset):
        env = str(flags.get("env", RunConfig.get_default("env")))
        from_file = take_usual_options(env, flags.get("trainer"), say)
        from_file = merge(take_mixed_options(merge(from_file, flags), say), from_file)
    slower = from_file.pop("without_core", {})
    mapping = isinstance(slower, dict)
    require(mapping, "without_core", slower, "a mapping of options to values")
    if base:
        options = _merge_all(base, merge(from_file, _select(base, slower)), args)
        config = RunConfig.from_mapping(fit_minibatch(options, flags, say))
        return keep_rollout(config, RunConfig.from_mapping(base))
    options = fit_minibatch(_merge_all({}, from_file, args), flags, say)
    config = RunConfig.from_mapping(options)
    shorter = _merge_all({}, merge(from_file, slower), args)
    shorter = _without_other_trainers(shorter, shorter.get("trainer"))  # flags among them
    less = fit_minibatch(shorter, flags, lambda _line: None)
    config = fit_speed(config, RunConfig.from_mapping(less), say)
    return fit_rollout(config, say)


def _without_other_trainers(values: dict[str, Any], trainer: Any) -> dict[str, Any]:
    """Leave out the sections that another trainer has not, if one is named."""
    if not isinstance(trainer, str) or trainer not in registry.TRAINERS:
        return values  # there is none, or it is refused later
    known = {*registry.OPTIONS.load(trainer).model_fields, *_BACKEND, "without_core"}
    return {name: value for name, value in values.items() if name in known}


def _merge_all(
    base: dict[str, Any], from_file: dict[str, Any], args: argparse.Namespace
) -> dict[str, Any]:
    """Merge the values of all layers."""
    name = args.preset or from_file.get("preset")
    layers = [base, {} if name is None else load_preset(name), from_file, _read_flags(args)]
    # Each chooses the backend as a whole: a flag is not added to those of a layer below.
    return reduce(merge, map(name_backend, layers))


def _read_flags(args: argparse.Namespace) -> dict[str, Any]:
    """Read the options that the flags set."""
    values = {flag: getattr(args, flag) for flag in _FLAGS if getattr(args, flag) is not None}
    return merge(parse_assignments(args.set), values)


def _select(base: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Select from ``base`` the values of some options."""
    selected = {}
    for name in options.keys() & base.keys():
        nested = isinstance(options[name], dict) and isinstance(base[name], dict)
        selected[name] = _select(base[name], options[name]) if nested else base[name]
    return selected


# -- presets ---------------------------------------------------------------------------------------


def read_presets() -> dict[str, dict[str, Any]]:
    """Read the presets of all games, by name.

    Raises
    ------
    ConfigError
        If a file is none of presets.
    """
    paths = dict.fromkeys(game.presets for game in games.registered())
    return {n: v for path in paths if path is not None for n, v in load_file(path).items()}


def load_preset(name: str) -> dict[str, Any]:
    """Read the values of a preset.

    Raises
    ------
    ConfigError
        For an unknown name.
    """
    presets = read_presets()
    if not isinstance(name, str) or name not in presets:
        raise ConfigError(f"preset={show(name)}: there are {', '.join(presets)}.")
    return {**presets[name], "preset": name}


def find_usual_options(env: str, trainer: str | None) -> tuple[str | None, dict[str, Any]]:
    """Find a file and its options for a run that names environment and trainer alone.

    It is the file in ``training/configs`` that the game names; None and nothing if it names none.
    Without a trainer it is that which the game prefers.
    """
    game = games.get_game(env)
    name = game.files.get(str(trainer or game.trainer))
    if name is None:
        return None, {}
    values = load_file(CONFIGS / name)
    if "preset" in values:
        values = merge(load_preset(values["preset"]), values)
    chosen = {option: values[option] for option in _LEARNING if option in values}
    if trainer:  # the sections of others say nothing to it
        chosen = _without_other_trainers({**chosen, "trainer": trainer}, trainer)
    return f"training/configs/{name}", chosen


# -- changes that a command makes ------------------------------------------------------------------


def take_usual_options(env: str, trainer: str | None, say: Say) -> dict[str, Any]:
    """Load the usual options of an environment; empty if there are none."""
    name, values = find_usual_options(env, trainer)
    if name is not None:
        say(f"the options are those of {name}, the usual ones for {env}")
    return values


def take_mixed_options(values: dict[str, Any], say: Say) -> dict[str, Any]:
    """Load the options of self-play that mixes; empty unless a game needs it and they suit it.

    Parameters
    ----------
    values : dict
        Of a run that names no preset and no file.
    say : callable
    """
    env, trainer = (str(values.get(n, RunConfig.get_default(n))) for n in ("env", "trainer"))
    options = values.get("env_options") or {}
    plays = isinstance(values.get("selfplay"), dict) and isinstance(options, dict)
    if not plays or trainer not in registry.TRAINERS:  # what is wrong is refused elsewhere
        return {}
    if not registry.OPTIONS.load(trainer).AVERAGES or not needs_mixing(env, options):
        return {}
    mixed: dict[str, Any] = load_file(CONFIGS / MIXED)
    mixed.pop("env")  # of an example
    shown = ", ".join(
        f"{name}={_format_value(value)}"
        for name, value in flatten(mixed).items()
        if flatten(values).get(name, value) == value
    )
    say(f"{env} needs mixed strategies, so self-play takes training/configs/{MIXED}: {shown}")
    return mixed


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
    shorter = config.shorten_rollout(machine.ranks())
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
    shorter = config.replace(total_steps=begun.total_steps).shorten_rollout(machine.ranks())
    return shorter.replace(total_steps=config.total_steps)


def _compare(config: RunConfig, other: RunConfig) -> str:
    """Describe in words the options that differ."""
    ours, theirs = flatten(config.to_dict()), flatten(other.to_dict())
    both = [name for name in ours if name in theirs]  # trainers have sections of their own
    pairs = {name: (ours[name], theirs[name]) for name in both if ours[name] != theirs[name]}
    return ", ".join(
        f"{name} {_format_value(a)} instead of {_format_value(b)}" for name, (a, b) in pairs.items()
    )


def _format_value(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | float) else show(value)

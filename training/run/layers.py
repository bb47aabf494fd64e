"""Merge the layers of a command line into the options of a run, each over the one before.

The lowest are the defaults of :class:`RunConfig`; without preset and file, over them those that
were found best for the environment.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial, reduce
from typing import Any

from training.run import adjust, trainers
from training.run.adjust import Say
from training.run.command_line import add_runs, new_parser
from training.run.config import BACKENDS, RunConfig, name_backend
from training.run.config_files import load_file, merge, parse_assignments
from training.run.options import require
from training.run.presets import load_preset, read_presets
from training.run.registry import DEFAULT_ENVS

_FLAGS = (
    *("env", "trainer", "name", "total_steps", "num_envs", "seed", "device", "torch_threads"),
    *("backend", "use_numba", "use_cython", "wandb"),
)
_TUNED_BY = ("env", "trainer")  # there are tuned options for these

DESCRIPTION = (
    "Train an agent. Options come in layers, each over the one before: defaults, --preset, "
    "--config, flags. Without --preset and --config, the best known options of the environment are "
    "used."
)


def _check_preset(name: str) -> str:
    """Check the name of a preset; only this imports the games, so the help need not."""
    presets = read_presets()
    if name not in presets:
        names = ", ".join(map(repr, presets))
        raise argparse.ArgumentTypeError(f"invalid choice: {name!r} (choose from {names})")
    return name


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    usual = DEFAULT_ENVS["train"]
    parse = new_parser("train", DESCRIPTION, f"--env {usual} --name first")
    parse.add_argument("--env", help=f"environment id, such as {usual}")
    parse.add_argument("--trainer", help=f"one of {', '.join(trainers.names())}")
    parse.add_argument("--config", help="YAML or JSON file of options")
    about = "named starting point, such as benchmark; docs/howto/training.md lists them"
    parse.add_argument("--preset", type=_check_preset, metavar="NAME", help=about)
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


def merge_layers(
    args: argparse.Namespace, base: dict[str, Any], say: Say | None = None
) -> RunConfig:
    """Merge the options of a command line over ``base``.

    Only :mod:`training.run.adjust` changes the merged options. A file may have a section
    ``without_core``: options for a shorter run, which take the place of its own where the compiled
    core does not work, unless flags say how long it is to be. A run that is resumed has a ``base``,
    and keeps the options that it began with.

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
        env, trainer = (str(flags.get(name, RunConfig.get_default(name))) for name in _TUNED_BY)
        from_file = adjust.take_best_options(env, trainer, say)
    slower = from_file.pop("without_core", {})
    mapping = isinstance(slower, dict)
    require(mapping, "without_core", slower, "a mapping of options to values")
    if base:
        options = _merge_all(base, merge(from_file, _select(base, slower)), args)
        config = RunConfig.from_mapping(adjust.fit_minibatch(options, flags, say))
        return adjust.keep_rollout(config, RunConfig.from_mapping(base))
    options = adjust.fit_minibatch(_merge_all({}, from_file, args), flags, say)
    config = RunConfig.from_mapping(options)
    less = adjust.fit_minibatch(_merge_all({}, merge(from_file, slower), args), flags, _ignore)
    config = adjust.fit_speed(config, RunConfig.from_mapping(less), say)
    return adjust.fit_rollout(config, say)


def _ignore(_line: str) -> None:
    pass


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

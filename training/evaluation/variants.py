"""What a comparison trains: each variant with each seed, by its command line."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable

from fastenv.errors import ConfigError
from training.evaluation.command import (
    Variant,
    evaluation_of,
    left_to_flags,
    refuse_options,
    train_flags,
)
from training.evaluation.comparison import EarlierComparison, Training, settings
from training.evaluation.over_seeds import parse_seeds
from training.evaluation.protocols import get_protocol
from training.run.config import RunConfig
from training.run.layers import merge_layers
from training.run.layers import parser as train_parser
from training.run.options import require


def plan(
    args: argparse.Namespace,
    check: Callable[[RunConfig], None],
    onto: EarlierComparison | None = None,
) -> list[Training]:
    """Return all trainings of a command line, seed by seed, and refuse what cannot be compared.

    Parameters
    ----------
    args : argparse.Namespace
        Of ``python -m training compare``.
    check : callable
        Refuses a run that could not be trained.
    onto : Earlier, optional
        What their variants are compared with.

    Raises
    ------
    ConfigError
        For an impossible option, or variants that cannot be told apart or have no game in common.
    """
    names = [variant.name for variant in args.variants]
    configs = {} if onto is None else onto.configs
    for name in names:
        plain = re.fullmatch(r"[A-Za-z0-9._-]+", name) is not None
        require(plain, "--variant", name, "letters, digits, '.', '_' and '-' alone")
        own = [*configs, *names].count(name) == 1
        require(own, "--variant", name, "a name of its own")
    least, words = (2, "at least twice") if onto is None else (1, "at least once")
    allowed = f"given {words}, such as --variant base --variant other --with ppo.n_epochs=2"
    require(len(names) >= least, "--variant", ", ".join(names) or None, allowed)
    equal_time = args.core_seconds is not None
    alone = args.total_steps is None or not equal_time
    require(alone, "--total-steps", args.total_steps, "left out with --core-seconds")
    seeds = parse_seeds(args.seeds, at_least=2)
    trainings = [_training(args, variant, seed) for seed in seeds for variant in args.variants]
    if onto is not None:
        onto.check(seeds, evaluation_of(args, trainings[0].config))
    configs |= {each.variant: each.config for each in trainings[: len(names)]}
    first, baseline = next(iter(configs.items()))
    for name, config in configs.items():
        require(not config.members, "trainer", config.trainer, "one of a single network")
        theirs, ours = (get_protocol(c.env).comparison_group(c) for c in (config, baseline))
        if theirs != ours:
            raise ConfigError(
                f"variant {name!r} plays {theirs} and {first!r} {ours}: "
                "only agents of one game can be compared."
            )
        twins = [other for other in configs if settings(configs[other]) == settings(config)]
        if len(twins) > 1:
            raise ConfigError(f"variants {' and '.join(twins)} have the same options.")
        check(config)
    return trainings


def _training(args: argparse.Namespace, variant: Variant, seed: int) -> Training:
    file = variant.file or args.config
    given = (*args.set, *variant.options)
    timed = {} if args.core_seconds is None else {"total_steps": "--core-seconds"}
    refuse_options(given, {**left_to_flags(args), **timed})
    flags = train_flags(args, file, given)
    flags += [f"--name={args.name}-{variant.name}-{seed}", f"--seed={seed}", f"--runs={args.runs}"]
    flags.append("--no-evaluation")
    config = merge_layers(train_parser().parse_args(flags), {})
    return Training(variant.name, config, shlex.join(["python", "-m", "training", "train", *flags]))

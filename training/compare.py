"""Is one setting better than another, over seeds? ``python -m training.compare``.

Trains every variant with every seed, lets all play the same evaluation games and compares them
with the first variant, paired by seed. With few seeds the interval over them is the honest one: it
says how much other trainings could differ, which an interval over games does not.

Every training is an ordinary run folder, ``RUNS/NAME-VARIANT-SEED``. The same command, with more
seeds or variants if need be, goes on where it was: what has ended is not trained again.
``--onto`` sets further variants beside those of a report, whose runs may be gone. With
``--core-seconds`` variants are compared at equal time instead of equal decisions.
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fastenv.errors import ConfigError
from training.callbacks.of_run import check_environment
from training.evaluation import paired, tables
from training.evaluation.command import add_flags, evaluation_of, exit_status, train_flags
from training.evaluation.comparison import Earlier, Training, run_comparison, settings
from training.evaluation.equal_time import of_equal_time
from training.evaluation.over_seeds import parse_seeds
from training.evaluation.protocol import protocol_of
from training.run.layers import layered
from training.run.layers import parser as train_parser
from training.run.options import require
from training.run.reading import parse_assignments


@dataclass(frozen=True)
class Variant:
    """What a variant has otherwise than the others.

    Parameters
    ----------
    name : str
    file : str or None
        A config file in the place of the common one.
    options : tuple of str
        ``OPTION=VALUE``, over file and common options.
    """

    name: str
    file: str | None = None
    options: tuple[str, ...] = ()


# -- what is trained -------------------------------------------------------------------------------


def plan(args: argparse.Namespace, onto: Earlier | None = None) -> list[Training]:
    """Return all trainings of a command line, seed by seed, and refuse what cannot be compared.

    Parameters
    ----------
    args : argparse.Namespace
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
    require(len(names) >= least, "--variant", ", ".join(names), f"given {words}")
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
        theirs, ours = (protocol_of(c.env).together(c) for c in (config, baseline))
        if theirs != ours:
            raise ConfigError(
                f"variant {name!r} plays {theirs} and {first!r} {ours}: "
                "only agents of one game can be compared."
            )
        twins = [other for other in configs if settings(configs[other]) == settings(config)]
        if len(twins) > 1:
            raise ConfigError(f"variants {' and '.join(twins)} have the same options.")
        check_environment(config)
    return trainings


def _training(args: argparse.Namespace, variant: Variant, seed: int) -> Training:
    file = variant.file or args.config
    given = (*args.set, *variant.options)
    for name in ("seed", "name"):
        free = name not in parse_assignments(given)
        require(free, name, parse_assignments(given).get(name), "left to --seeds and --name")
    flags = train_flags(args, file, given)
    flags += [f"--name={args.name}-{variant.name}-{seed}", f"--seed={seed}", f"--runs={args.runs}"]
    flags.append("--no-evaluation")
    config = layered(train_parser().parse_args(flags), {})
    return Training(variant.name, config, shlex.join(["python", "-m", "training.train", *flags]))


# -- command line ----------------------------------------------------------------------------------


class _Variants(argparse.Action):
    """``--variant`` begins a variant; ``--from`` and ``--with`` are those of the last one."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        flag, variants = self.option_strings[0], [*namespace.variants]
        if flag == "--variant":
            variants.append(Variant(values))
        elif not variants:
            raise ConfigError(f"{flag} {values}: must stand behind the --variant it belongs to.")
        elif flag == "--from":
            variants[-1] = replace(variants[-1], file=values)
        else:
            variants[-1] = replace(variants[-1], options=(*variants[-1].options, values))
        namespace.variants = variants


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = argparse.ArgumentParser(prog="python -m training.compare", description=__doc__)
    add_flags(parse, "compare")
    parse.add_argument(
        "--onto",
        type=Path,
        metavar="REPORT",
        help="an earlier comparison with these seeds, whose baseline is that of the variants too",
    )
    parse.add_argument("--seeds", required=True, help="training seeds, such as 1,2,3")
    parse.add_argument(
        "--core-seconds",
        type=float,
        metavar="S",
        help="as many decisions as a variant makes in them; its speed is measured first",
    )
    group = parse.add_argument_group(
        "variants", "the first one is the baseline; what follows a --variant is its own"
    )
    own: dict[str, Any] = {"dest": "variants", "action": _Variants}
    group.add_argument("--variant", default=[], metavar="NAME", help="begins one", **own)
    group.add_argument("--with", metavar="OPTION=VALUE", help="repeatable", **own)
    group.add_argument("--from", metavar="FILE", help="config in the place of --config", **own)
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    words = sys.argv[1:] if argv is None else argv
    return exit_status(lambda: _compare(words))


def _compare(words: list[str]) -> None:
    args = parser().parse_args(words)
    onto = None if args.onto is None else Earlier.read(args.onto)
    trainings = plan(args, onto)
    config = trainings[0].config
    target = args.runs / f"{args.name}.json"
    command = shlex.join(["python", "-m", "training.compare", *words])
    about: dict[str, Any] = {"name": args.name, "command": command}
    if args.core_seconds is not None:
        trainings = of_equal_time(trainings, args.core_seconds, args.runs)
        about["core_seconds"] = args.core_seconds
    options = evaluation_of(args, config)
    report = run_comparison(trainings, options, args.runs, target, about, onto)
    console = tables.console()
    paired.show(console, report, protocol_of(config.env))
    console.print(f"written to {target}")


if __name__ == "__main__":
    sys.exit(main())

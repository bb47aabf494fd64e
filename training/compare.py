"""Compare settings over training seeds: ``python -m training compare``."""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from fastenv.errors import ConfigError
from training.evaluation.seed_flags import (
    Variant,
    add_flags,
    evaluation_of,
    prepare_report,
)
from training.run.command_line import exit_status, new_parser

ABOUT = """\
Train every variant with every seed, evaluate all on the same games and compare each with the first
variant, paired by seed. The interval over seeds says how much other trainings could differ. Every
training is a run folder, RUNS/NAME-VARIANT-SEED. The same command, also with more seeds or
variants, continues an interrupted comparison. `python -m fastenv compare` compares environments.
"""


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
    """Make the parser of the command line."""
    parse = new_parser(
        "compare",
        ABOUT,
        "--seeds 1,2 \\\n    --variant a --variant b --with ppo.n_epochs=2",
        "--seeds N,N --variant NAME ... [options]",
    )
    add_flags(parse, "compare")
    parse.add_argument(
        "--onto",
        type=Path,
        metavar="REPORT",
        help="earlier comparison with the same seeds; its baseline is reused",
    )
    parse.add_argument("agents", nargs="*", help=argparse.SUPPRESS)  # to say where they belong
    parse.add_argument("--seeds", help="training seeds, such as 1,2,3")
    parse.add_argument(
        "--core-seconds",
        type=float,
        metavar="S",
        help="train each variant for S core-seconds; its speed is measured first",
    )
    group = parse.add_argument_group(
        "variants", "the first one is the baseline; --with and --from belong to the last --variant"
    )
    own: dict[str, Any] = {"dest": "variants", "action": _Variants}
    group.add_argument(
        "--variant", default=[], metavar="NAME", help="name of a variant; repeatable", **own
    )
    group.add_argument(
        "--with", metavar="OPTION=VALUE", help="set an option of the variant; repeatable", **own
    )
    group.add_argument(
        "--from", metavar="FILE", help="options file of the variant instead of --config", **own
    )
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    words = sys.argv[1:] if argv is None else argv
    return exit_status(lambda: _compare(words), "interrupted: the same command continues")


def _compare(words: list[str]) -> None:
    args = parser().parse_args(words)
    if args.agents:
        one, *others = args.agents
        against = f" --against {shlex.join(others)}" if others else ""
        raise ConfigError(
            f"{' '.join(args.agents)}: compare trains variants anew, and takes no agents; trained "
            f"ones meet by python -m training evaluate {shlex.quote(one)}{against}"
        )

    from training.callbacks.start import check_config
    from training.evaluation import over_seeds, tables
    from training.evaluation.comparison import EarlierComparison, is_earlier, plan, run_comparison
    from training.evaluation.judging import get_judging
    from training.evaluation.trainings import fit_to_time
    from training.run.options import require

    allowed = "given: training seeds, such as --seeds 1,2,3"
    require(args.seeds is not None, "--seeds", None, allowed)
    onto = None if args.onto is None else EarlierComparison.read(args.onto)
    trainings = plan(args, check_config, onto)
    config = trainings[0].config
    target = args.runs / f"{args.name}.json"
    command = shlex.join(["python", "-m", "training", "compare", *words])
    about: dict[str, Any] = {"name": args.name, "command": command}
    options = evaluation_of(args, config)
    prepare_report(
        target,
        partial(is_earlier, configs={each.variant: each.config for each in trainings}),
        "report of this comparison",
    )
    if args.core_seconds is not None:
        trainings = fit_to_time(trainings, args.core_seconds, args.runs)
        about["core_seconds"] = args.core_seconds
    report = run_comparison(trainings, options, args.runs, target, about, onto)
    console = tables.console()
    over_seeds.show(console, report, get_judging(config.env))
    console.print(f"written to {target}")


if __name__ == "__main__":
    sys.exit(main())

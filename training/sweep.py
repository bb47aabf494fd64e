"""Search for better options: ``python -m training sweep``, with Optuna (``.[sweep]``)."""

from __future__ import annotations

import argparse
import shlex
import sys
from functools import partial

from training.evaluation.seed_flags import add_flags
from training.run.command_line import exit_status, new_parser

ABOUT = """\
Search for better training options with Optuna. Every trial is one choice of the varied options,
trained with every seed. Its value is the mean over seeds of the objective of the game, on the same
evaluation games. The best of many trials is partly luck: compare it with the defaults on other
seeds before you believe it. Every training is a run folder, RUNS/NAME-TRIAL-SEED. The same command
continues an interrupted sweep, and adds trials if --trials is larger.
"""


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    example = "--vary ppo.n_epochs=2..8 --total-steps 1M"
    parse = new_parser("sweep", ABOUT, example, "--vary OPTION=VALUES ... [options]")
    add_flags(parse, "sweep")
    parse.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="OPTION=VALUES",
        help="values: [A,B] for choices, LOW..HIGH for a range, LOW..HIGH,log for a log scale",
    )
    parse.add_argument(
        "--trials", type=int, default=20, help="number of trials, earlier ones included; default 20"
    )
    parse.add_argument(
        "--seeds", default="1", help="training seeds of every trial, such as 1,2,3; default 1"
    )
    about = "seed of the sampler; default 0"
    parse.add_argument("--sampler-seed", type=int, default=0, metavar="N", help=about)
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    words = sys.argv[1:] if argv is None else argv
    return exit_status(lambda: _sweep(words), "interrupted: the same command continues")


def _sweep(words: list[str]) -> None:
    args = parser().parse_args(words)

    import optuna

    from training.callbacks.start import check_config
    from training.evaluation import tables
    from training.evaluation.trials import report_of, search
    from training.run import files

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    console = tables.console()
    study = search(args, check_config, partial(console.print, soft_wrap=True, markup=False))
    target = args.runs / f"{args.name}.json"
    report = report_of(study, shlex.join(["python", "-m", "training", "sweep", *words]))
    files.write_json(target, report)
    if report["trials"]:
        best = report["trials"][0]
        console.print(f"best: trial {best['trial']}, {best['value']:.4g}, {best['options']}")
    console.print(f"written to {target}; python -m training report {args.runs}/{args.name}-*")


if __name__ == "__main__":
    sys.exit(main())

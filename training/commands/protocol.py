"""The benchmark of a game over training seeds: ``python -m training compare protocol``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from fastenv.errors import ConfigError
from training.run import files, machine
from training.run.command_line import add_runs, exit_status, new_parser
from training.run.names import PLAIN, is_plain
from training.run.options import require
from training.run.registry import DEFAULT_ENVS

if TYPE_CHECKING:
    from training.run.config import RunConfig

ABOUT = """\
Run the benchmark of a game: train one policy per seed, evaluate its last checkpoint and all bots on
the same episodes (a block of evaluation seeds per training seed, which no training uses), compare
them and write a JSON report. With few seeds, quote the interval over training seeds: it says how
much another training could differ.
"""


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    parse = new_parser("compare protocol", ABOUT, "--seeds 7,19,31")
    parse.add_argument(
        "--seeds", "--seed-matrix", default="7,19,31", help="training seeds; default 7,19,31"
    )
    about = "YAML or JSON file of training options; default: that of the benchmark"
    parse.add_argument("--config", help=about)
    parse.add_argument("--total-steps", help="decisions of each training, such as 2e6 or 2M")
    parse.add_argument(
        "--set", action="append", default=[], metavar="OPTION=VALUE", help="any training option"
    )
    about = "evaluation episodes per training seed; default 100"
    parse.add_argument("--episodes-per-seed", type=int, default=100, metavar="N", help=about)
    parse.add_argument("--base-seed", type=int, help="seed of the first episode")
    parse.add_argument("--time-max", type=float, help="maximum ticks of an evaluation episode")
    about = "maximum decisions of an episode; default 30,000"
    parse.add_argument("--max-steps", type=int, default=30_000, help=about)
    about = "exit 1 if the policy misses the expected results"
    parse.add_argument("--enforce-protocol-expectations", action="store_true", help=about)
    parse.add_argument("--run-id", help="name of the report; default: protocol and the time")
    add_runs(parse)
    parse.add_argument(
        "--output-path", type=Path, help="report to write; default: <runs>/<run id>.json"
    )
    return parse


def default_config() -> str:
    """Return the default file of training options, that of the default game."""
    from training.run import games

    env = DEFAULT_ENVS["protocol"]
    return f"training/configs/{games.get_game(env).files['native']}"


def config_of(args: argparse.Namespace) -> RunConfig:
    """Make the options of the trainings, without their seeds."""
    from training.run.layers import merge_layers
    from training.run.layers import parser as train_parser

    flags = ["--config", args.config or default_config(), *(f"--set={text}" for text in args.set)]
    flags += [] if args.total_steps is None else [f"--total-steps={args.total_steps}"]
    return merge_layers(train_parser().parse_args(flags), {})


def run(args: argparse.Namespace) -> bool:
    """Train, compare, write and print; return whether the report passes."""
    from training.callbacks.start import check_config
    from training.evaluation import tables
    from training.evaluation.judging import get_judging
    from training.evaluation.trainings import parse_seeds

    seeds, config = parse_seeds(args.seeds), config_of(args)
    judging = get_judging(config.env)
    if judging.benchmark is None:
        raise ConfigError(f"env={config.env!r}: this game has no protocol over training seeds.")
    settings = {"episodes": args.episodes_per_seed, "max_steps": args.max_steps}
    more = {"seed": args.base_seed, "time_max": args.time_max}
    settings |= {name: value for name, value in more.items() if value is not None}
    run_id = args.run_id or "protocol-" + machine.now().replace(":", "")
    require(is_plain(run_id), "--run-id", run_id, PLAIN)
    target = args.output_path or args.runs / f"{run_id}.json"
    if target.exists():
        raise ConfigError(f"{target} is there already: choose another --output-path.")
    files.prepare("--output-path", target)
    enforce = args.enforce_protocol_expectations
    check_config(config)
    benchmark = judging.benchmark()
    report = benchmark.run(judging, config, seeds, settings, args.runs, run_id, enforce)
    report["artifacts"] = {"report_path": str(target), "run_root": str(args.runs)}
    files.write_json(target, report)
    console = tables.console()
    benchmark.show(console, report)
    passed = bool(report["summary"]["pass"])
    verdict = "pass" if passed else "FAIL"
    if passed and not report["summary"]["expectations_pass"]:
        verdict = "pass: expectations decide only with --enforce-protocol-expectations"
    console.print(f"{verdict}; written to {target}")
    return passed


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return 0 if the report passes, else 2."""
    args = parser().parse_args(argv)
    return exit_status(lambda: 0 if run(args) else 2, "interrupted: the runs so far are kept")

"""``python -m fastenv compare`` and ``check``: what the functions do, from the command line."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from fastenv.files import prepare
from fastenv.options import parse_option
from fastenv.testing import check, compare
from fastenv.testing.report import Report

ENVIRONMENT = (
    "a Gymnasium id (it ends in -vN; a module before it is imported: module:Name-v0), or "
    "module:name of something to call"
)


def add_options(command: str, parser: argparse.ArgumentParser) -> None:
    """Add the options of one of the two commands."""
    add = parser.add_argument
    if command == "compare":
        add("fast", help=f"the one in doubt: {ENVIRONMENT}")
        add("reference", help="the one that is right, or single ones of it beside a vector")
        about = "how the reference takes over what was drawn: the name of a recipe, or module:name"
        add("--sync", help=about)
        add("--rtol", type=float, default=0.0, help="relative tolerance of numbers; default 0")
    else:
        add("env", help=ENVIRONMENT)
        about = "do not hold copies and pickles to continue as the environment would"
        add("--no-copies", action="store_true", help=about)
        about = "module:name of twin(env, agent, rng), which draws hidden information again"
        add("--twin", metavar="MODULE:NAME", help=about)
    about = "field that is not compared, such as info.time, or info for all; repeatable"
    add("--ignore", action="append", default=[], metavar="FIELD", help=about)
    add("--seconds", type=float, default=10.0, help="processor time; default 10")
    add("--seed", type=int, default=0, help="seed of the search; default 0")
    add("--timeout", type=float, default=30.0, help="seconds until it hangs; default 30")
    about = "keyword argument of the environments, such as render_mode=None; repeatable"
    add("--args", action="append", default=[], type=parse_option, metavar="NAME=VALUE", help=about)
    add("--script", type=Path, help="write a script that shows the first finding again")
    add("--json", action="store_true", help="print the report as JSON")


def run_compare(args: argparse.Namespace) -> int:
    """Compare two environments."""
    how = {"sync": args.sync, "rtol": args.rtol}
    return _run(args, partial(compare, args.fast, args.reference, **how))


def run_check(args: argparse.Namespace) -> int:
    """Check one environment."""
    return _run(args, partial(check, args.env, copies=not args.no_copies, twin=args.twin))


def _run(args: argparse.Namespace, examine: Callable[..., Report]) -> int:
    """Print a report, and return 1 if there is a fault."""
    if args.script:
        prepare("--script", args.script)
    how = {name: getattr(args, name) for name in ("ignore", "seconds", "seed", "timeout")}
    with contextlib.redirect_stdout(sys.stderr):  # the modules of others may print
        report = examine(**how, options=dict(args.args))
    print(json.dumps(report.as_dict(), indent=1) if args.json else report)
    scripts = [finding.script for finding in report.faults if finding.script]
    if scripts and args.script:
        args.script.write_text(scripts[0])
        print(f"script: {args.script}", file=sys.stderr)
    elif scripts and not args.json:
        print("\n--script FILE writes a program that shows the first one again")
    return 1 if report.faults else 0

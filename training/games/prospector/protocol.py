"""The benchmark of Prospector over training seeds: ``python -m training compare protocol``.

Trains one policy a seed, plays its last checkpoint, the reference lines and all bots on the same
episodes (a block of evaluation seeds for each training seed, which no training ever saw), compares
them and writes a JSON report (docs/howto/train_prospector.md). With few seeds the interval over
them is the honest one: it says how much another training could differ.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastenv.errors import ConfigError
from fastenv.registry import short_id
from training.evaluation.intervals import Interval, over_seeds
from training.evaluation.results import Results, join
from training.run import files, games, machine
from training.run.command_line import add_runs, exit_status, new_parser
from training.run.config import PLAIN, is_plain
from training.run.options import require

if TYPE_CHECKING:  # they import torch, which --help does not need
    from rich.console import Console

    from training.evaluation.judging import Judging
    from training.players.names import AnyPlayer
    from training.run.config import RunConfig

ABOUT = """\
Run the benchmark of a game: train one policy per seed, evaluate its last checkpoint and all bots on
the same episodes (a block of evaluation seeds per training seed, which no training uses), compare
them and write a JSON report. With few seeds, quote the interval over training seeds: it says how
much another training could differ.
"""
ENV, POLICY = "Prospector-v0", "ppo"
# What a policy is compared on, and whether more of it is better.
METRICS = {
    "net_profit_mean": True,
    "survival_rate": True,
    "profit_per_tick_mean": True,
    "overheat_ticks_mean": False,
    "pirate_encounters_mean": False,
}
# What a trained policy should reach: the bot that is good at it.
EXPECTATIONS = {
    "net_profit_mean": "greedy_miner",
    "survival_rate": "cautious_scanner",
    "profit_per_tick_mean": "market_timer",
}
# Means that are reported with intervals over seeds.
OVER_SEEDS = ("return_mean", "steps_mean", "dt_mean", *METRICS)
HEADINGS = {
    "return_mean": "return",
    "net_profit_mean": "net profit",
    "survival_rate": "survival",
    "steps_mean": "steps",
    "dt_mean": "ticks",
}


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


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return 0 if the report passes, else 2."""
    args = parser().parse_args(argv)
    return exit_status(lambda: 0 if run(args) else 2, "interrupted: the runs so far are kept")


def run(args: argparse.Namespace) -> bool:
    """Train, compare, write and print; return whether the report passes."""
    from training.callbacks.start import check_config
    from training.evaluation import tables
    from training.evaluation.trainings import parse_seeds

    seeds, config = parse_seeds(args.seeds), config_of(args)
    if short_id(config.env) != ENV:
        raise ConfigError(f"env={config.env!r}: this game has no protocol over training seeds.")
    run_id = args.run_id or "protocol-" + machine.now().replace(":", "")
    require(is_plain(run_id), "--run-id", run_id, PLAIN)
    target = args.output_path or args.runs / f"{run_id}.json"
    if target.exists():
        raise ConfigError(f"{target} is there already: choose another --output-path.")
    files.prepare("--output-path", target)
    check_config(config)
    report = _measure(args, seeds, config, run_id)
    report["artifacts"] = {"report_path": str(target), "run_root": str(args.runs)}
    files.write_json(target, report)
    console = tables.console()
    show(console, report)
    passed = bool(report["summary"]["pass"])
    verdict = "pass" if passed else "FAIL"
    if passed and not report["summary"]["expectations_pass"]:
        verdict = "pass: expectations decide only with --enforce-protocol-expectations"
    console.print(f"{verdict}; written to {target}")
    return passed


def config_of(args: argparse.Namespace) -> RunConfig:
    """Make the options of the trainings, without their seeds."""
    from training.run import option_layers

    usual = f"training/configs/{games.get_game(ENV).files['native']}"
    flags = ["--config", args.config or usual, *(f"--set={text}" for text in args.set)]
    flags += [] if args.total_steps is None else [f"--total-steps={args.total_steps}"]
    return option_layers.config_of(flags)


def _measure(
    args: argparse.Namespace, seeds: Sequence[int], config: RunConfig, run_id: str
) -> dict[str, Any]:
    """Train a run a seed, play all contenders, and return the report."""
    from training.evaluation.evaluation import Evaluation, play
    from training.evaluation.judging import EPISODES, get_judging, plan_seeds
    from training.evaluation.trainings import train_or_resume
    from training.run.seating import AGENT

    judging = get_judging(config.env)
    first = judging.first_seed if args.base_seed is None else args.base_seed
    starts = judging.starts(None, {"time_max": args.time_max})[EPISODES]
    plan = Evaluation(
        *(EPISODES, config.env, {**config.env_options, **starts}),
        seeds=plan_seeds(first, args.episodes_per_seed),
        max_steps=args.max_steps,
    )
    engine = plan.make_engine()
    names = {seed: f"{run_id}-{POLICY}-seed{seed}" for seed in seeds}
    for name in names.values():
        if (args.runs / name).exists():
            raise ConfigError(f"{args.runs / name} is there already: choose another --run-id.")
    trained: list[dict[str, Any]] = []
    played: dict[str, dict[int, Results]] = {}
    for block, (seed, name) in enumerate(names.items()):
        _, agent, record = train_or_resume(args.runs, config.replace(name=name, seed=seed))
        trained.append(record)
        players: dict[str, AnyPlayer] = {POLICY: agent.players()[AGENT]}
        players |= judging.scripted()
        begin = plan.seeds.start + block * plan.episodes
        part = replace(plan, seeds=range(begin, begin + plan.episodes))
        table = play(part.by(players), engine)
        for who in players:
            played.setdefault(who, {})[seed] = table.of(player=who)
    contenders = [contender(judging, name, blocks) for name, blocks in played.items()]
    episodes = {
        "count": plan.episodes,
        "base_seed": plan.seeds.start,
        "max_steps": plan.max_steps,
        "bootstrap": plan.resamples,
    }
    report: dict[str, Any] = {
        "generated_at": machine.now(),
        "run_id": run_id,
        "config": {
            "seeds": list(seeds),
            "episodes": episodes | judging.report_options(engine),
            "actions": "highest legal logit",
            "training": config.to_dict(),
        },
        "training_runs": trained,
        "contenders": contenders,
        "comparison": comparison(contenders, POLICY),
    }
    report["summary"] = verdict(report, plan.episodes, args.enforce_protocol_expectations)
    return report | machine.taken_on()


# -- the report ------------------------------------------------------------------------------------


def summary(episodes: Results) -> dict[str, Any]:
    """Return the aggregate of a contender: docs/prospector.md, 17; and its mean lengths."""
    summed = episodes.summary()
    count = summed["episode_count"]
    lengths = {"steps_mean": summed["steps_total"] / count, "dt_mean": summed["dt_total"] / count}
    return summed | lengths


def contender(judging: Judging, name: str, blocks: Mapping[int, Results]) -> dict[str, Any]:
    """Return the report of one contender from its episodes for each training seed."""
    reports = {seed: summary(block) for seed, block in blocks.items()}
    return {
        "name": name,
        "kind": judging.kind(name),
        "aggregate": summary(join([*blocks.values()])),
        "over_seeds": {
            key: over_seeds(
                [report[key] for report in reports.values()],
                *((0.0, 1.0) if key.endswith("_rate") else ()),
            ).to_list()
            for key in OVER_SEEDS
        },
        "seed_reports": [
            {
                "seed": seed,
                "first_episode_seed": int(blocks[seed]["seed"][0]),
                "aggregate": report,
            }
            for seed, report in reports.items()
        ],
    }


def comparison(contenders: Sequence[Mapping[str, Any]], reference: str) -> dict[str, Any]:
    """Compare a policy with every other contender, and with the expectations."""
    of = {each["name"]: each["aggregate"] for each in contenders}
    ours, rows = of[reference], []
    for name in (name for name in of if name != reference):
        for metric, higher in METRICS.items():
            value, theirs = ours[metric], of[name][metric]
            rows.append(
                {
                    "candidate": name,
                    "metric": metric,
                    "direction": "higher" if higher else "lower",
                    "reference_value": value,
                    "candidate_value": theirs,
                    "delta_reference_minus_candidate": value - theirs,
                    "reference_better_or_equal": value >= theirs if higher else value <= theirs,
                }
            )
    expected = [
        {
            "metric": metric,
            "candidate": bot,
            "reference_value": ours[metric],
            "candidate_value": of[bot][metric],
            "pass": ours[metric] >= of[bot][metric],
        }
        for metric, bot in EXPECTATIONS.items()
    ]
    return {
        "reference_policy": reference,
        "metrics": list(METRICS),
        "rows": rows,
        "expectations": expected,
    }


def verdict(report: Mapping[str, Any], per_seed: int, enforce: bool) -> dict[str, Any]:
    """Return the ``summary`` of a report."""
    aggregates = [each["aggregate"] for each in report["contenders"]]
    complete = not any(each["guard_truncated_count"] for each in aggregates)
    met = all(row["pass"] for row in report["comparison"]["expectations"])
    seeds = len(report["training_runs"])
    return {
        "pass": complete and (met or not enforce),
        "seed_count": seeds,
        "episodes_per_seed": per_seed,
        "episodes_per_contender": seeds * per_seed,
        "all_episodes_complete": complete,
        "expectations_evaluated": True,
        "expectations_pass": met,
        "enforce_protocol_expectations": enforce,
    }


def show(console: Console, report: Mapping[str, Any]) -> None:
    """Print the contenders with intervals over seeds, and the expectations."""
    from training.evaluation import tables

    about = report["summary"]
    title = (
        f"{report['run_id']}: {about['seed_count']} training seeds, "
        f"{about['episodes_per_contender']:,} episodes a row"
    )
    caption = "Means with 95 % t intervals over seeds."
    table = tables.make_table(title, caption, ["contender"], HEADINGS.values())
    table.columns[0].no_wrap = True
    for each in report["contenders"]:
        intervals = [each["over_seeds"][key] for key in HEADINGS]
        cells = [tables.format_interval_short(Interval.from_list(values)) for values in intervals]
        table.add_row(each["name"], *cells)
    console.print(table)
    for row in report["comparison"]["expectations"]:
        sign = "met" if row["pass"] else "NOT met"
        console.print(
            f"{row['metric']} {row['reference_value']:.4g} >= {row['candidate']} "
            f"{row['candidate_value']:.4g}: {sign}"
        )

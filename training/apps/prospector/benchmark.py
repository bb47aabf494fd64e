"""The benchmark of Prospector over training seeds.

Trains one policy a seed, plays its last checkpoint, the reference lines and all bots on the same
episodes (a block of evaluation seeds for each training seed, which no training ever saw), compares
them and writes a JSON report (docs/howto/train_prospector.md). With few seeds the interval over
them is the honest one: it says how much another training could differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from fastenv import BatchEngine
from fastenv.errors import ConfigError
from training.evaluation import tables
from training.evaluation.evaluation import Evaluation, play
from training.evaluation.intervals import Interval, over_seeds
from training.evaluation.judging import EPISODES, Judging, plan_seeds
from training.evaluation.results import Results, join
from training.evaluation.trainings import train_to_end
from training.run import machine
from training.run.config import RunConfig
from training.run.folder import RunFolder
from training.run.names import AGENT

POLICY = "ppo"
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
    rows = [
        _compare_metric(metric, name, of[reference], of[name])
        for name in of
        if name != reference
        for metric in METRICS
    ]
    expected = [
        {
            "metric": metric,
            "candidate": bot,
            "reference_value": of[reference][metric],
            "candidate_value": of[bot][metric],
            "pass": of[reference][metric] >= of[bot][metric],
        }
        for metric, bot in EXPECTATIONS.items()
    ]
    return {
        "reference_policy": reference,
        "metrics": list(METRICS),
        "rows": rows,
        "expectations": expected,
    }


def _compare_metric(
    metric: str, name: str, reference: Mapping[str, float], candidate: Mapping[str, float]
) -> dict[str, Any]:
    ours, theirs = reference[metric], candidate[metric]
    higher = METRICS[metric]
    return {
        "candidate": name,
        "metric": metric,
        "direction": "higher" if higher else "lower",
        "reference_value": ours,
        "candidate_value": theirs,
        "delta_reference_minus_candidate": ours - theirs,
        "reference_better_or_equal": ours >= theirs if higher else ours <= theirs,
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


# -- running it ------------------------------------------------------------------------------------


def run(
    judging: Judging,
    config: RunConfig,
    seeds: Sequence[int],
    options: Mapping[str, Any],
    root: Path,
    run_id: str,
    enforce: bool,
) -> dict[str, Any]:
    """Train, evaluate and compare.

    Parameters
    ----------
    judging : Judging
    config : RunConfig
        Of every training; name and seed are filled in.
    seeds : sequence of int
        Training seeds.
    options : mapping
        ``episodes`` of each seed, ``max_steps`` and, if they were given, ``time_max`` and the
        ``seed`` of the first episode; the seeds go on from block to block.
    root : Path
        Folder of the runs; one of the same name must not be there.
    run_id : str
    enforce : bool
        Expectations that are not met make the report fail.

    Returns
    -------
    dict
        The report.

    Raises
    ------
    ConfigError
        If a run is there already.
    """
    plan = Evaluation(
        EPISODES,
        config.env,
        {**config.env_options, **judging.starts_of(None, options)[EPISODES]},
        seeds=plan_seeds(options.get("seed", judging.first_seed), options["episodes"]),
        max_steps=options["max_steps"],
    )
    engine = plan.make_engine()
    trained, played = _play(judging, plan, engine, _make_folders(config, seeds, root, run_id))
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
    report["summary"] = verdict(report, plan.episodes, enforce)
    return report | machine.taken_on()


def _play(
    judging: Judging, plan: Evaluation, engine: BatchEngine, runs: Mapping[int, RunFolder]
) -> tuple[list[dict[str, Any]], dict[str, dict[int, Results]]]:
    """Train the runs; return a record of each, and the episodes by contender and training seed."""
    trained: list[dict[str, Any]] = []
    played: dict[str, dict[int, Results]] = {}
    for block, (seed, run) in enumerate(runs.items()):
        agent, record = train_to_end(run)
        trained.append(record)
        players = {POLICY: agent.players()[AGENT], **judging.scripted()}
        first = plan.seeds.start + block * plan.episodes
        part = replace(plan, seeds=range(first, first + plan.episodes))
        table = play(part.by(players), engine)
        for name in players:
            played.setdefault(name, {})[seed] = table.of(player=name)
    return trained, played


def _make_folders(
    config: RunConfig, seeds: Sequence[int], root: Path, run_id: str
) -> dict[int, RunFolder]:
    """Return the new run of each training seed."""
    names = {seed: f"{run_id}-{POLICY}-seed{seed}" for seed in seeds}
    for name in names.values():
        if (root / name).exists():
            raise ConfigError(f"{root / name} is there already: choose another --run-id.")
    return {
        seed: RunFolder.create(root, config.replace(name=name, seed=seed))
        for seed, name in names.items()
    }


def show(console: Console, report: Mapping[str, Any]) -> None:
    """Print the contenders with intervals over seeds, and the expectations."""
    about = report["summary"]
    title = (
        f"{report['run_id']}: {about['seed_count']} training seeds, "
        f"{about['episodes_per_contender']:,} episodes a row"
    )
    headings = {
        "return_mean": "return",
        "net_profit_mean": "net profit",
        "survival_rate": "survival",
        "steps_mean": "steps",
        "dt_mean": "ticks",
    }
    table = Table(title=title, title_justify="left", caption_justify="left")
    table.caption = "Means with 95 % t intervals over seeds."
    table.add_column("contender", no_wrap=True)
    for heading in headings.values():
        table.add_column(heading, justify="right")
    for each in report["contenders"]:
        intervals = [each["over_seeds"][key] for key in headings]
        cells = [tables.format_interval_short(Interval.from_list(values)) for values in intervals]
        table.add_row(each["name"], *cells)
    console.print(table)
    for row in report["comparison"]["expectations"]:
        sign = "met" if row["pass"] else "NOT met"
        console.print(
            f"{row['metric']} {row['reference_value']:.4g} >= {row['candidate']} "
            f"{row['candidate_value']:.4g}: {sign}"
        )

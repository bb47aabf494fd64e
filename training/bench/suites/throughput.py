"""Speed of the environments of all games, and its targets; ``--only bars``."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from training.bench import games, progress
from training.bench.game import Throughput
from training.bench.suite import Options, Suite
from training.bench.tables import env_table
from training.bench.targets import Row
from training.bench.trainer import Flags, measure

STOCK_STEPS = 16_384  # that are timed of a stock training


def chosen(options: Options) -> dict[str, Throughput]:
    """Return the games that a command line asks for, by their titles."""
    named = options.args.game
    return {
        game.title: game.throughput
        for game in games.registered()
        if game.throughput is not None
        and (game.name == named or (named is None and not game.throughput.alone))
    }


def title(options: Options) -> str:
    """Make the title of the targets."""
    about = (f"{name} {throughput.about}" for name, throughput in chosen(options).items())
    return f"Bars: {'; '.join(about)}; medians of {options.repeats}"


def stock_row(values: Mapping[str, Any], repeats: int) -> Row:
    """Measure stock MaskablePPO by flags, with the environment's share of its wall time."""
    flags = Flags(**values)
    runs = []
    for repeat in range(1, repeats + 1):
        runs.append(measure(flags, STOCK_STEPS, 0))
        progress.tell(repeat, repeats, "stock MaskablePPO", runs[-1]["steps_per_s"])
    names = ("share_env", "steps_per_s", "steps_per_cpu_s")
    widths = "x".join(map(str, flags.net_arch))
    return {
        "kind": "trainer",
        "what": f"stock MaskablePPO, {flags.n_envs} lanes, {widths}, {flags.epochs} epochs, "
        f"minibatches of {flags.batch}",
        "trainer": "sb3",
        "env": flags.env,
        "backend": flags.backend,
        "precision": "fp32",
        "share_env_all": [run["share_env"] for run in runs],
        "ran": runs[0]["ran"],
        **{name: statistics.median(run[name] for run in runs) for name in names},
        "noisy": any(run["noisy"] for run in runs),
    }


class Games(Suite):
    """The suite, whose rows and targets are those of games."""

    def measure(self, options: Options) -> list[Row]:
        """Measure the rows of the chosen games; each names its game."""
        measured = []
        for title, throughput in chosen(options).items():
            settings = options.repeats, options.seconds_of(self), options.args.lanes
            rows = throughput.rows(*settings)
            if throughput.stock is not None:
                rows.append(stock_row(throughput.stock, options.repeats))
                progress.keep(rows[-1])
            measured += [row | {"game": title} for row in rows]
        return measured

    def judge_for(self, rows: list[Row], options: Options) -> list[Row]:
        """Return the targets of the chosen games."""
        return [
            judged
            for title, throughput in chosen(options).items()
            for judged in throughput.targets(
                [row for row in rows if row["game"] == title], options.args.max_mem_delta
            )
        ]


SUITE = Games(
    name="bars",
    tables=(env_table,),
    title=title,
    short_seconds=1.0,
    usual=True,
)

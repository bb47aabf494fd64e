"""Trained agents on the same games, compared over training seeds, paired by seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from training.evaluation import tables
from training.evaluation.bootstrap import Interval
from training.evaluation.over_seeds import over_seeds
from training.evaluation.trained import AGENT, Trained, episode_protocol, play_matches
from training.games.prospector import episodes as prospector
from training.games.skullking.pair import DECODED
from training.run.config import EvaluationConfig, RunConfig

MEASURES = ("points", "margin", "win_rate", "bid_hit")  # of Skull King; the first one decides
EPISODES = "episodes"  # in the place of an opponent set, in a game without opponents


def play(
    trained: Trained, options: EvaluationConfig, reference: RunConfig
) -> dict[str, dict[str, dict[str, list[float | None]]]]:
    """Let a trained agent play what all are compared on.

    Parameters
    ----------
    trained : Trained
    options : EvaluationConfig
    reference : RunConfig
        Of the baseline; its episodes are played where there are no matches.

    Returns
    -------
    dict
        Opponent set to player to measure to value, low and high, over deals or episodes. Players
        are the agent and, if its Manager has a head over tricks, the bids that this head computes.
    """
    if trained.tier is None:
        protocol = episode_protocol(options)
        engine = protocol.engine(reference.env, reference.env_options)
        played = prospector.play(engine, {AGENT: trained.players()[AGENT]}, protocol)
        means = prospector.compare(played, protocol).means[AGENT]
        return {EPISODES: {AGENT: {name: mean.to_list() for name, mean in means.items()}}}
    results = play_matches(trained, options, baselines=(DECODED,))
    return {
        opponents: {
            player: {name: players[player][name].to_list() for name in MEASURES}
            for player in (AGENT, DECODED)
            if player in players
        }
        for opponents, players in results.items()
    }


def statistics(runs: Sequence[Mapping[str, Any]], baseline: str) -> dict[str, Any]:
    """Return means over seeds, and differences to the baseline that are paired by seed.

    Parameters
    ----------
    runs : sequence of mapping
        Seed by seed, with ``variant`` and ``results`` (:func:`play`).
    baseline : str

    Returns
    -------
    dict
        Opponent set to row to measure to ``by_seed``, ``mean`` and, for all but the baseline,
        ``less_baseline``; the latter two as value, low and high.
    """
    values: dict[str, dict[str, dict[str, list[float]]]] = {}
    for run in runs:
        for opponents, players in run["results"].items():
            for player, found in players.items():
                row = run["variant"] if player == AGENT else f"{run['variant']}, {player}"
                of_row = values.setdefault(opponents, {}).setdefault(row, {})
                for measure, interval in found.items():
                    of_row.setdefault(measure, []).append(interval[0])
    compared: dict[str, Any] = {}
    for opponents, rows in values.items():
        compared[opponents] = {row: {} for row in rows}
        for row, measures in rows.items():
            for measure, each in measures.items():
                found = {"by_seed": each, "mean": over_seeds(each).to_list()}
                if row != baseline:
                    gaps = np.subtract(each, rows[baseline][measure]).tolist()
                    found["less_baseline"] = over_seeds(gaps).to_list()
                compared[opponents][row][measure] = found
    return compared


# -- printing --------------------------------------------------------------------------------------


def show(console: Console, report: Mapping[str, Any]) -> None:
    """Print a table for each opponent set, and whether a variant is apart from the baseline."""
    baseline = report["baseline"]
    for opponents, rows in report["compared"].items():
        console.print(_table(report, opponents, rows))
        measure, heading, _ = next(_columns(opponents))
        for row in rows:
            if row != baseline:
                gap = Interval.from_list(rows[row][measure]["less_baseline"])
                apart = "above" if gap.low > 0 else "below" if gap.high < 0 else "not apart from"
                console.print(f"{row} is {apart} {baseline} in {heading}, by the 95 % interval")


def _table(report: Mapping[str, Any], opponents: str, rows: Mapping[str, Any]) -> Table:
    alone = opponents == EPISODES
    played = report["evaluation"]["episodes" if alone else "games"]
    what = EPISODES if alone else f"games against {opponents}"
    decisions = ", ".join(f"{k} {np.mean(steps):,.0f}" for k, steps in report["decisions"].items())
    table = Table(
        title=f"{report['name']}: {len(report['seeds'])} seeds, {played:,} {what} a run",
        caption="Means over training seeds with 95 % t intervals; differences paired by seed. "
        f"Decisions of a training: {decisions}.",
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("variant")
    columns = list(_columns(opponents))
    for _, heading, _ in columns:
        table.add_column(heading, justify="right")
    table.add_column("training s", justify="right")
    for row, found in rows.items():
        cells = [cell(Interval.from_list(found[name]["mean"])) for name, _, cell in columns]
        trained = report["training_s"].get(row)
        table.add_row(row, *cells, "" if trained is None else f"{trained[0]:.0f}")
    table.add_section()
    for row, found in rows.items():
        if row != report["baseline"]:
            gaps = (Interval.from_list(found[name]["less_baseline"]) for name, _, _ in columns)
            cells = [cell(gap) for gap, (_, _, cell) in zip(gaps, columns, strict=True)]
            table.add_row(f"{row} less {report['baseline']}", *cells)
    return table


def _columns(opponents: str) -> Iterator[tuple[str, str, Any]]:
    """Yield measure, heading, and the function that shows an interval of it."""
    if opponents == EPISODES:
        for name, heading, factor in tables.EPISODE_COLUMNS:
            yield name, heading, partial(tables.fitting, factor=factor)
        return
    for name, heading, decimals, factor in tables.MATCH_COLUMNS:
        if name in MEASURES:
            yield name, heading, partial(tables.shown, decimals=decimals, factor=factor)

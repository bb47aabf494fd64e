"""Results of an evaluation as tables for a terminal and records for a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from fastenv import BatchEngine
from training.evaluation import tables
from training.evaluation.evaluation import Evaluation, play
from training.evaluation.judging import ALIKE, IN_TURN, Judging
from training.evaluation.results import Estimates, Results
from training.logs.run_data import describe_opponents
from training.run.names import AGENT


def report(
    judging: Judging,
    console: Console,
    title: str,
    evaluation: Evaluation,
    engine: BatchEngine,
    played: Results,
    baseline: str | None = None,
) -> dict[str, Any]:
    """Print the comparison of those who played and return its record.

    Parameters
    ----------
    judging : Judging
    console : rich.console.Console
    title : str
    evaluation : Evaluation
    engine : BatchEngine
        That was played on.
    played : Results
    baseline : str, optional
        With whom others are compared; default the first scripted player, or whoever came first.
    """
    drawn = evaluation.estimate(played)
    baseline = find_baseline(judging, played) if baseline is None else baseline
    about = judging.report_options(engine)
    _print(judging, console, title, evaluation, drawn, about)
    return {
        "protocol": "the same seeds for every policy; 95 % intervals over episodes, by "
        "bootstrap; of the shares that reached an end, Wilson's",
        "count": evaluation.episodes,
        "base_seed": evaluation.seeds.start,
        "max_steps": evaluation.max_steps,
        "bootstrap": evaluation.resamples,
        **about,
        "backend": engine.backend,
        "baseline": baseline,
        "policies": _record_policies(judging, evaluation, played, drawn, baseline),
    }


def find_baseline(judging: Judging, played: Results) -> str:
    """Find the player that others are compared with: the first scripted one, or the first."""
    players = played.players
    return next((name for name in judging.scripted() if name in players), players[0])


def _print(
    judging: Judging,
    console: Console,
    title: str,
    evaluation: Evaluation,
    drawn: Estimates,
    about: Mapping[str, Any],
) -> None:
    """Print the means of those who played as a table."""
    seeds = evaluation.seeds
    more = "".join(f", {name} {value:g}" for name, value in about.items())
    heading = f"{title}: {len(seeds):,} episodes, seeds {seeds.start} to {seeds.stop - 1}{more}"
    caption = " ".join(filter(None, (IN_TURN if judging.meets else ALIKE, judging.caption)))
    console.print(tables.tabulate(drawn.means, judging.columns, heading, caption))


def _record_policies(
    judging: Judging, evaluation: Evaluation, played: Results, drawn: Estimates, baseline: str
) -> dict[str, dict[str, Any]]:
    """Make the entry of each player in the record of a comparison."""
    gaps = drawn.gaps(baseline, evaluation.decides)
    return {
        name: {
            "kind": judging.kind(name),
            "summary": played.of(player=name).summary(),
            "intervals": {column: mean.to_list() for column, mean in means.items()},
            f"{evaluation.decides}_minus_baseline": gaps[name].to_list() if name in gaps else None,
        }
        for name, means in drawn.means.items()
    }


def play_sets(
    judging: Judging, console: Console, title: str, sets: Sequence[Evaluation]
) -> tuple[dict[str, Any], list[dict[str, Any]], Results]:
    """Let players play against all opponent sets, and print a table of each.

    Returns
    -------
    record : dict
        The results, for JSON.
    rows : list of dict
        The episodes, likewise.
    played : Results
        Those of the agent against the first set, with its actions.
    """
    results, policies, about = {}, {}, {}
    rows: list[dict[str, Any]] = []
    kept: Results | None = None
    for each in sets:
        engine = each.make_engine()
        played = play(each, engine, keep_actions=(AGENT,) if kept is None else ())
        kept = played if kept is None else kept
        drawn, baseline = each.estimate(played), find_baseline(judging, played)
        against = f"{title} against {describe_opponents(each.name, engine.spec.num_agents)}"
        _print(judging, console, against, each, drawn, {})
        policies[each.name] = _record_policies(judging, each, played, drawn, baseline)
        results[each.name] = {
            who: entry.pop("intervals") for who, entry in policies[each.name].items()
        }
        about = {
            "players": engine.spec.num_agents,
            "agent_seat": engine.agent_seat,
            "backend": engine.backend,
            "baseline": baseline,
            "judged_by": each.decides,
        }
        rows += played.with_column("against", each.name).record()
    first = sets[0]
    record = {
        "protocol": "the same seeds and seats for every policy; 95 % intervals over episodes, "
        "by bootstrap; of wins and draws, Wilson's",
        "env": first.env,
        **about,
        "games": first.episodes,
        "first_seed": first.seeds.start,
        "max_steps": first.max_steps,
        "bootstrap": first.resamples,
        "results": results,
        "policies": policies,
    }
    assert kept is not None
    return record, rows, kept.of(player=AGENT)

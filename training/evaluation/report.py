"""Evaluations that are played and reported: tables for a terminal, records for a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from fastenv import BatchEngine
from training.evaluation import tables
from training.evaluation.evaluation import Evaluation, play
from training.evaluation.judging import ALIKE, IN_TURN, MATCHES, Judging
from training.evaluation.results import Estimates, EvaluationReport, Results, add_costs
from training.logs.run_data import describe_opponents
from training.players.player import Cost
from training.run.names import AGENT


def report(
    judging: Judging,
    console: Console,
    title: str,
    evaluations: Sequence[Evaluation],
    baseline: str | None = None,
) -> EvaluationReport:
    """Play evaluations, print a table of each and make the record.

    Parameters
    ----------
    judging : Judging
    console : rich.console.Console
    title : str
    evaluations : sequence of Evaluation
        Against each opponent set where players meet, else from each kind of start.
    baseline : str, optional
        With whom others are compared; default the first scripted player, or whoever came first.
    """
    policies: dict[str, dict[str, dict[str, Any]]] = {}
    record: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    kept: Results | None = None
    env_options: dict[str, Any] = {}
    costs: list[tuple[str, Cost]] = []
    for each in evaluations:
        engine = each.make_engine()
        about, players = judging.report_options(engine), engine.spec.num_agents
        played = play(each, engine, keep_actions=(AGENT,) if kept is None else ())
        costs += played.costs.items()
        drawn = each.estimate(played)
        met = played.players
        scripted = (name for name in judging.scripted() if name in met)
        compared_with = baseline or next(scripted, met[0])
        policies[each.name] = _record_policies(judging, each, played, drawn, compared_with)
        where = title if kept is None else f"{title}, from the {each.name}"
        if judging.meets:
            where = f"{title} against {describe_opponents(each.name, players)}"
            rows += played.with_column("against", each.name).record()
        else:
            rows = rows or played.record()
            record[each.name] = {
                "protocol": "the same seeds for every policy; 95 % intervals over episodes, by "
                "bootstrap; of the shares that reached an end, Wilson's",
                "count": each.episodes,
                "base_seed": each.seeds.start,
                "max_steps": each.max_steps,
                "bootstrap": each.resamples,
                **about,
                "backend": engine.backend,
                "baseline": compared_with,
                "policies": policies[each.name],
            }
        _print(judging, console, where, each, drawn, about)
        if kept is None:
            against = {} if each.against is None else {"opponent": each.against}
            kept, env_options = played, {**each.options, **about, **against}
    if judging.meets:
        record = {MATCHES: _record_matches(evaluations, engine, compared_with, policies)}
    return EvaluationReport(record, rows, kept, env_options, add_costs(costs))


def report_deals(
    judging: Judging,
    console: Console,
    title: str,
    evaluations: Sequence[Evaluation],
    about: Mapping[str, Any],
) -> EvaluationReport:
    """Play games on duplicate deals, print one table of all opponent sets and make the record.

    Parameters
    ----------
    judging : Judging
    console : rich.console.Console
    title : str
    evaluations : sequence of Evaluation
        Against each opponent set, with as many games; none where other parts alone are asked for.
    about : mapping
        What the record says of the agent; see :class:`training.evaluation.judging.Judging`.
    """
    if not evaluations:
        return EvaluationReport({})
    first, columns = evaluations[0], judging.columns
    heading = f"{title}: {first.episodes:,} games a row on the same deals, every seat in turn"
    caption = f"{AGENT}: {about['trained_plays']}. {judging.caption}"
    headings = map(tables.name_column, columns)
    table = tables.make_table(heading, caption, ["opponents", "policy"], headings)
    results: dict[str, Any] = {}
    costs: list[tuple[str, Cost]] = []
    for each in evaluations:
        played = play(each)
        costs += played.costs.items()
        drawn = each.estimate(played)
        results[each.name] = drawn.record()
        for k, (policy, means) in enumerate(drawn.means.items()):
            cells = [tables.show_interval(column, means[column.name]) for column in columns]
            last = k == len(drawn.means) - 1
            table.add_row("" if k else each.name, policy, *cells, end_section=last)
    console.print(table)
    record = {
        "protocol": "duplicate deals, agent in every seat",
        "env": first.env,
        "players": first.rotations,
        "deals": len(first.seeds),
        "games": first.episodes,
        "first_seed": first.seeds.start,
        **about,
        "results": results,
    }
    return EvaluationReport({MATCHES: record}, costs=add_costs(costs))


def _record_matches(
    evaluations: Sequence[Evaluation],
    engine: BatchEngine,
    baseline: str,
    policies: Mapping[str, dict[str, dict[str, Any]]],
) -> dict[str, Any]:
    """Make the record of the games against all opponent sets."""
    first = evaluations[0]
    results = {
        name: {who: entry.pop("intervals") for who, entry in entries.items()}
        for name, entries in policies.items()
    }
    return {
        "protocol": "the same seeds and seats for every policy; 95 % intervals over episodes, "
        "by bootstrap; of wins and draws, Wilson's",
        "env": first.env,
        "players": engine.spec.num_agents,
        "agent_seat": engine.agent_seat,
        "backend": engine.backend,
        "baseline": baseline,
        "judged_by": first.decides,
        "games": first.episodes,
        "first_seed": first.seeds.start,
        "max_steps": first.max_steps,
        "bootstrap": first.resamples,
        "results": results,
        "policies": policies,
    }


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
            "intervals": intervals,
            f"{evaluation.decides}_minus_baseline": gaps[name].to_list() if name in gaps else None,
        }
        for name, intervals in drawn.record().items()
    }

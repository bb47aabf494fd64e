"""Evaluations that are played and reported: tables for a terminal, records for a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from fastenv import BatchEngine
from training.evaluation import tables
from training.evaluation.evaluation import Evaluation, play
from training.evaluation.judging import ALIKE, IN_TURN, MATCHES, Judging
from training.evaluation.results import Estimates, EvaluationReport, Results, add_costs
from training.logs.run_data import describe_opponents
from training.run.seating import AGENT


class Played(NamedTuple):
    """An evaluation that was played.

    Parameters
    ----------
    plan : Evaluation
    engine : BatchEngine
        On which it was.
    results : Results
    drawn : Estimates
        Of its measures.
    """

    plan: Evaluation
    engine: BatchEngine
    results: Results
    drawn: Estimates


def report(
    judging: Judging,
    console: Console,
    title: str,
    evaluations: Sequence[Evaluation],
    baseline: str | None = None,
    about: Mapping[str, Any] | None = None,
) -> EvaluationReport:
    """Play evaluations, print their tables and make the record.

    There is a table of each, as soon as it is played; of games on deals one of all.

    Parameters
    ----------
    judging : Judging
    console : rich.console.Console
    title : str
    evaluations : sequence of Evaluation
        Against each opponent set where players meet, else from each kind of start; none where
        other parts alone are asked for.
    baseline : str, optional
        With whom others are compared; default the first scripted player, or whoever came first.
    about : mapping, optional
        What the record of games on deals says of the agent; see
        :class:`training.evaluation.judging.Judging`.
    """
    every: list[Played] = []
    for each in evaluations:
        engine = each.make_engine()
        keeps = not every and not judging.on_deals
        results = play(each, engine, keep_actions=(AGENT,) if keeps else ())
        played = Played(each, engine, results, each.estimate(results))
        if not judging.on_deals:
            console.print(_tabulate(judging, title, played, is_first=not every))
        every.append(played)
    if not every:
        return EvaluationReport({})
    costs = add_costs(pair for played in every for pair in played.results.costs.items())
    if judging.on_deals:
        own = about or {}
        console.print(_tabulate_deals(judging, title, every, own))
        return EvaluationReport({MATCHES: _record_deals(every, own)}, costs=costs)
    plan, engine, results, _ = every[0]
    met = results.players
    scripted = (name for name in judging.scripted() if name in met)
    compared_with = baseline or next(scripted, met[0])
    options = {**plan.options, **judging.report_options(engine)}
    if not judging.meets:
        record = {each.plan.name: _record_episodes(judging, each, compared_with) for each in every}
        return EvaluationReport(record, results.record(), results, options, costs)
    options |= {} if plan.against is None else {"opponent": plan.against}
    named = (each.results.with_column("against", each.plan.name) for each in every)
    rows = [row for table in named for row in table.record()]
    record = {MATCHES: _record_matches(judging, every, compared_with)}
    return EvaluationReport(record, rows, results, options, costs)


# -- tables ----------------------------------------------------------------------------------------


def _tabulate(judging: Judging, title: str, played: Played, is_first: bool) -> Table:
    """Make a table of the means of those who played."""
    plan, engine = played.plan, played.engine
    where = title if is_first else f"{title}, from the {plan.name}"
    if judging.meets:
        where = f"{title} against {describe_opponents(plan.name, engine.spec.num_agents)}"
    about, seeds = judging.report_options(engine), plan.seeds
    more = "".join(f", {name} {value:g}" for name, value in about.items())
    heading = f"{where}: {len(seeds):,} episodes, seeds {seeds.start} to {seeds.stop - 1}{more}"
    caption = " ".join(filter(None, (IN_TURN if judging.meets else ALIKE, judging.caption)))
    return tables.tabulate(played.drawn.means, judging.columns, heading, caption)


def _tabulate_deals(
    judging: Judging, title: str, every: Sequence[Played], about: Mapping[str, Any]
) -> Table:
    """Make one table of games on deals against all opponent sets."""
    games, columns = every[0].plan.episodes, judging.columns
    heading = f"{title}: {games:,} games a row on the same deals, every seat in turn"
    caption = f"{AGENT}: {about['trained_plays']}. {judging.caption}"
    headings = map(tables.name_column, columns)
    table = tables.make_table(heading, caption, ["opponents", "policy"], headings)
    for played in every:
        for k, (policy, means) in enumerate(played.drawn.means.items()):
            cells = [tables.show_interval(column, means[column.name]) for column in columns]
            last = k == len(played.drawn.means) - 1
            table.add_row("" if k else played.plan.name, policy, *cells, end_section=last)
    return table


# -- records ---------------------------------------------------------------------------------------


def _record_deals(every: Sequence[Played], about: Mapping[str, Any]) -> dict[str, Any]:
    """Make the record of games on deals."""
    first = every[0].plan
    return {
        "protocol": "duplicate deals, agent in every seat",
        "env": first.env,
        "players": first.rotations,
        "deals": len(first.seeds),
        "games": first.episodes,
        "first_seed": first.seeds.start,
        **about,
        "results": {played.plan.name: played.drawn.record() for played in every},
    }


def _record_episodes(judging: Judging, played: Played, baseline: str) -> dict[str, Any]:
    """Make the record of episodes that everybody has played alone."""
    plan, engine = played.plan, played.engine
    return {
        "protocol": "the same seeds for every policy; 95 % intervals over episodes, by "
        "bootstrap; of the shares that reached an end, Wilson's",
        "count": plan.episodes,
        "base_seed": plan.seeds.start,
        "max_steps": plan.max_steps,
        "bootstrap": plan.resamples,
        **judging.report_options(engine),
        "backend": engine.backend,
        "baseline": baseline,
        "policies": _record_policies(judging, played, baseline),
    }


def _record_matches(judging: Judging, every: Sequence[Played], baseline: str) -> dict[str, Any]:
    """Make the record of the games against all opponent sets."""
    first, engine = every[0].plan, every[-1].engine
    policies = {each.plan.name: _record_policies(judging, each, baseline) for each in every}
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


def _record_policies(judging: Judging, played: Played, baseline: str) -> dict[str, dict[str, Any]]:
    """Make the entry of each player in the record of a comparison."""
    decides = played.plan.decides
    gaps = played.drawn.gaps(baseline, decides)
    return {
        name: {
            "kind": judging.kind(name),
            "summary": played.results.of(player=name).summary(),
            "intervals": intervals,
            f"{decides}_minus_baseline": gaps[name].to_list() if name in gaps else None,
        }
        for name, intervals in played.drawn.record().items()
    }

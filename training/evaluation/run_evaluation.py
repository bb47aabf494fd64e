"""Evaluates a run: prints its tables, and writes ``evaluation.json`` into its folder."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from rich.console import Console

from training.evaluation import replays
from training.evaluation.evaluation import Entrant, Evaluation, play
from training.evaluation.judging import COMPARE, EPISODES, EVALUATE, get_judging
from training.evaluation.report import report
from training.evaluation.results import EvaluationReport, Results
from training.players.names import SearchingAgent
from training.players.trained import TrainedAgent, load
from training.run import files, machine
from training.run.config import EvaluationConfig, RunConfig
from training.run.folder import RunFolder
from training.run.seating import AGENT
from training.run.seeds import MATCH_SEEDS


def evaluate(
    run: RunFolder,
    options: EvaluationConfig,
    console: Console,
    *,
    name: str | None = None,
    member: int | None = None,
    sample: bool = False,
    searcher: SearchingAgent | None = None,
    **asked: Any,
) -> dict[str, Any]:
    """Evaluate a checkpoint, print the tables and write ``evaluation.json`` into the run folder.

    Parameters
    ----------
    run : RunFolder
    options : EvaluationConfig
    console : rich.console.Console
    name : str, optional
        Checkpoint; default the newest.
    member : int, optional
        Network of an ensemble, from 1 on; default the first.
    sample : bool
        Play again with drawn actions.
    searcher : training.search.agent.SearchAgent, optional
        The same agent with search. It plays beside the agent alone then, and nothing is written:
        what is in the folder of a run is of its agent alone.
    **asked
        Options of the command that no config has, such as ``only``.

    Returns
    -------
    dict
        The record: with a searcher one more entry and the rows of the episodes; else as written.
    """
    torch.set_num_threads(1)
    trained = replace(load(run, name, member), sample=sample)
    if trained.member is not None:
        seeds = run.config.members
        console.print(f"member {trained.member} of {len(seeds)}, seed {seeds[trained.member - 1]}")
    record, begin = describe(run, trained, options), time.perf_counter()
    if searcher is None:
        evaluated = evaluate_trained(console, run.name, trained, options, asked)
        record |= evaluated.record
        record |= _write_episodes(console, run, trained, options, evaluated)
    else:
        record |= {"policy": "search", "base": str(run.path)}
        record |= _search(console, searcher, trained, options, asked)
    record["wall_s"] = round(time.perf_counter() - begin, 1)
    if searcher is None:
        path = run.path / "evaluation.json"
        files.write_json(path, record)
        console.print(f"evaluated in {record['wall_s']} s, written to {path}")
    return record


def _write_episodes(
    console: Console,
    run: RunFolder,
    trained: TrainedAgent,
    options: EvaluationConfig,
    evaluated: EvaluationReport,
) -> dict[str, Any]:
    """Write episodes and replays into the run folder; return what the record has of them."""
    if evaluated.rows is not None:
        lines = "".join(json.dumps(row, allow_nan=False) + "\n" for row in evaluated.rows)
        files.write_text(run.path / "episodes.jsonl", lines)
    if not options.replays:
        return {}
    played = evaluated.played
    played = _play_own_episodes(trained, options) if played is None else played
    env_options = {**run.config.env_options, **evaluated.env_options}
    entries = write_replays(run, trained, played, options.replays, env_options)
    best = entries[-1]
    console.print(f"best episode: {run.path / best['replay_path']}, {best['return_total']:.2f}")
    return {"replays": entries}


def _search(
    console: Console,
    searcher: SearchingAgent,
    trained: TrainedAgent,
    options: EvaluationConfig,
    asked: Mapping[str, Any],
) -> dict[str, Any]:
    """Evaluate an agent that searches beside itself; return what the record has of it."""
    completed: list[Any] = []  # the options of the search, in each engine that it plays in

    def make_player(engine: Any) -> Any:
        player: Any = searcher.player(engine)
        completed.append(player.searcher.options)
        return player

    searching = replace(trained, search=make_player)
    evaluated = evaluate_trained(console, searcher.name, searching, options, asked)
    cost = evaluated.costs[AGENT]
    console.print(
        f"{searcher.name}: {cost.cpu_ms:.2f} ms of CPU time a decision, "
        f"{cost.searched / max(cost.decisions, 1):.0%} of them searched"
    )
    search = {
        "name": searcher.name,
        "options": completed[0].to_dict(),
        "decisions": cost.decisions,
        "searched": cost.searched,
        "cpu_ms_per_decision": round(cost.cpu_ms, 4),
    }
    rows = {} if evaluated.rows is None else {"rows": evaluated.rows}
    return {"search": search, **evaluated.record, **rows}


def evaluate_trained(
    console: Console,
    title: str,
    trained: TrainedAgent,
    options: EvaluationConfig,
    asked: Mapping[str, Any],
) -> EvaluationReport:
    """Play with a trained agent and with those it is compared with; print the tables.

    Parameters
    ----------
    console : rich.console.Console
    title : str
        Of the tables.
    trained : TrainedAgent
    options : EvaluationConfig
    asked : mapping
        Options of the command that no config has, such as ``only``.
    """
    judging = get_judging(trained.config.env)
    judging.refuse(trained, options, asked)
    players = judging.players_of(trained, options, EVALUATE)
    planned = judging.evaluations(trained.config, options, EVALUATE, asked, trained.steps)
    plan = [each.by(players) for each in planned]
    about = judging.describe(trained, options)
    evaluated = report(judging, console, title, plan, about=about)
    if evaluated.played is not None:
        evaluated = replace(evaluated, played=evaluated.played.of(player=AGENT))
    more = judging.play_further(console, trained, options, evaluated, asked)
    return replace(evaluated, record={**evaluated.record, **more})


def play_for_comparison(
    run: RunFolder, trained: TrainedAgent, options: EvaluationConfig, reference: RunConfig
) -> dict[str, Any]:
    """Let a checkpoint play the games that runs are compared by; keep that for ``training report``.

    It is the section ``compared`` of ``evaluation.json``, unless :func:`evaluate` has written more
    of the same checkpoint there.

    Parameters
    ----------
    run : RunFolder
    trained : TrainedAgent
        Its checkpoint.
    options : EvaluationConfig
    reference : RunConfig
        Whose game all of them play.

    Returns
    -------
    dict
        What is played, such as a set of opponents, to player to measure to value, low and high.
        One of the players is ``AGENT``.
    """
    torch.set_num_threads(1)
    judging = get_judging(reference.env)
    compared: dict[str, Any] = {}
    for each in judging.evaluations(reference, options, COMPARE):
        played = play(each.by(judging.players_of(trained, options, COMPARE)))
        compared[each.name] = each.estimate(played).record()
    path = run.path / "evaluation.json"
    before = files.read_object(path)
    if "compared" in before or before.get("checkpoint") != trained.path.name:
        files.write_json(path, {**describe(run, trained, options), "compared": compared})
    return compared


def _play_own_episodes(trained: TrainedAgent, options: EvaluationConfig) -> Results:
    """Let the agent play alone in the environment it was trained on, to choose replays from."""
    count = max(100, options.replays)
    first = MATCH_SEEDS + options.seed
    own = Evaluation(
        *(EPISODES, trained.config.env, trained.config.env_options),
        who=[Entrant(AGENT, trained.players()[AGENT])],
        seeds=range(first, first + count),
        lanes=count,
        max_steps=options.max_steps,
    )
    return play(own, keep_actions=(AGENT,))


def describe(run: RunFolder, trained: TrainedAgent, options: EvaluationConfig) -> dict[str, Any]:
    """Describe the run, checkpoint and machine at the head of a record."""
    return {
        "run": run.name,
        "member": trained.member,
        "env": run.config.env,
        "checkpoint": trained.path.name,
        "steps": trained.steps,
        "config_sha256": run.config.sha256(),
        "created": machine.now(),
        "command": machine.command(),
        "seed": options.seed,
        "policy": trained.describe_actions(),
        "intervals": f"95 %, percentile bootstrap, {options.bootstrap} resamples",
        **machine.built_from(),
    }


def write_replays(
    run: RunFolder,
    trained: TrainedAgent,
    played: Results,
    count: int,
    env_options: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """Record the episodes with the highest returns and enter them into the run's index.

    Returns
    -------
    list of dict
        Their entries, worst first, so that the last one is the best.
    """
    assert played.actions is not None
    ranked = np.argsort(played["return"], kind="stable")[-count:]
    entries = []
    for episode in ranked.tolist():
        seed = int(played["seed"][episode])
        window = int(trained.windows.get("window_id", 0))
        options = {**env_options}
        if "seat" in played.columns:
            options["agent_seat"] = int(played["seat"][episode])
        replay = replays.record(run.config.env, options, seed, played.actions[episode])
        entries.append(
            replays.add_to_index(
                run.path,
                replays.save(replay, run.replays, window),
                replay,
                run_id=run.name,
                window_id=window,
                checkpoint_path=str(trained.path.relative_to(run.path)),
                trainer_backend=run.config.trainer,
                checkpoint_env_steps_total=count_trained_ticks(trained),
                checkpoint_steps=trained.steps,
            )
        )
    return entries


def count_trained_ticks(trained: TrainedAgent) -> int | None:
    """Count the ticks a checkpoint was trained for; None if the run did not count them."""
    windows = trained.windows
    return windows["before"][0] + windows["counts"][0] if windows else None

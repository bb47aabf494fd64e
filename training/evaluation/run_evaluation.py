"""A run, evaluated: its tables on a console and ``evaluation.json`` in its folder."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from rich.console import Console

from training.evaluation import episodes, replays
from training.evaluation.episodes import Episodes
from training.evaluation.protocols import get_protocol
from training.players.trained import AGENT, Trained, load
from training.run import files, machine
from training.run.config import RunConfig
from training.run.envs import make_engine
from training.run.folder import RunFolder
from training.run.sections import EvaluationConfig
from training.run.seeds import MATCH_SEEDS


def evaluate(
    run: RunFolder,
    options: EvaluationConfig,
    console: Console,
    *,
    name: str | None = None,
    member: int | None = None,
    sample: bool = False,
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
    **asked
        What else the protocol of the game may be asked for, such as ``only``.

    Returns
    -------
    dict
        What was written.
    """
    torch.set_num_threads(1)
    trained = replace(load(run, name, member), sample=sample)
    if trained.member is not None:
        seeds = run.config.members
        console.print(f"member {trained.member} of {len(seeds)}, seed {seeds[trained.member - 1]}")
    record, begin = describe(run, trained, options), time.perf_counter()
    protocol = get_protocol(run.config.env)
    found = protocol.evaluate(console, run.name, trained, options, asked)
    record |= found.record
    if found.rows is not None:
        lines = "".join(json.dumps(row, allow_nan=False) + "\n" for row in found.rows)
        files.write_text(run.path / "episodes.jsonl", lines)
    if options.replays:
        played = _play_own_episodes(trained, options) if found.played is None else found.played
        env_options = {**run.config.env_options, **found.env_options}
        record["replays"] = write_replays(run, trained, played, options.replays, env_options)
        best = record["replays"][-1]
        console.print(f"best episode: {run.path / best['replay_path']}, {best['return_total']:.2f}")
    record["wall_s"] = round(time.perf_counter() - begin, 1)
    path = run.path / "evaluation.json"
    files.write_json(path, record)
    console.print(f"evaluated in {record['wall_s']} s, written to {path}")
    return record


def play_for_comparison(
    run: RunFolder, trained: Trained, options: EvaluationConfig, reference: RunConfig
) -> dict[str, Any]:
    """Let a checkpoint play what runs are compared by, and keep it for ``training report``.

    It is the section ``compared`` of ``evaluation.json``, unless :func:`evaluate` has written more
    of the same checkpoint there.

    Parameters
    ----------
    run : RunFolder
    trained : Trained
        Its checkpoint.
    options : EvaluationConfig
    reference : RunConfig
        Whose game all of them play.

    Returns
    -------
    dict
        See :meth:`training.evaluation.protocol.Protocol.paired`.
    """
    torch.set_num_threads(1)
    found: dict[str, Any] = get_protocol(reference.env).paired(trained, options, reference)
    path = run.path / "evaluation.json"
    before = files.read_object(path)
    if "compared" in before or before.get("checkpoint") != trained.path.name:
        files.write_json(path, {**describe(run, trained, options), "compared": found})
    return found


def _play_own_episodes(trained: Trained, options: EvaluationConfig) -> Episodes:
    """Let the agent play alone in the environment it was trained on, to choose replays from."""
    count = max(100, options.replays)
    engine = make_engine(trained.config.env, count, trained.config.env_options)
    first = MATCH_SEEDS + options.seed
    player = trained.players()[AGENT]
    return episodes.play(engine, player, count, first, options.max_steps, keep_actions=True)


def describe(run: RunFolder, trained: Trained, options: EvaluationConfig) -> dict[str, Any]:
    """Return what an evaluation says of who plays, and how."""
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
        "policy": trained.policy(),
        "intervals": f"95 %, percentile bootstrap, {options.bootstrap} resamples",
        **machine.revision(),
        "host": machine.host(),
        "versions": machine.versions(),
    }


def write_replays(
    run: RunFolder,
    trained: Trained,
    played: Episodes,
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
    ranked = np.argsort(played.columns["return_total"], kind="stable")[-count:]
    entries = []
    for episode in ranked.tolist():
        seed = int(played.columns["seed"][episode])
        window = int(trained.windows.get("window_id", 0))
        options = {**env_options}
        if "seat" in played.columns:
            options["agent_seat"] = int(played.columns["seat"][episode])
        found = replays.record(run.config.env, options, seed, played.actions[episode])
        entries.append(
            replays.add_to_index(
                run.path,
                replays.save(found, run.replays, window),
                found,
                run_id=run.name,
                window_id=window,
                checkpoint_path=str(trained.path.relative_to(run.path)),
                trainer_backend=run.config.trainer,
                checkpoint_env_steps_total=count_trained_ticks(trained),
                checkpoint_steps=trained.steps,
            )
        )
    return entries


def count_trained_ticks(trained: Trained) -> int | None:
    """Return the ticks a checkpoint was trained for; None if the run did not count them."""
    windows = trained.windows
    return windows["before"][0] + windows["counts"][0] if windows else None

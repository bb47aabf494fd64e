"""Agents of a game for one player, who play the same episodes (``evaluate --against``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from fastenv import BatchEngine, make_game
from fastenv.registry import short_id
from training.evaluation.protocol import EpisodeProtocol
from training.evaluation.protocols import get_protocol
from training.evaluation.tables import format_interval_short
from training.players.names import RANDOM_LEGAL, find_player
from training.players.player import MakePlayer
from training.players.trained import AGENT, DRAWN, load
from training.run.folder import RunFolder
from training.run.names import is_search
from training.run.options import require
from training.run.seating import check_bot, env_of_table
from training.run.sections import EvaluationConfig


def is_for_one(env: str) -> bool:
    """Tell whether players of an environment never meet, so that there is no table for them."""
    return make_game(env_of_table(env)).seats is None


def compare(
    console: Console,
    run: RunFolder,
    others: Sequence[str],
    root: Path,
    options: EvaluationConfig,
    asked: Mapping[str, Any],
    sample: bool = False,
) -> dict[str, Any]:
    """Let a run and others play the same episodes; print and return what came out.

    Parameters
    ----------
    console : rich.console.Console
    run : RunFolder
        All play in its environment, and are compared with it.
    others : sequence of str
        Runs, bots, or ``search:`` before one of them.
    root : Path
        Folder of all runs.
    options : EvaluationConfig
    asked : mapping
        See :meth:`training.evaluation.protocol.Protocol.evaluate`.
    sample : bool
        Trained agents draw their actions.

    Raises
    ------
    ConfigError
        If the game is not played in episodes, or one cannot play those of the run.
    RunError, CheckpointError
        If one is no trained agent.
    """
    config, protocol = run.config, get_protocol(run.config.env)
    episodic = isinstance(protocol, EpisodeProtocol)
    require(episodic, "--against", list(others), f"left out: {config.env} has no episodes for one")
    assert isinstance(protocol, EpisodeProtocol)
    plan = protocol.plan(options, asked)
    engine = plan.engine(config.env, config.env_options)
    named = [(run.name, run), *((name, _folder(name, root)) for name in others)]
    players, drawn = _players(named, protocol, engine, sample)
    protocol.baseline = first = next(iter(players))
    played = plan.play(engine, players)
    record = protocol.report(console, "beside each other", engine, played, plan)
    compared = protocol.compare(played, plan)
    for name, gap in compared.gaps.items():
        console.print(
            f"{name} less {first}: {protocol.measure} {format_interval_short(gap)}, "
            "episodes paired.",
            markup=False,
        )
    about = {"env": config.env, "env_options": dict(config.env_options), "drawn": drawn}
    return {**about, **record}


def _players(
    named: Sequence[tuple[str, RunFolder | None]],
    protocol: EpisodeProtocol,
    engine: BatchEngine,
    sample: bool,
) -> tuple[dict[str, MakePlayer], list[str]]:
    """Return who plays by name, and the names of those whose actions are drawn."""
    players: dict[str, MakePlayer] = {}
    drawn = []
    for name, folder in named:
        shown = name if folder is None or not sample else f"{name}, drawn"
        shown = shown if shown not in players else f"{shown}#{len(players) + 1}"
        if folder is None:
            players[shown] = _scripted(name, protocol, engine)
        else:
            players[shown] = _player(folder, engine, sample)
            drawn += [shown] if sample else []
    return players, drawn


def _folder(name: str, root: Path) -> RunFolder | None:
    """Return the run of a name; None for who is no trained agent."""
    there = not is_search(name) and (Path(name).is_dir() or (root / name).is_dir())
    return RunFolder.find(name, root) if there else None


def _scripted(name: str, protocol: EpisodeProtocol, engine: BatchEngine) -> MakePlayer:
    """Return who plays under a name that is no run's."""
    known = is_search(name) or name == RANDOM_LEGAL or find_player(engine, name)
    if not known:
        check_bot(engine.game, name)
    return protocol.scripted_player(name)


def _player(run: RunFolder, engine: BatchEngine, sample: bool) -> MakePlayer:
    """Return the agent of a run, unless it sees something else than an engine shows."""
    env, here = short_id(run.config.env), engine.game.env_id
    require(env == here, f"env of {run.name}", env, f"{here}, where all play")
    trained = replace(load(run), sample=sample)
    own = trained.engine()
    for name in ("obs_dtype", "obs_shape", "num_actions"):
        theirs = getattr(engine, name)
        require(
            getattr(own, name) == theirs,
            f"{name} of {run.name}",
            str(getattr(own, name)),
            f"{theirs}, as in the episodes that all play",
        )
    return trained.players()[DRAWN if sample else AGENT]

"""An episode of several players at one table, to be watched (``watch --against``)."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from fastenv.env import check_render_mode
from training.evaluation.contest import load_players, table_of
from training.players.names import make_player
from training.players.player import Player, begin_all, every_lane
from training.run.game_view import render_state
from training.run.options import require
from training.terminal.person import number_names
from training.terminal.thinking import Thoughts
from training.terminal.watched import Episode, check_think


def at_table(
    names: Sequence[str], args: argparse.Namespace, options: Mapping[str, Any], mode: str
) -> Episode:
    """Make an episode of players who meet.

    Parameters
    ----------
    names : sequence of str
        Trained agents and bots; the first has seat 0, and if they are fewer than the seats, they
        take several, in turns.
    args : argparse.Namespace
        Of ``watch``.
    options : mapping
        Of the environment.
    mode : {"ansi", "rgb_array"}
        What it is drawn as: text as who decides sees it, or a picture of all there is.

    Raises
    ------
    ConfigError, RunError, CheckpointError
        If somebody cannot sit at the table.
    """
    entrants = load_players(names, Path(args.runs))
    table = table_of(entrants, args.env, options)
    count = table.seats.count
    require(len(entrants) <= count, "--against", names[1:], f"1 to {count - 1} players")
    engine = table.make(1)
    check_render_mode(engine.game, mode)
    check_think(args.think, names, engine.game)
    seated = [entrants[k % len(entrants)] for k in range(count)]
    labels = number_names([each.short for each in seated])
    players = [make_player(each.who, engine, sample=args.sample) for each in seated]
    return _make_episode(engine, players, labels, args, mode)


def _make_episode(
    engine: Any,
    players: Sequence[Player],
    labels: Sequence[str],
    args: argparse.Namespace,
    mode: str,
) -> Episode:
    """Make an episode of players, one in every seat of an engine of one lane."""
    lane = every_lane(engine)
    thoughts = Thoughts(args.think)
    thoughts.listen(players)

    def row() -> np.void:
        state: np.void = engine.get_states([0])[0]
        return state

    def steps() -> Iterator[str | None]:
        engine.reset_many(seeds=[args.seed])
        for k, player in enumerate(players):
            begin_all(player, engine, args.seed + 1 + k)
        for _ in range(args.max_steps):
            seat = int(engine.get_actors()[0])
            action = int(players[seat].act(engine, lane)[0])
            thoughts.hear(players[seat])
            yield f"{labels[seat]} chooses {engine.game.action_name(action, row())}"
            engine.step_many([action], autoreset=False)
            if engine.ended[0]:
                break
        yield None

    def draw() -> Any:
        if mode == "rgb_array":
            return engine.game.render(row(), mode)
        return render_state(engine, row(), labels, seat=int(engine.get_actors()[0]))

    def result() -> str:
        points = zip(labels, engine.get_outcomes()[0], strict=True)
        return "points: " + ", ".join(f"{name} {total:.6g}" for name, total in points)

    def say(console: Console) -> None:
        thoughts.draw(console, lambda action: engine.game.action_name(action, row()))

    return Episode(steps(), draw, lambda: bool(engine.ended[0]), result, say)

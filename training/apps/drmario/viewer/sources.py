"""Sources of a viewer: environments played by a bot, a trained agent, a recording or the demo."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import fastenv
from fastenv import BatchEngine
from fastenv.drmario.layout import REWARD_TERMS
from fastenv.drmario.tables import Mode
from fastenv.registry import short_id
from training.callbacks.shaping import Potential, make_potential
from training.evaluation import replays
from training.players import trained
from training.players.bots import Bot
from training.players.names import find_player
from training.players.player import MakePlayer
from training.players.trained import find_run
from training.run.envs import make_seated, with_defaults
from training.run.names import AGENT
from training.run.options import require

MOST = 256  # environments that are shown at once
FAMILY = "DrMario"
# Options that decide what a network sees and does.
SEEN = ("obs", "obs_dtype", "extras", "candidates", "stack", "actions")


@dataclass(frozen=True)
class Source:
    """Environments and who plays in them.

    Parameters
    ----------
    env : str
    options : mapping
        Of the environment.
    name : str
        Who plays.
    player : callable
        Makes who plays.
    most : int
        Environments that there can be at once.
    seed : int or None
        The only one, of what was recorded; None where any may be played.
    is_over : callable
        Tells of an engine whether there is nothing more to play.
    run : Path or None
        Folder of a trained agent.
    potential : callable or None
        Returns what the training of the agent added to the rewards of an engine, if it did.
    """

    env: str
    options: Mapping[str, Any]
    name: str
    player: MakePlayer
    most: int = MOST
    seed: int | None = None
    is_over: Callable[[BatchEngine], bool] = field(default=lambda engine: False)
    run: Path | None = None
    potential: Callable[[BatchEngine], Potential] | None = None

    def engine(self, num_envs: int) -> BatchEngine:
        """Return a new engine with so many lanes."""
        game, seating = make_seated(self.env, self.options)
        if game.spec.num_agents > 1:
            seating["agent_seat"] = self.options.get("agent_seat", 0)
            if "opponent" not in self.options and self.name in game.bot_names:
                seating["opponent"] = self.name
        return BatchEngine(game, num_envs, info_columns=REWARD_TERMS, **seating)


class ReplayPlayer:
    """Plays the actions of a recording in the only lane, then waits.

    See :class:`training.players.player.Player`.

    Parameters
    ----------
    actions : sequence of int
    """

    def __init__(self, actions: Sequence[int]) -> None:
        self._actions, self._left = actions, iter(actions)

    def begin(self, engine: Any, lanes: np.ndarray, seeds: np.ndarray | None = None) -> None:
        """Go back to the first action."""
        self._left = iter(self._actions)

    def act(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Return the next action; each is asked for once."""
        return np.full(len(lanes), next(self._left, 0), np.int32)


def make_bot_source(env: str, options: Mapping[str, Any], name: str) -> Source:
    """Return environments that a scripted player plays.

    Raises
    ------
    ConfigError
        If there is no such environment of Dr. Mario, option, bot or evaluator.
    """
    _check_env(env)
    game, player = fastenv.make_game(env, **options), find_player(env, name)
    if player is None:
        game.bot(name)
        player = partial(Bot, name)
    return Source(env, options, name, player)


def make_policy_source(path: Path, changes: Mapping[str, Any]) -> Source:
    """Return environments that a trained agent plays.

    Parameters
    ----------
    path : Path
        As :func:`training.load_policy` takes it.
    changes : mapping
        Options of the environment over those of its training.

    Raises
    ------
    RunError, CheckpointError, ConfigError
        If there is no such agent, or it does not play Dr. Mario.
    """
    run, name = find_run(path)
    agent = trained.load(run, name)
    _check_env(agent.config.env)
    options = {**with_defaults(agent.config.env, agent.config.env_options), **changes}
    make_seated(agent.config.env, options)
    allowed = f"left as in the training, as {', '.join(SEEN)} are"
    require(not {*changes} & {*SEEN}, "--set", dict(changes), allowed)
    player, config = agent.players()[AGENT], agent.config
    shaped = None if config.shaping is None else partial(make_potential, config)
    return Source(config.env, options, run.name, player, run=run.path, potential=shaped)


def make_replay_source(path: Path) -> Source:
    """Return the game of a file of :mod:`training.commands.replay`.

    Raises
    ------
    ReplayError
        If it is damaged, cut off or of another schema.
    ConfigError
        If it is of another game.
    """
    replay = replays.load(path)
    head = replay.head
    _check_env(head["env"])
    played = len(replay.actions)
    return Source(
        short_id(head["env"]),
        head["options"],
        path.name,
        lambda engine: ReplayPlayer(replay.actions),
        most=1,
        seed=head["seed"],
        is_over=lambda engine: int(engine.get_states()["ep_length"][0]) >= played,
    )


def make_demo_source(path: Path) -> Source:
    """Return the demo whose tables a file holds.

    Raises
    ------
    ConfigError
        If it is no such file.
    """
    options = {"demo": str(path), "stack": 1}
    fastenv.make_game("DrMarioFrame-v0", **options)

    def is_over(engine: BatchEngine) -> bool:
        return bool(engine.get_states()["players"]["mode"][0, 0] != Mode.DEMO)

    name = f"demo of {path.name}"
    idle: MakePlayer = lambda engine: ReplayPlayer(())  # noqa: E731
    return Source("DrMarioFrame-v0", options, name, idle, most=1, seed=0, is_over=is_over)


def _check_env(env: str) -> None:
    ids = [short_id(name) for name in fastenv.list_envs() if FAMILY in name]
    require(env.rpartition("/")[2] in ids, "env", env, f"one of {', '.join(ids)}")

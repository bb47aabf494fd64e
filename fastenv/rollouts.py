"""Worlds and rollouts: a row with its hidden part drawn anew, and a row played on by bots.

What search needs of a game. The compiled loops are in ``_batch.pyx``; here are their twins in plain
Python, what a rollout returns, and the checks of its arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv import checks
from fastenv.errors import ConfigError, show
from fastenv.game import Game, Reference
from fastenv.rng import Rng
from fastenv.spec import GameSpec

Array = npt.NDArray[Any]
MAX_LIMIT = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Rollouts:
    """How games went that were played on.

    Attributes
    ----------
    outcomes : ndarray of float64, shape (m, P)
        What each seat has reached in the end (:meth:`fastenv.game.Game.outcomes`).
    decisions : ndarray of int32, shape (m,)
        Decisions of a rollout, of all seats; in games whose agents act together, steps.
    rows : ndarray, shape (m,)
        Where they ended. In games whose rows show one seat, all seats are played from outside.
    """

    outcomes: npt.NDArray[np.float64]
    decisions: npt.NDArray[np.int32]
    rows: Array


@dataclass(frozen=True)
class Stop:
    """When a rollout ends, beside the end of its episode.

    Parameters
    ----------
    until : str or None
        One of the spec's ``stops``.
    number : int
        What that takes.
    limit : int
        Decisions after which it ends anyway; 0 for any number.
    """

    until: str | None = None
    number: int = 0
    limit: int = 0

    @classmethod
    def parse(cls, spec: GameSpec, until: object, limit: object) -> Stop:
        """Return it from what :meth:`fastenv.engine.BatchEngine.rollout` takes.

        Raises
        ------
        ConfigError
            If there is no such condition.
        """
        most = 0 if limit is None else checks.as_count("limit", limit)
        if most > MAX_LIMIT:
            raise ConfigError(f"limit={show(limit)}: must be at most {MAX_LIMIT}")
        if until is None:
            return cls(limit=most)
        name, sign, number = until.partition("=") if isinstance(until, str) else ("", "", "")
        listed = [f"{stop}K" if stop.endswith("=") else stop for stop in spec.stops]
        whole = number.isascii() and number.isdigit() and 0 < int(number[:10]) <= MAX_LIMIT
        if name + sign not in spec.stops or whole != bool(sign):
            allowed = " or ".join(map(repr, listed)) or "None: this game has no stop conditions"
            raise ConfigError(f"until={show(until)}: must be {allowed}")
        return cls(name + sign, int(number or 0), most)


def knows_resample(game: Game) -> bool:
    """Return whether a game can draw its hidden part anew."""
    return type(game).resample is not Reference.resample


def check_resample(game: Game) -> None:
    """Raise :class:`ConfigError` unless a game can draw its hidden part anew."""
    if not knows_resample(game):
        name = game.env_id or type(game).__name__
        raise ConfigError(
            f"{name} has no resample: add the method `resample` to the game, which draws what an "
            "agent cannot know (docs/new_game.md)"
        )


def as_players(game: Game, players: str | Sequence[str]) -> Array:
    """Return the parameters of the bots in all seats, shape (P,), of the spec's ``bot_dtype``.

    Raises
    ------
    ConfigError
        If there is no such bot, or another number of them.
    """
    count = game.num_seats
    names = [players] * count if isinstance(players, str) else players
    if not isinstance(names, (list, tuple)) or len(names) != count:
        seats = "" if count == 1 else f" or {count}, one a seat"
        raise ConfigError(f"players={show(players)}: must be the name of a bot{seats}")
    for name in names:
        checks.check_name("players", name)
    return np.concatenate([game.bot(name) for name in names])


def as_seeds(seeds: object, n: int) -> npt.NDArray[np.uint64]:
    """Return one seed for each of ``n``: from a number on, or as they are given."""
    whole = isinstance(seeds, (int, np.integer)) and not isinstance(seeds, bool)
    if whole:
        first = np.uint64(int(seeds) & (1 << 64) - 1)  # type: ignore[call-overload]
        return np.arange(n, dtype=np.uint64) + first
    array = np.asarray(seeds) if isinstance(seeds, (np.ndarray, list, tuple)) else np.zeros(0)
    if array.shape != (n,) or array.dtype.kind not in "iu":
        raise ValueError(
            f"seeds must be an integer or {n} of them, got {type(seeds).__name__}"
            + (f" of shape {array.shape}" if isinstance(seeds, np.ndarray) else "")
        )
    return np.ascontiguousarray(array.astype(np.uint64))


# -- in plain Python -------------------------------------------------------------------------------


def resample_rows(
    game: Game, rows: Array, of: Array, agents: Array, seeds: Array, out: Array
) -> None:
    """Write a world of row ``of[i]`` into ``out[i]``; see ``BatchLoop.resample``."""
    raw = _bytes_of(out)
    for i, (row, agent, seed) in enumerate(zip(of.tolist(), agents.tolist(), seeds, strict=True)):
        state = game.unpack(rows[row])
        game.resample(state, agent, Rng(int(seed)))
        raw[i] = np.frombuffer(game.pack(state), np.uint8)


def roll_rows(
    game: Game,
    rows: Array,
    of: Array,
    actions: Array,
    players: Array,
    stop: Stop,
    seeds: Array,
    out: Array,
    decisions: Array,
) -> None:
    """Play rollouts; see ``BatchLoop.rollout``."""
    raw = _bytes_of(out)
    for i, row in enumerate(of.tolist()):
        start = game.unpack(rows[row])
        state = game.unpack(rows[row])
        first = actions[i].tolist()
        decisions[i] = roll(game, state, start, first, players, stop, Rng(int(seeds[i])))
        raw[i] = np.frombuffer(game.pack(state), np.uint8)


def roll(
    game: Game, state: Any, start: Any, first: list[int], players: Array, stop: Stop, rng: Rng
) -> int:
    """Play one game on; return how many decisions that took."""
    spec = game.spec
    obs = np.zeros((spec.num_agents, *spec.obs_shape), spec.obs_dtype)
    mask = np.zeros((spec.num_agents, spec.num_actions), np.uint8)
    one = spec.num_agents == 1
    game.begin_rollout(state, players, stop.until, rng)
    taken = 0
    while True:
        chosen = first if taken == 0 else [-1] * len(first)
        if game.bots_read_obs and any(a < 0 for a in chosen):
            game.encode_obs(state, obs[0] if one else obs)
            game.action_mask(state, mask[0] if one else mask)
        answers = [
            _answer(game, state, k, action, players, obs, mask, rng)
            for k, action in enumerate(chosen)
        ]
        game.step(state, answers[0] if one else answers)
        if game.pays_rollouts:
            _pay(game, state)
        taken += 1
        if state.done or taken == stop.limit:
            return taken
        if stop.until is not None and game.stopped(state, start, stop.until, stop.number):
            return taken


def _answer(
    game: Game, state: Any, k: int, action: int, players: Array, obs: Array, mask: Array, rng: Rng
) -> int:
    if game.spec.num_agents > 1 and not state.needs_action[k]:
        return 0
    if action >= 0:
        return action
    return game.bot_action(state, players[game.seat_of(state, k)], k, obs[k], mask[k], rng)


def _pay(game: Game, state: Any) -> None:
    """Add what a step paid to the sums of the episode, as a step of an engine does."""
    found = game.reward(state)
    if found is None:
        return
    dtype = game.spec.reward_dtype.type
    if isinstance(state.ep_return, list):
        rounded = [float(dtype(r)) for r in found[0]]
        state.ep_return = [a + b for a, b in zip(state.ep_return, rounded, strict=True)]
    else:
        state.ep_return += float(dtype(found[0]))
    state.ep_length += 1


def _bytes_of(rows: Array) -> npt.NDArray[np.uint8]:
    found: npt.NDArray[np.uint8] = rows.view(np.uint8).reshape(len(rows), -1)
    return found

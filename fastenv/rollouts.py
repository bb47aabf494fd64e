"""Worlds and rollouts: rows with their hidden part resampled, and rows that bots play on.

What search needs of a game. The compiled loops are in ``_batch.pyx``; here are the checks of their
arguments, what a rollout returns, and their twins in plain Python.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fastenv import checks
from fastenv.errors import ConfigError, InvalidActionError, StateError, show
from fastenv.game import Game, Reference, add_reward
from fastenv.notices import note_rollouts
from fastenv.rng import Rng
from fastenv.spec import GameSpec

if TYPE_CHECKING:
    from fastenv._batch import BatchLoop

Array = npt.NDArray[Any]
MAX_LIMIT = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Rollouts:
    """The results of rollouts.

    Attributes
    ----------
    outcomes : ndarray of float64, shape (m, P)
        Outcome of each seat at the end (:meth:`fastenv.game.Game.outcomes`), higher is better.
    decisions : ndarray of int32, shape (m,)
        Decisions of a rollout, of all seats; in games whose agents act together, steps.
    rows : ndarray, shape (m,)
        Final states. In games whose rows show one seat, the caller plays all seats in them.
    """

    outcomes: npt.NDArray[np.float64]
    decisions: npt.NDArray[np.int32]
    rows: Array


@dataclass(frozen=True)
class Stop:
    """The stop condition of a rollout, beside the end of its episode.

    Parameters
    ----------
    until : str or None
        One of the spec's ``stops``.
    number : int
        Argument of the condition.
    limit : int
        Decisions after which it ends anyway; 0 for any number.
    """

    until: str | None = None
    number: int = 0
    limit: int = 0

    @classmethod
    def parse(cls, spec: GameSpec, until: object, limit: object) -> Stop:
        """Return the condition of arguments of :meth:`fastenv.engine.BatchEngine.rollout`.

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
        name, sign, digits = until.partition("=") if isinstance(until, str) else ("", "", "")
        digits = digits.lstrip("0") if digits.isascii() and digits.isdigit() else ""
        number = int(digits[:11] or 0)
        if name + sign not in spec.stops or (0 < number <= MAX_LIMIT) != bool(sign):
            listed = [f"{stop}K" if stop.endswith("=") else stop for stop in spec.stops]
            allowed = " or ".join(map(repr, (None, *listed)))
            taken = f", K from 1 to {MAX_LIMIT}" if any("=" in stop for stop in listed) else ""
            raise ConfigError(f"until={show(until)}: must be {allowed}{taken}")
        return cls(name + sign, number, most)


def knows_resample(game: Game) -> bool:
    """Return whether a game can draw its hidden part anew."""
    return type(game).resample is not Reference.resample


def check_resample(game: Game) -> None:
    """Raise :class:`ConfigError` unless a game can draw its hidden part anew."""
    if not game.resumable:
        raise ConfigError(
            f"{game.env_id}: search and worlds are not possible: this environment cannot be set to "
            "a saved state"
        )
    if not knows_resample(game):
        raise ConfigError(
            f"{game.env_id or type(game).__name__} has no resample: add the method `resample` to "
            "the game, which draws what an agent cannot know (docs/tutorials/new_game.md)"
        )


def as_players(game: Game, players: object) -> Array:
    """Return the parameters of the bots in all seats, shape (P,), of the spec's ``bot_dtype``.

    Raises
    ------
    ConfigError
        If there is no such bot, or another number of them.
    """
    count = game.num_seats
    names = [players] * count if isinstance(players, str) else players
    if not isinstance(names, (list, tuple)) or len(names) != count:
        seats = "" if count == 1 else f", or {count}, one a seat"
        raise ConfigError(f"players={show(players)}: must be the name of a bot{seats}")
    params = np.zeros(count, game.spec.bot_dtype)
    for seat, name in enumerate(names):
        checks.check_name("players", name)
        try:
            params[seat] = game.bot(name)[0]
        except ConfigError as error:  # a game says best what it has
            raise ConfigError(f"players: {error}") from None
    return params


class Worlds:
    """Worlds and rollouts of rows that belong to no lane: compiled where the game can be.

    Parameters
    ----------
    game : Game
    encode_rows : callable
        Writes observations and masks of rows.
    loop : BatchLoop, optional
    """

    def __init__(
        self, game: Game, encode_rows: Callable[..., None], loop: BatchLoop | None = None
    ) -> None:
        self._game, self._encode_rows, self._loop = game, encode_rows, loop
        self._knobs = game.default_knobs(1)
        kind, plain = type(game), Reference
        self._prepared = kind.begin_rollout is not plain.begin_rollout
        self._prepared |= kind.seat_of is not plain.seat_of

    def resample(
        self, rows: object, agents: object, seeds: object, worlds: object, trusted: bool
    ) -> Array:
        """Return worlds of rows; see :meth:`fastenv.engine.BatchEngine.resample`."""
        game = self._game
        check_resample(game)
        count = checks.as_count("worlds", worlds)
        rows = self._running(rows, trusted)
        seats = checks.as_seats(agents, len(rows), game.num_seats, "agents")
        try:
            out = np.zeros(len(rows) * count, rows.dtype)
            of = np.repeat(np.arange(len(rows), dtype=np.int64), count)
        except (MemoryError, ValueError, OverflowError):
            message = f"worlds={show(worlds)}: must be fewer: there is not as much memory here"
            raise ConfigError(message) from None
        who = np.broadcast_to(seats.astype(np.int32), rows.shape)[of]
        numbers = checks.as_seeds(seeds, len(of))[1]
        if self._loop is not None and self._loop.can_resample:
            self._loop.resample(rows, of, who, numbers, out)
        else:
            resample_rows(game, rows, of, who, numbers, out)
        return out

    def rollout(
        self,
        rows: object,
        actions: object,
        players: object,
        stop: Stop,
        seeds: object,
        of: object,
        trusted: bool,
    ) -> Rollouts:
        """Play rows on; see :meth:`fastenv.engine.BatchEngine.rollout`."""
        who, rows = as_players(self._game, players), self._running(rows, trusted)
        named = np.arange(len(rows)) if of is None else checks.as_numbers("of", of, len(rows))
        first = self._first_actions(rows, actions, named, trusted)
        numbers = checks.as_seeds(seeds, len(named))[1]
        out, decisions = np.zeros(len(named), rows.dtype), np.zeros(len(named), np.int32)
        self._play(rows, named, first, who, stop, numbers, out, decisions)
        return Rollouts(self._game.outcomes(out), decisions, out)

    def _play(
        self,
        rows: Array,
        of: Array,
        first: Array,
        players: Array,
        stop: Stop,
        seeds: Array,
        out: Array,
        decisions: Array,
    ) -> None:
        game, loop = self._game, self._loop
        if loop is not None and loop.can_roll(stop.until is not None, self._prepared):
            until = -1 if stop.until is None else game.spec.stops.index(stop.until)
            how = (until, stop.number, stop.limit, game.pays_rollouts)
            loop.rollout(rows, of, first, players, self._knobs, *how, seeds, out, decisions)
            return
        begun = time.perf_counter()
        roll_rows(game, rows, of, first, players, stop, seeds, out, decisions)
        if loop is not None and loop.encodes:
            note_rollouts(game, time.perf_counter() - begun, int(decisions.sum()))

    def _running(self, rows: object, trusted: bool) -> Array:
        """Return rows of running games, or raise :class:`StateError`."""
        trusted = checks.as_bool("trusted", trusted)
        found = checks.as_rows(rows, self._game.spec)
        over = found["done"] != 0
        if over.any():
            raise StateError(f"rows: the game of row {int(over.argmax())} is over")
        if trusted:
            return found
        checks.check_states(self._game, found)
        return checks.without_padding(found)

    def _first_actions(self, rows: Array, actions: object, of: Array, trusted: bool) -> Array:
        """Return the first decisions of rollouts, int32 (m, K), or refuse them."""
        spec = self._game.spec
        shape, each = spec.agents(len(of)), (len(of), spec.num_agents)
        if actions is None:
            return np.full(each, -1, np.int32)
        given = checks.as_array("actions", actions, InvalidActionError)
        if given.shape != shape or (given.dtype.kind not in "iu" and given.size):
            raise InvalidActionError(
                f"actions must be integers of shape {shape}, got {given.dtype} of shape "
                f"{given.shape}"
            )
        given = given.reshape(each)
        if spec.num_agents > 1:
            given = np.where(rows["needs_action"][of] != 0, given, 0)
        wrong = (given < -1) | (given >= spec.num_actions)
        if wrong.any():
            raise InvalidActionError(
                f"{_who(wrong)}: action {given[wrong][0]} is out of range, allowed are "
                f"0..{spec.num_actions - 1}, or -1 for the player's"
            )
        first = np.ascontiguousarray(given, np.int32)
        if spec.illegal_actions == "raise" and not trusted:
            self._check_legal(rows, first, of)
        return first

    def _check_legal(self, rows: Array, first: Array, of: Array) -> None:
        """Refuse first actions of rollouts that are illegal."""
        spec = self._game.spec
        obs = np.zeros((*spec.agents(len(rows)), *spec.obs_shape), spec.obs_dtype)
        masks = np.zeros((*spec.agents(len(rows)), spec.num_actions), np.uint8)
        self._encode_rows(rows, obs, masks)
        masks = masks.reshape(len(rows), spec.num_agents, spec.num_actions)
        # row and agent of each action: the masks of many rollouts of a row are the same one
        allowed = masks[of[:, None], np.arange(spec.num_agents), np.maximum(first, 0)] != 0
        wrong = (first >= 0) & ~allowed
        if wrong.any():
            place, agent = np.argwhere(wrong)[0]
            row = of[place]
            raise InvalidActionError(
                f"{_who(wrong)}: action {first[place, agent]} is illegal in phase "
                f"{self._game.describe(rows[row])}, legal are "
                f"{np.flatnonzero(masks[row, agent]).tolist()}"
            )


def _who(wrong: Array) -> str:
    """Return the label of the rollout, and agent, of the first wrong action of (m, K)."""
    place, agent = np.argwhere(wrong)[0]
    return f"rollout {place}" if wrong.shape[1] == 1 else f"rollout {place}, agent {agent}"


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
    asked = stop.limit != 1 or any(a < 0 for a in first)
    game.begin_rollout(state, players if asked else None, stop.until, rng)
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
    if found is not None:
        add_reward(state, np.asarray(found[0], game.spec.reward_dtype).tolist())


def _bytes_of(rows: Array) -> npt.NDArray[np.uint8]:
    found: npt.NDArray[np.uint8] = rows.view(np.uint8).reshape(len(rows), rows.itemsize)
    return found

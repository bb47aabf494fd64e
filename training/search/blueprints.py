"""Players of rollouts: bots in one compiled loop, a network, or modelled opponents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from fastenv import BatchEngine
from fastenv.errors import ConfigError, show
from training.players.draws import mix, uniform
from training.players.network import sight_of_rows
from training.players.policy import Policy
from training.run.engine import as_bytes, take_rows

MAX_STEPS = 10_000  # of rollouts by a network, which then end as they stand
POLICY = "policy"  # rollouts by the network that is searched for
PLAYERS, DECISION = 4, 5  # purposes of seeds


@dataclass(frozen=True)
class Start:
    """The first rows and decisions of rollouts, and their end.

    Parameters
    ----------
    rows : ndarray, shape (k,)
    of : ndarray of int64, shape (m,)
        The row of each rollout.
    actions : ndarray of int32, shape (m,), or (m, K) in games of K agents
        The first decision; -1 leaves it to the blueprint.
    seeds : ndarray of uint64, shape (m,)
        Equal for all actions in a world.
    until, limit
        See :meth:`fastenv.BatchEngine.rollout`.
    seats : ndarray of int, shape (m,)
        Whose decision it is.
    lanes : ndarray of int, shape (m,), or None
        The games that are searched.
    """

    rows: np.ndarray
    of: np.ndarray
    actions: np.ndarray
    seeds: np.ndarray
    until: str | None
    limit: int | None
    seats: np.ndarray
    lanes: np.ndarray | None


class Blueprint(Protocol):
    """Plays games on, in all seats."""

    def play_on(self, start: Start) -> np.ndarray:
        """Play rollouts; return their last rows, shape (m,)."""


class BotBlueprint:
    """A bot in every seat; of several bots each plays its share of the worlds.

    Parameters
    ----------
    engine : BatchEngine
        Of the game.
    names : sequence of str

    Raises
    ------
    ConfigError
        If there is no such bot.
    """

    def __init__(self, engine: BatchEngine, names: Sequence[str]) -> None:
        for name in names:
            engine.game.bot(name)
        self._engine, self._names = engine, names

    def play_on(self, start: Start) -> np.ndarray:
        """See :class:`Blueprint`."""
        names = self._names
        if len(names) == 1:
            return _roll(self._engine, start, slice(None), names[0])
        ends = np.zeros(len(start.of), start.rows.dtype)
        for k, name in enumerate(names):  # a world is the same bot's for all actions
            own = start.seeds % len(names) == k
            as_bytes(ends)[own] = as_bytes(_roll(self._engine, start, own, name))
        return ends


def _roll(
    engine: BatchEngine, start: Start, own: slice | np.ndarray, players: str | Sequence[str]
) -> np.ndarray:
    """Play some of the rollouts with these players; return their last rows."""
    actions, seeds = start.actions[own], start.seeds[own]
    how = (start.until, start.limit, seeds)
    return engine.rollout(start.rows, actions, players, *how, of=start.of[own], trusted=True).rows


class SteppedBlueprint:
    """A network in some seats, bots in the others; all games take a decision at a time.

    The network takes its best actions, in one forward pass for all games. Games that have ended
    leave. A condition ``until`` must end the episode, for each decision is a rollout of its own.

    Parameters
    ----------
    engine : BatchEngine
        Of the game at the table.
    policy : Policy
    actor : str
        Field of the row with the seat whose decision is due; empty in games for one.
    bots : sequence of str
        Who else may play.

    Raises
    ------
    ConfigError
        For a network with memory, or in games whose agents act together.
    """

    def __init__(
        self, engine: BatchEngine, policy: Policy, actor: str = "", bots: Sequence[str] = ()
    ) -> None:
        possible = not policy.state_size and engine.spec.num_agents == 1
        if not possible:
            raise ConfigError(
                f"search.rollouts={show(POLICY)} is not possible for {policy.path}: it must be a "
                "bot for networks with memory and in games whose agents act together."
            )
        self._engine, self._policy, self._actor = engine, policy, actor
        self._see = sight_of_rows(policy)
        self._bots = tuple(bots) or engine.game.bot_names[:1]  # somebody who has nothing to decide

    def play_on(self, start: Start, players: np.ndarray | None = None) -> np.ndarray:
        """See :class:`Blueprint`.

        Parameters
        ----------
        start : Start
        players : ndarray of int, shape (m, P), optional
            Who plays: 0 is the network, from 1 on the bots; default everywhere the network.
        """
        now, actions = take_rows(start.rows, start.of), start.actions.copy()
        reached, running = np.empty_like(now), np.arange(len(now))
        for taken in range(start.limit or MAX_STEPS):
            who = np.zeros(len(now), np.int64)
            if players is not None:
                who = players[running, now[self._actor].astype(np.int64)]
            self._decide(now, actions, who)
            seeds = mix(start.seeds[running], np.full(len(now), taken), DECISION)
            now = self._step(now, actions, who, seeds, start.until)
            over = now["done"] != 0
            if over.any():
                as_bytes(reached)[running[over]] = as_bytes(now)[over]
                now, running = take_rows(now, ~over), running[~over]
            if not running.size:
                break
            actions = np.full(len(running), -1, np.int32)
        as_bytes(reached)[running] = as_bytes(now)
        return reached

    def _decide(self, rows: np.ndarray, actions: np.ndarray, who: np.ndarray) -> None:
        """Write the network's actions into ``actions`` where it decides."""
        own = (actions < 0) & (who == 0)
        if not own.any():
            return
        rows = take_rows(rows, own)
        masks = self._engine.action_masks_many(rows, trusted=True)
        chosen = masks.argmax(1).astype(np.int32)
        free = masks.sum(1) > 1  # where there is no choice, nobody needs to be asked
        if free.any():
            seen = self._see(take_rows(rows, free))
            chosen[free] = self._policy.act(seen, masks[free])[0]
        actions[own] = chosen

    def _step(
        self,
        rows: np.ndarray,
        actions: np.ndarray,
        who: np.ndarray,
        seeds: np.ndarray,
        until: str | None,
    ) -> np.ndarray:
        """Advance rows by one decision: a rollout of one decision needs no lane."""
        engine, open_ = self._engine, actions < 0
        if not open_.any():
            return engine.rollout(rows, actions, self._bots[0], until, 1, seeds, trusted=True).rows
        then, bots = np.empty_like(rows), np.where(open_, who, 1)
        for k, name in enumerate(self._bots, start=1):
            own = bots == k
            if own.any():
                how = (name, until, 1, seeds[own])
                some = take_rows(rows, own)
                part = engine.rollout(some, actions[own], *how, trusted=True)
                as_bytes(then)[own] = as_bytes(part.rows)
        return then


class Model(Protocol):
    """Infers the players of the other seats from the games that are searched."""

    @property
    def names(self) -> tuple[str, ...]:
        """The candidates: ``policy``, if there is one, then bots; of those the best first."""

    def begin(self, lanes: np.ndarray) -> None:
        """Reset lanes in which games begin."""

    def watch(self, lanes: np.ndarray, rows: np.ndarray) -> None:
        """Observe the rows of games at the searcher's decisions, searched or not."""

    def draw(self, lanes: np.ndarray, luck: np.ndarray) -> np.ndarray:
        """Draw a candidate for each seat by their probabilities, int64 (k, P).

        Parameters
        ----------
        lanes : ndarray of int, shape (k,)
        luck : ndarray of float64, shape (k, P)
            From 0 to 1.
        """


class ModelBlueprint:
    """Players by a model of the opponents, drawn anew for each world.

    The own seat is played by the network if it sits in another one too, else by the best bot: one
    compiled loop then does it.

    Parameters
    ----------
    engine : BatchEngine
        Of the game at the table.
    policy : Policy or None
    model : Model
    actor : str
        See :class:`SteppedBlueprint`.
    """

    def __init__(
        self, engine: BatchEngine, policy: Policy | None, model: Model, actor: str
    ) -> None:
        self._engine, self._model = engine, model
        self._bots = tuple(name for name in model.names if name != POLICY)
        self._stepped = None
        if policy is not None:
            self._stepped = SteppedBlueprint(engine, policy, actor, self._bots)

    def play_on(self, start: Start) -> np.ndarray:
        """See :class:`Blueprint`."""
        players = self._draw_players(start)  # 0 is the network, from 1 on the bots
        ends = np.zeros(len(start.of), start.rows.dtype)
        stepped = (players == 0).any(1)
        if stepped.any() and self._stepped is not None:
            some = take(start, stepped)
            as_bytes(ends)[stepped] = as_bytes(self._stepped.play_on(some, players[stepped]))
        tables, which = np.unique(players[~stepped], axis=0, return_inverse=True)
        for k, table in enumerate(tables):
            own = np.flatnonzero(~stepped)[which.ravel() == k]
            part = _roll(self._engine, start, own, [self._bots[p - 1] for p in table])
            as_bytes(ends)[own] = as_bytes(part)
        return ends

    def _draw_players(self, start: Start) -> np.ndarray:
        count = self._engine.game.num_seats
        seats = np.arange(count)
        seeds = mix(start.seeds.repeat(count), np.tile(seats, len(start.of)), PLAYERS)
        luck = uniform(seeds).reshape(-1, count)
        lanes = np.zeros(len(luck), np.int64) if start.lanes is None else start.lanes
        drawn = self._model.draw(lanes, luck) + (self._stepped is None)
        own = seats == start.seats[:, None]
        scripted = np.where(own, 1, drawn) > 0
        best = scripted.all(axis=1, keepdims=True).astype(np.int64)
        players: np.ndarray = np.where(own, best, drawn)
        return players


def take(start: Start, some: np.ndarray) -> Start:
    """Select some of the rollouts."""
    lanes = None if start.lanes is None else start.lanes[some]
    parts = {name: getattr(start, name)[some] for name in ("of", "actions", "seeds", "seats")}
    return replace(start, **parts, lanes=lanes)

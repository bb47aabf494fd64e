"""What is behind every placement that can be reached, in plain Python (docs/drmario.md, 12.8).

The oracle plays the frames until the next decision; ``_successors.pxd`` counts them.

>>> import fastenv
>>> engine = fastenv.BatchEngine(fastenv.make_game("DrMarioPlacement-v0", game_seed=0x8988), 2)
>>> _ = engine.reset_many(seeds=0)
>>> parents, found = engine.game.successors(engine.get_states(), backend="reference")
>>> len(parents), int(parents[-1]), found[0][["action", "cost", "frames"]].tolist()
(104, 1, (45, 11, 47))
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv import checks
from fastenv.backend import Backend, resolve
from fastenv.drmario import tables as t
from fastenv.drmario.greedy import count_bottle
from fastenv.drmario.player import MASK32, Player
from fastenv.drmario.reference import DrMario
from fastenv.drmario.state import SUCCESSOR_DTYPE
from fastenv.drmario.tables import Next, Reason
from fastenv.errors import ConfigError, StateError, show

Array = npt.NDArray[Any]
Found = tuple[npt.NDArray[np.int32], Array]

# What is counted in a bottle, by the names of the weights of bots (docs/drmario.md, 17.2).
COUNTED = tuple(name for name in t.GREEDY if name not in ("virus", "frame"))


def of_rows(game: Any, rows: object, agent: int, backend: str | Backend, trusted: bool) -> Found:
    """Return the results of all placements of rows; see ``DrMarioGame.successors``."""
    spec, agents = game.spec, game.config.agents
    if not game.config.placement:
        raise ConfigError(f"{game.env_id} has no successors: its decisions are frames")
    if isinstance(agent, bool) or not isinstance(agent, int) or not 0 <= agent < agents:
        allowed = "0" if agents == 1 else "0 or 1"
        raise ConfigError(f"agent={show(agent)}: must be {allowed}")
    found = checks.as_rows(rows, spec)
    if not checks.as_bool("trusted", trusted):
        checks.check_states(game, found)
    which = resolve(backend, kernel_module=spec.kernel_module, core_module=spec.core_module)
    if which.use_cython:
        return _compiled(game, found, agent)
    each = [successors(game.unpack(row), agent) for row in found]
    parents = np.repeat(np.arange(len(found), dtype=np.int32), [len(part) for part in each])
    return parents, np.concatenate([np.zeros(0, SUCCESSOR_DTYPE), *each])


def _compiled(game: Any, rows: Array, agent: int) -> Found:
    """Return the same, planned and settled by the core."""
    from fastenv.drmario import _core

    raw = rows.view(np.uint8).reshape(len(rows), rows.dtype.itemsize)
    shared = game.shared.view(np.uint8)
    costs = np.empty((len(rows), t.NUM_PLACEMENTS), np.uint16)
    _core.plan_rows(raw, shared, agent, costs)
    count = np.count_nonzero(costs != t.INFEASIBLE)
    parents, found = np.empty(count, np.int32), np.zeros(count, SUCCESSOR_DTYPE)
    out = found.view(np.uint8).reshape(count, SUCCESSOR_DTYPE.itemsize)
    _core.write_successors(raw, shared, agent, costs, parents, out)
    return parents, found


def count_bottles(boards: npt.ArrayLike, backend: str | Backend = "auto") -> npt.NDArray[np.int32]:
    """Count the features of settled bottles, int32 (n, 11) by the names of ``COUNTED``.

    Parameters
    ----------
    boards : array_like of uint8, shape (n, 128)
        Their cells, such as the field ``board`` of :func:`of_rows`.
    backend : str or Backend
        As for an engine.

    Raises
    ------
    StateError
        If the boards have another shape or dtype.
    """
    given = np.asarray(boards)
    if given.dtype != np.uint8 or given.ndim != 2 or given.shape[1] != t.CELLS:
        found = f"{given.dtype} {given.shape}"
        raise StateError(f"boards of {found} are not possible: they must be uint8 (n, {t.CELLS})")
    which = resolve(backend, kernel_module=None, core_module="fastenv.drmario._core")
    counts = np.zeros((len(given), len(COUNTED)), np.int32)
    if which.use_cython:
        from fastenv.drmario import _core

        _core.count_bottles(np.ascontiguousarray(given), counts)
        return counts
    for board, row in zip(given, counts, strict=True):
        found_here = count_bottle(board.tolist())
        row[:] = [found_here[name] for name in COUNTED]
    return counts


def successors(game: DrMario, agent: int) -> npt.NDArray[np.void]:
    """Return the results of a player's placements, ``SUCCESSOR_DTYPE`` (k,).

    Parameters
    ----------
    game : DrMario
        Is not changed.
    agent : int
        Whose decision it is. In a match no attack comes meanwhile.
    """
    costs = game.costs()[agent]
    if costs is None or game.done:
        return np.zeros(0, SUCCESSOR_DTYPE)
    feasible = [action for action, cost in enumerate(costs) if cost != t.INFEASIBLE]
    found = [successor(game, game.players[agent], a, costs[a]) for a in feasible]
    return np.array(found, SUCCESSOR_DTYPE)


def successor(game: DrMario, player: Player, action: int, cost: int) -> tuple[Any, ...]:
    """Return one of them, the fields of ``SUCCESSOR_DTYPE``."""
    alone, after = take_aside(game, player)
    after.plan_left, after.plan_action = cost, action
    frames = runs = 0
    board = after.board
    for _ in play_on(alone, after):
        frames += 1
        runs = max(runs, after.combo_counter)  # forgotten as soon as the next pill is there
        if after.next_action == Next.SEND:
            board = [*after.board]  # a pill that has no room is written over it
    goal = alone.goal_met(after)
    reason = Reason.CLEAR if goal else Reason.TOPOUT if after.level_fail else Reason.NONE
    viruses = after.ev_tiles_virus
    return action, cost, frames, viruses, runs, int(reason), after.board if goal else board


def take_aside(game: DrMario, player: Player) -> tuple[DrMario, Player]:
    """Return a copy of a game with a copy of a player, whose decision is no longer due."""
    alone, after = copy.copy(game), copy.copy(player)
    alone.players, alone.replay = [after, Player(alone)], False
    after.game, after.board, after.attack_colors = alone, [*player.board], [*player.attack_colors]
    after.clear_events()
    after.decided = after.reserve_index
    return alone, after


def play_on(game: DrMario, player: Player) -> Iterator[None]:
    """Play frames up to the next decision of a player, or its end; stop behind each."""
    while not (game.goal_met(player) or player.level_fail or player.needs_decision()):
        game.frame = (game.frame + 1) & MASK32
        player.frame(0)
        yield


def follow(game: DrMario, player: Player, action: int, cost: int) -> tuple[DrMario, Player]:
    """Return a copy of a game at the next decision of a player, or at the end."""
    alone, after = take_aside(game, player)
    after.plan_left, after.plan_action = cost, action
    for _ in play_on(alone, after):
        pass
    return alone, after

"""The ways through one batch step: who holds the state, who encodes it, and how they compose.

* :class:`PythonLanes` and :class:`CoreLanes` step; a lane is a reference object or a row.
* :class:`PythonEncoder` and :class:`KernelEncoder` write observation, mask, reward and info.
* :class:`Composed` joins any stepper with any encoder; :class:`Fused` is the compiled pair in one
  pass over the rows, where nothing is allocated and no Python runs per lane.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from fastenv.backend import Backend
from fastenv.game import Core, Game, SeeingKernels

Array = npt.NDArray[Any]
Select = npt.NDArray[np.uint8]


def chosen(flags: Array) -> list[int]:
    """Return the lanes whose flag is set."""
    lanes: list[int] = np.flatnonzero(flags).tolist()
    return lanes


@dataclass
class Buffers:
    """Destinations of a step, one row a lane; see :class:`fastenv.engine.BatchEngine`."""

    obs: Array
    mask: Array
    reward: Array
    columns: Array
    terminated: Array
    truncated: Array
    info: Array
    final_info: Array
    final_obs: Array
    ep_return: Array
    ep_length: Array
    info_wanted: Array  # which columns of the game `info` and `columns` hold, int32
    columns_wanted: Array


class PythonLanes:
    """Reference objects are the state; rows are written when somebody wants to read them."""

    def __init__(self, game: Game, states: Array, knobs: Array) -> None:
        self.game, self.states, self.knobs = game, states, knobs
        self.games = [game.create() for _ in knobs]
        self.done = np.zeros(len(states), np.int8)
        self.stale = np.zeros(len(states), np.bool_)
        self._mask = np.zeros(game.num_actions, np.uint8)

    def reset(self, select: Select, seeds: Array | None) -> None:
        """Start an episode in each selected lane."""
        for i in chosen(select):
            seed = None if seeds is None else int(seeds[i])
            self.game.reset(self.games[i], self.knobs[i], seed)
            self._moved(i)

    def step(self, actions: Array, select: Select) -> None:
        """Take one decision in each selected lane."""
        for i in chosen(select):
            self.game.step(self.games[i], int(actions[i]))
            self._moved(i)

    def _moved(self, i: int) -> None:
        self.done[i] = self.games[i].done
        self.stale[i] = True

    def first_illegal(self, actions: Array, select: Select) -> int:
        """Return the first selected running lane whose action is illegal, or -1."""
        for i in chosen(select):
            if not self.done[i]:
                self.game.action_mask(self.games[i], self._mask)
                if not self._mask[actions[i]]:
                    return i
        return -1

    def bot_actions(self, kind: int, rng_states: Array, out: Array) -> None:
        """Write a scripted player's action for each running lane."""
        for i in chosen(self.done == 0):
            out[i] = self.game.bot_action(self.games[i], kind, rng_states[i])

    def pack(self, select: Select) -> None:
        """Bring the selected rows up to date."""
        for i in chosen(self.stale & (select != 0)):
            self.game.pack(self.games[i], self.states[i])
            self.stale[i] = False

    def load(self, select: Select) -> None:
        """Take over the selected rows, which were written from outside."""
        for i in chosen(select):
            self.games[i] = self.game.unpack(self.states[i])
            self.done[i] = self.games[i].done
            self.stale[i] = False

    def lane(self, i: int) -> Any:
        """Return the game of lane ``i``."""
        return self.games[i]

    def sums_from_game(self, i: int, game: Any) -> None:
        """Take over the episode sums that the plain Python reward wrote into ``game``."""
        self.stale[i] = True

    def sums_from_rows(self, select: Select) -> None:
        """Take over the episode sums that a kernel wrote into the rows."""
        for i in chosen(select):
            self.games[i].ep_return = float(self.states["ep_return"][i])
            self.games[i].ep_length = int(self.states["ep_length"][i])


class CoreLanes:
    """Rows are the state, a Cython core moves them; reference objects are made for a look."""

    def __init__(self, game: Game, states: Array, core: Core) -> None:
        self.game, self.states, self.core = game, states, core
        self.done = states["done"]
        self.first_illegal = core.first_illegal
        if not game.bots_see_obs:
            self.bot_actions = core.bot_actions
        self._seen: dict[int, Any] = {}  # games made since the rows last moved

    def reset(self, select: Select, seeds: Array | None) -> None:
        """Start an episode in each selected lane."""
        self._seen.clear()
        self.core.reset(select, seeds)

    def step(self, actions: Array, select: Select) -> None:
        """Take one decision in each selected lane."""
        self._seen.clear()
        self.core.step(actions, select)

    def pack(self, select: Select) -> None:
        """Complete the selected rows."""
        if self.game.lazy:
            self.core.materialise(select)

    def load(self, select: Select) -> None:
        """Take over the selected rows, which were written from outside."""
        self._seen.clear()

    def lane(self, i: int) -> Any:
        """Return the game of lane ``i``, a copy."""
        if i not in self._seen:
            if self.game.lazy:
                one = np.zeros(len(self.states), np.uint8)
                one[i] = 1
                self.core.materialise(one)
            self._seen[i] = self.game.unpack(self.states[i])
        return self._seen[i]

    def sums_from_game(self, i: int, game: Any) -> None:
        """Write the episode sums of ``game`` into its row."""
        self.states["ep_return"][i] = game.ep_return
        self.states["ep_length"][i] = game.ep_length

    def sums_from_rows(self, select: Select) -> None:
        """Do nothing: they are there already."""


Lanes = PythonLanes | CoreLanes


class PythonEncoder:
    """Plain Python over reference objects."""

    def __init__(self, game: Game, lanes: Lanes, out: Buffers) -> None:
        self.game, self.lanes = game, lanes
        self._info = np.zeros(len(game.info_columns), game.info_dtype)
        self._columns = np.zeros(len(game.float_columns), game.float_dtype)
        self._info_wanted, self._columns_wanted = out.info_wanted, out.columns_wanted

    def reward(self, select: Select, reward: Array, columns: Array) -> None:
        """Write reward and float columns of the step just taken."""
        for i in chosen(select):
            game = self.lanes.lane(i)
            reward[i] = self.game.reward(game, self._columns)
            columns[i] = self._columns[self._columns_wanted]
            self.lanes.sums_from_game(i, game)

    def observe(self, select: Select, obs: Array, mask: Array) -> None:
        """Write observation and mask."""
        for i in chosen(select):
            game = self.lanes.lane(i)
            self.game.encode_obs(game, obs[i])
            self.game.action_mask(game, mask[i])

    def info(self, select: Select, out: Array) -> None:
        """Write the info columns of the state."""
        for i in chosen(select):
            self.game.info(self.lanes.lane(i), self._info)
            out[i] = self._info[self._info_wanted]

    def bot_actions(
        self, kind: int, obs: Array, mask: Array, select: Select, rng_states: Array, out: Array
    ) -> None:
        """Write the action of a scripted player that sees observation and mask."""
        for i in chosen(select):
            out[i] = self.game.bot_action_seen(obs[i], mask[i], kind, rng_states[i])

    def encode_rows(self, rows: Array, obs: Array, mask: Array) -> None:
        """Write observation and mask of rows that belong to no lane."""
        for row, o, m in zip(rows, obs, mask, strict=True):
            game = self.game.unpack(row)
            self.game.encode_obs(game, o)
            self.game.action_mask(game, m)


class KernelEncoder:
    """Numba kernels over rows."""

    def __init__(self, game: Game, lanes: Lanes, states: Array, out: Buffers) -> None:
        self.kernels, self.lanes, self.states = game.kernels(), lanes, states
        n = len(states)
        self._info = np.zeros((n, len(game.info_columns)), game.info_dtype)
        self._columns = np.zeros((n, len(game.float_columns)), game.float_dtype)
        self._info_wanted, self._columns_wanted = out.info_wanted, out.columns_wanted
        if game.bots_see_obs:
            self.bot_actions = cast(SeeingKernels, self.kernels).bot_many

    def reward(self, select: Select, reward: Array, columns: Array) -> None:
        """Write reward and float columns of the step just taken."""
        self.lanes.pack(select)
        self._columns[...] = 0
        self.kernels.reward_many(self.states, select, reward, self._columns)
        columns[...] = self._columns[:, self._columns_wanted]
        self.lanes.sums_from_rows(select)

    def observe(self, select: Select, obs: Array, mask: Array) -> None:
        """Write observation and mask."""
        self.lanes.pack(select)
        self.kernels.observe_many(self.states, select, obs, mask)

    def info(self, select: Select, out: Array) -> None:
        """Write the info columns of the state."""
        self.lanes.pack(select)
        self.kernels.info_many(self.states, select, self._info)
        rows = select.view(np.bool_)
        out[rows] = self._info[rows][:, self._info_wanted]

    def encode_rows(self, rows: Array, obs: Array, mask: Array) -> None:
        """Write observation and mask of rows that belong to no lane."""
        self.kernels.observe_many(rows, np.ones(len(rows), np.uint8), obs, mask)


Encoder = PythonEncoder | KernelEncoder


class Composed:
    """Any stepper with any encoder: the four backends' common meaning, written out."""

    def __init__(self, lanes: Lanes, encoder: Encoder, out: Buffers) -> None:
        self.lanes, self.encoder, self.out = lanes, encoder, out
        self.reset = lanes.reset
        self.first_illegal = lanes.first_illegal
        seeing = lanes.game.bots_see_obs
        self.bot_actions: Any = (encoder if seeing else lanes).bot_actions
        self.pack, self.load, self.encode_rows = lanes.pack, lanes.load, encoder.encode_rows
        self._scratch = np.zeros_like(out.mask)

    def step(
        self, actions: Array, select: Select, autoreset: bool, obs: Array, mask: Array
    ) -> None:
        """Step, reward, flags, final values, reset, encode; see :meth:`fastenv.game.Core.bind`."""
        out = self.out
        self.lanes.step(actions, select)
        for column in (out.reward, out.columns, out.terminated, out.truncated):
            column[...] = 0
        self.encoder.reward(select, out.reward, out.columns)
        done = self.lanes.done * select
        out.terminated[:] = done == 1
        out.truncated[:] = done == 2
        if done.any():
            ended = (done != 0).view(np.uint8)
            self.encoder.observe(ended, out.final_obs, self._scratch)
            self.encoder.info(ended, out.final_info)
            for i in chosen(ended):
                game = self.lanes.lane(i)
                out.ep_return[i], out.ep_length[i] = game.ep_return, game.ep_length
            if autoreset:
                self.lanes.reset(ended, None)
        self.observe(select, obs, mask)

    def observe(self, select: Select, obs: Array, mask: Array) -> None:
        """Write observation, mask and info of the selected lanes."""
        self.encoder.observe(select, obs, mask)
        self.encoder.info(select, self.out.info)


class Fused:
    """The core calls the kernels by address, one row after the other."""

    def __init__(self, game: Game, lanes: CoreLanes, core: Core, out: Buffers) -> None:
        encoder = KernelEncoder(game, lanes, lanes.states, out)
        self.encode_rows = encoder.encode_rows
        _obs, _mask, *bound = (getattr(out, field.name) for field in fields(out))
        core.bind(encoder.kernels.addresses(), *bound)
        self.step, self.observe, self.reset = core.step_fused, core.observe, core.reset
        self.first_illegal = core.first_illegal
        self.bot_actions: Any = (encoder if game.bots_see_obs else lanes).bot_actions
        self.pack, self.load = lanes.pack, lanes.load


def make_path(
    game: Game, backend: Backend, states: Array, knobs: Array, num_threads: int, out: Buffers
) -> Composed | Fused:
    """Return the path of a backend over the given state and knob rows."""
    if not backend.use_cython:
        lanes: Lanes = PythonLanes(game, states, knobs)
    else:
        n = len(states)
        raw_states, raw_knobs = (r.view(np.uint8).reshape(n, -1) for r in (states, knobs))
        core = game.core(raw_states, raw_knobs, num_threads)
        lanes = CoreLanes(game, states, core)
        if backend.use_numba:
            return Fused(game, lanes, core, out)
    encoder: Encoder = (
        KernelEncoder(game, lanes, states, out)
        if backend.use_numba
        else PythonEncoder(game, lanes, out)
    )
    return Composed(lanes, encoder, out)

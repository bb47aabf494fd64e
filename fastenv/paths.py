"""Execution paths of one batch step: who holds the state, who encodes it, and how they compose.

* :class:`PythonLanes` and :class:`CoreLanes` step; a lane is a reference object or a row.
* :class:`PythonEncoder` and :class:`KernelEncoder` write observation, mask, reward and info.
* :class:`Composed` joins any stepper with any encoder; :class:`Fused` is the compiled pair in one
  pass over the rows (``_batch.pyx``), where nothing is allocated and no Python runs per lane.

Between a Python side and a compiled side a row is packed or unpacked once a step.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fastenv.backend import Backend
from fastenv.errors import ConfigError
from fastenv.game import Compiled, Game, add_reward
from fastenv.memory import Batch, Buffers, clear
from fastenv.notices import TimedBots
from fastenv.numba_cache import compile_notice
from fastenv.rng import Rng
from fastenv.rollouts import Worlds

if TYPE_CHECKING:
    from fastenv._batch import BatchLoop

Array = npt.NDArray[Any]
Select = npt.NDArray[np.uint8]
# Parts of a step: of the selected lanes, and of seeds, actions, or rows, observations and masks.
OfLanes = Callable[[Select], None]
Reset = Callable[[Select, Array | None], None]
Show = Callable[[Array, Array, Array], None]
Play = Callable[[Array, int, Array, Array, Select, Any, Array], None]


def selected_lanes(flags: Array) -> list[int]:
    """Return the lanes whose flag is set."""
    lanes: list[int] = np.flatnonzero(flags).tolist()
    return lanes


class PythonLanes:
    """Reference objects are the state; rows are written when they are to be read."""

    def __init__(self, game: Game, batch: Batch) -> None:
        self.game: Game = game
        self.states: Array = batch.states
        self.knobs: Array = batch.knobs
        self._rows = _rows(batch.states)
        self.games: list[Any] = self.make_games(len(batch.knobs))
        n, spec = len(batch.states), game.spec
        # Flags of lanes, looked at and set one by one: bytes are three times as quick as an array.
        self.done: bytearray = bytearray(n)
        self.stale: bytearray = bytearray(n)  # the row is behind the game
        self.seen: bytearray = bytearray(b"\1" * n)  # what the kernels read of the row is not
        self.underived: bytearray = bytearray(b"\1" * n)  # the derived record is behind the row
        self._mask = np.zeros((*spec.agents(), spec.num_actions), np.uint8)

    def make_games(self, count: int) -> list[Any]:
        """Make what stands for the lanes."""
        return [self.game.create() for _ in range(count)]

    def reset(self, select: Select, seeds: Array | None) -> None:
        """Start an episode in each selected lane."""
        for i in selected_lanes(select):
            seed = None if seeds is None else int(seeds[i])
            self.game.reset(self.games[i], self.knobs[i], seed)
            self._moved(i)

    def step(self, actions: Array, select: Select) -> None:
        """Do nothing yet: a lane is encoded best while its game is still in the cache."""

    def step_lane(self, i: int, action: Any) -> None:
        """Take one decision in a lane."""
        self.game.step(self.games[i], action)
        self._moved(i)

    def _moved(self, i: int) -> None:
        self.done[i] = self.games[i].done
        self.stale[i] = self.underived[i] = 1
        self.seen[i] = 0

    def first_illegal(self, actions: Array, select: Select) -> int:
        """Return lane * K + agent of the first illegal action, or -1; see ``BatchLoop``."""
        agents = self.game.spec.num_agents
        for i in selected_lanes(select):
            if self.done[i]:
                continue
            self.game.action_mask(self.games[i], self._mask)
            needs = self.games[i].needs_action if agents > 1 else (1,)
            masks, given = self._mask.reshape(agents, -1), actions[i : i + 1].flat
            for k, (mask, action) in enumerate(zip(masks, given, strict=True)):
                if needs[k] and not mask[action]:
                    return i * agents + k
        return -1

    def needs_action(self, select: Select | None = None) -> Array:
        """Return which agents must act, bool, shape (n, K); for games of several agents."""
        return np.array([game.needs_action for game in self.games], np.bool_)

    def pack(self, select: Select) -> None:
        """Bring the selected rows up to date."""
        for i in selected_lanes(select):
            if self.stale[i]:
                self._rows[i][:] = self.game.pack(self.games[i])
                self.stale[i], self.seen[i] = 0, 1

    def pack_seen(self, i: int) -> None:
        """Bring up to date what the kernels read of the row of lane ``i``."""
        self._rows[i][:] = self.game.pack_seen(self.games[i])
        self.seen[i] = 1

    def load(self, select: Select) -> None:
        """Take over the selected rows, which were written from outside."""
        for i in selected_lanes(select):
            self.games[i] = self.game.unpack(self.states[i])
            self._moved(i)
            self.stale[i], self.seen[i] = 0, 1

    def lane(self, i: int) -> Any:
        """Return the game of lane ``i``."""
        return self.games[i]

    full_game = lane

    def count(self, i: int, reward: Any) -> None:
        """Add a decision and its reward to the sums of the episode."""
        add_reward(self.games[i], reward)  # the row is stale anyhow: the lane has just moved

    def forget(self) -> None:
        """Do nothing: the game is the state."""

    def bot_rng(self, i: int) -> Array:
        """Return the generator of a lane's own bots, shape (4,)."""
        return np.array(self.games[i].bot_rng, np.uint64)

    def set_bot_rng(self, i: int, words: Array) -> None:
        """Put back what :meth:`bot_rng` returned."""
        self.games[i].bot_rng = words.tolist()
        self.stale[i] = 1  # no kernel but that of a bot reads it


def _rows(states: Array) -> list[memoryview]:
    """Return the bytes of each row, to be read and written in place."""
    memory, size = states.view(np.uint8).reshape(-1).data, states.itemsize
    return [memory[i * size : (i + 1) * size] for i in range(len(states))]


def _sums(game: Game, batch: Batch) -> tuple[Any, Any]:
    """Return where the sums of each lane's episode are: a number a lane, or one an agent."""
    sums, lengths = batch.states["ep_return"], batch.states["ep_length"]
    return sums if game.spec.num_agents > 1 else sums.data, lengths.data


class CoreLanes:
    """Rows are the state, the loop over a compiled core moves them; games are made for a look."""

    def __init__(self, game: Game, batch: Batch, loop: BatchLoop) -> None:
        self.game: Game = game
        self.states: Array = batch.states
        self.loop: BatchLoop = loop
        # One number a lane is read and written through a memoryview, in half the time of an array.
        self.done: memoryview[int] = batch.states["done"].data
        self.first_illegal: Callable[[Array, Select], int] = loop.first_illegal
        self.pack: OfLanes = loop.complete
        self._rows = _rows(batch.states)
        # Of one lane at a time: thousands alive would keep Python's collector busy.
        self._game: Any = None
        self._shown = -1  # the lane that it shows
        self._sums, self._lengths = _sums(game, batch)

    def reset(self, select: Select, seeds: Array | None) -> None:
        """Start an episode in each selected lane."""
        self.loop.reset(select, seeds)

    def step(self, actions: Array, select: Select) -> None:
        """Take one decision in each selected lane."""
        self.loop.step(actions, select)

    def step_lane(self, i: int, action: Any) -> None:
        """Do nothing: all lanes have moved."""

    def needs_action(self, select: Select | None = None) -> Array:
        """Return which agents must act, bool, shape (n, K), in the selected lanes."""
        needs: Array = np.zeros((len(self.states), self.game.spec.num_agents), np.bool_)
        lanes = slice(None) if select is None else np.flatnonzero(select)
        needs[lanes] = self.states["needs_action"][lanes] != 0
        return needs

    def load(self, select: Select) -> None:
        """Take over the selected rows, which were written from outside."""
        self.loop.derive(select)

    def lane(self, i: int) -> Any:
        """Return a copy of the game of lane ``i`` with the fields that encoding reads."""
        if i != self._shown:
            self._game = self.game.unpack_seen(self._rows[i], self._game)
            self._shown = i
        return self._game

    def full_game(self, i: int) -> Any:
        """Return the game of lane ``i``, a copy."""
        return self.game.unpack(self.states[i])

    def count(self, i: int, reward: Any) -> None:
        """Add a decision and its reward to the sums of the episode."""
        game = self._game
        add_reward(game, reward)
        self._sums[i], self._lengths[i] = game.ep_return, game.ep_length

    def forget(self) -> None:
        """Look at the row again before the next look at a game."""
        self._shown = -1

    def bot_rng(self, i: int) -> Array:
        """Return the generator of a lane's own bots, shape (4,)."""
        words: Array = self.states["bot_rng"][i].copy()
        return words

    def set_bot_rng(self, i: int, words: Array) -> None:
        """Put back what :meth:`bot_rng` returned."""
        self.states["bot_rng"][i] = words


Lanes = PythonLanes | CoreLanes


class PythonEncoder:
    """Plain Python over reference objects."""

    def __init__(self, game: Game, lanes: Lanes, out: Buffers) -> None:
        self.game: Game = game
        self.lanes: Lanes = lanes
        self.out: Buffers = out
        spec = game.spec
        self._info = [spec.info_columns.index(name) for name in out.info.dtype.names or ()]
        self._terms = [spec.term_columns.index(name) for name in out.terms.dtype.names or ()]
        self._nothing = np.zeros(spec.agents(), out.terms.dtype)[()]
        self._several = spec.num_agents > 1
        self._no_mask = np.zeros_like(out.mask)
        self.set_targets(out.obs, out.mask)

    def reward(self, i: int) -> None:
        """Write reward and terms of the step just taken, and count it."""
        out = self.out
        found = self.game.reward(self.lanes.lane(i))
        if found is None:
            out.reward[i] = 0
            out.terms[i] = self._nothing
            return
        out.reward[i], terms = found
        if self._terms and self._several:
            out.terms[i] = [tuple(each[k] for k in self._terms) for each in terms]
        elif self._terms:
            out.terms[i] = tuple([terms[k] for k in self._terms])
        self.lanes.count(i, out.reward[i].tolist())

    def set_targets(self, obs: Array, mask: Array) -> None:
        """Set where :meth:`observe` writes from now on."""
        self._obs, self._mask = obs, mask

    def observe(self, i: int) -> None:
        """Write observation, mask and the wanted columns of the state."""
        self._write(i, self._obs, self._mask, self.out.info)

    def observe_last(self, i: int) -> None:
        """Write observation and columns of an episode that is over; its mask means nothing."""
        self._write(i, self.out.final_obs, self._no_mask, self.out.final_info)

    def _write(self, i: int, obs: Array, mask: Array, info: Array) -> None:
        game = self.lanes.lane(i)
        self.game.encode_obs(game, obs[i])
        self.game.action_mask(game, mask[i])
        if self._info:
            values = self.game.info(game)
            info[i] = tuple([values[k] for k in self._info])

    def bot_actions(
        self, params: Array, agent: int, obs: Array, mask: Array, select: Select, rng: Any, out: Any
    ) -> None:
        """Write a scripted player's action in the selected lanes; see ``BatchLoop``."""
        drawn = Rng()
        for i in selected_lanes(select):
            words = self.lanes.bot_rng(i) if rng is None else rng[i]
            drawn.state = words.tolist()
            seen = (obs[i, agent], mask[i, agent]) if self._several else (obs[i], mask[i])
            out[i] = self.game.bot_action(self.lanes.full_game(i), params[0], agent, *seen, drawn)
            words[:] = drawn.state
            if rng is None:
                self.lanes.set_bot_rng(i, words)

    def encode_rows(self, rows: Array, obs: Array, mask: Array) -> None:
        """Write observation and mask of rows that belong to no lane."""
        for row, o, m in zip(rows, obs, mask, strict=True):
            game = self.game.unpack(row)
            self.game.encode_obs(game, o)
            self.game.action_mask(game, m)


def callable_at(address: int, result: Any, arguments: int) -> Any:
    """Return a C function of so many pointers; the interpreter's lock stays held."""
    return ctypes.PYFUNCTYPE(result, *[ctypes.c_void_p] * arguments)(address)


class KernelEncoder:
    """Compiled kernels over the packed rows of reference objects, one call a lane."""

    def __init__(self, game: Game, lanes: PythonLanes, batch: Batch, out: Buffers) -> None:
        self.game: Game = game
        self.lanes: PythonLanes = lanes
        self.batch: Batch = batch
        self.out: Buffers = out
        spec, kernels = game.spec, _kernels(game)
        _check_derive(game, kernels)
        self._observe = callable_at(kernels.observe, None, 5)
        self._reward = callable_at(kernels.reward, ctypes.c_int, 5)
        self._inform = callable_at(kernels.info, None, 4) if kernels.info else None
        self._derive = callable_at(kernels.derive, None, 3) if kernels.derive else None
        self._bot = callable_at(kernels.bot, ctypes.c_int32, 8) if kernels.bot else None
        self._python = PythonEncoder(game, lanes, out)
        self._shared = batch.shared.ctypes.data
        rows, derived = _places(batch.states), [ctypes.c_void_p()] * len(batch.states)
        if batch.derived is not None:
            derived = _places(batch.derived)
        # Addresses are looked up and not computed, as objects that need no conversion: a lane is
        # encoded in microseconds.
        shared = ctypes.c_void_p(self._shared)
        self._of_row = [*zip(rows, derived, repeat(shared), strict=False)]
        # what a kernel writes: everything; what is wanted of it may be less
        info, terms = np.zeros(1, spec.info_dtype), np.zeros(spec.agents(1), spec.terms_dtype)
        self._info, self._terms = (info, _places(info)[0]), (terms, _places(terms)[0])
        self._terms_straight = out.terms.dtype == spec.terms_dtype
        self._info_straight = out.info.dtype == spec.info_dtype
        self._rewarded = [*zip(_places(out.reward), _places(out.terms), strict=True)]
        self._own = _targets(out.obs, out.mask, out.info)
        self._infos = [info for _, _, info in self._own]
        self._no_mask = np.zeros_like(out.mask[:1])
        nowhere = np.broadcast_to(self._no_mask, out.mask.shape)
        self._final = _targets(out.final_obs, nowhere, out.final_info)
        self._aimed, self._targets = (out.obs, out.mask), self._own
        several = spec.num_agents > 1
        one, all_of = out.reward.data.__getitem__, lambda i: out.reward[i].tolist()
        self._reward_of: Any = all_of if several else one
        self._sums, self._lengths = _sums(game, batch)

    def set_targets(self, obs: Array, mask: Array) -> None:
        """Set where :meth:`observe` writes from now on."""
        if obs is self._aimed[0] and mask is self._aimed[1]:
            return
        self._aimed = obs, mask
        if obs is self.out.obs and mask is self.out.mask:
            self._targets = self._own
        else:  # of numbers, not of objects: they may be gone after one step
            self._targets = [*zip(_addresses(obs), _addresses(mask), self._infos, strict=True)]

    def _row(self, i: int) -> tuple[ctypes.c_void_p, ...]:
        """Return addresses of row, derived record and shared record, all up to date."""
        lanes = self.lanes
        if not lanes.seen[i]:
            lanes.pack_seen(i)
        if self._derive is not None and lanes.underived[i]:
            self._derive(*self._of_row[i])
            lanes.underived[i] = 0
        return self._of_row[i]

    def reward(self, i: int) -> None:
        """Write reward and terms of the step just taken, and count it."""
        reward, terms = self._rewarded[i]
        if self._terms_straight:
            counted = self._reward(*self._row(i), reward, terms)
        else:
            counted = self._reward(*self._row(i), reward, self._terms[1])
            for name in self.out.terms.dtype.names or ():
                self.out.terms[name][i] = self._terms[0][name].reshape(self.out.reward.shape[1:])
        if counted:
            game = self.lanes.games[i]
            add_reward(game, self._reward_of(i))
            self._sums[i], self._lengths[i] = game.ep_return, game.ep_length

    def observe(self, i: int) -> None:
        """Write observation, mask and the wanted columns of the state."""
        self._write(i, self._targets[i], self.out.info)

    def observe_last(self, i: int) -> None:
        """Write observation and columns of an episode that is over; its mask means nothing."""
        self._write(i, self._final[i], self.out.final_info)

    def _write(self, i: int, target: tuple[Any, ...], wanted: Array) -> None:
        row, (obs, mask, info) = self._row(i), target
        self._observe(*row, obs, mask)
        if self._inform is None:
            return
        if self._info_straight:
            self._inform(*row, info)
        elif wanted.dtype.itemsize:
            self._inform(*row, self._info[1])
            for name in wanted.dtype.names or ():
                wanted[name][i] = self._info[0][name][0]

    def bot_actions(
        self, params: Array, agent: int, obs: Array, mask: Array, select: Select, rng: Any, out: Any
    ) -> None:
        """Write a scripted player's action in the selected lanes; see ``BatchLoop``."""
        if self._bot is None:
            self._python.bot_actions(params, agent, obs, mask, select, rng, out)
            return
        agents = self.game.spec.num_agents
        sizes = obs[:1].nbytes // agents, mask[:1].nbytes // agents
        for i in selected_lanes(select):
            words = self.lanes.bot_rng(i) if rng is None else rng[i]
            place = i * agents + agent
            out[i] = self._bot(
                *self._row(i),
                params.ctypes.data,
                agent,
                obs.ctypes.data + place * sizes[0],
                mask.ctypes.data + place * sizes[1],
                words.ctypes.data,
            )
            if rng is None:
                self.lanes.set_bot_rng(i, words)

    def encode_rows(self, rows: Array, obs: Array, mask: Array) -> None:
        """Write observation and mask of rows that belong to no lane."""
        derived = np.zeros(1, self.game.spec.derived_dtype or np.uint8)
        rest = (derived.ctypes.data, self._shared)
        for i in range(len(rows)):
            row = rows.ctypes.data + i * rows.itemsize
            if self._derive is not None:
                self._derive(row, *rest)
            o, m = obs.ctypes.data + i * obs[:1].nbytes, mask.ctypes.data + i * mask[:1].nbytes
            self._observe(row, *rest, o, m)


def _places(array: Array) -> list[ctypes.c_void_p]:
    """Return where each lane's part of an array is."""
    start, size = array.ctypes.data, array.strides[0]
    return [ctypes.c_void_p(start + i * size) for i in range(len(array))]


def _addresses(array: Array) -> range:
    """Return where each lane's part of an array is, as numbers."""
    start, size = array.ctypes.data, array.strides[0]
    return range(start, start + size * len(array), size)


def _targets(*arrays: Array) -> list[tuple[Any, ...]]:
    """Return for each lane where its part of each array is."""
    return [*zip(*map(_places, arrays), strict=True)]


Encoder = PythonEncoder | KernelEncoder


class Composed:
    """Any stepper with any encoder: the four backends' common meaning, written out."""

    def __init__(self, lanes: Lanes, encoder: Encoder, out: Buffers) -> None:
        self.lanes: Lanes = lanes
        self.encoder: Encoder = encoder
        self.out: Buffers = out
        self.reset: Reset = lanes.reset
        self.pack: OfLanes = lanes.pack
        self.load: OfLanes = lanes.load
        self.first_illegal: Callable[[Array, Select], int] = lanes.first_illegal
        self.needs_action: Callable[..., Array] = lanes.needs_action
        self.bot_actions: Play = encoder.bot_actions
        self.encode_rows: Show = encoder.encode_rows
        self.completes: bool = isinstance(lanes, CoreLanes) and lanes.loop.completes
        loop = lanes.loop if isinstance(lanes, CoreLanes) else None
        self.worlds: Worlds = Worlds(lanes.game, self.encode_rows, loop)
        self._has_tau = lanes.game.spec.has_tau

    def step(
        self, actions: Array, select: Select, autoreset: bool, obs: Array, mask: Array
    ) -> None:
        """Step, reward, flags, final values, reset, encode; see ``BatchLoop.step_fused``."""
        out, lanes, encoder = self.out, self.lanes, self.encoder
        lanes.step(actions, select)
        for column in (out.reward, out.terminated, out.truncated):
            column.fill(0)
        clear(out.terms)
        encoder.set_targets(obs, mask)
        begun, given = [], actions.tolist()
        for i in selected_lanes(select):
            lanes.step_lane(i, given[i])
            encoder.reward(i)
            if self._has_tau:
                out.tau[i] = lanes.lane(i).tau
            done = lanes.done[i]
            if done:
                out.terminated[i], out.truncated[i] = done == 1, done == 2
                self._end(i)
                begun.append(i)
            if not (done and autoreset):
                encoder.observe(i)
            lanes.forget()
        if begun and autoreset:
            ended = np.bitwise_or(out.terminated, out.truncated, dtype=np.uint8)
            lanes.reset(ended, None)
            self.observe(ended, obs, mask)

    def _end(self, i: int) -> None:
        """Write what is known of an episode that is over."""
        out, game = self.out, self.lanes.lane(i)
        self.encoder.observe_last(i)
        out.ep_return[i], out.ep_length[i] = game.ep_return, game.ep_length
        out.ep_frames[i] = game.ep_frames if self._has_tau else game.ep_length

    def observe(self, select: Select, obs: Array, mask: Array) -> None:
        """Write observation, mask and info of the selected lanes."""
        self.encoder.set_targets(obs, mask)
        for i in selected_lanes(select):
            self.encoder.observe(i)
            self.lanes.forget()


class Fused:
    """The loop calls the kernels by address, one row after the other."""

    def __init__(self, lanes: CoreLanes, loop: BatchLoop, bots: Play) -> None:
        self.step: Callable[[Array, Select, bool, Array, Array], None] = loop.step_fused
        self.observe: Show = loop.observe
        self.encode_rows: Show = loop.encode_rows
        self.reset: Reset = loop.reset
        self.pack: OfLanes = loop.complete
        self.load: OfLanes = loop.derive
        self.first_illegal: Callable[[Array, Select], int] = loop.first_illegal
        self.needs_action: Callable[..., Array] = lanes.needs_action
        self.bot_actions: Play = bots
        self.completes: bool = loop.completes
        self.worlds: Worlds = Worlds(lanes.game, self.encode_rows, loop)


def as_compiled(game: Game, functions: Any, *needed: str) -> Compiled:
    """Return functions by address, or raise :class:`ConfigError`, naming the field.

    They must be there, and compiled for the dtypes of the game.
    """
    compiled: Compiled = functions
    if not isinstance(functions, Compiled):  # the capsule of a core
        from fastenv import _batch

        compiled = Compiled(**_batch.read_table(functions))
    compiled.check(game.spec, game.shared.dtype.itemsize)
    for name in needed:
        if not getattr(compiled, name):
            raise ConfigError(f"{name}: the compiled functions of this game lack it")
    if compiled.rollout and (game.pays_rollouts or game.spec.num_agents > 1):
        raise ConfigError("rollout: only for games of one agent whose pays_rollouts is False")
    return compiled


def _kernels(game: Game) -> Compiled:
    needed = ("observe", "reward", *(("info",) if game.spec.info_columns else ()))
    with compile_notice(game.env_id or type(game).__name__):
        kernels = game.kernels()
    return as_compiled(game, kernels, *needed)


def _check_derive(game: Game, *functions: Compiled) -> None:
    """Refuse functions that read a derived record (they say its size) and none that computes it."""
    reads = game.spec.derived_dtype is not None and any(f.derived_size for f in functions)
    if reads and not any(f.derive for f in functions):
        raise ConfigError("derive: the compiled functions of this game lack it")


def make_path(
    game: Game, backend: Backend, batch: Batch, num_threads: int, out: Buffers
) -> Composed | Fused:
    """Return the path of a backend over the memory of a batch.

    Raises
    ------
    ConfigError
        If compiled functions and dtypes of the game do not agree; names the field.
    """
    if not backend.use_cython:
        lanes: PythonLanes = game.make_lanes(batch, num_threads, PythonLanes)
        if backend.use_numba:
            return Composed(lanes, KernelEncoder(game, lanes, batch, out), out)
        return Composed(lanes, PythonEncoder(game, lanes, out), out)
    needed = ("reset", "step", *(("is_legal",) if game.spec.illegal_actions == "raise" else ()))
    core = as_compiled(game, game.core(), *needed)
    kernels = _kernels(game) if backend.use_numba else None
    _check_derive(game, core, *([] if kernels is None else [kernels]))
    memory = (batch.states, batch.knobs, batch.derived, batch.shared)
    from fastenv import _batch

    loop = _batch.BatchLoop(game.spec, core, kernels, *memory, num_threads)
    core_lanes = CoreLanes(game, batch, loop)
    if kernels is None:
        return Composed(core_lanes, PythonEncoder(game, core_lanes, out), out)
    loop.bind(game.spec, out)
    if core.bot or kernels.bot:
        return Fused(core_lanes, loop, loop.bot_actions)
    python = PythonEncoder(game, core_lanes, out)  # a game may have bots in Python alone
    return Fused(core_lanes, loop, TimedBots(game, python.bot_actions))

"""What a game must provide, and the batch engine that runs many of them.

One lane is one game is one row of bytes. The engine owns every buffer, checks everything that
comes from outside before anything moves, and lets a *path* (``fastenv/paths.py``) do the work:
plain Python or Cython stepping, composed with plain Python or Numba encoding. It knows nothing
about any game.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.backend import Backend, resolve
from fastenv.errors import ConfigError, InvalidActionError, ResetNeededError, StateError
from fastenv.game import Game
from fastenv.paths import Buffers, make_path
from fastenv.rng import GOLDEN_GAMMA, splitmix64

__all__ = ["BatchEngine", "Game", "aligned", "rng_streams"]

Array = npt.NDArray[Any]
_MASK64 = (1 << 64) - 1


def aligned(shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> Array:
    """Return zeros of the given shape and dtype, C-contiguous and starting on a cache line."""
    dtype = np.dtype(dtype)
    shape = (shape,) if isinstance(shape, int) else shape
    size = int(np.prod(shape)) * dtype.itemsize
    block = np.zeros(size + 64, np.uint8)
    start = -block.ctypes.data % 64
    return block[start : start + size].view(dtype).reshape(shape)


def rng_streams(seed: int, n: int) -> npt.NDArray[np.uint64]:
    """Return the states of ``n`` engine generators, seeded ``seed``, ``seed + 1``, ...

    Returns
    -------
    ndarray of uint64, shape (n, 4)
    """
    words = [
        [splitmix64((seed + i + (k + 1) * GOLDEN_GAMMA) & _MASK64) for k in range(4)]
        for i in range(n)
    ]
    return np.array(words, np.uint64).reshape(n, 4)


def _count(field: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ConfigError(f"{field}={value!r}: must be an integer of at least 1")
    return int(value)


def _default_threads() -> int:
    text = os.environ.get("FASTENV_NUM_THREADS", "1")
    if not text.isdecimal():
        raise ConfigError(f"FASTENV_NUM_THREADS={text!r}: must be an integer of at least 1")
    return int(text)


class BatchEngine:
    """``num_envs`` games stepped together.

    Parameters
    ----------
    game : Game
        A configured game.
    num_envs : int
        Number of lanes.
    backend : str or Backend, default "auto"
        ``reference``, ``numba``, ``cython``, ``fast`` or ``auto``. All give the same bits.
    num_threads : int, optional
        Threads of the compiled path; default ``FASTENV_NUM_THREADS`` or 1. Results do not depend
        on it.
    info_columns : sequence of str, optional
        Columns to write, in this order: names of the game's ``info_columns`` and
        ``float_columns``; default the game's ``default_columns``. Fewer are faster.

    Attributes
    ----------
    obs : ndarray, shape (n, *obs_shape)
        Current observation; with automatic reset already that of the new episode.
    mask : ndarray of uint8, shape (n, A)
        Legal actions; all ones in lanes whose episode is over.
    reward : ndarray, shape (n,)
        Of the last step, in the game's float dtype (float32 unless it says otherwise).
    terminated, truncated : ndarray of uint8, shape (n,)
        How episodes ended in the last step; never both.
    final_obs : ndarray, shape (n, *obs_shape)
        Last observation of the episodes that ended in the last step; other rows are stale.
    ep_return, ep_length : ndarray of float64 and int32, shape (n,)
        Of the episodes that ended in the last step; other rows are stale.
    tau : ndarray of int32, shape (n,)
        Primitive steps of each decision; all 1.
    info_columns, float_columns : tuple of str
        The columns that are written.
    info, final_info : dict of str to ndarray, shape (n,)
        Column views of the current state and, in rows that ended, of the final state.
    ended : ndarray of bool, shape (n,)
        Lanes without a running episode: they must be reset before they can be stepped.

    Notes
    -----
    All arrays are persistent and overwritten by every call. A call that is given other destinations
    leaves ``obs`` and ``mask`` behind; :meth:`refresh` brings them up to date.
    """

    def __init__(
        self,
        game: Game,
        num_envs: int,
        backend: str | Backend = "auto",
        num_threads: int | None = None,
        info_columns: Sequence[str] | None = None,
    ) -> None:
        self.game = game
        self.info_columns, self.float_columns = _columns(game, info_columns)
        self.num_envs = n = _count("num_envs", num_envs)
        self.num_threads = _count(
            "num_threads", _default_threads() if num_threads is None else num_threads
        )
        resolved = resolve(backend, kernel_module=game.kernel_module, core_module=game.core_module)
        self.backend = resolved.name
        self.num_actions = game.num_actions
        self.obs_shape = game.obs_shape
        self.obs_dtype = game.obs_dtype

        self._states = aligned(n, game.state_dtype)
        self._bytes = self._states.view(np.uint8).reshape(n, -1)
        self._knobs = aligned(n, game.knobs_dtype)
        self._knobs[:] = game.default_knobs(n)
        self._out = out = Buffers(
            obs=aligned((n, *game.obs_shape), game.obs_dtype),
            mask=aligned((n, game.num_actions), np.uint8),
            reward=aligned(n, game.float_dtype),
            columns=aligned((n, len(self.float_columns)), game.float_dtype),
            terminated=aligned(n, np.uint8),
            truncated=aligned(n, np.uint8),
            info=aligned((n, len(self.info_columns)), game.info_dtype),
            final_info=aligned((n, len(self.info_columns)), game.info_dtype),
            final_obs=aligned((n, *game.obs_shape), game.obs_dtype),
            ep_return=aligned(n, np.float64),
            ep_length=aligned(n, np.int32),
            info_wanted=_places(self.info_columns, game.info_columns),
            columns_wanted=_places(self.float_columns, game.float_columns),
        )
        self.obs, self.mask, self.reward = out.obs, out.mask, out.reward
        self.terminated, self.truncated = out.terminated, out.truncated
        self.final_obs, self.ep_return, self.ep_length = out.final_obs, out.ep_return, out.ep_length
        self.tau = np.ones(n, np.int32)
        floats = {name: out.columns[:, k] for k, name in enumerate(self.float_columns)}
        self.info = {name: out.info[:, k] for k, name in enumerate(self.info_columns)} | floats
        self.final_info = {
            name: out.final_info[:, k] for k, name in enumerate(self.info_columns)
        } | floats

        self.ended = np.ones(n, np.bool_)
        self._some_ended = True
        self._behind = False  # a call has written its observations or masks elsewhere
        self._seeded = np.zeros(n, np.bool_)
        self._all = np.ones(n, np.uint8)
        self._actions = aligned(n, np.int32)
        self._action = self._actions.data
        self._terminated, self._truncated = self.terminated.data, self.truncated.data
        self._path = make_path(game, resolved, self._states, self._knobs, self.num_threads, out)
        self._step_lane = partial(
            self._path.step, self._actions, self._all, False, out.obs, out.mask
        )

    # -- moving ----------------------------------------------------------------------------------

    def reset_many(
        self,
        mask: npt.ArrayLike | None = None,
        seeds: int | Sequence[int | None] | Array | None = None,
        obs_out: Array | None = None,
        mask_out: Array | None = None,
    ) -> None:
        """Start a new episode in the selected lanes.

        Parameters
        ----------
        mask : array_like of bool or uint8, shape (n,), optional
            Which lanes; default all.
        seeds : int, sequence of int or None, optional
            ``s`` seeds lane ``i`` with ``s + i``; a sequence seeds each lane, None in it (or
            instead of it) lets a lane's stream go on. A lane that never had a seed draws one
            from the operating system.
        obs_out, mask_out : ndarray, optional
            Where to write instead of ``obs`` and ``mask``.
        """
        select = self._all if mask is None else self._as_select("mask", mask)
        obs = self.obs if obs_out is None else self.check_out("obs_out", obs_out, self.obs)
        legal = self.mask if mask_out is None else self.check_out("mask_out", mask_out, self.mask)
        chosen = select.view(np.bool_)
        if seeds is None and self._seeded.all():
            self._path.reset(select, None)
        else:
            given, values = self._as_seeds(seeds)
            fresh = chosen & ~given & ~self._seeded
            if fresh.any():
                entropy = np.random.SeedSequence().generate_state(self.num_envs, np.uint64)
                values[fresh] = entropy[fresh]
                given |= fresh
            for part, numbers in ((chosen & given, values), (chosen & ~given, None)):
                if part.any():
                    self._path.reset(part.view(np.uint8), numbers)
            self._seeded |= chosen
        self._path.observe(select, obs, legal)
        self._behind |= obs is not self.obs or legal is not self.mask
        for column in (self.reward, self.terminated, self.truncated, self._out.columns, self.ended):
            if mask is None:
                column.fill(0)
            else:
                column[chosen] = 0
        self._some_ended = mask is not None and bool(self.ended.any())

    def step_many(
        self,
        actions: npt.ArrayLike,
        obs_out: Array | None = None,
        mask_out: Array | None = None,
        select: npt.ArrayLike | None = None,
        autoreset: bool = True,
    ) -> None:
        """Take one decision in every selected lane.

        Parameters
        ----------
        actions : ndarray of integers, shape (n,)
            One action a lane, ``0 <= action < num_actions``; entries of lanes that are not
            selected are ignored.
        obs_out, mask_out : ndarray, optional
            Where to write the next observation and mask instead of ``obs`` and ``mask``: same
            shape and dtype, C-contiguous and writeable.
        select : array_like of bool or uint8, shape (n,), optional
            Which lanes; default all. In the others reward and flags become 0 and nothing else
            changes.
        autoreset : bool, default True
            Start the next episode of a lane in the step that ends one; its last observation and
            info are in ``final_obs`` and ``final_info``.

        Raises
        ------
        InvalidActionError
            Wrong shape or dtype, out of range or, if the game raises on them, illegal now.
            Nothing has moved.
        ResetNeededError
            A selected lane has no running episode. Nothing has moved.
        ValueError
            An unusable ``obs_out`` or ``mask_out``. Nothing has moved.
        """
        chosen = self._all if select is None else self._as_select("select", select)
        obs = self.obs if obs_out is None else self.check_out("obs_out", obs_out, self.obs)
        legal = self.mask if mask_out is None else self.check_out("mask_out", mask_out, self.mask)
        self._take_actions(actions, chosen)
        if self._some_ended:
            self._check_running(chosen)
        if self.game.raise_illegal:
            self._check_legal(chosen)
        self._path.step(self._actions, chosen, autoreset, obs, legal)
        self._behind |= obs is not self.obs or legal is not self.mask
        if not autoreset:
            done = self.terminated | self.truncated
            if done.any():
                done = done.view(np.bool_)
                self.ended |= done
                self._some_ended = True
                legal[done] = 1

    def step_lane(self, action: int) -> bool:
        """Step an engine of one lane, without automatic reset, with an action already checked.

        Return whether the episode is over. The way of :class:`fastenv.env.FastEnv` around the
        checks on arrays, which cost more than the step of one lane.
        """
        self._action[0] = action
        self._step_lane()
        if not (self._terminated[0] or self._truncated[0]):
            return False
        self.ended[0] = self._some_ended = True
        self.mask[0] = 1
        return True

    def refresh(self) -> None:
        """Bring ``obs`` and ``mask`` up to date after calls with other destinations."""
        if self._behind:
            self._path.observe(self._seeded.view(np.uint8), self.obs, self.mask)
            self.mask[self.ended] = 1
            self._behind = False

    # -- state -----------------------------------------------------------------------------------

    def info_block(self, final: bool = False) -> tuple[Array, Array]:
        """Return the columns of the state and of the step as blocks, shapes (n, K) and (n, C).

        Parameters
        ----------
        final : bool
            Those of ``final_info`` instead of ``info``.
        """
        out = self._out
        return out.final_info if final else out.info, out.columns

    def never_reset(self) -> npt.NDArray[np.bool_]:
        """Return the lanes that never had a seed or a state, shape (n,)."""
        return ~self._seeded

    def get_states(self, idx: npt.ArrayLike | None = None) -> Array:
        """Return a copy of the state rows, shape (k,), dtype ``game.state_dtype``.

        Parameters
        ----------
        idx : int, sequence of int or bool mask, optional
            Which lanes; default all.
        """
        return self.get_state(idx).view(self.game.state_dtype).reshape(-1)

    def set_states(
        self, rows: Array, idx: npt.ArrayLike | None = None, *, trusted: bool = False
    ) -> None:
        """Load state rows, shape (k,), after checking them; observation, mask and info follow.

        Parameters
        ----------
        rows : ndarray, shape (k,)
        idx : int, sequence of int or bool mask, optional
            Which lanes; default all.
        trusted : bool
            Leave the check of the content out, which costs far more than the rest: only for rows
            that an engine of this game has returned, changed in nothing but values that the game
            allows. Others can crash the process.

        Raises
        ------
        StateError
            Wrong dtype or count, or a row that no game can be in. Nothing has changed.
        """
        lanes = self._as_lanes(idx)
        rows = np.ascontiguousarray(np.atleast_1d(rows))
        if rows.dtype != self.game.state_dtype:
            raise StateError(f"rows have dtype {rows.dtype}, need the state dtype of this game")
        if rows.shape != lanes.shape:
            raise StateError(f"{rows.size} rows for {lanes.size} lanes")
        if not trusted:
            self.game.validate(rows)
        clean = np.zeros(rows.shape, rows.dtype)  # equal states are equal bytes: no padding
        for name in rows.dtype.names or ():
            clean[name] = rows[name]
        self._bytes[lanes] = clean.view(np.uint8).reshape(len(rows), -1)
        select = np.zeros(self.num_envs, np.uint8)
        select[lanes] = 1
        self._path.load(select)
        self._path.observe(select, self.obs, self.mask)
        for column in (self.reward, self.terminated, self.truncated, self._out.columns):
            column[lanes] = 0
        self._seeded[lanes] = True
        self.ended[lanes] = rows["done"] != 0
        self._some_ended = bool(self.ended.any())
        self.mask[self.ended] = 1

    def get_state(self, idx: npt.ArrayLike | None = None) -> npt.NDArray[np.uint8]:
        """Return the state rows as bytes, shape (k, S): complete, including the generators."""
        lanes = self._as_lanes(idx)
        select = np.zeros(self.num_envs, np.uint8)
        select[lanes] = 1
        self._path.pack(select)
        return self._bytes[lanes]

    def set_state(self, idx: npt.ArrayLike | None, blob: npt.NDArray[np.uint8]) -> None:
        """Load rows that :meth:`get_state` returned, shape (k, S). See :meth:`set_states`."""
        blob = np.ascontiguousarray(np.atleast_2d(blob))
        if blob.dtype != np.uint8 or blob.shape[1] != self._bytes.shape[1]:
            raise StateError(
                f"blob has dtype {blob.dtype} and rows of {blob.shape[1]}, "
                f"need uint8 and {self._bytes.shape[1]}"
            )
        self.set_states(blob.view(self.game.state_dtype).reshape(-1), idx)

    def configure(self, name: str, value: Any, idx: npt.ArrayLike | None = None) -> None:
        """Set a knob of the game; each lane takes it at its next reset.

        Parameters
        ----------
        name : str
            Name of the knob.
        value : object
            Its new value, the same for all given lanes.
        idx : int, sequence of int or bool mask, optional
            Which lanes; default all.
        """
        lanes = self._as_lanes(idx)
        rows = self._knobs[lanes]
        self.game.set_knob(rows, name, value)
        self._knobs[lanes] = rows

    def get_knob(self, name: str, idx: npt.ArrayLike | None = None) -> list[Any]:
        """Return what :meth:`configure` would have to be given, one value a lane."""
        return [self.game.get_knob(self._knobs[i], name) for i in self._as_lanes(idx)]

    # -- views of given rows ---------------------------------------------------------------------

    def encode_obs_many(
        self, rows: Array | None = None, out: Array | None = None, *, trusted: bool = False
    ) -> Array:
        """Return observations of ``rows`` (default: the lanes' own), shape (k, *obs_shape).

        ``trusted`` leaves the check of the rows out, as in :meth:`set_states`; they may then be of
        another tier or mode of the game, whose decisions this one does not have.
        """
        return self._encode(rows, out, None, trusted)[0]

    def action_masks_many(self, rows: Array | None = None, out: Array | None = None) -> Array:
        """Return the masks of ``rows`` (default: the lanes' own), uint8, shape (k, A)."""
        return self._encode(rows, None, out)[1]

    def bot_actions(self, kind: str, rng_states: Array, out: Array | None = None) -> Array:
        """Return the action a scripted player would take in each lane.

        Parameters
        ----------
        kind : str
            Name of the player, as the game calls it.
        rng_states : ndarray of uint64, shape (n, 4)
            Generators the players draw from (:func:`rng_streams`), one a lane; advanced in place.
        out : ndarray of int32, shape (n,), optional
            Destination.

        Returns
        -------
        ndarray of int32, shape (n,)
            0, without a draw, in lanes whose episode is over.
        """
        code = self.game.bot_kind(kind)
        _check_out("rng_states", rng_states, (self.num_envs, 4), np.dtype(np.uint64))
        if out is None:
            out = np.empty(self.num_envs, np.int32)
        else:
            self.check_out("out", out, self._actions)
        self._check_seeded()
        if self.game.bots_see_obs:
            self.refresh()
            out[self.ended] = 0
            running = (~self.ended).view(np.uint8)
            self._path.bot_actions(code, self.obs, self.mask, running, rng_states, out)
            return out
        kept = rng_states[self.ended]
        self._path.bot_actions(code, rng_states, out)
        out[self.ended], rng_states[self.ended] = 0, kept
        return out

    def _encode(
        self,
        rows: Array | None,
        obs: Array | None,
        mask: Array | None,
        trusted: bool = False,
    ) -> tuple[Array, Array]:
        if rows is None:
            rows = self.get_states()
        else:
            rows = np.ascontiguousarray(np.atleast_1d(rows))
            if rows.dtype != self.game.state_dtype:
                raise StateError(f"rows have dtype {rows.dtype}, need the state dtype of this game")
            if not trusted:
                self.game.validate(rows)
        k = len(rows)
        shapes = {"obs": (k, *self.obs_shape), "mask": (k, self.num_actions)}
        if obs is None:
            obs = np.zeros(shapes["obs"], self.obs_dtype)
        if mask is None:
            mask = np.zeros(shapes["mask"], np.uint8)
        for name, array in (("obs", obs), ("mask", mask)):
            dtype = self.obs_dtype if name == "obs" else np.dtype(np.uint8)
            _check_out("out", array, shapes[name], dtype)
        self._path.encode_rows(rows, obs, mask)
        mask[rows["done"] != 0] = 1
        return obs, mask

    # -- checks ----------------------------------------------------------------------------------

    @staticmethod
    def check_out(name: str, array: Array, like: Array) -> Array:
        """Return a destination that can be written like ``like``, or raise ValueError."""
        _check_out(name, array, like.shape, like.dtype)
        return array

    def _as_select(self, name: str, mask: npt.ArrayLike) -> npt.NDArray[np.uint8]:
        select = np.asarray(mask)
        if select.shape != (self.num_envs,) or select.dtype not in (np.bool_, np.uint8):
            raise ValueError(
                f"{name} must be bool or uint8 of shape ({self.num_envs},), "
                f"got {select.dtype} of shape {select.shape}"
            )
        if select.dtype == np.uint8:
            select = select != 0
        return np.ascontiguousarray(select).view(np.uint8)

    def _as_lanes(self, idx: npt.ArrayLike | None) -> npt.NDArray[np.intp]:
        if idx is None:
            return np.arange(self.num_envs)
        lanes = np.atleast_1d(np.asarray(idx))
        if lanes.dtype == np.bool_ and lanes.shape == (self.num_envs,):
            return np.flatnonzero(lanes)
        if lanes.ndim != 1 or (lanes.size and lanes.dtype.kind not in "iu"):
            raise ValueError(f"idx must be lane numbers or a bool mask of shape ({self.num_envs},)")
        lanes = lanes.astype(np.intp)
        if lanes.size and not (lanes.min() >= 0 and lanes.max() < self.num_envs):
            raise ValueError(f"idx names a lane outside 0..{self.num_envs - 1}")
        return lanes

    def _as_seeds(
        self, seeds: int | Sequence[int | None] | Array | None
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.uint64]]:
        """Return which lanes were given a seed, and the seeds modulo 2**64."""
        n = self.num_envs
        if seeds is None:
            return np.zeros(n, np.bool_), np.zeros(n, np.uint64)
        if isinstance(seeds, (int, np.integer)) and not isinstance(seeds, bool):
            values = np.arange(n, dtype=np.uint64) + np.uint64(int(seeds) & _MASK64)
            return np.ones(n, np.bool_), values
        given = list(seeds) if isinstance(seeds, (Sequence, np.ndarray)) else []
        right = (int, np.integer, type(None))
        if len(given) != n or any(isinstance(s, bool) or not isinstance(s, right) for s in given):
            raise ValueError(f"seeds must be an integer or {n} of them (or None), got {seeds!r}")
        values = np.array([0 if s is None else int(s) & _MASK64 for s in given], np.uint64)
        return np.array([s is not None for s in given]), values

    def _take_actions(self, actions: npt.ArrayLike, select: npt.NDArray[np.uint8]) -> None:
        """Check shape, dtype and range, and copy into the int32 buffer."""
        given = actions if isinstance(actions, np.ndarray) else np.asarray(actions)
        if self.game.any_integer and given.dtype.kind in "fb":
            _check_whole(given)
        elif given.dtype.kind not in "iu":
            raise InvalidActionError(f"actions must be integers, got dtype {given.dtype}")
        if given.shape != (self.num_envs,):
            raise InvalidActionError(
                f"actions must have shape ({self.num_envs},), got {given.shape}"
            )
        if self.game.any_integer:
            low = 0 if given.dtype.kind in "ub" else -1
            if given.dtype == np.int32:  # without a temporary array
                np.maximum(given, low, out=self._actions)
                np.minimum(self._actions, self.num_actions, out=self._actions)
            else:
                np.copyto(self._actions, np.clip(given, low, self.num_actions), casting="unsafe")
            return
        if given.min() < 0 or given.max() >= self.num_actions:
            wrong = ((given < 0) | (given >= self.num_actions)) & (select != 0)
            if wrong.any():
                lane = int(wrong.argmax())
                raise InvalidActionError(
                    f"lane {lane}: action {given[lane]} is out of range, "
                    f"allowed are 0..{self.num_actions - 1}"
                )
            given = np.where(select != 0, given, 0)
        np.copyto(self._actions, given, casting="unsafe")

    def _check_running(self, select: npt.NDArray[np.uint8]) -> None:
        stuck = self.ended & (select != 0)
        if stuck.any():
            lane = int(stuck.argmax())
            raise ResetNeededError(f"lane {lane} has no running episode: reset it before stepping")

    def _check_seeded(self) -> None:
        if not self._seeded.all():
            lane = int(self._seeded.argmin())
            raise ResetNeededError(f"lane {lane} has never been reset")

    def _check_legal(self, select: npt.NDArray[np.uint8]) -> None:
        lane = self._path.first_illegal(self._actions, select)
        if lane >= 0:
            raise self.illegal_action(lane, int(self._actions[lane]))

    def illegal_action(self, lane: int, action: int) -> InvalidActionError:
        """Return the error for an action that is in range but illegal now."""
        row = self.get_states(lane)
        legal = np.flatnonzero(self._encode(row, None, None)[1][0]).tolist()
        return InvalidActionError(
            f"lane {lane}: action {action} is illegal in phase {self.game.describe(row[0])}, "
            f"legal are {legal}"
        )

    # -- pickling --------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Return what rebuilds the engine: configuration, rows and knobs, no buffers."""
        return {
            "game": self.game,
            "num_envs": self.num_envs,
            "backend": self.backend,
            "num_threads": self.num_threads,
            "info_columns": (*self.info_columns, *self.float_columns),
            "rows": self.get_states(),
            "knobs": self._knobs.copy(),
            "seeded": self._seeded.copy(),
            "ended": self.ended.copy(),
        }

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Rebuild the engine; its lanes go on as those of the original would."""
        init: Callable[..., None] = self.__init__  # type: ignore[misc]
        names = ("game", "num_envs", "backend", "num_threads", "info_columns")
        init(*(state[name] for name in names))
        self._knobs[:] = state["knobs"]
        if state["seeded"].any():
            lanes = np.flatnonzero(state["seeded"])
            self.set_states(state["rows"][lanes], lanes)
        self.ended[:] = state["ended"]
        self._some_ended = bool(self.ended.any())


def _columns(game: Game, wanted: Sequence[str] | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the wanted columns of the state and of the step, or raise :class:`ConfigError`."""
    known = (*game.info_columns, *game.float_columns)
    if wanted is None:
        wanted = known if game.default_columns is None else game.default_columns
    if isinstance(wanted, str) or not all(isinstance(name, str) for name in wanted):
        raise ConfigError(f"info_columns={wanted!r}: must be a sequence of names")
    for name in wanted:
        if name not in known:
            raise ConfigError(f"info_columns: {name!r} must be one of {', '.join(known)}")
        if list(wanted).count(name) > 1:
            raise ConfigError(f"info_columns: {name!r} is named twice")
    floats = tuple(name for name in wanted if name in game.float_columns)
    return tuple(name for name in wanted if name in game.info_columns), floats


def _check_whole(actions: Array) -> None:
    """Raise :class:`InvalidActionError` unless all numbers are whole; true and false are."""
    whole = np.isfinite(actions) & (np.trunc(actions) == actions)
    if not whole.all():
        lane = np.unravel_index(int(whole.argmin()), actions.shape)
        raise InvalidActionError(
            f"lane {int(lane[0]) if lane else 0}: action {actions[lane]} must be a whole number"
        )


def _places(names: tuple[str, ...], among: tuple[str, ...]) -> npt.NDArray[np.int32]:
    return np.array([among.index(name) for name in names], np.int32)


def _check_out(name: str, array: object, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Refuse a destination that cannot be written as it stands."""
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{name} must be a NumPy array, got {type(array).__name__}")
    if array.shape != shape or array.dtype != dtype:
        raise ValueError(
            f"{name} must be {dtype} of shape {shape}, got {array.dtype} of shape {array.shape}"
        )
    flags = array.flags
    if not flags.c_contiguous:
        raise ValueError(f"{name} must be C-contiguous")
    if not flags.writeable:
        raise ValueError(f"{name} is read-only")

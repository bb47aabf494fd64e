"""The batch engine: buffers, checks, states and knobs of many games that step together.

One lane is one game is one row of bytes. The engine owns every buffer, checks everything that
comes from outside before anything moves, and lets a *path* (``fastenv/paths.py``) do the work:
plain Python or compiled stepping, composed with plain Python or compiled encoding, or the one loop
over lanes that does both (``fastenv/_batch.pyx``). What a game looks like it reads from its
``GameSpec``; rows are touched in the lanes that are named, and copied only where a copy was asked
for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv import checks
from fastenv.backend import Backend, resolve
from fastenv.errors import ConfigError, InvalidActionError, ResetNeededError, StateError, show
from fastenv.game import Game
from fastenv.one_seat import OneSeat
from fastenv.paths import Batch, Buffers, Composed, Fused, make_path
from fastenv.rng import GOLDEN_GAMMA, splitmix64

__all__ = ["BatchEngine", "Game", "aligned", "rng_streams"]

Array = npt.NDArray[Any]
_MASK64 = (1 << 64) - 1


def aligned(shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> Array:
    """Return zeros of the given shape and dtype, C-contiguous and starting on a cache line."""
    dtype = np.dtype(dtype)
    shape = (shape,) if isinstance(shape, int) else shape
    if dtype.itemsize == 0:
        return np.zeros(shape, dtype)
    size = math.prod(shape) * dtype.itemsize  # of Python's integers, which do not wrap
    try:
        block = np.zeros(size + 64, np.uint8)
    except (MemoryError, ValueError, OverflowError) as error:
        raise ConfigError(
            f"num_envs={show(shape[0])}: must be fewer: {show(size >> 20)} MiB for one of the "
            "buffers cannot be had here"
        ) from error
    start = -block.ctypes.data % 64
    return block[start : start + size].view(dtype).reshape(shape)


def rng_streams(seed: int, n: int) -> npt.NDArray[np.uint64]:
    """Return the states of ``n`` engine generators, seeded ``seed``, ``seed + 1``, ...

    Parameters
    ----------
    seed : int
        Any integer, taken modulo 2**64.
    n : int
        At least 1.

    Returns
    -------
    ndarray of uint64, shape (n, 4)
    """
    n = checks.count("n", n)
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise ConfigError(f"seed={show(seed)}: must be an integer")
    seed = int(seed)  # NumPy's integers do not reach beyond 64 bits
    words = [
        [splitmix64((seed + i + (k + 1) * GOLDEN_GAMMA) & _MASK64) for k in range(4)]
        for i in range(n)
    ]
    return np.array(words, np.uint64).reshape(n, 4)


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
        Threads of the compiled path, at most one a lane and 256; default ``FASTENV_NUM_THREADS``
        (as far as there are lanes) or 1. Results do not depend on it.
    info_columns : sequence of str, optional
        Columns to write, in this order: fields of the game's ``info_dtype`` and ``terms_dtype``;
        default its ``default_info``. Fewer are faster.
    opponent : str, optional
        In a game of several agents: the scripted player that plays all but the first, which the
        engine then shows as the only one.

    Attributes
    ----------
    num_agents : int
        K, the agents that are shown. With more than one, ``obs``, ``mask``, ``reward``, ``tau``,
        ``final_obs``, ``ep_return``, the terms and actions have an axis of K behind the lanes'.
    obs : ndarray, shape (n, *obs_shape)
        Current observation, structured if the game's is; with automatic reset already that of the
        new episode.
    mask : ndarray of uint8, shape (n, A)
        Legal actions; all ones in lanes whose episode is over. An agent that need not act has
        action 0 alone, and what it sends is ignored.
    reward : ndarray, shape (n,)
        Of the last step, in the game's reward dtype (float32 unless it says otherwise).
    terminated, truncated : ndarray of uint8, shape (n,)
        How episodes ended in the last step; never both.
    tau : ndarray of int32, shape (n,)
        Frames since the agent's last decision; all 1 in games whose decisions do not last.
    final_obs : ndarray, shape (n, *obs_shape)
        Last observation of the episodes that ended in the last step; other rows are stale.
    ep_return, ep_length, ep_frames : ndarray of float64, int32 and int32, shape (n,)
        Rewards, decisions and frames of the episodes that ended in the last step; other rows are
        stale.
    info_columns, term_columns : tuple of str
        The columns that are written: of the state, and of the step.
    info, final_info : dict of str to ndarray, shape (n, ...)
        Views of the columns of the current state and, in rows that ended, of the final state; in
        both, those of the step.
    terms : ndarray, shape (n,), structured
        The columns of the step; 0 after a reset.
    ended : ndarray of bool, shape (n,)
        Lanes without a running episode: they must be reset before they can be stepped.

    Raises
    ------
    ConfigError
        An argument, or a part of the game, that does not fit; names the field.

    Notes
    -----
    All arrays are persistent and overwritten by every call. A call that is given other destinations
    leaves ``obs`` and ``mask`` behind; :meth:`refresh` brings them up to date.
    """

    @checks.refuse_too_many
    def __init__(
        self,
        game: Game,
        num_envs: int,
        backend: str | Backend = "auto",
        num_threads: int | None = None,
        info_columns: Sequence[str] | None = None,
        opponent: str | None = None,
    ) -> None:
        self.game, self.spec = game, game.spec
        spec = game.spec
        spec.check()
        game.shared.flags.writeable = False
        self.info_columns, self.term_columns = checks.columns(game, info_columns)
        self.num_envs = n = checks.count("num_envs", num_envs)
        self.num_threads = checks.threads(num_threads, n)
        if opponent is not None:
            checks.name("opponent", opponent)
        if opponent is not None and spec.num_agents == 1:
            raise ConfigError(f"opponent={show(opponent)}: this game has one agent")
        self.opponent = opponent
        self._backend = resolve(
            backend, kernel_module=spec.kernel_module, core_module=spec.core_module
        )
        self.backend = self._backend.name
        self.num_actions = spec.num_actions
        self.num_agents = 1 if opponent is not None else spec.num_agents
        self.obs_shape, self.obs_dtype = spec.obs_shape, spec.obs_dtype

        self._states = aligned(n, spec.state_dtype)
        self._bytes = self._states.view(np.uint8).reshape(n, -1)
        self._knobs = aligned(n, spec.knobs_dtype)
        self._knobs[:] = game.default_knobs(n)
        derived = spec.derived_dtype
        self._derived = None if derived is None else aligned(n, derived)
        self._out = out = self._buffers(self.num_agents)
        self.obs, self.mask, self.reward, self.terms = out.obs, out.mask, out.reward, out.terms
        self.terminated, self.truncated, self.tau = out.terminated, out.truncated, out.tau
        self.final_obs, self.ep_return = out.final_obs, out.ep_return
        self.ep_length, self.ep_frames = out.ep_length, out.ep_frames
        terms = {name: out.terms[name] for name in self.term_columns}
        self.info = {name: out.info[name] for name in self.info_columns} | terms
        self.final_info = {name: out.final_info[name] for name in self.info_columns} | terms

        # what belongs to the last step, as bytes, one row a lane
        steps = [self.reward, self.terminated, self.truncated]
        steps += [self.terms] if self.term_columns else []
        steps += [self.tau] if spec.has_tau else []
        self._step_bytes = [column.view(np.uint8).reshape(n, -1) for column in steps]

        self.ended = np.ones(n, np.bool_)
        self._some_ended = True
        self._behind = False  # a call has written its observations or masks elsewhere
        self._seeded = np.zeros(n, np.bool_)
        self._all = np.ones(n, np.uint8)
        self._actions = aligned(out.reward.shape, np.int32)
        self._action = self._actions.data
        self._terminated, self._truncated = self.terminated.data, self.truncated.data
        self._take_path()

    def _buffers(self, agents: int) -> Buffers:
        """Return the destinations of a step that shows so many agents."""
        spec, n = self.spec, self.num_envs
        each = (n, agents) if agents > 1 else (n,)
        info = checks.only(spec.info_dtype, self.info_columns)
        buffers = Buffers(
            obs=aligned((*each, *spec.obs_shape), spec.obs_dtype),
            mask=aligned((*each, spec.num_actions), np.uint8),
            reward=aligned(each, spec.reward_dtype),
            terms=aligned(each, checks.only(spec.terms_dtype, self.term_columns)),
            terminated=aligned(n, np.uint8),
            truncated=aligned(n, np.uint8),
            tau=aligned(each, np.int32),
            info=aligned(n, info),
            final_info=aligned(n, info),
            final_obs=aligned((*each, *spec.obs_shape), spec.obs_dtype),
            ep_return=aligned(each, np.float64),
            ep_length=aligned(n, np.int32),
            ep_frames=aligned(n, np.int32),
        )
        buffers.tau.fill(0 if spec.has_tau else 1)
        return buffers

    def _take_path(self) -> None:
        """Make the way through a step over the engine's memory."""
        spec, game = self.spec, self.game
        self._shared = aligned(1, game.shared.dtype)
        self._shared[:] = game.shared
        self._shared.flags.writeable = False
        batch = Batch(self._states, self._knobs, self._derived, self._shared)
        seats = self._out if self.opponent is None else self._buffers(spec.num_agents)
        inner = make_path(game, self._backend, batch, self.num_threads, seats)
        path: Composed | Fused | OneSeat = inner
        if self.opponent is not None:
            path = OneSeat(spec, inner, seats, self._out, game.bot(self.opponent))
        self._path = path
        out = self._out
        self._step_lane = partial(path.step, self._actions, self._all, False, out.obs, out.mask)

    # -- moving ----------------------------------------------------------------------------------

    def reset_many(
        self,
        mask: npt.ArrayLike | None = None,
        seeds: int | Sequence[int | None] | Array | None = None,
        obs_out: Array | None = None,
        mask_out: Array | None = None,
        skip_reset_if_empty: bool = True,
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
        skip_reset_if_empty : bool, default True
            Return at once where no lane is selected, instead of going through all of them; the
            results are the same.
        """
        if skip_reset_if_empty is not True:
            skip_reset_if_empty = checks.flag("skip_reset_if_empty", skip_reset_if_empty)
        select = self._all if mask is None else self._as_select("mask", mask)
        obs = self.obs if obs_out is None else self.check_out("obs_out", obs_out, self.obs)
        legal = self.mask if mask_out is None else self.check_out("mask_out", mask_out, self.mask)
        chosen = select.view(np.bool_)
        if skip_reset_if_empty and mask is not None and not chosen.any():
            return
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
        if mask is None:
            for column in self._step_bytes:
                column.fill(0)
            self.ended.fill(False)
        else:
            self._forget_step(chosen)
            self.ended[chosen] = False
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
        actions : ndarray of integers, shape (n,), or (n, K)
            One action a lane and agent, ``0 <= action < num_actions``; entries of lanes that are
            not selected, and of agents that need not act, are ignored.
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
        if autoreset is not True:
            autoreset = checks.flag("autoreset", autoreset)
        chosen = self._all if select is None else self._as_select("select", select)
        obs = self.obs if obs_out is None else self.check_out("obs_out", obs_out, self.obs)
        legal = self.mask if mask_out is None else self.check_out("mask_out", mask_out, self.mask)
        self._take_actions(actions, chosen)
        if self._some_ended:
            self._check_running(chosen)
        if self.spec.illegal_actions == "raise":
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

    def _forget_step(self, lanes: Array) -> None:
        """Clear what belongs to the last step in lanes that were reset or loaded since."""
        for column in self._step_bytes:
            column[lanes] = 0

    # -- state -----------------------------------------------------------------------------------

    def info_records(self, final: bool = False) -> Array:
        """Return the columns of the state as one structured array, shape (n,).

        Parameters
        ----------
        final : bool
            Those of ``final_info`` instead of ``info``.
        """
        return self._out.final_info if final else self._out.info

    def needs_action(self) -> npt.NDArray[np.bool_]:
        """Return which agents must act, shape (n, K): all, unless the game has several agents."""
        if self.spec.num_agents == 1 or self.opponent is not None:
            return np.ones((self.num_envs, 1), np.bool_)
        needs: npt.NDArray[np.bool_] = self._path.needs_action()  # type: ignore[union-attr]
        return needs

    @property
    def completes_rows(self) -> bool:
        """Whether rows are completed when they are read out: later steps may then be cheaper."""
        return self._path.completes

    def never_reset(self) -> npt.NDArray[np.bool_]:
        """Return the lanes that never had a seed or a state, shape (n,)."""
        return ~self._seeded

    def get_states(self, idx: npt.ArrayLike | None = None) -> Array:
        """Return a copy of the state rows, shape (k,), dtype ``spec.state_dtype``.

        Parameters
        ----------
        idx : int, sequence of int or bool mask, optional
            Which lanes; default all.
        """
        return self.get_state(idx).view(self.spec.state_dtype).reshape(-1)

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
        trusted = checks.flag("trusted", trusted)
        lanes = self.lanes(idx)
        rows = checks.rows_of(rows, self.spec.state_dtype)
        if rows.shape != lanes.shape:
            raise StateError(f"{rows.size} rows for {lanes.size} lanes")
        if not trusted:
            self.game.validate(rows)
            if self.spec.num_agents > 1:
                checks.generators("bot_rng", rows["bot_rng"])
        clean = np.zeros(rows.shape, rows.dtype)  # equal states are equal bytes: no padding
        for name in rows.dtype.names or ():
            clean[name] = rows[name]
        self._bytes[lanes] = clean.view(np.uint8).reshape(len(rows), self._bytes.shape[1])
        select = np.zeros(self.num_envs, np.uint8)
        select[lanes] = 1
        self._path.load(select)
        self._path.observe(select, self.obs, self.mask)
        self._forget_step(lanes)
        self._seeded[lanes] = True
        self.ended[lanes] = rows["done"] != 0
        self._some_ended = bool(self.ended.any())
        self.mask[self.ended] = 1

    def get_state(self, idx: npt.ArrayLike | None = None) -> npt.NDArray[np.uint8]:
        """Return the state rows as bytes, shape (k, S): complete, including the generators."""
        lanes = self.lanes(idx)
        select = np.zeros(self.num_envs, np.uint8)
        select[lanes] = 1
        self._path.pack(select)
        return self._bytes[lanes]

    def set_state(self, idx: npt.ArrayLike | None, blob: npt.NDArray[np.uint8]) -> None:
        """Load rows that :meth:`get_state` returned, shape (k, S). See :meth:`set_states`."""
        blob = np.atleast_2d(checks.plain("blob", blob, StateError))
        if blob.dtype != np.uint8 or blob.ndim != 2 or blob.shape[1] != self._bytes.shape[1]:
            raise StateError(
                f"blob has dtype {blob.dtype} and shape {blob.shape}, "
                f"need uint8 and rows of {self._bytes.shape[1]}"
            )
        rows = np.ascontiguousarray(blob).view(self.spec.state_dtype)
        self.set_states(rows.reshape(-1), idx)

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
        checks.name("knob", name)
        lanes = self.lanes(idx)
        if isinstance(value, np.ndarray):  # games take numbers, names and sequences of them
            value = checks.plain("value", value, ConfigError).tolist()
        rows = self._knobs[lanes]
        self.game.set_knob(rows, name, value)
        self._knobs[lanes] = rows

    def get_knob(self, name: str, idx: npt.ArrayLike | None = None) -> list[Any]:
        """Return what :meth:`configure` would have to be given, one value a lane."""
        checks.name("knob", name)
        return [self.game.get_knob(self._knobs[i], name) for i in self.lanes(idx)]

    def set_shared(self, shared: Array, *, trusted: bool = False) -> None:
        """Replace what all lanes read (rules, a bank of start states) as a whole.

        All backends play and pay by it from now on, and pickles and copies of the engine have it.
        Rows, knobs and spaces stay as they are.

        Parameters
        ----------
        shared : ndarray, shape (1,)
            Of the dtype of ``game.shared``; copied. The engine's ``game`` becomes one that has it;
            other engines of the old one are not touched.
        trusted : bool
            Leave the checks of the record, and of the lanes' rows against it, out: only for
            records that a game like this one was made with. Others can crash the process, and
            backends may differ.

        Raises
        ------
        ValueError
            No such record. Nothing has changed.
        ConfigError
            A field that this game cannot play by, or not with these spaces; the message names it.
            Nothing has changed.
        StateError
            A lane's row that is not possible by the new record: load another one first, or reset.
            Nothing has changed.
        """
        trusted = checks.flag("trusted", trusted)
        shared = checks.check_array("shared", shared, (1,), self.game.shared.dtype)
        game = self.game.with_shared(shared, trusted)
        checks.same_spec(self.spec, game.spec)
        rows = self.get_states(self._seeded)
        if rows.size and not trusted:
            game.validate(rows)
        decisions = self.get_decisions()
        game.shared.flags.writeable = False
        self.game = game
        self._take_path()
        if rows.size:
            self.set_states(rows, self._seeded, trusted=True)
        self.set_decisions(decisions)

    def get_decisions(self) -> Array | None:
        """Return what no row says with an ``opponent``: decisions of the running episodes.

        Returns
        -------
        ndarray of int32, shape (n,), or None
            A copy; None without an ``opponent``.
        """
        return self._path.decisions.copy() if isinstance(self._path, OneSeat) else None

    def set_decisions(self, decisions: Array | None) -> None:
        """Put back what :meth:`get_decisions` returned, behind :meth:`set_states`."""
        if decisions is not None:
            shape, dtype = (self.num_envs,), np.dtype(np.int32)
            decisions = checks.check_array("decisions", decisions, shape, dtype)
        if isinstance(self._path, OneSeat) and decisions is not None:
            self._path.decisions[:] = decisions

    # -- views of given rows ---------------------------------------------------------------------

    def encode_obs_many(
        self, rows: Array | None = None, out: Array | None = None, *, trusted: bool = False
    ) -> Array:
        """Return observations of ``rows`` (default: the lanes' own), shape (k, *obs_shape).

        ``trusted`` leaves the check of the rows out, as in :meth:`set_states`; they may then be of
        another tier or mode of the game, whose decisions this one does not have.
        """
        if rows is None:
            return self._own(self.obs, out)
        return self._encode(rows, out, None, trusted)[0]

    def action_masks_many(self, rows: Array | None = None, out: Array | None = None) -> Array:
        """Return the masks of ``rows`` (default: the lanes' own), uint8, shape (k, A)."""
        if rows is None:
            return self._own(self.mask, out)
        return self._encode(rows, None, out)[1]

    def bot_actions(
        self,
        kind: str,
        rng_states: Array | None = None,
        out: Array | None = None,
        *,
        agent: int = 0,
    ) -> Array:
        """Return the action a scripted player would take in each lane.

        Parameters
        ----------
        kind : str
            Name of the player, as the game calls it.
        rng_states : ndarray of uint64, shape (n, 4), optional
            Generators the players draw from (:func:`rng_streams`), one a lane; advanced in place.
            Default, in games of several agents, the rows' own. Four zeros are none.
        out : ndarray of int32, shape (n,), optional
            Destination.
        agent : int
            In whose place.

        Returns
        -------
        ndarray of int32, shape (n,)
            0, without a draw, in lanes whose episode is over.
        """
        params = self.game.bot(kind)
        whole = isinstance(agent, (int, np.integer)) and not isinstance(agent, bool)
        if not (whole and 0 <= agent < self.spec.num_agents):
            raise ValueError(f"agent={show(agent)}: must be 0..{self.spec.num_agents - 1}")
        if rng_states is not None:
            shape = self.num_envs, 4
            rng_states = checks.check_out("rng_states", rng_states, shape, np.dtype(np.uint64))
            checks.generators("rng_states", rng_states)
        elif self.spec.num_agents == 1:
            raise ValueError("rng_states: must be given, rows of this game have none for bots")
        if out is None:
            out = np.zeros(self.num_envs, np.int32)
        else:
            out = checks.check_out("out", out, (self.num_envs,), np.dtype(np.int32))
        self._check_seeded()
        out.fill(0)
        self.refresh()
        running = (~self.ended).view(np.uint8)
        self._path.bot_actions(params, agent, self.obs, self.mask, running, rng_states, out)
        return out

    def _own(self, shown: Array, out: Array | None) -> Array:
        """Return what the lanes show, in a destination of the caller's or a new one."""
        out = np.zeros_like(shown) if out is None else self.check_out("out", out, shown)
        self.refresh()
        out[...] = shown
        return out

    def _encode(
        self, rows: Array, obs: Array | None, mask: Array | None, trusted: bool = False
    ) -> tuple[Array, Array]:
        rows = checks.rows_of(rows, self.spec.state_dtype)
        if not checks.flag("trusted", trusted):
            self.game.validate(rows)
        shapes = [(len(rows), *array.shape[1:]) for array in (self.obs, self.mask)]
        obs = np.zeros(shapes[0], self.obs_dtype) if obs is None else obs
        mask = np.zeros(shapes[1], np.uint8) if mask is None else mask
        obs = checks.check_out("out", obs, shapes[0], self.obs_dtype)
        mask = checks.check_out("out", mask, shapes[1], np.dtype(np.uint8))
        self._path.encode_rows(rows, obs, mask)
        mask[rows["done"] != 0] = 1
        return obs, mask

    # -- checks ----------------------------------------------------------------------------------

    @staticmethod
    def check_out(name: str, array: Array, like: Array) -> Array:
        """Return a destination that can be written like ``like``, or raise ValueError.

        Of a subclass of arrays the result is a plain array over the same memory.
        """
        return checks.check_out(name, array, like.shape, like.dtype)

    def _as_select(self, name: str, mask: npt.ArrayLike) -> npt.NDArray[np.uint8]:
        select = checks.plain(name, mask)
        if select.shape != (self.num_envs,) or select.dtype not in (np.bool_, np.uint8):
            raise ValueError(
                f"{name} must be bool or uint8 of shape ({self.num_envs},), "
                f"got {select.dtype} of shape {select.shape}"
            )
        if select.dtype == np.uint8:
            select = select != 0
        return np.ascontiguousarray(select).view(np.uint8)

    def lanes(self, idx: npt.ArrayLike | None = None) -> npt.NDArray[np.intp]:
        """Return the numbers of lanes that are named by numbers or by a bool mask; default all."""
        if idx is None:
            return np.arange(self.num_envs)
        lanes = np.atleast_1d(checks.plain("idx", idx))
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
        listed: object = seeds
        if isinstance(seeds, np.ndarray):
            array = checks.plain("seeds", seeds)
            listed = array.tolist() if array.dtype.kind in "iuO" else None
        if isinstance(listed, (int, np.integer)) and not isinstance(listed, bool):
            values = np.arange(n, dtype=np.uint64) + np.uint64(int(listed) & _MASK64)
            return np.ones(n, np.bool_), values
        given = list(islice(listed, n + 1)) if isinstance(listed, Sequence) else []
        right = (int, np.integer, type(None))
        if len(given) != n or any(isinstance(s, bool) or not isinstance(s, right) for s in given):
            raise ValueError(
                f"seeds must be an integer or {n} of them (or None), got {type(seeds).__name__}"
            )
        values = np.array([0 if s is None else int(s) & _MASK64 for s in given], np.uint64)
        return np.array([s is not None for s in given]), values

    def _take_actions(self, actions: npt.ArrayLike, select: npt.NDArray[np.uint8]) -> None:
        """Check shape, dtype and range, and copy into the int32 buffer."""
        given = actions
        if type(given) is not np.ndarray:  # the check itself makes it sure, a call later
            given = checks.plain("actions", actions, InvalidActionError)
        codec, shape = self.spec.action_codec, self._actions.shape
        if codec is None and given.dtype.kind not in "iu":
            raise InvalidActionError(f"actions must be integers, got dtype {given.dtype}")
        if given.shape != shape:
            raise InvalidActionError(f"actions must have shape {shape}, got {given.shape}")
        if codec is not None:
            codec.encode_many(given, self._actions)
            return
        if self.num_agents > 1:
            given = np.where(self._path.needs_action(select), given, 0)  # type: ignore[union-attr]
        if given.min() < 0 or given.max() >= self.num_actions:
            taken = select.view(np.bool_).reshape(-1, *[1] * (given.ndim - 1))
            wrong = ((given < 0) | (given >= self.num_actions)) & taken
            if wrong.any():
                place = np.unravel_index(int(wrong.argmax()), shape)
                raise InvalidActionError(
                    f"{checks.where(*place)}: action {given[place]} is out of range, "
                    f"allowed are 0..{self.num_actions - 1}"
                )
            given = np.where(taken, given, 0)
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
        place = self._path.first_illegal(self._actions, select)
        if place >= 0:
            where = np.unravel_index(place, self._actions.shape)
            raise self.illegal_action(where, int(self._actions[where]))

    def illegal_action(
        self, where: tuple[Any, ...], action: int, who: str | None = None
    ) -> InvalidActionError:
        """Return the error for an action that is in range but illegal now.

        Parameters
        ----------
        where : tuple of int
            Lane and, with several agents, agent.
        action : int
        who : str, optional
            What the message calls them; default their numbers.
        """
        self.refresh()
        row, legal = self.get_states(where[0]), np.flatnonzero(self.mask[where]).tolist()
        return InvalidActionError(
            f"{who or checks.where(*where)}: action {action} is illegal in phase "
            f"{self.game.describe(row[0])}, legal are {legal}"
        )

    # -- pickling --------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Return what rebuilds the engine: configuration, rows, knobs and what the buffers show."""
        return {
            "game": self.game,
            "num_envs": self.num_envs,
            "backend": self.backend,
            "num_threads": self.num_threads,
            "info_columns": (*self.info_columns, *self.term_columns),
            "opponent": self.opponent,
            "rows": self.get_states(),
            "knobs": self._knobs.copy(),
            "seeded": self._seeded.copy(),
            "ended": self.ended.copy(),
            "decisions": self.get_decisions(),
            "shown": {name: array.copy() for name, array in vars(self._out).items()},
            "behind": self._behind,
        }

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Rebuild the engine; its lanes go on as those of the original would."""
        init: Callable[..., None] = self.__init__  # type: ignore[misc]
        names = ("game", "num_envs", "backend", "num_threads", "info_columns", "opponent")
        init(*(state[name] for name in names))
        self._knobs[:] = state["knobs"]
        if state["seeded"].any():
            lanes = np.flatnonzero(state["seeded"])
            # its own: of a trusted shared record the check may know nothing
            self.set_states(state["rows"][lanes], lanes, trusted=True)
        self.ended[:] = state["ended"]
        self._some_ended = bool(self.ended.any())
        self.set_decisions(state["decisions"])
        for name, array in state["shown"].items():
            getattr(self._out, name)[...] = array
        self._behind = state["behind"]

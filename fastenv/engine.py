"""The batch engine: many games that step together.

One lane is one game is one row of bytes. The engine owns every buffer
(``fastenv/batch_state.py``), checks everything that comes from outside before anything moves, and
lets a *path* (``fastenv/paths.py``) do the work: plain Python or compiled stepping, composed with
plain Python or compiled encoding, or the one loop over lanes that does both
(``fastenv/_batch.pyx``). What a game looks like it reads from its ``GameSpec``; rows are touched in
the lanes that are named, and copied only where a copy was asked for.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv import checks
from fastenv.batch_state import BatchState
from fastenv.errors import (
    ConfigError,
    InvalidActionError,
    ResetNeededError,
    show,
)
from fastenv.game import Game
from fastenv.memory import aligned
from fastenv.one_seat import OneSeatPath
from fastenv.rng import GOLDEN_GAMMA, splitmix64
from fastenv.rollouts import Rollouts, Stop

__all__ = ["BatchEngine", "Game", "aligned", "rng_streams"]

Array = npt.NDArray[Any]
_MASK64 = (1 << 64) - 1


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
    n = checks.as_count("n", n)
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise ConfigError(f"seed={show(seed)}: must be an integer")
    seed = int(seed)  # NumPy's integers do not reach beyond 64 bits
    words = [
        [splitmix64((seed + i + (k + 1) * GOLDEN_GAMMA) & _MASK64) for k in range(4)]
        for i in range(n)
    ]
    return np.array(words, np.uint64).reshape(n, 4)


class BatchEngine(BatchState):
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
        (as far as there are lanes) or 1. Results do not depend on it. A process that is forked
        after an environment was made uses one thread and warns of it once.
    info_columns : sequence of str, optional
        Columns to write, in this order: fields of the game's ``info_dtype`` and ``terms_dtype``;
        default its ``default_info``. Fewer are faster.
    opponent : str or sequence of str, optional
        In a game of several agents: who plays the other seats, one name for all or one for each
        from the seat after the learner's on. A scripted player, or ``external``: its decisions come
        from outside too. The engine then shows one seat at a time, the one that must act.
    agent_seat : int or "rotate"
        The learner's seat with an ``opponent``. With ``rotate`` that of lane i is ``i % K`` after a
        reset with a seed, and the next one with every further episode.

    Attributes
    ----------
    num_agents : int
        K, the agents that are shown. With more than one, ``obs``, ``mask``, ``reward``, ``tau``,
        ``final_obs``, ``ep_return``, the terms and actions have an axis of K behind the lanes'.
    obs : ndarray, shape (n, *obs_shape)
        Current observation, structured if the game's is; with automatic reset already that of the
        new episode.
    mask : ndarray of uint8, shape (n, A)
        Legal actions; all ones in lanes whose episode is over. For an agent that does
        not act now only action 0 is legal, and the action it sends is ignored.
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

    Examples
    --------
    >>> import fastenv
    >>> engine = fastenv.BatchEngine(fastenv.make_game("SkullKingWorker-v0"), num_envs=4)
    >>> engine.reset_many(seeds=0)
    >>> engine.step_many(fastenv.sample_legal(engine.mask, rng=0))
    >>> engine.obs.shape, engine.reward.tolist()
    ((4, 203), [0.5, 3.0, 0.5, 0.5])

    Worlds that the agent of a lane cannot tell apart, played on by bots:

    >>> worlds = engine.resample(engine.get_states(), agents=0, seeds=0, worlds=8)
    >>> engine.rollout(worlds, players="heuristic", until="round").rows.shape
    (32,)
    """

    ended: npt.NDArray[np.bool_]

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
            instead of it) lets a lane's stream continue. Integers are taken modulo 2**64. A lane
            that never had a seed draws one from the operating system.
        obs_out, mask_out : ndarray, optional
            Where to write instead of ``obs`` and ``mask``.
        skip_reset_if_empty : bool, default True
            Return at once where no lane is selected, instead of going through all of them; the
            results are the same.
        """
        if skip_reset_if_empty is not True:
            skip_reset_if_empty = checks.as_bool("skip_reset_if_empty", skip_reset_if_empty)
        select = self._all if mask is None else self._as_select("mask", mask)
        obs = self.obs if obs_out is None else self.check_out("obs_out", obs_out, self.obs)
        legal = self.mask if mask_out is None else self.check_out("mask_out", mask_out, self.mask)
        chosen = select.view(np.bool_)
        if skip_reset_if_empty and mask is not None and not chosen.any():
            return
        if seeds is None and self._seeded.all():
            self._path.reset(select, None)
        else:
            given, values = checks.as_seeds(seeds, self.num_envs, optional=True)
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
            not selected, and of agents that do not act now, are ignored.
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
            autoreset = checks.as_bool("autoreset", autoreset)
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
        if self._warned_of:
            self._warn()

    def step_lane(self, action: int) -> bool:
        """Step an engine of one lane, without automatic reset, with an action already checked.

        Return whether the episode is over. The way of :class:`fastenv.env.FastEnv` around the
        checks on arrays, which cost more than the step of one lane.
        """
        self._action[0] = action
        self._step_lane()
        if self._warned_of:
            self._warn()
        if not (self._terminated[0] or self._truncated[0]):
            return False
        self.ended[0] = self._some_ended = True
        self.mask[0] = 1
        return True

    def _warn(self) -> None:
        """Warn of columns that are not 0, of each once; also where the step ended the episode."""
        ended = (self.terminated | self.truncated).view(np.bool_)
        for name in [*self._warned_of]:
            now, last = (
                column[name].reshape(self.num_envs, -1).any(axis=1)
                for column in (self.info, self.final_info)
            )
            lanes = np.flatnonzero(now | (ended & last))
            if lanes.size:
                self._warned_of.remove(name)
                row = self.get_states(lanes[:1])[0]
                warnings.warn(self.game.warning(name, row), RuntimeWarning, stacklevel=3)

    # -- views of given rows ---------------------------------------------------------------------

    def encode_obs_many(
        self,
        rows: Array | None = None,
        out: Array | None = None,
        *,
        trusted: bool = False,
        seat: int | Array | None = None,
    ) -> Array:
        """Return observations of ``rows`` (default: the lanes' own), shape (k, *obs_shape).

        ``trusted`` leaves the check of the rows out, as in :meth:`set_states`; they may then be of
        another tier or mode of the game, whose decisions this one does not have. ``seat``, one for
        all rows or one for each, says whose observations an engine with an ``opponent`` returns:
        by default those of the first one, and of the lanes' own rows what is shown.
        """
        if rows is None and seat is None:
            return self._own(self.obs, out)
        rows = self.get_states() if rows is None else rows
        return self._encode(rows, out, None, trusted, seat)[0]

    def action_masks_many(
        self,
        rows: Array | None = None,
        out: Array | None = None,
        *,
        trusted: bool = False,
        seat: int | Array | None = None,
    ) -> Array:
        """Return the masks of ``rows`` (default: the lanes' own), uint8, shape (k, A).

        ``trusted`` and ``seat`` as in :meth:`encode_obs_many`.
        """
        if rows is None and seat is None:
            return self._own(self.mask, out)
        rows = self.get_states() if rows is None else rows
        return self._encode(rows, None, out, trusted, seat)[1]

    def bot_actions(
        self,
        kind: str,
        rng_states: Array | None = None,
        out: Array | None = None,
        *,
        agent: int | None = None,
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
        agent : int, optional
            In whose place; default the seat that is shown, or the first agent.

        Returns
        -------
        ndarray of int32, shape (n,)
            0, without a draw, in lanes whose episode is over.
        """
        params = self.game.bot(kind)
        whole = isinstance(agent, (int, np.integer)) and not isinstance(agent, bool)
        if agent is not None and not (whole and 0 <= agent < self.spec.num_agents):
            raise ValueError(f"agent={show(agent)}: must be 0..{self.spec.num_agents - 1}")
        if rng_states is not None:
            shape = self.num_envs, 4
            rng_states = checks.check_out("rng_states", rng_states, shape, np.dtype(np.uint64))
            checks.check_generators("rng_states", rng_states)
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
        if isinstance(self._path, OneSeatPath):
            self._path.bot_actions(params, agent, running, rng_states, out)
        else:
            seen = self.obs, self.mask
            self._path.bot_actions(params, agent or 0, *seen, running, rng_states, out)
        return out

    # -- search ----------------------------------------------------------------------------------

    def resample(
        self,
        rows: Array,
        agents: npt.ArrayLike,
        seeds: int | Sequence[int] | Array,
        *,
        worlds: int = 1,
        trusted: bool = False,
    ) -> Array:
        """Return rows whose hidden part is drawn anew: worlds that an agent cannot tell apart.

        They are drawn uniformly among those in which the agent has seen what it has seen. The
        generators in a row are always replaced: a world does not know the luck to come.

        Parameters
        ----------
        rows : ndarray, shape (k,)
            Complete rows, as :meth:`get_states` returns them.
        agents : int or array_like of int, shape (k,)
            Whose knowledge counts: a seat, for all rows or one for each.
        seeds : int or sequence of int, shape (k * worlds,)
            From which the worlds are drawn; ``s`` seeds the i-th with ``s + i``. Equal seeds and
            rows give equal worlds, whatever else is asked for.
        worlds : int, default 1
            Worlds of each row; they follow each other.
        trusted : bool
            Leave the check of the rows out, as in :meth:`set_states`.

        Returns
        -------
        ndarray, shape (k * worlds,)

        Raises
        ------
        ConfigError
            If the game has no ``resample``, or ``worlds`` is not at least 1.
        StateError
            A row of a game that is over, or one that no game can be in.
        ValueError
            An agent that is not there, or another number of seeds.
        """
        return self._path.worlds.resample(rows, agents, seeds, worlds, trusted)

    def rollout(
        self,
        rows: Array,
        actions: npt.ArrayLike | None = None,
        players: str | Sequence[str] = "random",
        until: str | None = None,
        limit: int | None = None,
        seeds: int | Sequence[int] | Array = 0,
        *,
        of: npt.ArrayLike | None = None,
        trusted: bool = False,
    ) -> Rollouts:
        """Play games on by scripted players, and return how they went.

        All seats are played by ``players``, whoever sits there in the rows. With compiled players
        no Python runs.

        Parameters
        ----------
        rows : ndarray, shape (k,)
            Complete rows, as :meth:`get_states` returns them.
        actions : array_like of int, shape (m,), or (m, K) in games of K agents
            The first decision of each rollout, a number that ``bot_actions`` could return; -1
            leaves it to the player. Default all. Entries of agents that do not act are ignored.
        players : str or sequence of str
            A bot for all seats, or one for each.
        until : str, optional
            A condition of the game at which a rollout ends (``spec.stops``), such as ``round``;
            default the end of the episode.
        limit : int, optional
            Decisions after which it ends anyway.
        seeds : int or sequence of int, shape (m,)
            Of what the players draw; ``s`` seeds the i-th with ``s + i``. Equal rows, actions and
            seeds give equal bits, whatever else is asked for.
        of : array_like of int, shape (m,)
            The row of each rollout; default one each.
        trusted : bool
            Leave the check of the rows out, as in :meth:`set_states`, and whether actions are
            legal.

        Returns
        -------
        Rollouts

        Raises
        ------
        ConfigError
            If there is no such player or condition, or ``limit`` is not at least 1.
        StateError
            A row of a game that is over, or one that no game can be in.
        InvalidActionError
            An action that is out of range or, if the game raises on them, illegal.
        ValueError
            A row number that is not there, or another number of seeds.
        """
        stop = Stop.parse(self.spec, until, limit)
        return self._path.worlds.rollout(rows, actions, players, stop, seeds, of, trusted)

    def _own(self, shown: Array, out: Array | None) -> Array:
        """Refresh a buffer of the lanes and copy it into ``out`` or a new array."""
        out = np.zeros_like(shown) if out is None else self.check_out("out", out, shown)
        self.refresh()
        out[...] = shown
        return out

    def _encode(
        self,
        rows: Array,
        obs: Array | None,
        mask: Array | None,
        trusted: bool = False,
        seat: int | Array | None = None,
    ) -> tuple[Array, Array]:
        rows = checks.as_rows(rows, self.spec)
        if not checks.as_bool("trusted", trusted):
            self.game.validate(rows)
        shapes = [(len(rows), *array.shape[1:]) for array in (self.obs, self.mask)]
        obs = np.zeros(shapes[0], self.obs_dtype) if obs is None else obs
        mask = np.zeros(shapes[1], np.uint8) if mask is None else mask
        obs = checks.check_out("out", obs, shapes[0], self.obs_dtype)
        mask = checks.check_out("out", mask, shapes[1], np.dtype(np.uint8))
        if isinstance(self._path, OneSeatPath):
            seats = 0 if seat is None else checks.as_seats(seat, len(rows), self.spec.num_agents)
            self._path.encode_rows(rows, obs, mask, seats)
        elif seat is not None:
            raise ValueError(f"seat={show(seat)}: this engine has no opponent")
        else:
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
        select = checks.as_array(name, mask)
        if select.shape != (self.num_envs,) or select.dtype not in (np.bool_, np.uint8):
            raise ValueError(
                f"{name} must be bool or uint8 of shape ({self.num_envs},), "
                f"got {select.dtype} of shape {select.shape}"
            )
        if select.dtype == np.uint8:
            select = select != 0
        return np.ascontiguousarray(select).view(np.uint8)

    def _take_actions(self, actions: npt.ArrayLike, select: npt.NDArray[np.uint8]) -> None:
        """Check shape, dtype and range, and copy into the int32 buffer."""
        given = actions
        if type(given) is not np.ndarray:  # the check itself makes it sure, a call later
            given = checks.as_array("actions", actions, InvalidActionError)
        codec, shape = self.spec.action_codec, self._actions.shape
        if codec is None and given.dtype.kind not in "iu":
            raise InvalidActionError(f"actions must be integers, got dtype {given.dtype}")
        if given.shape != shape:
            space = self.spec.action_space
            arrays = shape if space is None else (*shape, *(space.shape or ()))
            if given.shape != arrays:
                raise InvalidActionError(f"actions must have shape {arrays}, got {given.shape}")
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
                    f"{self._label(*place)}: action {given[place]} is out of range, "
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
            f"{who or self._label(*where)}: action {action} is illegal in phase "
            f"{self.game.describe(row[0])}, legal are {legal}"
        )

    def _label(self, lane: Any, agent: Any = None) -> str:
        """Return the label of a lane for errors, with the seat that is shown if it can vary."""
        if isinstance(self._path, OneSeatPath) and self.has_outside([lane])[0]:
            agent = self._path.actor[lane]
        return checks.lane_label(lane, agent)

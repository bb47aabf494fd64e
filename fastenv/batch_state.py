"""The state of a batch: rows, knobs and shared record of its lanes, and the buffers it shows.

:class:`fastenv.engine.BatchEngine` moves it; here is what can be read, loaded, replaced and pickled
between steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv import checks
from fastenv.backend import Backend, resolve
from fastenv.errors import ConfigError, ResetNeededError, StateError
from fastenv.game import Game
from fastenv.memory import Batch, Buffers, aligned
from fastenv.one_seat import OneSeatPath, Opponents
from fastenv.paths import Composed, Fused, make_path
from fastenv.seats import Opponent, SeatFields, Seats
from fastenv.spec import GameSpec

Array = npt.NDArray[Any]


class BatchState:
    """Lanes of a game between two steps; arguments and attributes are those of ``BatchEngine``."""

    spec: GameSpec
    game: Game
    opponent: Opponent | None
    agent_seat: int | str
    obs_shape: tuple[int, ...]
    obs_dtype: np.dtype[Any]
    obs: Array
    mask: Array
    reward: Array
    terms: Array
    terminated: Array
    truncated: Array
    tau: Array
    final_obs: Array
    ep_return: Array
    ep_length: Array
    ep_frames: Array
    final_info: dict[str, Array]
    info_columns: tuple[str, ...]
    term_columns: tuple[str, ...]
    num_envs: int

    @checks.refuse_too_many
    def __init__(
        self,
        game: Game,
        num_envs: int,
        backend: str | Backend = "auto",
        num_threads: int | None = None,
        info_columns: Sequence[str] | None = None,
        opponent: Opponent | None = None,
        agent_seat: int | str = 0,
    ) -> None:
        self.game, self.spec = game, game.spec
        spec = game.spec
        spec.check()
        self.seats: Seats | None = game.seats  # how the players meet; None in a game for one
        self.external_seats = game.external_seats  # who can be played from outside, if anybody
        game.shared.flags.writeable = False
        self.info_columns, self.term_columns = checks.split_columns(game, info_columns)
        self.num_envs = n = checks.as_count("num_envs", num_envs)
        self.num_threads: int = checks.as_threads(num_threads, n)
        checks.check_seating(spec, opponent, agent_seat)
        self.opponent, self.agent_seat = opponent, agent_seat
        self._backend = resolve(
            backend, kernel_module=spec.kernel_module, core_module=spec.core_module
        )
        self.backend: str = self._backend.name
        self.num_actions: int = spec.num_actions
        self.num_agents: int = 1 if opponent is not None else spec.num_agents
        self.obs_shape, self.obs_dtype = spec.obs_shape, spec.obs_dtype

        self._states = aligned(n, spec.state_dtype)
        self._bytes = self._states.view(np.uint8).reshape(n, -1)
        self._knobs = aligned(n, spec.knobs_dtype)
        self._knobs[:] = game.default_knobs(n)
        self._derived = aligned(n, spec.derived_dtype) if spec.derived_dtype is not None else None
        self._out = out = self._allocate(self.num_agents)
        self.obs, self.mask, self.reward, self.terms = out.obs, out.mask, out.reward, out.terms
        self.terminated, self.truncated, self.tau = out.terminated, out.truncated, out.tau
        self.final_obs, self.ep_return = out.final_obs, out.ep_return
        self.ep_length, self.ep_frames = out.ep_length, out.ep_frames
        terms = {name: out.terms[name] for name in self.term_columns}
        self.info: dict[str, Array] = {name: out.info[name] for name in self.info_columns} | terms
        self.final_info = {name: out.final_info[name] for name in self.info_columns} | terms

        each = (n, spec.num_agents) if opponent is not None else (n, 0)
        self._seat_reward = aligned(each, spec.reward_dtype)
        self._warned_of = [name for name in spec.warned_of if name in self.info]
        # what belongs to the last step, as bytes, one row a lane
        steps = [self.reward, self._seat_reward, self.terminated, self.truncated]
        steps += [self.terms] if self.term_columns else []
        steps += [self.tau] if spec.has_tau else []
        self._step_bytes = [column.view(np.uint8).reshape(n, -1) for column in steps]

        self.ended: npt.NDArray[np.bool_] = np.ones(n, np.bool_)
        self._some_ended = True
        self._behind = False  # a call has written its observations or masks elsewhere
        self._seeded = np.zeros(n, np.bool_)
        self._all = np.ones(n, np.uint8)
        self._actions = aligned(out.reward.shape, np.int32)
        self._action = self._actions.data
        self._terminated, self._truncated = self.terminated.data, self.truncated.data
        self._take_path()

    def _allocate(self, agents: int) -> Buffers:
        columns = self.info_columns, self.term_columns
        return Buffers.allocate(self.spec, self.num_envs, agents, *columns)

    def _take_path(self) -> None:
        """Make the way through a step over the engine's memory."""
        spec, game = self.spec, self.game
        self._shared = aligned(1, game.shared.dtype)
        self._shared[:] = game.shared
        self._shared.flags.writeable = False
        batch = Batch(self._states, self._knobs, self._derived, self._shared)
        out = self._out
        seats = out if self.opponent is None else self._allocate(spec.num_agents)
        inner = make_path(game, self._backend, batch, self.num_threads, seats)
        path: Composed | Fused | OneSeatPath = inner
        if self.opponent is not None:
            others = Opponents(game, self.num_envs, self.opponent)
            paid, seat = self._seat_reward, self.agent_seat
            path = OneSeatPath(game, inner, self._states, seats, out, paid, others, seat)
        self._path = path
        self._step_lane = partial(path.step, self._actions, self._all, False, out.obs, out.mask)

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
        """Return which agents must act, bool, shape (n, K); all True in a game of one agent."""
        if self.spec.num_agents == 1 or self.opponent is not None:
            return np.ones((self.num_envs, 1), np.bool_)
        needs: npt.NDArray[np.bool_] = self._path.needs_action()  # type: ignore[union-attr]
        return needs

    def awaits(self) -> npt.NDArray[np.bool_]:
        """Return which agents still need an action from the caller, bool, shape (n, K).

        Unlike in :meth:`needs_action`, agents whose action is pending, agents that a bot plays and
        agents whose episode is over are False.
        """
        if isinstance(self._path, OneSeatPath):
            return self._path.asked()
        waits: npt.NDArray[np.bool_] = self.needs_action() & ~self.ended[:, None]
        return waits

    @property
    def completes_rows(self) -> bool:
        """Whether reading rows out completes them, so that later steps may be cheaper."""
        return self._path.completes

    def never_reset(self) -> npt.NDArray[np.bool_]:
        """Return which lanes have had neither a seed nor a state, bool, shape (n,)."""
        return ~self._seeded

    def get_states(self, idx: npt.ArrayLike | None = None) -> Array:
        """Return a copy of the state rows, shape (k,), dtype ``spec.state_dtype``.

        Parameters
        ----------
        idx : int, sequence of int or bool mask, optional
            Which lanes; default all.
        """
        return self.get_state(idx).view(self.spec.state_dtype).reshape(-1)

    def running_states(self, idx: npt.ArrayLike | None = None) -> Array:
        """Return :meth:`get_states` of lanes that must all have a running episode.

        Raises
        ------
        ResetNeededError
            A lane has none.
        """
        lanes = self.lanes(idx)
        stuck = lanes[self.ended[lanes]]
        if stuck.size:
            raise ResetNeededError(f"lane {stuck[0]} has no running episode: reset it first")
        return self.get_states(lanes)

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

        Examples
        --------
        >>> import fastenv
        >>> engine = fastenv.make_engine("Prospector-v0", 2)
        >>> engine.reset_many(seeds=0)
        >>> engine.set_states(engine.get_states(1), idx=0)  # lane 0 is a copy of lane 1
        >>> bool((engine.obs[0] == engine.obs[1]).all())
        True
        """
        trusted = checks.as_bool("trusted", trusted)
        lanes = self.lanes(idx)
        rows = checks.as_rows(rows, self.spec)
        if rows.shape != lanes.shape:
            raise StateError(f"{rows.size} rows for {lanes.size} lanes")
        if not trusted:
            checks.check_states(self.game, rows)
        clean = checks.without_padding(rows)
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
        blob = np.atleast_2d(checks.as_array("blob", blob, StateError))
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

        Examples
        --------
        >>> import fastenv
        >>> engine = fastenv.make_engine("SkullKingWorker-v0", 2)
        >>> engine.configure("opponents", "rule_hard", idx=1)
        >>> engine.get_knob("opponents", idx=1)
        [['rule_hard', 'rule_hard', 'rule_hard']]
        """
        checks.check_name("knob", name)
        lanes = self.lanes(idx)
        if isinstance(value, np.ndarray):  # games take numbers, names and sequences of them
            value = checks.as_array("value", value, ConfigError).tolist()
        if name == "opponent" and isinstance(self._path, OneSeatPath):
            self._path.configure(value, lanes)
            return
        rows = self._knobs[lanes]
        self.game.set_knob(rows, name, value)
        self._knobs[lanes] = rows

    def get_knob(self, name: str, idx: npt.ArrayLike | None = None) -> list[Any]:
        """Return the values of a knob as :meth:`configure` takes them, one per lane."""
        checks.check_name("knob", name)
        if name == "opponent" and isinstance(self._path, OneSeatPath):
            return [self._path.opponents.chosen_in(i) for i in self.lanes(idx).tolist()]
        return [self.game.get_knob(self._knobs[i], name) for i in self.lanes(idx)]

    def set_shared(self, shared: Array, *, trusted: bool = False) -> None:
        """Replace the shared record of all lanes (rules, a bank of start states).

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
        trusted = checks.as_bool("trusted", trusted)
        shared = checks.check_array("shared", shared, (1,), self.game.shared.dtype)
        game = self.game.with_shared(shared, trusted)
        checks.check_same_spec(self.spec, game.spec)
        rows = self.get_states(self._seeded)
        if rows.size and not trusted:
            game.validate(rows)
        seating = self.get_seating()
        game.shared.flags.writeable = False
        self.game, self.seats = game, game.seats
        self.external_seats = game.external_seats
        self._take_path()
        if rows.size:
            self.set_states(rows, self._seeded, trusted=True)
        self.set_seating(seating)

    # -- seats -----------------------------------------------------------------------------------

    @property
    def asks_outside(self) -> bool:
        """Whether the caller can play every seat; the engine then shows the seat that must act."""
        seats = self.seats
        return seats is not None and (seats.fields is not None or self.opponent is not None)

    def _seat_fields(self) -> SeatFields | OneSeatPath:
        """Return where it is written who sits where."""
        if isinstance(self._path, OneSeatPath):
            return self._path
        seats = self.external_seats
        if seats is None or seats.fields is None:
            raise ConfigError(
                "seats: this engine does not show one seat at a time; make it with seats='all' or "
                "an opponent"
            )
        return seats.fields

    def get_actors(self, idx: npt.ArrayLike | None = None) -> npt.NDArray[np.int32]:
        """Return the seat that must act and is shown in each lane, int32, shape (k,).

        Parameters
        ----------
        idx : int, sequence of int or bool mask, optional
            Which lanes; default all.

        Raises
        ------
        ConfigError
            If the engine does not show one seat at a time.
        """
        found = self._seat_fields()
        if isinstance(found, OneSeatPath):
            return found.actor[self.lanes(idx)]
        if found.actor in self.info:
            return self.info[found.actor][self.lanes(idx)].astype(np.int32)
        return self.get_states(idx)[found.actor].astype(np.int32)

    def get_agents(self, idx: npt.ArrayLike | None = None) -> npt.NDArray[np.int32]:
        """Return the learner's seat in each lane, int32, shape (k,); see :meth:`get_actors`."""
        found = self._seat_fields()
        if isinstance(found, OneSeatPath):
            return found.agent[self.lanes(idx)]
        return self.get_states(idx)[found.agent].astype(np.int32)

    def get_places(self, idx: npt.ArrayLike | None = None) -> npt.NDArray[np.int32]:
        """Return the distance from the learner's seat to the shown one, int32, shape (k,)."""
        found, seats = self._seat_fields(), self.external_seats
        assert seats is not None
        if isinstance(found, OneSeatPath):
            lanes = self.lanes(idx)
            return (found.actor[lanes] - found.agent[lanes]) % seats.count
        rows = self.get_states(idx)
        places: Array = (rows[found.actor] - rows[found.agent]) % seats.count
        return places

    def has_outside(self, idx: npt.ArrayLike | None = None) -> npt.NDArray[np.bool_]:
        """Return in which lanes the caller plays another seat too, bool, shape (k,)."""
        found = self._seat_fields()
        if isinstance(found, OneSeatPath):
            several: Array = (found.players[self.lanes(idx)] < 0).sum(1) > 1
            return several
        outside: Array = (self.get_states(idx)[found.players] == found.external).any(axis=1)
        return outside

    @property
    def seat_obs(self) -> Array:
        """Observations of all seats, shape (n, K, *obs_shape), in a game of K agents."""
        self._check_agents("seat_obs")
        return self._path.seats.obs if isinstance(self._path, OneSeatPath) else self.obs

    @property
    def seat_mask(self) -> Array:
        """Legal actions of all seats, shape (n, K, A), in a game of K agents."""
        self._check_agents("seat_mask")
        return self._path.seats.mask if isinstance(self._path, OneSeatPath) else self.mask

    @property
    def seat_reward(self) -> Array:
        """Rewards of all seats in the last step, shape (n, K), in a game of K agents."""
        self._check_agents("seat_reward")
        return self._seat_reward if self.opponent is not None else self.reward

    def _check_agents(self, name: str) -> None:
        if self.spec.num_agents == 1:
            raise ConfigError(f"{name}: rows of this game have no entry an agent")

    def get_outcomes(self, idx: npt.ArrayLike | None = None) -> npt.NDArray[np.float64]:
        """Return the outcome of each seat (higher is better), float64, shape (k, P)."""
        return self.game.outcomes(self.get_states(idx))

    def get_seating(self) -> dict[str, Array]:
        """Return the seating of an engine with an ``opponent``, which no row holds.

        Returns
        -------
        dict of str to ndarray, shape (n, ...)
            Copies: decisions, and the player of each seat as its number in ``game.bot_names``, -1
            for the caller. Empty without an ``opponent``.
        """
        return self._path.state() if isinstance(self._path, OneSeatPath) else {}

    def set_seating(self, seating: Mapping[str, Array]) -> None:
        """Restore the seating that :meth:`get_seating` returned, after :meth:`set_states`.

        What is shown follows.

        Raises
        ------
        ValueError
            An array of another name, shape or type, or one that is not possible. Nothing has
            changed.
        """
        checked = checks.check_seating_arrays(seating, self.num_envs, self.spec.num_agents)
        if isinstance(self._path, OneSeatPath):
            self._path.load_state(checked)
            self._behind = True  # what was shown is the seat that was due without it
            self.refresh()

    def lanes(self, idx: npt.ArrayLike | None = None) -> npt.NDArray[np.intp]:
        """Return lane indices, given as indices or as a bool mask; default all."""
        if idx is None:
            return np.arange(self.num_envs)
        lanes = np.atleast_1d(checks.as_array("idx", idx))
        if lanes.dtype == np.bool_ and lanes.shape == (self.num_envs,):
            return np.flatnonzero(lanes)
        if lanes.ndim != 1 or (lanes.size and lanes.dtype.kind not in "iu"):
            raise ValueError(f"idx must be lane numbers or a bool mask of shape ({self.num_envs},)")
        lanes = lanes.astype(np.intp)
        if lanes.size and not (lanes.min() >= 0 and lanes.max() < self.num_envs):
            raise ValueError(f"idx names a lane outside 0..{self.num_envs - 1}")
        return lanes

    # -- pickling --------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling: configuration, rows, knobs, seating and output buffers."""
        return {
            "game": self.game,
            "num_envs": self.num_envs,
            "backend": self.backend,
            "num_threads": self.num_threads,
            "info_columns": (*self.info_columns, *self.term_columns),
            "opponent": self.opponent,
            "agent_seat": self.agent_seat,
            "rows": self.get_states(),
            "knobs": self._knobs.copy(),
            "seeded": self._seeded.copy(),
            "ended": self.ended.copy(),
            "seating": self.get_seating(),
            "shown": {name: array.copy() for name, array in vars(self._out).items()},
            "seat_reward": self._seat_reward.copy(),
            "behind": self._behind,
        }

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Rebuild the engine; its lanes continue as those of the original would."""
        init: Callable[..., None] = self.__init__  # type: ignore[misc]
        seating = ("opponent", "agent_seat")
        names = ("game", "num_envs", "backend", "num_threads", "info_columns", *seating)
        init(*(state[name] for name in names))
        self._knobs[:] = state["knobs"]
        if state["seeded"].any():
            lanes = np.flatnonzero(state["seeded"])
            # its own: of a trusted shared record the check may know nothing
            self.set_states(state["rows"][lanes], lanes, trusted=True)
        self.ended[:] = state["ended"]
        self._some_ended = bool(self.ended.any())
        self.set_seating(state["seating"])
        for name, array in state["shown"].items():
            getattr(self._out, name)[...] = array
        self._seat_reward[:] = state["seat_reward"]
        self._behind = state["behind"]

"""One environment: the Gymnasium view of an engine with a single lane."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from copy import copy, deepcopy
from enum import Enum
from functools import partial
from pathlib import PurePath
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec

from fastenv import checks
from fastenv.backend import Backend, resolve
from fastenv.engine import BatchEngine
from fastenv.errors import (
    ConfigError,
    InvalidActionError,
    ResetNeededError,
    StateError,
    UnknownOptionError,
    show,
)
from fastenv.game import Game
from fastenv.registry import make_game
from fastenv.rollouts import Rollouts
from fastenv.seats import Opponent

Array = npt.NDArray[Any]
INFO_MODES = ("full", "stats", "none")


def plain_spec(spec: EnvSpec | None) -> EnvSpec | None:
    """Return Gymnasium's spec with options that JSON has, wherever an option has such a form.

    A member of an enumeration becomes its value, a backend its name, a path its text.
    """
    if spec is None:
        return None
    copied = copy(spec)
    copied.kwargs = {name: _plain(value) for name, value in spec.kwargs.items()}
    return copied


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Backend):
        return value.name
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_plain, value))
    return value


def as_game(game: str | Game, options: dict[str, Any]) -> Game:
    """Return the game of an id and options; a game itself is returned as it is.

    Raises
    ------
    ConfigError
        Neither an id nor a game, options beside a game, or what :func:`make_game` refuses; of
        keywords that are no options it is an :class:`fastenv.UnknownOptionError`.
    """
    if isinstance(game, str):
        return make_game(game, **options)
    if not isinstance(game, Game):
        raise ConfigError(f"game={show(game)}: must be an id or a Game")
    if options:
        raise UnknownOptionError(
            f"unexpected keyword argument {show(next(iter(options)))}: options go with an id, this "
            "game is made"
        )
    return game


def check_render_mode(game: Game, mode: str | None) -> str | None:
    """Return a render mode the game has, or None.

    Raises
    ------
    ConfigError
        Naming the allowed modes.
    """
    chosen: str | None = checks.as_choice("render_mode", mode, (None, *game.spec.render_modes))
    return chosen


def check_drawable(engine: BatchEngine, lanes: npt.ArrayLike | None = None) -> None:
    """Raise :class:`fastenv.ResetNeededError` if one of the lanes (default: all) has no state yet.

    Parameters
    ----------
    engine : BatchEngine
    lanes : int, sequence of int or bool mask, optional
    """
    if engine.never_reset()[engine.lanes(lanes)].any():
        raise ResetNeededError("there is nothing to render before the first reset()")


def check_info_mode(mode: str, info_columns: Sequence[str] | None) -> Sequence[str] | None:
    """Return the columns that an engine must write for a mode of infos.

    Parameters
    ----------
    mode : {"full", "stats", "none"}
    info_columns : sequence of str, optional
        What was asked for; default the game's own choice.

    Raises
    ------
    ConfigError
        Another mode, or columns with ``none``.
    """
    if checks.as_choice("info_mode", mode, INFO_MODES) != "none":
        return info_columns
    if info_columns is not None and not (isinstance(info_columns, Sequence) and not info_columns):
        raise ConfigError(f"info_columns={show(info_columns)}: info_mode='none' writes no columns")
    return ()


def engine_for(
    game: Game,
    num_envs: int,
    backend: str | Backend,
    use_numba: bool | None,
    use_cython: bool | None,
    num_threads: int | None,
    info_columns: Sequence[str] | None = None,
    opponent: Opponent | None = None,
    agent_seat: int | str = 0,
) -> BatchEngine:
    """Return an engine on the backend that the names and flags ask for."""
    modules = {"kernel_module": game.spec.kernel_module, "core_module": game.spec.core_module}
    chosen = resolve(backend, use_numba, use_cython, **modules)
    seating = (opponent, agent_seat)
    return BatchEngine(game, num_envs, chosen, num_threads, info_columns, *seating)


def as_seated(
    game: str | Game, opponent: Opponent | None, options: dict[str, Any]
) -> tuple[Game, dict[str, Any]]:
    """Return a game as :func:`as_game` does, and the seating arguments of an engine.

    ``agent_seat`` among the options is the engine's in a game of several agents.

    Raises
    ------
    ConfigError
        See :func:`as_game`.
    """
    seating: dict[str, Any] = {"opponent": opponent}
    if "agent_seat" not in options:
        return as_game(game, options), seating
    configured = as_game(game, {k: value for k, value in options.items() if k != "agent_seat"})
    if configured.spec.num_agents > 1:
        return configured, seating | {"agent_seat": options["agent_seat"]}
    return as_game(game, options), seating


def opponent_of(game: Game, opponent: Opponent | None) -> Opponent | None:
    """Return the bot of the other seats, for a view that shows one agent.

    Raises
    ------
    ConfigError
        If the game has several agents and no player is named.
    """
    if game.spec.num_agents > 1 and opponent is None:
        opponent = game.spec.opponent
    if game.spec.num_agents > 1 and opponent is None:
        raise ConfigError(
            "opponent=None: this game has several agents; name the scripted player of the others, "
            "or take make_vec(..., agents='all')"
        )
    return opponent


def observation_space(game: Game, agents: int = 1) -> spaces.Space[Any]:
    """Return the observation space of one lane: a Box, or a Dict of the fields of a structure.

    Parameters
    ----------
    game : Game
    agents : int
        Agents whose observations stand behind each other.
    """
    spec = game.spec
    axis = (agents,) if agents > 1 else ()
    if spec.obs_dtype.names is None:
        return _box(spec.obs_bounds, axis + spec.obs_shape, spec.obs_dtype)
    assert isinstance(spec.obs_bounds, Mapping)
    return spaces.Dict(
        {
            name: _box(
                spec.obs_bounds[name],
                axis + spec.obs_dtype[name].shape,
                spec.obs_dtype[name].base,
            )
            for name in spec.obs_dtype.names
        }
    )


def action_space(game: Game) -> spaces.Space[Any]:
    """Return the space of one agent's actions in one lane; samplers seed each by itself."""
    space = game.spec.action_space
    return spaces.Discrete(game.spec.num_actions) if space is None else deepcopy(space)


def _box(bounds: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> spaces.Box:
    low, high = bounds
    kind: Any = dtype.type
    return spaces.Box(kind(low), kind(high), shape, kind)


def shown_obs(obs: Array, copy: bool = True) -> Any:
    """Return observations as a space has them: an array, or a dict of the fields of a structure."""
    if obs.dtype.names is None:
        return obs.copy() if copy else obs
    return {name: np.array(obs[name]) if copy else obs[name] for name in obs.dtype.names}


class _Scalars(dict[int, Any]):
    """NumPy scalars by their bits: looking one up is several times cheaper than making it."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype
        self.bits = np.dtype(f"i{dtype.itemsize}")

    def __missing__(self, bits: int) -> Any:
        scalar = np.array(bits, self.bits).view(self._dtype)[()]
        if len(self) < 1 << 16:
            self[bits] = scalar
        return scalar


_SCALARS = {np.dtype(name): _Scalars(np.dtype(name)) for name in ("i4", "f4")}
# Numbers of 64 bits and flags are Python's own, which is what Gymnasium collects best.
_PLAIN = {np.dtype("?"): "?", np.dtype("i8"): "q", np.dtype("f8"): "d"}  # as struct calls them


def _info_builder(engine: BatchEngine) -> Callable[[Array], dict[str, Any]]:
    """Build the function that makes the info dict of a lane, given its mask.

    The function is written out and compiled, as ``collections.namedtuple`` does it: a dict display
    takes half the time of ``dict(zip(...))``, and one ``struct`` call reads a record of columns in
    a fifth of what NumPy takes. Of a single step that is a large part.
    """
    scope: dict[str, Any] = {}
    entries: list[str] = []
    reads: list[str] = []
    for block, records in (("state", engine.info_records()[:1]), ("step", engine.terms[:1])):
        names = records.dtype.names or ()
        if names:
            scope[f"read_{block}"], kept = _reader(records)
            scope[f"bytes_{block}"] = records.view(np.uint8).data
            reads.append(f"{block} = read_{block}(bytes_{block})")
        for name in names:
            key = len(entries)  # names of columns need not be names of variables
            dtype = records.dtype[name]
            value = f"{block}[{kept.index(name)}]" if name in kept else ""
            labels = engine.spec.info_labels.get(name)
            if labels is not None:
                scope[f"labels_{key}"], scope[f"column_{key}"] = labels, records[name]
                value = f"labels_{key}[{value or f'column_{key}[0]'}]"
            elif dtype in _SCALARS:
                scope[f"scalars_{dtype.str[1:]}"] = _SCALARS[dtype]
                value = f"scalars_{dtype.str[1:]}[{value}]"
            elif dtype not in _PLAIN:
                scope[f"column_{key}"] = records[name]
                value = f"column_{key}[0].copy()"  # an array, or a scalar of another type
            entries.append(f"{name!r}: {value}")
    if engine.spec.has_tau:
        scope["tau"] = engine.tau
        entries.append("'tau': tau[0]")
    entries.append("'action_mask': mask")
    lines = ["def build(mask):", *reads, f"return {{{', '.join(entries)}}}"]
    exec("\n    ".join(lines), scope)
    builder: Callable[[Array], dict[str, Any]] = scope["build"]
    return builder


def _reader(records: Array) -> tuple[Callable[[Any], tuple[Any, ...]], list[str]]:
    """Build the reader of a record's scalars, NumPy's as integers; list the names that it reads."""
    code, at, kept = "=", 0, []
    offsets: Mapping[str, Any] = records.dtype.fields or {}
    for name in records.dtype.names or ():
        dtype, offset = offsets[name][:2]
        if dtype in _SCALARS or dtype in _PLAIN:
            code += f"{offset - at}x{_PLAIN.get(dtype, 'i')}"
            at = offset + dtype.itemsize
            kept.append(name)
    code += f"{records.dtype.itemsize - at}x"
    return struct.Struct(code).unpack_from, kept


class WithSpec:
    """What both views hold of Gymnasium's registry."""

    _spec: EnvSpec | None = None

    @property
    def spec(self) -> EnvSpec | None:
        """Gymnasium's spec, as its ``make`` or ``make_vec`` wrote it; ``to_json`` can be called."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        self._spec = plain_spec(spec)


class FastEnv(WithSpec, gymnasium.Env[Any, int]):
    """A single game.

    Parameters
    ----------
    game : str or Game
        An id (``"SkullKingWorker-v0"``) or a configured game.
    backend, use_numba, use_cython
        See :func:`fastenv.backend.resolve`; ``env.backend`` names the one in use.
    render_mode : {None, "ansi", "rgb_array"}
        What :meth:`render` returns.
    info_columns : sequence of str, optional
        Columns of the game in ``info``; default the game's own choice.
    info_mode : {"full", "stats", "none"}
        ``full`` has everything described below, ``stats`` and ``none`` only what is known of an
        episode that ended.
    opponent : str or sequence of str, optional
        In a game of several agents: who plays the other seats; see
        :class:`fastenv.engine.BatchEngine`. Default the game's own choice.
    **options
        Options of the game, and in one of several agents ``agent_seat``: the seat that is shown,
        0 unless another is named, or ``"rotate"``.

    Notes
    -----
    ``step`` returns a fresh observation (a dict of arrays, if it is structured), a float, two bools
    and a fresh info dict with ``action_mask`` (int8, shape (A,)), the game's columns, ``tau`` (the
    frames of the decision, in games whose decisions last) and, in the step that ends an episode,
    ``episode_return``, ``episode_length`` and then also ``episode_frames``. The episode ends once:
    ``reset`` before the next ``step``. ``reset(seed=s)`` replays an episode exactly; ``reset()``
    continues the same random stream.

    Examples
    --------
    >>> import fastenv
    >>> env = fastenv.FastEnv("SkullKingWorker-v0")
    >>> obs, info = env.reset(seed=0)
    >>> info["action_mask"].nonzero()[0].tolist()
    [0, 4, 7]
    >>> obs, reward, terminated, truncated, info = env.step(4)
    """

    backend: str

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 2}  # noqa: RUF012

    def __init__(
        self,
        game: str | Game,
        *,
        backend: str | Backend = "auto",
        use_numba: bool | None = None,
        use_cython: bool | None = None,
        render_mode: str | None = None,
        info_columns: Sequence[str] | None = None,
        info_mode: str = "full",
        opponent: Opponent | None = None,
        **options: Any,
    ) -> None:
        configured, seating = as_seated(game, opponent, options)
        spec = configured.spec
        self.metadata = {**self.metadata, "render_modes": list(spec.render_modes)}
        self.render_mode: str | None = check_render_mode(configured, render_mode)
        self.info_mode = info_mode
        columns = check_info_mode(info_mode, info_columns)
        seating["opponent"] = opponent_of(configured, seating["opponent"])
        flags = (backend, use_numba, use_cython)
        engine = engine_for(configured, 1, *flags, 1, columns, **seating)
        self.observation_space: spaces.Space[Any] = observation_space(configured)
        self.action_space: spaces.Space[Any] = action_space(configured)
        self._running = self._seeded = False
        self._adopt(engine)

    @property
    def game(self) -> Game:
        """The game, with the shared record that its engine plays by."""
        return self.engine.game

    def _adopt(self, engine: BatchEngine) -> None:
        """Bind everything that a step touches once: at one lane, each look-up counts."""
        self.engine = engine
        self.backend = engine.backend
        self._advance = engine.step_lane
        self._num_actions = engine.num_actions
        codec = engine.spec.action_codec
        self._encode = None if codec is None else codec.encode
        self._raise_illegal = engine.spec.illegal_actions == "raise"
        structured = engine.obs_dtype.names is not None
        self._obs = engine.obs[0]
        self._observe = partial(shown_obs, self._obs) if structured else self._obs.copy
        self._mask = engine.mask[0].view(np.int8)
        self._reward = engine.reward.data
        self._terminated = engine.terminated.data
        self._truncated = engine.truncated.data
        self._build_info = _info_builder(engine)
        self._wants_info = self.info_mode == "full"

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode.

        Parameters
        ----------
        seed : int, optional
            Seeds this lane's generator, from 0 to 2**64 - 1; without one its stream continues (or
            starts from a random seed).
        options : dict, optional
            Accepted for Gymnasium's sake; nothing in it is used.
        """
        checks.check_seed(seed)
        super().reset(seed=seed)
        if seed is None and not self._seeded:
            seed = int(self.np_random.integers(2**63))
        self.engine.reset_many(seeds=None if seed is None else [seed])
        self._running = self._seeded = True
        return self._observe(), self._info()

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one decision.

        Parameters
        ----------
        action : int
            Python or NumPy integer, ``0 <= action < A``; an array where ``action_space`` says so.

        Raises
        ------
        InvalidActionError
            Not an integer, out of range or, with ``invalid_action="raise"``, illegal now.
        ResetNeededError
            Before the first ``reset`` and after the end of an episode.
        """
        if not self._running:
            raise ResetNeededError(
                "this environment has no running episode: call reset() before step()"
            )
        if self._encode is not None:
            action = self._encode(action)
        else:
            if type(action) is not int:
                action = as_int(action)
            if not 0 <= action < self._num_actions:
                raise InvalidActionError(
                    f"lane 0: action {show(action)} is out of range, "
                    f"allowed are 0..{self._num_actions - 1}"
                )
            if self._raise_illegal and not self._mask[action]:
                raise self.engine.illegal_action((0,), action)
        ended = self._advance(action)
        info = self._info()
        if not ended:
            return self._observe(), self._reward[0], False, False, info
        self._running = False
        engine = self.engine
        info["episode_return"] = engine.ep_return[0]
        info["episode_length"] = engine.ep_length[0]
        if engine.spec.has_tau:
            info["episode_frames"] = engine.ep_frames[0]
        terminated, truncated = self._terminated[0] != 0, self._truncated[0] != 0
        return self._observe(), self._reward[0], terminated, truncated, info

    def _info(self) -> dict[str, Any]:
        return self._build_info(self._mask.copy()) if self._wants_info else {}

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return the legal actions now, shape (A,)."""
        legal: npt.NDArray[np.bool_] = self._mask.astype(np.bool_)
        return legal

    def get_state(self) -> np.void:
        """Return the complete state, a record of the game's state dtype."""
        row: np.void = self.engine.get_states()[0]
        return row

    def set_state(self, row: np.void | Array) -> None:
        """Load a state; it is checked first (:class:`fastenv.StateError`)."""
        rows = checks.as_array("row", row, StateError)
        if rows.size != 1:
            raise StateError(f"row: must be one state, got {rows.size}")
        self.engine.set_states(rows.reshape(1))
        self._running, self._seeded = not self.engine.ended[0], True

    def resample(self, agent: int, seeds: int | Sequence[int] | Array, worlds: int = 1) -> Array:
        """Return worlds of the current state: search begins with them.

        Parameters
        ----------
        agent : int
            Whose knowledge counts, a seat.
        seeds, worlds
            See :meth:`fastenv.engine.BatchEngine.resample`.

        Returns
        -------
        ndarray, shape (worlds,)

        Raises
        ------
        ResetNeededError
            There is no running episode.
        """
        return self.engine.resample(self._running_row(), agent, seeds, worlds=worlds)

    def rollout(
        self,
        actions: npt.ArrayLike | None = None,
        players: str | Sequence[str] = "random",
        until: str | None = None,
        limit: int | None = None,
        seeds: int | Sequence[int] | Array = 0,
    ) -> Rollouts:
        """Play the current state on by scripted players, once for each first action.

        Parameters
        ----------
        actions : int or array_like of int, shape (m,), or (m, K) in games of K agents
            The first decision of each rollout; -1 leaves it to the player. Default is one rollout
            of the player's.
        players, until, limit, seeds
            See :meth:`fastenv.engine.BatchEngine.rollout`.

        Returns
        -------
        Rollouts
            The environment stays as it is.

        Raises
        ------
        ResetNeededError
            There is no running episode.
        """
        row, of = self._running_row(), None
        if actions is not None:
            actions = np.atleast_1d(checks.as_array("actions", actions, InvalidActionError))
            of = np.zeros(len(actions), np.int64)
        return self.engine.rollout(row, actions, players, until, limit, seeds, of=of)

    def _running_row(self) -> Array:
        if not self._running:
            raise ResetNeededError(
                "this environment has no running episode: call reset() before a search"
            )
        return self.engine.get_states()

    def configure(self, name: str, value: Any) -> None:
        """Set a knob of the game for the episodes to come."""
        self.engine.configure(name, value)

    def render(self) -> Any:
        """Return the state as text (``ansi``) or as a picture (``rgb_array``)."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render() needs a mode: make the environment with render_mode='ansi' or 'rgb_array'"
            )
            return None
        check_drawable(self.engine)
        return self.game.render(self.get_state(), self.render_mode)

    def close(self) -> None:
        """End the episode; a later ``reset`` starts another."""
        self._running = False

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes, those that a user has set too; bound ones are bound anew."""
        return {name: value for name, value in vars(self).items() if name not in _BOUND}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Continue where the original stood."""
        self.__dict__.update(state)
        self._adopt(self.engine)


# What `FastEnv._adopt` binds to the memory of its engine.
_BOUND = frozenset(
    {
        *("backend", "_advance", "_num_actions", "_encode", "_raise_illegal", "_obs", "_observe"),
        *("_mask", "_reward", "_terminated", "_truncated", "_build_info", "_wants_info"),
    }
)


def as_int(action: Any, who: str = "") -> int:
    """Return an integer of any type and size; a zero-dimensional array counts.

    Parameters
    ----------
    action : Any
    who : str, optional
        Begins the message of the error.
    """
    if isinstance(action, int) and not isinstance(action, bool):  # NumPy's are not so large
        return int(action)
    try:
        value = checks.as_array("action", action)
    except ValueError:  # nested lists that are no array, or a number under a mask
        value = np.empty(0)
    if value.dtype.kind not in "iu" or value.ndim:
        raise InvalidActionError(
            f"{who}action must be an integer, got {show(action)} ({type(action).__name__})"
        )
    return int(value)

"""One environment: the Gymnasium view of an engine with a single lane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from fastenv.backend import Backend, resolve
from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError, InvalidActionError, ResetNeededError
from fastenv.game import Game
from fastenv.registry import make_game

Array = npt.NDArray[Any]


def as_game(game: str | Game, options: dict[str, Any]) -> Game:
    """Return a game given by id and options, or as it is."""
    if isinstance(game, str):
        return make_game(game, **options)
    if options:
        raise ConfigError(f"{next(iter(options))!r}: options go with an id, this game is made")
    return game


def check_render_mode(game: Game, mode: str | None) -> str | None:
    """Return a render mode the game has, or None.

    Raises
    ------
    ConfigError
        Naming the allowed modes.
    """
    if mode is not None and mode not in game.render_modes:
        allowed = ", ".join(map(repr, (None, *game.render_modes)))
        raise ConfigError(f"render_mode={mode!r}: must be one of {allowed}")
    return mode


def engine_for(
    game: Game,
    num_envs: int,
    backend: str | Backend,
    use_numba: bool | None,
    use_cython: bool | None,
    num_threads: int | None,
    info_columns: Sequence[str] | None = None,
) -> BatchEngine:
    """Return an engine on the backend that the names and flags ask for."""
    modules = {"kernel_module": game.kernel_module, "core_module": game.core_module}
    chosen = resolve(backend, use_numba, use_cython, **modules)
    return BatchEngine(game, num_envs, chosen, num_threads, info_columns)


def observation_space(game: Game) -> spaces.Box:
    """Return the observation space of one lane."""
    dtype: Any = game.obs_dtype.type
    return spaces.Box(game.obs_low, game.obs_high, game.obs_shape, dtype)


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


def _info_builder(engine: BatchEngine) -> Callable[[list[Any], list[Any], Array], dict[str, Any]]:
    """Return what makes an info dict of the two column blocks, as lists, and a mask.

    The function is written out and compiled, as ``collections.namedtuple`` does it: a dict display
    takes half the time of ``dict(zip(...))``, and of a single step that is a large part.
    """
    scope: dict[str, Any] = {}
    kinds = engine.game.info_kinds
    entries = []
    for block, names, dtype in (
        ("state", engine.info_columns, engine.game.info_dtype),
        ("step", engine.float_columns, engine.game.float_dtype),
    ):
        scope[f"{block}_scalars"] = _SCALARS.get(dtype)
        for k, name in enumerate(names):
            value, kind = f"{block}[{k}]", kinds.get(name, float if dtype == "f8" else None)
            if kind is None:
                value = f"{block}_scalars[{value}]"
            elif kind is bool:
                value = f"{value} != 0.0"
            elif kind is int:
                value = f"int({value})"
            elif isinstance(kind, tuple):
                scope[f"labels{k}"] = kind
                value = f"labels{k}[int({value})]"
            entries.append(f"{name!r}: {value}")
    entries.append("'action_mask': mask")
    builder: Callable[[list[Any], list[Any], Array], dict[str, Any]]
    builder = eval(f"lambda state, step, mask: {{{', '.join(entries)}}}", scope)
    return builder


class FastEnv(gymnasium.Env[Array, int]):
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
    **options
        Options of the game.

    Notes
    -----
    ``step`` returns a fresh observation, a float, two bools and a fresh info dict with
    ``action_mask`` (int8, shape (A,)), the game's columns as scalars and, in the step that ends an
    episode, ``episode_return`` and ``episode_length``. The episode ends once: ``reset``
    before the next ``step``. ``reset(seed=s)`` replays an episode exactly; ``reset()`` goes on with
    the same random stream.
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 2}  # noqa: RUF012

    def __init__(
        self,
        game: str | Game,
        *,
        backend: str | Backend = "auto",
        use_numba: bool | None = None,
        use_cython: bool | None = None,
        render_mode: str | None = None,
        info_columns: Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        self.game = as_game(game, options)
        self.metadata = {**self.metadata, "render_modes": list(self.game.render_modes)}
        self.render_mode = check_render_mode(self.game, render_mode)
        self.observation_space = observation_space(self.game)
        self.action_space: spaces.Space[Any] = spaces.Discrete(self.game.num_actions)
        self._adopt(engine_for(self.game, 1, backend, use_numba, use_cython, 1, info_columns))

    def _adopt(self, engine: BatchEngine) -> None:
        """Bind everything that a step touches once: at one lane, each look-up counts."""
        self.engine = engine
        self.backend = engine.backend
        self._advance = engine.step_lane
        self._num_actions = engine.num_actions
        self._any_integer = engine.game.any_integer
        self._raise_illegal = engine.game.raise_illegal
        self._obs = engine.obs[0]
        self._mask = engine.mask[0].view(np.int8)
        self._reward = engine.reward.data
        self._terminated = engine.terminated.data
        self._truncated = engine.truncated.data
        self._blocks = []
        for block in engine.info_block():
            scalars = _SCALARS.get(block.dtype)  # None: Python's floats say as much
            self._blocks.append(block[0] if scalars is None else block[0].view(scalars.bits))
        self._build_info = _info_builder(engine)
        self._running = not engine.ended[0]
        self._seeded = self._running

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start an episode.

        Parameters
        ----------
        seed : int, optional
            Seeds this lane's generator; without one its stream goes on (or starts from a random
            seed).
        options : dict, optional
            Accepted for Gymnasium's sake; nothing in it is used.
        """
        super().reset(seed=seed)
        if seed is None and not self._seeded:
            seed = int(self.np_random.integers(2**63))
        self.engine.reset_many(seeds=None if seed is None else [seed])
        self._running = self._seeded = True
        return self._obs.copy(), self._info()

    def step(self, action: int) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Take one decision.

        Parameters
        ----------
        action : int
            Python or NumPy integer, ``0 <= action < A``.

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
        if type(action) is not int:
            action = self._as_int(action, self._any_integer)
        if not 0 <= action < self._num_actions:
            if not self._any_integer:
                raise InvalidActionError(
                    f"lane 0: action {action} is out of range, "
                    f"allowed are 0..{self._num_actions - 1}"
                )
            action = -1 if action < 0 else self._num_actions
        elif self._raise_illegal and not self._mask[action]:
            raise self.engine.illegal_action(0, action)
        ended = self._advance(action)
        info = self._info()
        if not ended:
            return self._obs.copy(), self._reward[0], False, False, info
        self._running = False
        info["episode_return"] = self.engine.ep_return[0]
        info["episode_length"] = self.engine.ep_length[0]
        terminated, truncated = self._terminated[0] != 0, self._truncated[0] != 0
        return self._obs.copy(), self._reward[0], terminated, truncated, info

    def _info(self) -> dict[str, Any]:
        state, step = self._blocks
        return self._build_info(state.tolist(), step.tolist(), self._mask.copy())

    @staticmethod
    def _as_int(action: Any, any_number: bool) -> int:
        """Return an integer of any integer type; a zero-dimensional array counts.

        Games with ``any_integer`` also take true, false and whole floats.
        """
        value = np.asarray(action)
        kind = value.dtype.kind
        if any_number and kind in "bf" and not value.ndim and float(value).is_integer():
            return int(value)
        if kind not in "iu" or value.ndim:
            raise InvalidActionError(
                f"action must be an integer, got {action!r} ({type(action).__name__})"
            )
        return int(value)

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
        self.engine.set_states(np.asarray(row).reshape(1))
        self._running, self._seeded = not self.engine.ended[0], True

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
        if not self._seeded:
            raise ResetNeededError("there is nothing to render before the first reset()")
        return self.game.render(self.get_state(), self.render_mode)

    def close(self) -> None:
        """End the episode; a later ``reset`` starts another."""
        self._running = False

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy needs; bound buffers are bound anew."""
        names = ("game", "metadata", "render_mode", "observation_space", "action_space", "engine")
        kept = {name: getattr(self, name) for name in names}
        kept |= {"spec": self.spec, "_np_random": self._np_random}
        return kept | {"_np_random_seed": self._np_random_seed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Go on where the original stood."""
        self.__dict__.update(state)
        self._adopt(self.engine)

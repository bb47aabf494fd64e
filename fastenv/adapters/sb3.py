"""The batch engine as a Stable-Baselines3 ``VecEnv``, for unmodified SB3 and sb3-contrib."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from fastenv import checks
from fastenv.backend import Backend
from fastenv.engine import BatchEngine
from fastenv.env import (
    FastEnv,
    as_seated,
    check_drawable,
    check_render_mode,
    engine_for,
    observation_space,
    opponent_of,
    shown_obs,
)
from fastenv.errors import InvalidActionError, ResetNeededError, show
from fastenv.memory import aligned
from fastenv.seats import Opponent

_drawn = random.getstate()  # by rich, which Stable-Baselines3 imports, as it is imported
try:
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv
except ImportError as _error:
    raise ImportError(
        "fastenv.adapters.sb3 needs Stable-Baselines3: pip install 'fastenv-rl[sb3]'"
    ) from _error
random.setstate(_drawn)

__all__ = ["BatchVecEnv", "make_sb3_vec_env"]

Array = npt.NDArray[Any]
Indices = int | Iterable[int] | None


class _NoInfo(dict[str, Any]):
    """The info of every lane whose episode continues: one empty dict, which refuses writes."""

    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise TypeError(
            "the infos of running episodes are one shared read-only dict; "
            "make the BatchVecEnv with infos='fresh', the default, to write into them"
        )

    __setitem__ = __delitem__ = __ior__ = _refuse
    update = setdefault = pop = popitem = clear = _refuse

    def __reduce__(self) -> tuple[type[_NoInfo], tuple[()]]:
        return _NoInfo, ()

    def __copy__(self) -> dict[str, Any]:
        return {}

    def copy(self) -> dict[str, Any]:
        """Return a fresh dict that can be written."""
        return {}


class BatchVecEnv(VecEnv):
    """A batch engine behind the ``VecEnv`` interface.

    Parameters
    ----------
    engine : BatchEngine
        Resets lanes within the step that ends them, which is what SB3 expects. Shows one agent.
    masks : {"rows", "block"}
        What ``env_method("action_masks")`` returns: one row a lane, or a list with a single
        (n, A) array. sb3-contrib takes both; "block" saves it a copy of each row from about a
        thousand lanes on, but its i-th entry is not lane i.
    mask_buffers : {"copy", "engine"}
        "copy": the masks of each call are the caller's. "engine": they are the engine's memory,
        which the next step or reset overwrites, and must not be written. sb3-contrib copies them.
    obs_buffers : {"copy", "pingpong"}
        "copy": the observations of each call are the caller's. "pingpong": two buffers in turn, so
        an observation is valid until the call after the next, which is as long as on-policy
        algorithms need it. Replay buffers and callbacks that keep references need copies.
    infos : {"fresh", "shared"}
        Infos of running episodes: ``n`` new dicts, or one shared read-only empty one.
    monitor : bool
        Report episodes as SB3's ``Monitor`` does, and say that it is there.
    info_columns : sequence of str
        Columns of ``engine.final_info`` to add to the infos of ended episodes.
    success_column : str, optional
        The column that becomes ``is_success``.
    render_mode : {None, "ansi", "rgb_array"}
    """

    def __init__(
        self,
        engine: BatchEngine,
        *,
        masks: Literal["rows", "block"] = "rows",
        mask_buffers: Literal["copy", "engine"] = "copy",
        obs_buffers: Literal["copy", "pingpong"] = "copy",
        infos: Literal["fresh", "shared"] = "fresh",
        monitor: bool = True,
        info_columns: Sequence[str] = (),
        success_column: str | None = None,
        render_mode: str | None = None,
    ) -> None:
        _choose("masks", masks, ("rows", "block"))
        _choose("mask_buffers", mask_buffers, ("copy", "engine"))
        _choose("obs_buffers", obs_buffers, ("copy", "pingpong"))
        _choose("infos", infos, ("fresh", "shared"))
        for name in (*info_columns, *([success_column] if success_column else [])):
            _choose("info_columns", name, tuple(engine.final_info))
        if engine.num_agents > 1:
            raise ValueError(
                f"engine shows {engine.num_agents} agents, SB3 takes one: make it with opponent="
            )
        self.engine = engine
        self.info_columns: tuple[str, ...] = tuple(info_columns)
        self.success_column = success_column
        self.monitor = monitor
        self._render_mode = check_render_mode(engine.game, render_mode)
        self._one_block = masks == "block"
        self._lends_masks = mask_buffers == "engine"
        self._lend_masks()
        shape, dtype = engine.obs.shape, engine.obs.dtype
        self._fresh_obs = obs_buffers == "copy"
        self._obs = [aligned(shape, dtype) for _ in range(1 if self._fresh_obs else 2)]
        self._turn = 0
        self._template = [_NoInfo()] * engine.num_envs if infos == "shared" else None
        self._actions: Array | None = None  # between step_async() and step_wait()
        self._started = time.time()
        self._closed = False
        super().__init__(
            engine.num_envs, observation_space(engine.game), spaces.Discrete(engine.num_actions)
        )
        self.metadata: dict[str, Any] = {
            "render_modes": list(engine.spec.render_modes),
            "render_fps": 2,
        }

    def _lend_masks(self) -> None:
        """Note what is lent of the engine's masks, which are always at the same place."""
        self._lent = self._as_masks(self.engine.mask) if self._lends_masks else None

    def _as_masks(self, mask: Array) -> list[Array]:
        """Return masks as ``env_method("action_masks")`` does, over the same memory."""
        legal = mask.view(np.bool_)
        return [legal] if self._one_block else list(legal)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copying and pickling, without views of the engine's memory."""
        return {name: value for name, value in vars(self).items() if name != "_lent"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Continue where the original stood."""
        self.__dict__.update(state)
        self._lend_masks()

    def _next_obs(self) -> Array:
        return np.empty_like(self._obs[0]) if self._fresh_obs else self._obs[self._turn]

    def _show(self, obs: Array) -> Any:
        """Return the observation that was just written, and switch to the other buffer."""
        self._turn = 1 - self._turn
        return shown_obs(obs, copy=False)

    def _infos(self) -> list[dict[str, Any]]:
        if self.engine.spec.has_tau:
            return [{"tau": tau} for tau in self.engine.tau.tolist()]
        if self._template is None:
            return [{} for _ in range(self.num_envs)]
        return [*self._template]

    def reset(self) -> Any:
        """Start an episode in every lane, with the seeds of :meth:`seed` if it was called."""
        seeds = None if all(s is None for s in self._seeds) else self._seeds
        checks.check_seed(seeds, self.num_envs)
        obs = self._next_obs()
        self.engine.reset_many(seeds=seeds, obs_out=obs, mask_out=self.engine.mask)
        self._reset_seeds()
        self._reset_options()
        self._closed = False
        self.reset_infos: list[dict[str, Any]] = self._infos()
        return self._show(obs)

    def step_async(self, actions: Array) -> None:
        """Remember the actions, integers of shape (n,)."""
        self._actions = checks.as_array("actions", actions, InvalidActionError).copy()

    def step_wait(self) -> tuple[Any, Array, Array, list[dict[str, Any]]]:
        """Take the step; ended lanes return the first observation of their next episode.

        Returns
        -------
        obs : ndarray, shape (n, *obs_shape), or dict of them
            See ``obs_buffers``.
        rewards : ndarray, shape (n,)
        dones : ndarray of bool, shape (n,)
        infos : list of n dicts
            Lanes that ended have ``terminal_observation``, ``TimeLimit.truncated`` and, with
            ``monitor``, ``episode``; all have ``tau`` in games whose decisions last.

        Raises
        ------
        InvalidActionError
            Without a ``step_async`` since the last step; see also
            :meth:`fastenv.BatchEngine.step_many`.
        ResetNeededError
            After ``close``, until the next ``reset``.
        """
        engine, actions = self.engine, self._actions
        self._actions = None
        if self._closed:
            raise ResetNeededError("this environment is closed: call reset() before step()")
        if actions is None:
            raise InvalidActionError("there are no actions: call step_async() before step_wait()")
        obs = self._next_obs()
        engine.step_many(actions, obs_out=obs, mask_out=engine.mask)
        dones = (engine.terminated | engine.truncated).view(np.bool_)
        infos = self._infos()
        ended = np.flatnonzero(dones)
        if ended.size:
            final = engine.final_obs[ended]
            now = round(time.time() - self._started, 6)
            for j, i in enumerate(ended.tolist()):
                infos[i] = self._final_info(i, shown_obs(final[j], copy=False), now)
        return self._show(obs), engine.reward.astype(np.float32), dones, infos

    def _final_info(self, i: int, final_obs: Any, now: float) -> dict[str, Any]:
        engine = self.engine
        info = {
            "terminal_observation": final_obs,
            "TimeLimit.truncated": bool(engine.truncated[i] and not engine.terminated[i]),
        }
        if engine.spec.has_tau:
            info["tau"] = int(engine.tau[i])
        if self.monitor:
            total = round(float(engine.ep_return[i]), 6)  # as Monitor does
            info["episode"] = {"r": total, "l": int(engine.ep_length[i]), "t": now}
        for name in self.info_columns:
            info[name] = engine.game.shown(name, _plain(engine.final_info[name][i]))
        if self.success_column is not None:
            info["is_success"] = bool(engine.final_info[self.success_column][i])
        return info

    def close(self) -> None:
        """End the episodes; a later ``reset`` starts others."""
        self._closed = True

    def get_images(self) -> list[Array | None]:
        """Return a picture of every lane, if the render mode is ``rgb_array``."""
        if self._render_mode != "rgb_array":
            return [None] * self.num_envs
        return self._frames(range(self.num_envs))

    def _frames(self, lanes: Iterable[int]) -> list[Any]:
        if self._render_mode is None:
            return [None for _ in lanes]
        lanes = list(lanes)
        check_drawable(self.engine, lanes)
        rows = self.engine.get_states(lanes)
        return [self.engine.game.render(row, self._render_mode) for row in rows]

    def _get_indices(self, indices: Indices) -> Iterable[int]:
        """Return lane numbers; an array names them as it does for the engine."""
        if isinstance(indices, np.ndarray):
            lanes: list[int] = self.engine.lanes(indices).tolist()
            return lanes
        found: Iterable[int] = super()._get_indices(indices)
        return found

    def has_attr(self, attr_name: str) -> bool:
        """Tell whether :meth:`get_attr` or :meth:`env_method` knows a name."""
        if attr_name in ("action_masks", "render_mode"):
            return True
        return super().has_attr(attr_name)

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """Return ``render_mode``, ``action_masks``, an info column or a knob, one value a lane."""
        checks.check_name("attribute", attr_name)
        lanes = list(self._get_indices(indices))
        if attr_name == "render_mode":
            return [self._render_mode] * len(lanes)
        if attr_name == "action_masks":
            return [self.engine.mask[i].view(np.bool_).copy for i in lanes]  # a bound method
        if attr_name in self.engine.info:
            column = self.engine.info[attr_name].copy()
            return [self.engine.game.shown(attr_name, column[i]) for i in lanes]
        return self.engine.get_knob(attr_name, lanes)

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Set a knob of the game; each lane takes it at its next reset."""
        self.engine.configure(attr_name, value, list(self._get_indices(indices)))

    def env_method(
        self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call ``action_masks``, ``render``, ``configure`` or ``set_<knob>`` of the lanes.

        Raises
        ------
        AttributeError
            For any other name.
        """
        checks.check_name("method", method_name)
        if method_name == "action_masks":
            masks = self._as_masks(self.engine.mask.copy()) if self._lent is None else self._lent
            if indices is None or self._one_block:
                return [*masks]
            return [masks[i] for i in self._get_indices(indices)]
        lanes = list(self._get_indices(indices))
        if method_name == "render":
            return self._frames(lanes)
        if method_name == "configure":
            self._configure(lanes, *method_args, **method_kwargs)
        elif method_name.startswith("set_"):
            knob = method_name.removeprefix("set_")
            self._configure(lanes, knob, *method_args, **method_kwargs)
        else:
            raise AttributeError(f"BatchVecEnv has no method {show(method_name)}")
        return [None] * len(lanes)

    def _configure(self, lanes: list[int], name: str, value: Any) -> None:
        self.engine.configure(name, value, lanes)

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Indices = None) -> list[bool]:
        """Tell whether the lanes do what a wrapper would: only ``Monitor``, if asked to."""
        answer = self.monitor and wrapper_class is Monitor
        return [answer for _ in self._get_indices(indices)]


def _plain(value: Any) -> Any:
    return value.item() if value.ndim == 0 else value.copy()


def _choose(name: str, value: object, allowed: Sequence[str]) -> None:
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name}: {show(value)} must be one of {', '.join(map(repr, allowed))}")


def make_sb3_vec_env(
    env_id: str,
    num_envs: int,
    backend: str | Backend = "auto",
    *,
    num_threads: int | None = None,
    seed: int | None = None,
    vec_env_kwargs: dict[str, Any] | None = None,
    opponent: Opponent | None = None,
    **config: Any,
) -> VecEnv:
    """Return a ``VecEnv`` for Stable-Baselines3.

    Parameters
    ----------
    env_id : str
        An id of :func:`fastenv.list_envs`.
    num_envs : int
        Number of lanes.
    backend : str or Backend
        ``"reference"`` returns SB3's own ``DummyVecEnv`` over monitored single environments, to
        compare with; everything else a :class:`BatchVecEnv`.
    num_threads : int, optional
        Threads of the engine; see :class:`fastenv.BatchEngine`.
    seed : int, optional
        Seed of the first reset.
    vec_env_kwargs : dict, optional
        Options of :class:`BatchVecEnv`.
    opponent : str or sequence of str, optional
        In a game of several agents: who plays the other seats; see
        :class:`fastenv.engine.BatchEngine`. Default the game's own choice.
    **config
        Options of the game, and in one of several agents ``agent_seat``: the seat that is shown,
        0 unless another is named, or ``"rotate"``.

    Examples
    --------
    >>> venv = make_sb3_vec_env("SkullKingWorker-v0", num_envs=4, seed=0)
    >>> venv.reset().shape
    (4, 203)
    >>> masks = venv.env_method("action_masks")
    >>> obs, rewards, dones, infos = venv.step([int(mask.argmax()) for mask in masks])
    >>> obs.shape, dones.tolist()
    ((4, 203), [False, False, False, False])
    """
    venv: VecEnv
    if str(backend) == "reference":

        def one() -> Monitor:
            return Monitor(FastEnv(env_id, backend="reference", opponent=opponent, **config))

        venv = DummyVecEnv([one] * num_envs)
    else:
        game, seating = as_seated(env_id, opponent, config)
        seating["opponent"] = opponent_of(game, seating["opponent"])
        engine = engine_for(game, num_envs, backend, None, None, num_threads, **seating)
        venv = BatchVecEnv(engine, **(vec_env_kwargs or {}))
    if seed is not None:
        venv.seed(seed)
    return venv

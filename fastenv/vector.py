"""Many environments: the Gymnasium vector view of an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from fastenv import checks
from fastenv.backend import Backend
from fastenv.env import (
    WithSpec,
    action_space,
    as_seated,
    check_drawable,
    check_info_mode,
    check_render_mode,
    engine_for,
    observation_space,
    opponent_of,
    shown_obs,
)
from fastenv.errors import ConfigError, ResetNeededError, UnknownOptionError, show
from fastenv.game import Game
from fastenv.memory import StepBuffers, aligned
from fastenv.rollouts import Rollouts
from fastenv.seats import Opponent

Array = npt.NDArray[Any]
Infos = dict[str, Any]
AutoresetName = Literal["next_step", "same_step", "disabled", "NextStep", "SameStep", "Disabled"]


def sample_legal(
    masks: npt.ArrayLike, rng: np.random.Generator | int | None = None
) -> npt.NDArray[np.int32]:
    """Draw one legal action a lane, all legal ones equally likely.

    Parameters
    ----------
    masks : array_like of bool or 0/1 integers, shape (n, A), or (n, K, A)
    rng : numpy Generator or seed, optional
        Takes ``n`` doubles from it, or ``n * K``.

    Returns
    -------
    ndarray of int32, shape (n,) or (n, K)

    Raises
    ------
    ValueError
        Wrong shape, or a lane without a legal action; the message names it.

    Examples
    --------
    >>> import fastenv
    >>> fastenv.sample_legal([[0, 1, 0], [1, 0, 0]], rng=0)
    array([1, 0], dtype=int32)
    """
    legal = checks.as_array("masks", masks)
    if legal.dtype.kind not in "biuf":
        raise ValueError(f"masks must be bool or 0 and 1, got {legal.dtype}")
    if legal.ndim == 3:
        n, agents, actions_of_one = legal.shape
        stuck = ~legal.astype(np.bool_, copy=False).any(axis=2)
        if stuck.any():
            lane, agent = np.argwhere(stuck)[0]
            raise ValueError(f"lane {lane}, agent {agent} has no legal action")
        return sample_legal(legal.reshape(n * agents, actions_of_one), rng).reshape(n, agents)
    if legal.ndim != 2:
        raise ValueError(f"masks must have shape (n, A), got {legal.shape}")
    legal = legal.astype(np.bool_, copy=False)
    if not legal.shape[1]:
        raise ValueError("masks must have an action or more, got none")
    rank = legal.cumsum(axis=1, dtype=np.int32)
    count = rank[:, -1]
    if not count.all():
        raise ValueError(f"lane {int(count.argmin())} has no legal action")
    u = np.random.default_rng(rng).random(len(legal))
    wanted = (u * count).astype(np.int32) + np.int32(1)
    actions: npt.NDArray[np.int32] = (rank >= wanted[:, None]).argmax(axis=1).astype(np.int32)
    return actions


class FastVectorEnv(WithSpec, VectorEnv[Any, Array, Array]):
    """``num_envs`` games behind Gymnasium's vector interface.

    Parameters
    ----------
    game : str or Game
        An id (``"SkullKingWorker-v0"``) or a configured game.
    num_envs : int
        Number of lanes.
    backend, use_numba, use_cython
        See :func:`fastenv.backend.resolve`; ``vec.backend`` names the one in use.
    num_threads : int, optional
        Threads of the compiled path, at most one a lane and 256; default ``FASTENV_NUM_THREADS``
        or 1. A process that is forked after an environment was made uses one and warns of it once.
    autoreset_mode : str or AutoresetMode
        ``"NextStep"`` (Gymnasium's default), ``"SameStep"`` or ``"Disabled"``, also spelt
        ``next_step``, ``same_step`` and ``disabled``.
    copy : bool, default True
        Return fresh arrays, rewards as float64 and flags as bool, exactly as ``SyncVectorEnv`` over
        single environments does; they are the caller's. False lends the engine's own memory, with
        rewards in the game's float dtype: it is valid until the next ``step`` or ``reset``, which
        overwrites it, and must not be written.
    render_mode : {None, "ansi", "rgb_array"}
        What :meth:`render` returns for each lane.
    info_columns : sequence of str, optional
        Columns of the game in the infos; default the game's own choice. Fewer are faster.
    info_mode : {"full", "stats", "none"}
        ``full``: one array a column, as Gymnasium has it. ``stats``: Python floats alone, mean,
        10th, 50th and 90th percentile over the lanes of each column that is one number, and the
        shares of lanes that ended. ``none``: nothing. In all modes SAME_STEP tells the final
        observations of episodes that ended.
    agents : {"one", "all"}
        In a game of several agents: show one, with ``opponent`` for the others, or all K; then
        everything an agent sees or does has an axis of K behind that of the lanes.
    opponent : str or sequence of str, optional
        Who plays the other seats; see :class:`fastenv.engine.BatchEngine`. Default the game's own
        choice.
    **options
        Options of the game, and in one of several agents ``agent_seat``: the seat that is shown,
        0 unless another is named, or ``"rotate"``.

    Examples
    --------
    >>> import fastenv
    >>> vec = fastenv.FastVectorEnv("SkullKingWorker-v0", num_envs=4, autoreset_mode="same_step")
    >>> obs, infos = vec.reset(seed=0)
    >>> actions = fastenv.sample_legal(vec.action_masks(), rng=0)
    >>> obs, rewards, terminated, truncated, infos = vec.step(actions)
    >>> obs.shape, rewards.tolist()
    ((4, 203), [0.5, 3.0, 0.5, 0.5])
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 2}  # noqa: RUF012

    @checks.refuse_too_many
    def __init__(
        self,
        game: str | Game,
        num_envs: int = 1,
        *,
        backend: str | Backend = "auto",
        use_numba: bool | None = None,
        use_cython: bool | None = None,
        num_threads: int | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        render_mode: str | None = None,
        info_columns: Sequence[str] | None = None,
        info_mode: str = "full",
        agents: str = "one",
        opponent: Opponent | None = None,
        **options: Any,
    ) -> None:
        if "max_episode_steps" in options:  # given by gymnasium.make_vec, and its wrapper's option
            raise UnknownOptionError(
                "unexpected keyword argument 'max_episode_steps': a batch has no time limit of "
                "Gymnasium's; take gymnasium.make_vec(..., vectorization_mode='sync'), which puts "
                "TimeLimit around each environment"
            )
        configured, seating = as_seated(game, opponent, options)
        self.autoreset_mode: AutoresetMode = _as_mode(autoreset_mode)
        spec = configured.spec
        self.metadata = {
            **self.metadata,
            "render_modes": list(spec.render_modes),
            "autoreset_mode": self.autoreset_mode,
        }
        self.render_mode: str | None = check_render_mode(configured, render_mode)
        self.copy: bool = checks.as_bool("copy", copy)
        self.info_mode = info_mode
        columns = check_info_mode(info_mode, info_columns)
        if checks.as_choice("agents", agents, ("one", "all")) == "one":
            seating["opponent"] = opponent_of(configured, seating["opponent"])
        elif opponent is not None:
            raise ConfigError(f"opponent={show(opponent)}: with agents='all' there is none")
        flags = (backend, use_numba, use_cython)
        engine = engine_for(configured, num_envs, *flags, num_threads, columns, **seating)
        self.engine = engine
        self.backend: str = engine.backend
        self.num_envs: int = engine.num_envs
        k = engine.num_agents
        self.single_observation_space: spaces.Space[Any] = observation_space(configured, k)
        several = spaces.MultiDiscrete([spec.num_actions] * k)
        actions = several if k > 1 else action_space(configured)
        self.single_action_space: spaces.Space[Any] = actions
        self.observation_space: spaces.Space[Any] = batch_space(
            self.single_observation_space, self.num_envs
        )
        self.action_space: spaces.Space[Any] = batch_space(self.single_action_space, self.num_envs)
        self._lane_seeds: Sequence[int | None] = [None] * self.num_envs

    @property
    def np_random_seed(self) -> tuple[int | None, ...]:  # type: ignore[override]
        """The last seed of each lane, as ``SyncVectorEnv`` has it; None before its first reset."""
        return tuple(self._lane_seeds)

    @property
    def game(self) -> Game:
        """The game, with the shared record that its engine plays by."""
        return self.engine.game

    # -- Gymnasium -------------------------------------------------------------------------------

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, Infos]:
        """Start an episode in all lanes or in some.

        Parameters
        ----------
        seed : int or sequence of int, optional
            ``s`` seeds lane ``i`` with ``s + i``, each from 0 to 2**64 - 1; without one the
            lanes' streams continue. ``np_random_seed`` tells the last seed of each lane.
        options : dict, optional
            ``reset_mask``: bool, shape (n,), which lanes; at least one.
        """
        chosen = self._reset_mask(options)
        checks.check_seed(seed, self.num_envs)
        if isinstance(seed, (int, np.integer)) and not isinstance(seed, bool):
            super().reset(seed=int(seed))
        seeds = self._fresh_seeds() if seed is None else seed
        self.engine.refresh()
        self.engine.reset_many(mask=chosen, seeds=seeds)
        self._keep_seeds(chosen, seeds)
        self.closed = False
        return self._observation(), self._infos(chosen)

    def step(self, actions: Array) -> tuple[Any, Array, Array, Array, Infos]:
        """Take one decision in every lane.

        Parameters
        ----------
        actions : ndarray of integers, shape (n,), or (n, K) with all agents
            With NEXT_STEP, actions of lanes whose episode ended in the last step are ignored.

        Returns
        -------
        obs, reward, terminated, truncated, infos
            ``infos`` holds arrays with one row a lane; ``_key`` says in which lanes ``key`` is set.

        Raises
        ------
        InvalidActionError, ResetNeededError
            See :meth:`fastenv.engine.BatchEngine.step_many`; also after ``close``, until the next
            ``reset``. Nothing has moved.
        """
        engine = self.engine
        fresh = self._move(actions, None, None)
        infos = self._infos(None, zeroed=fresh)
        done = (engine.terminated | engine.truncated).view(np.bool_)
        if done.any():
            self._add_episodes(infos, done)
        if not self.copy:
            flags = engine.terminated.view(np.bool_), engine.truncated.view(np.bool_)
            return self._observation(), engine.reward, *flags, infos
        return (
            self._observation(),
            engine.reward.astype(np.float64),
            engine.terminated.astype(np.bool_),
            engine.truncated.astype(np.bool_),
            infos,
        )

    def step_into(self, actions: Array, out: StepBuffers | dict[str, Array]) -> None:
        """Take one decision in every lane and write the results where the caller wants them.

        Parameters
        ----------
        actions : ndarray of integers, shape (n,)
            As in :meth:`step`.
        out : StepBuffers or dict
            Names the buffers to write. Observations and masks are encoded straight into them;
            without a buffer they go to ``engine.obs`` and ``engine.mask``. Episode sums, final
            observations and info columns stay in the engine's buffers, which are valid until the
            next call.

        Raises
        ------
        TypeError
            Neither of the two, or a name of no buffer. Nothing has moved.
        ValueError
            A buffer of wrong shape, dtype or order, or a read-only one. Nothing has moved.
        """
        buffers = _as_buffers(out)
        engine = self.engine
        small = []
        for name in ("reward", "terminated", "truncated", "tau"):
            array, source = getattr(buffers, name), getattr(engine, name)
            if array is not None:
                flag = source.dtype == np.uint8 and getattr(array, "dtype", None) == np.bool_
                like = source.view(np.bool_) if flag else source
                small.append((engine.check_out(name, array, like), source))
        self._move(actions, buffers.obs, buffers.mask)
        for array, source in small:
            array[:] = source

    def render(self) -> tuple[Any, ...] | None:
        """Return the states of all lanes as texts (``ansi``) or pictures (``rgb_array``)."""
        if self.render_mode is None:
            return None
        check_drawable(self.engine)
        return tuple(self.game.render(row, self.render_mode) for row in self.get_states())

    # -- more than Gymnasium ---------------------------------------------------------------------

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return the legal actions now, shape (n, A)."""
        self.engine.refresh()
        return self.engine.mask.astype(np.bool_)

    def check_open(self) -> None:
        """Raise :class:`fastenv.ResetNeededError` after ``close``, until the next ``reset``."""
        if self.closed:
            raise ResetNeededError("this environment is closed: call reset() before step()")

    def get_states(self, idx: npt.ArrayLike | None = None) -> Array:
        """Return a copy of the state rows of the given lanes (default: all)."""
        return self.engine.get_states(idx)

    def set_states(self, rows: Array, idx: npt.ArrayLike | None = None) -> None:
        """Load state rows into the given lanes (default: all); they are checked first."""
        self.engine.set_states(rows, idx)

    def resample(
        self,
        agents: npt.ArrayLike,
        seeds: int | Sequence[int] | Array,
        worlds: int = 1,
        idx: npt.ArrayLike | None = None,
    ) -> Array:
        """Return worlds of the given lanes' current rows (default: all), shape (k * worlds,).

        See :meth:`fastenv.engine.BatchEngine.resample`; a lane without a running episode raises
        :class:`fastenv.ResetNeededError`.
        """
        rows = self.engine.running_states(idx)
        return self.engine.resample(rows, agents, seeds, worlds=worlds)

    def rollout(
        self,
        actions: npt.ArrayLike | None = None,
        players: str | Sequence[str] = "random",
        until: str | None = None,
        limit: int | None = None,
        seeds: int | Sequence[int] | Array = 0,
        idx: npt.ArrayLike | None = None,
    ) -> Rollouts:
        """Play the given lanes' current rows (default: all) on; the lanes stay as they are.

        See :meth:`fastenv.engine.BatchEngine.rollout`; a lane that is named twice is played on
        twice, one without a running episode raises :class:`fastenv.ResetNeededError`.
        """
        rows = self.engine.running_states(idx)
        return self.engine.rollout(rows, actions, players, until, limit, seeds)

    def configure(self, name: str, value: Any, idx: npt.ArrayLike | None = None) -> None:
        """Set a knob of the game; each lane takes it at its next reset."""
        self.engine.configure(name, value, idx)

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return one result a lane, as ``SyncVectorEnv.call`` does.

        Parameters
        ----------
        name : str
            ``"action_masks"``, ``"render"``, ``"configure"``, or an attribute: ``"render_mode"``,
            ``"backend"``, a knob or an info column.
        *args, **kwargs
            For ``"configure"``: the knob and its value.
        """
        checks.check_name("name", name)
        if name == "configure":
            self.configure(*args, **kwargs)
            return (None,) * self.num_envs
        if name == "action_masks":
            return tuple(self.action_masks())
        if name == "render":
            return self.render() or (None,) * self.num_envs
        if name in ("render_mode", "backend"):
            return (getattr(self, name),) * self.num_envs
        if name in self.engine.info:
            return tuple(self.engine.info[name].copy())
        return tuple(self.engine.get_knob(name))

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of every lane; see :meth:`call`."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set a knob: one value for all lanes, or a list of one a lane."""
        if not isinstance(values, (list, tuple)):
            self.configure(name, values)
            return
        if len(values) != self.num_envs:
            raise ValueError(f"{len(values)} values for {self.num_envs} lanes")
        for lane, value in enumerate(values):
            self.configure(name, value, lane)

    # -- inside ----------------------------------------------------------------------------------

    def _move(
        self, actions: Array, obs: Array | None, mask: Array | None
    ) -> npt.NDArray[np.bool_] | None:
        """Step and reset as the mode asks; return the lanes that now begin an episode."""
        engine, mode = self.engine, self.autoreset_mode
        self.check_open()
        if mode == AutoresetMode.SAME_STEP:
            engine.step_many(actions, obs, mask)
            return (engine.terminated | engine.truncated).view(np.bool_)
        if mode == AutoresetMode.DISABLED or not engine.ended.any() or engine.never_reset().any():
            engine.step_many(actions, obs, mask, autoreset=False)
            return None
        pending = engine.ended.copy()
        engine.step_many(actions, obs, mask, select=~pending, autoreset=False)
        # what the step reports of the other lanes is in buffers that a reset of these leaves alone
        engine.reset_many(pending, obs_out=obs, mask_out=mask)
        return pending

    def _observation(self) -> Any:
        return shown_obs(self.engine.obs, self.copy)

    def _infos(
        self,
        rows: npt.NDArray[np.bool_] | None,
        zeroed: npt.NDArray[np.bool_] | None = None,
        final: bool = False,
    ) -> Infos:
        """Return the info columns, set in ``rows`` (default: all), zero elsewhere.

        Columns of a step are zero in lanes ``zeroed`` that were reset since.
        """
        if self.info_mode != "full":
            return self._stats() if self.info_mode == "stats" and not final else {}
        engine = self.engine
        records, terms = engine.info_records(final), engine.terms
        mask = np.ones_like(engine.mask) if final else engine.mask
        tau = engine.tau
        if self.copy:
            records, terms, mask, tau = (array.copy() for array in (records, terms, mask, tau))
            if zeroed is not None:
                for array in (terms, tau):
                    array[zeroed] = np.zeros((), array.dtype)
            if rows is not None:
                for array in (records, terms, mask, tau):
                    array[~rows] = np.zeros((), array.dtype)
        infos: Infos = {name: records[name] for name in engine.info_columns}
        infos |= {name: terms[name] for name in engine.term_columns}
        if engine.spec.has_tau:
            infos["tau"] = tau
        infos["action_mask"] = mask.view(np.int8)
        for name, labels in engine.spec.info_labels.items():
            if name in infos:
                infos[name] = _show_labels(infos[name], labels, rows)
        present = np.empty((len(infos), self.num_envs), np.bool_)
        present[:] = True if rows is None else rows
        infos.update(zip([f"_{name}" for name in infos], present, strict=True))
        return infos

    def _stats(self) -> Infos:
        """Return means and percentiles over the lanes, as Python floats."""
        engine = self.engine
        ended = (engine.terminated | engine.truncated).view(np.bool_)
        stats: Infos = {}
        for name, column in engine.info.items():
            if column.ndim == 1 and name not in engine.spec.info_labels:
                now = np.where(ended, engine.final_info[name], column)
                now = now.astype(np.float64)
                stats[f"{name}_mean"] = float(now.mean())
                shares = (10, 50, 90)
                for share, value in zip(shares, np.percentile(now, shares), strict=True):
                    stats[f"{name}_p{share}"] = float(value)
        stats["done_rate"] = float(engine.terminated.mean())
        stats["trunc_rate"] = float(engine.truncated.mean())
        stats["reset_rate"] = float(ended.mean())
        if engine.spec.has_tau:
            stats["tau_mean"] = float(engine.tau.mean())
        return stats

    def _add_episodes(self, infos: Infos, done: npt.NDArray[np.bool_]) -> None:
        """Add what is known of the episodes that ended in this step."""
        engine, full = self.engine, self.info_mode == "full"
        sums = {"episode_return": engine.ep_return, "episode_length": engine.ep_length}
        if engine.spec.has_tau:
            sums["episode_frames"] = engine.ep_frames
        episodes: Infos = {}
        for name, values in sums.items() if full else ():
            episodes[name] = values.copy()
            episodes[name][~done] = 0
            episodes[f"_{name}"] = done.copy()
        if self.autoreset_mode != AutoresetMode.SAME_STEP:
            infos.update(episodes)
            return
        final = np.full(self.num_envs, None, object)
        lanes = np.flatnonzero(done)
        ended = engine.final_obs[lanes]  # one copy; what each lane is shown is a part of it
        structured = ended.dtype.names is not None
        for lane, obs in zip(lanes.tolist(), ended, strict=True):
            final[lane] = shown_obs(obs) if structured else obs
        infos["final_obs"], infos["_final_obs"] = final, done.copy()
        if full:
            infos["final_info"] = self._infos(done, final=True) | episodes
            infos["_final_info"] = done.copy()

    def _reset_mask(self, options: dict[str, Any] | None) -> npt.NDArray[np.bool_] | None:
        if options is not None and not isinstance(options, Mapping):
            raise TypeError(f"options must be a dict or None, got {show(options)}")
        if options is None or "reset_mask" not in options:
            return None
        mask = options["reset_mask"]
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise TypeError(f"options['reset_mask'] must be a bool array, got {show(mask)}")
        mask = checks.as_array("options['reset_mask']", mask)
        if mask.shape != (self.num_envs,) or not mask.any():
            raise ValueError(
                f"options['reset_mask'] must have shape ({self.num_envs},) and a true entry, "
                f"got {show(mask)}"
            )
        return mask

    def _fresh_seeds(self) -> list[int | None] | None:
        """Return random seeds for the lanes that never had one, None where there is none."""
        new = self.engine.never_reset()
        if not new.any():
            return None
        drawn = self.np_random.integers(2**63, size=self.num_envs)
        return [int(s) if lane else None for s, lane in zip(drawn, new, strict=True)]

    def _keep_seeds(
        self, chosen: npt.NDArray[np.bool_] | None, seeds: int | Sequence[int | None] | None
    ) -> None:
        """Remember the seeds that a reset has given to the lanes that it has chosen."""
        if seeds is None:
            return
        if isinstance(seeds, np.ndarray):
            seeds = checks.as_array("seeds", seeds).tolist()
        if isinstance(seeds, (int, np.integer)):
            seeds = range(int(seeds), int(seeds) + self.num_envs)
            if chosen is None:
                self._lane_seeds = seeds
                return
        taken = [True] * self.num_envs if chosen is None else chosen.tolist()
        self._lane_seeds = [
            int(new) if take and new is not None else old
            for take, new, old in zip(taken, seeds, self._lane_seeds, strict=True)
        ]


def _show_labels(
    column: Array, labels: tuple[str, ...], rows: npt.NDArray[np.bool_] | None
) -> Array:
    """Return a column as ``SyncVectorEnv`` collects the labels that single environments show."""
    shown = np.array(labels, object)[column.astype(np.intp)]
    if rows is not None:
        shown[~rows] = None
    return shown


def _as_buffers(out: object) -> StepBuffers:
    """Return destinations that were given by name."""
    if isinstance(out, StepBuffers):
        return out
    names = [part.name for part in fields(StepBuffers)]
    if not isinstance(out, dict):
        given = type(out).__name__
        raise TypeError(f"out must be StepBuffers or a dict of {', '.join(names)}, got {given}")
    for name in out:
        if name not in names:
            raise TypeError(f"out: {show(name)} is not a buffer, must be one of {', '.join(names)}")
    return StepBuffers(**out)


def _as_mode(mode: str | AutoresetMode) -> AutoresetMode:
    if isinstance(mode, AutoresetMode):
        return mode
    known = {member.name.lower(): member for member in AutoresetMode}
    spelt = {member.value.lower(): member for member in AutoresetMode}
    if isinstance(mode, str) and mode.lower() in known | spelt:
        return (known | spelt)[mode.lower()]
    return known[checks.as_choice("autoreset_mode", mode, [*known])]


def allocate(vec: FastVectorEnv) -> StepBuffers:
    """Return buffers of the right shapes and dtypes for :meth:`FastVectorEnv.step_into`."""
    engine = vec.engine
    names = ("obs", "mask", "reward", "terminated", "truncated", "tau")
    like = {name: getattr(engine, name) for name in names}
    return StepBuffers(**{name: aligned(a.shape, a.dtype) for name, a in like.items()})

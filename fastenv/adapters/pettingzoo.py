"""Games of several players as PettingZoo environments: one after the other (AEC), or parallel.

Observations are ``{"observation": ..., "action_mask": int8}``, as PettingZoo's own card and board
games have them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from fastenv import checks
from fastenv.backend import Backend
from fastenv.engine import BatchEngine
from fastenv.env import (
    as_game,
    as_int,
    check_drawable,
    check_render_mode,
    engine_for,
    observation_space,
    shown_obs,
)
from fastenv.errors import (
    ConfigError,
    InvalidActionError,
    ResetNeededError,
    UnknownOptionError,
    show,
)
from fastenv.game import Game
from fastenv.registry import make_game
from fastenv.seats import EXTERNAL, SeatFields, Seats

try:
    from pettingzoo import AECEnv, ParallelEnv
except ImportError as _error:
    raise ImportError(
        "fastenv.adapters.pettingzoo needs PettingZoo: pip install 'fastenv-rl[pettingzoo]'"
    ) from _error

__all__ = ["GameAECEnv", "GameParallelEnv", "aec_env", "parallel_env"]

Array = npt.NDArray[Any]
Observation = dict[str, Any]


class _View:
    """What both kinds of environment have: an engine of one lane, spaces, pictures.

    Rows with an entry an agent say what all see and are paid. Of a row that shows one seat at a
    time (``_fields``) each seat keeps what it saw when it was on turn, and is paid what its score
    has changed by.
    """

    def __init__(
        self,
        game: Game,
        opponent: str | None,
        backend: str | Backend,
        use_numba: bool | None,
        use_cython: bool | None,
        render_mode: str | None,
    ) -> None:
        self.seats: Seats = check_seats(game)
        self._fields = self.seats.fields
        if self._fields is not None:
            opponent = None  # its rows show one seat by themselves
        spec = game.spec
        self.render_mode: str | None = check_render_mode(game, render_mode)
        flags = (backend, use_numba, use_cython)
        self.engine: BatchEngine = engine_for(game, 1, *flags, 1, opponent=opponent)
        self.metadata: dict[str, Any] = {
            "name": game.env_id or type(game).__name__,
            "render_modes": list(spec.render_modes),
            "render_fps": 2,
        }
        self._names = [f"player_{seat}" for seat in range(self.seats.count)]
        self.possible_agents: list[str] = [self._names[seat] for seat in self.seats.outside]
        self.agents: list[str] = []
        mask = spaces.Box(0, 1, (spec.num_actions,), np.int8)
        shown = {"observation": observation_space(game), "action_mask": mask}
        self.observation_spaces: dict[str, spaces.Dict] = {
            name: spaces.Dict(shown) for name in self.possible_agents
        }
        self.action_spaces: dict[str, spaces.Discrete[np.int64]] = {
            name: spaces.Discrete(spec.num_actions) for name in self.possible_agents
        }
        self._strict = spec.illegal_actions == "raise"
        self._nothing = np.zeros((1, *spec.obs_shape), spec.obs_dtype)
        self._seen: dict[str, Array] = {}  # of one lane, as the engine's
        self._scores: list[int] = []

    @property
    def game(self) -> Game:
        """The game, with the shared record that its engine plays by."""
        return self.engine.game

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of ``{"observation", "action_mask"}``, always the same object."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete[np.int64]:
        """Return the space of actions, always the same object."""
        return self.action_spaces[agent]

    def render(self) -> Any:
        """Return the state as text (``ansi``) or as a picture (``rgb_array``)."""
        if self.render_mode is None:
            return None
        check_drawable(self.engine)
        return self.game.render(self.engine.get_states()[0], self.render_mode)

    def close(self) -> None:
        """End the episode; a later ``reset`` starts another."""
        self.agents = []

    def _restart(self, seed: int | None) -> None:
        checks.check_seed(seed)
        self.engine.reset_many(seeds=None if seed is None else [seed])
        self.agents = [*self.possible_agents]
        if self._fields is not None:
            self._seen, self._scores = {}, self.engine.info[self._fields.scores][0].tolist()

    def _see(self, fields: SeatFields) -> str:
        """Return the agent on turn, which keeps what it sees."""
        agent: str = self._names[self.engine.info[fields.actor][0]]
        self._seen[agent] = self.engine.obs.copy()
        return agent

    def _last_seen(self, agent: str) -> Any:
        """Return a copy of what an agent saw at its last decision, zeros before its first."""
        return shown_obs(self._seen.get(agent, self._nothing)[0])

    def _paid(self, fields: SeatFields) -> list[float] | None:
        """Return each agent's reward, the change of its score; None if no score has changed."""
        scores = self.engine.info[fields.scores][0].tolist()
        if scores == self._scores:
            return None
        before, self._scores = self._scores, scores
        return [(scores[seat] - before[seat]) * fields.unit for seat in self.seats.outside]

    def _check_running(self, call: str = "step") -> None:
        if not self.agents:
            raise ResetNeededError(
                f"this environment has no running episode: call reset() before {call}()"
            )

    def _check_begun(self, call: str) -> None:
        if self.engine.never_reset().any():
            raise ResetNeededError(
                f"this environment was never reset: call reset() before {call}()"
            )

    def _as_action(self, action: Any, agent: str) -> int:
        """Return an action in range; errors name the agent."""
        number, allowed = as_int(action, f"{agent}: "), self.engine.num_actions - 1
        if not 0 <= number <= allowed:
            raise InvalidActionError(
                f"{agent}: action {show(number)} is out of range, allowed are 0..{allowed}"
            )
        return number


def check_seats(game: Game, what: str = "game") -> Seats:
    """Return the seats of a game of several players.

    Raises
    ------
    ConfigError
        A game for one player, or one whose seats are not all played from outside.
    """
    seats = game.seats
    if seats is None:
        raise ConfigError(f"{what}: it is for one player, PettingZoo shows games of several")
    if seats.fields is not None and seats.fields.scores not in game.spec.info_columns:
        raise ConfigError(f"{what}: it must be made with seats='all', which lets all seats decide")
    return seats


class GameAECEnv(_View, AECEnv[str, Observation, "int | None"]):  # type: ignore[misc]
    """A game of several players, one decision after the other.

    Parameters
    ----------
    game : Game
        A game that has ``seats``.
    backend, use_numba, use_cython
        See :func:`fastenv.backend.resolve`.
    render_mode : {None, "ansi", "rgb_array"}

    Attributes
    ----------
    engine : BatchEngine
        Of one lane; it shows the agent on turn.

    Notes
    -----
    Agents are ``player_0``, ``player_1``, ... by their seats. Those that act together are asked in
    this order, and the game moves when all of them have answered. :meth:`observe` returns what an
    agent sees now and, as long as its answer is due in this round, its legal actions; without a
    decision that is due, no action is legal. In a game whose row shows one seat at a time, an agent
    that is not on turn sees what it saw at its own last decision (zeros before its first). The
    episode ends for all at once.

    What :meth:`observe`, :meth:`last` and :meth:`render` return belongs to the caller. The dicts
    ``rewards``, ``terminations``, ``truncations`` and ``infos`` are the environment's own, as in
    all of PettingZoo: the next step writes into them.
    """

    rewards: dict[str, float]
    terminations: dict[str, bool]
    truncations: dict[str, bool]
    agent_selection: str

    def __init__(
        self,
        game: Game,
        *,
        backend: str | Backend = "auto",
        use_numba: bool | None = None,
        use_cython: bool | None = None,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(game, EXTERNAL, backend, use_numba, use_cython, render_mode)
        self.metadata["is_parallelizable"] = self.seats.order == "together"
        self._no_actions = np.zeros(game.spec.num_actions, np.int8)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start an episode.

        Parameters
        ----------
        seed : int, optional
            Seeds the game's generator; without one its stream continues.
        options : dict, optional
            Accepted for PettingZoo's sake; nothing in it is used.
        """
        self._restart(seed)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {name: {} for name in self.agents}
        self._skip_agent_selection = None
        self._give_turn()

    def _give_turn(self) -> None:
        """Select who decides."""
        if self._fields is not None:
            self.agent_selection = self._see(self._fields)
        else:
            self.agent_selection = self._names[self.engine.get_actors()[0]]

    def observe(self, agent: str) -> Observation:
        """Return the observation of an agent; see the class.

        Raises
        ------
        ResetNeededError
            Before the first ``reset``.
        ValueError
            There is no such agent.
        """
        self._check_begun("observe")
        if agent not in self.possible_agents:
            allowed = ", ".join(self.possible_agents)
            raise ValueError(f"agent={show(agent)}: must be one of {allowed}")
        engine, seat = self.engine, self.possible_agents.index(agent)
        if self._fields is not None:
            due, legal = agent == self.agent_selection and not engine.ended[0], engine.mask[0]
            seen = self._last_seen(agent)
        else:
            due, legal = engine.awaits()[0, seat], engine.seat_mask[0, seat]
            seen = shown_obs(engine.seat_obs[0, seat])
        mask = legal.astype(np.int8) if due else self._no_actions.copy()
        return {"observation": seen, "action_mask": mask}

    def last(
        self, observe: bool = True
    ) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]:
        """Return observation, reward, flags and info of the agent on turn.

        Parameters
        ----------
        observe : bool, default True
            False: None instead of the observation.

        Raises
        ------
        ResetNeededError
            Before the first ``reset``, and after every agent has had its last step.
        """
        self._check_running("last")
        seen, reward, terminated, truncated, info = super().last(observe)
        return seen, reward, terminated, truncated, {**info}

    def step(self, action: int | None) -> None:
        """Take the decision of ``agent_selection``; None, and only None, if its episode is over.

        Raises
        ------
        InvalidActionError
            Not an integer, out of range or, if the game raises on them, illegal now (a
            ``ValueError``). Nothing has moved.
        ValueError
            An action of an agent whose episode is over.
        ResetNeededError
            Before the first ``reset``, and after every agent has had its last step.
        """
        self._check_running()
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        number, engine = self._as_action(action, agent), self.engine
        if self._strict and not engine.mask[0, number]:
            raise engine.illegal_action((0,), number, agent)
        ended = engine.step_lane(number)
        self._cumulative_rewards[agent] = 0.0
        self._add_rewards()
        if ended:
            self.terminations = dict.fromkeys(self.agents, bool(engine.terminated[0]))
            self.truncations = dict.fromkeys(self.agents, bool(engine.truncated[0]))
            self._deads_step_first()
        else:
            self._give_turn()

    def _add_rewards(self) -> None:
        """Pay all agents for the last step; nothing where it was an answer that is pending."""
        if self._fields is not None:
            paid = self._paid(self._fields)
        else:
            paid = self.engine.seat_reward[0].tolist()
        if paid is None:
            self._clear_rewards()
            return
        self.rewards.update(zip(self.possible_agents, paid, strict=True))
        self._accumulate_rewards()


class GameParallelEnv(_View, ParallelEnv[str, Observation, int]):  # type: ignore[misc]
    """A game of several players, one action of each in every step.

    Parameters
    ----------
    game : Game
        A game that has ``seats``.
    backend, use_numba, use_cython
        See :func:`fastenv.backend.resolve`.
    render_mode : {None, "ansi", "rgb_array"}

    Attributes
    ----------
    engine : BatchEngine
        Of one lane.

    Notes
    -----
    Agents are ``player_0``, ``player_1``, ... by their seats. For one that does not act in a step
    the mask allows action 0 only; it may send any action, which is ignored, or none. In a game
    whose row shows one seat at a time it sees what it saw at its own last decision, zeros before
    its first. ``infos`` have ``needs_action``, which is False for all once the episode is over, and
    where rows have an entry an agent ``tau``, the frames since the agent's last decision, in games
    whose decisions last, and the columns of the game: of those with an entry an agent
    (:class:`fastenv.game.GameSpec`) the agent's own. All of it is numbers, as TorchRL needs them:
    ``env.game.shown(name, number)`` returns what another view shows where a column has labels.
    """

    agents: list[str]

    def __init__(
        self,
        game: Game,
        *,
        backend: str | Backend = "auto",
        use_numba: bool | None = None,
        use_cython: bool | None = None,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(game, None, backend, use_numba, use_cython, render_mode)
        self._turn = -1  # the agent on turn, in a game whose row shows one seat at a time

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Start an episode; see :meth:`GameAECEnv.reset`.

        Returns
        -------
        observations, infos : dict
            One entry an agent.
        """
        self._restart(seed)
        self._give_turn()
        return self._observations(), self._infos()

    def _give_turn(self) -> None:
        if self._fields is not None:
            self._turn = self.possible_agents.index(self._see(self._fields))

    def step(
        self, actions: Mapping[str, int]
    ) -> tuple[
        dict[str, Observation],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Take one decision of every agent that must act.

        Parameters
        ----------
        actions : mapping of str to int
            One action an agent.

        Returns
        -------
        observations, rewards, terminations, truncations, infos : dict
            One entry an agent. The episode ends for all at once, and ``agents`` is empty then.

        Raises
        ------
        InvalidActionError
            An agent that there is not or whose action is missing, not an integer, out of range or,
            if the game raises on them, illegal now (a ``ValueError``). Nothing has moved.
        ResetNeededError
            Before the first ``reset`` and after the end of an episode.
        """
        self._check_running()
        engine, agents = self.engine, self.agents
        chosen = self._take_actions(actions)
        if self._fields is None:
            engine.step_many(np.array([chosen]), autoreset=False)
            paid = engine.reward[0].tolist()
        else:
            engine.step_lane(chosen[self._turn])
            paid = self._paid(self._fields) or [0.0] * len(agents)
        terminated, truncated = bool(engine.terminated[0]), bool(engine.truncated[0])
        if terminated or truncated:
            self.agents = []
        else:
            self._give_turn()
        return (
            self._observations(),
            dict(zip(agents, paid, strict=True)),
            dict.fromkeys(agents, terminated),
            dict.fromkeys(agents, truncated),
            self._infos(),
        )

    def _waits(self) -> list[bool]:
        """Return for which agents the game waits."""
        if self._fields is None:
            waits: list[bool] = self.engine.awaits()[0].tolist()
            return waits
        over = bool(self.engine.ended[0])
        return [k == self._turn and not over for k in range(len(self.possible_agents))]

    def _take_actions(self, actions: Mapping[str, int]) -> list[int]:
        """Return an action of each agent, 0 of one that does not act, after checking them."""
        if not isinstance(actions, Mapping):
            raise InvalidActionError(f"actions must map agents to integers, got {show(actions)}")
        for name in actions:
            if name not in self.possible_agents:
                allowed = ", ".join(self.possible_agents)
                raise InvalidActionError(f"actions: {show(name)} must be one of {allowed}")
        engine, chosen = self.engine, [0] * len(self.agents)
        for k, (name, must) in enumerate(zip(self.agents, self._waits(), strict=True)):
            if not must:  # what it sends is ignored
                continue
            if name not in actions:
                raise InvalidActionError(f"actions: that of {show(name)} is missing, it must act")
            number = self._as_action(actions[name], name)
            where = (0, k) if self._fields is None else (0,)
            if self._strict and not engine.mask[where][number]:
                raise engine.illegal_action(where, number, name)
            chosen[k] = number
        return chosen

    def _observations(self) -> dict[str, Observation]:
        engine, agents = self.engine, self.possible_agents
        if self._fields is None:
            masks = engine.mask[0].astype(np.int8)
            seen = [shown_obs(obs) for obs in engine.obs[0]]
        else:
            masks = np.zeros((len(agents), engine.num_actions), np.int8)
            masks[:, 0] = 1
            masks[slice(None) if engine.ended[0] else self._turn] = engine.mask[0]
            seen = [self._last_seen(name) for name in agents]
        return {
            name: {"observation": seen[k], "action_mask": masks[k]} for k, name in enumerate(agents)
        }

    def _infos(self) -> dict[str, dict[str, Any]]:
        engine, agents = self.engine, self.possible_agents
        infos: list[dict[str, Any]] = [{"needs_action": must} for must in self._waits()]
        if self._fields is not None:  # the columns of its row are those of one seat
            return dict(zip(agents, infos, strict=True))
        if engine.spec.has_tau:
            for info, tau in zip(infos, engine.tau[0].tolist(), strict=True):
                info["tau"] = tau
        for name, column in engine.info.items():
            each = column[0] if column.shape[1:2] == (len(agents),) else [column[0]] * len(agents)
            for info, value in zip(infos, each, strict=True):
                info[name] = value.copy() if value.ndim else value.item()
        return dict(zip(agents, infos, strict=True))


def aec_env(
    game: str | Game,
    *,
    backend: str | Backend = "auto",
    use_numba: bool | None = None,
    use_cython: bool | None = None,
    render_mode: str | None = None,
    **config: Any,
) -> GameAECEnv:
    """Return a game of several players in which one decision follows the other.

    Parameters
    ----------
    game : str or Game
        An id of :func:`fastenv.list_envs` whose game is for several players, or such a game. Skull
        King is made with ``seats="all"`` (docs/skullking.md, 9.5).
    backend, use_numba, use_cython, render_mode
        See :func:`fastenv.make`.
    **config
        Options of the game.

    Raises
    ------
    ConfigError
        A game for one player, an unknown option or a value that is not allowed.

    Examples
    --------
    >>> env = aec_env("SkullKingFlat-v0", num_players=3, schedule=(1,))
    >>> env.reset(seed=0)
    >>> for agent in env.agent_iter():
    ...     seen, reward, terminated, truncated, info = env.last()
    ...     over = terminated or truncated
    ...     env.step(None if over else int(seen["action_mask"].argmax()))
    >>> env.agents
    []
    """
    flags: dict[str, Any] = {"backend": backend, "use_numba": use_numba, "use_cython": use_cython}
    return GameAECEnv(_made(game, config), render_mode=render_mode, **flags)


def parallel_env(
    game: str | Game,
    *,
    backend: str | Backend = "auto",
    use_numba: bool | None = None,
    use_cython: bool | None = None,
    render_mode: str | None = None,
    **config: Any,
) -> GameParallelEnv:
    """Return a game of several players that takes an action of each in every step.

    Parameters
    ----------
    game, backend, use_numba, use_cython, render_mode, **config
        See :func:`aec_env`.

    Raises
    ------
    ConfigError
        See :func:`aec_env`.

    Examples
    --------
    >>> env = parallel_env("DrMarioVersus-v0", level=0)
    >>> seen, infos = env.reset(seed=0)
    >>> actions = {agent: int(seen[agent]["action_mask"].argmax()) for agent in env.agents}
    >>> seen, rewards, terminated, truncated, infos = env.step(actions)
    >>> rewards
    {'player_0': 0.0, 'player_1': 0.0}
    """
    flags: dict[str, Any] = {"backend": backend, "use_numba": use_numba, "use_cython": use_cython}
    return GameParallelEnv(_made(game, config), render_mode=render_mode, **flags)


def _made(game: str | Game, config: dict[str, Any]) -> Game:
    """Return the game of an id, with all seats played from outside, or one as it is."""
    made = None
    if isinstance(game, str):
        with suppress(UnknownOptionError):  # most games do not take the option
            made = make_game(game, **{"seats": "all", **config})
    made = as_game(game, config) if made is None else made
    check_seats(made, f"id {show(game)}" if isinstance(game, str) else "game")
    return made

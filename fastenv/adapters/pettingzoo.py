"""Games of several players as PettingZoo environments: in turns (AEC), or all at once (parallel).

Observations are ``{"observation": ..., "action_mask": int8}``, as PettingZoo's own card and board
games have them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from fastenv.backend import Backend
from fastenv.engine import BatchEngine
from fastenv.env import as_game, as_int, check_render_mode, engine_for, observation_space, shown_obs
from fastenv.errors import ConfigError, InvalidActionError, ResetNeededError, show
from fastenv.game import Game
from fastenv.registry import make_game
from fastenv.seats import SeatFields, Seats

try:
    from pettingzoo import AECEnv, ParallelEnv
except ImportError as error:
    raise ImportError(
        "fastenv.adapters.pettingzoo needs PettingZoo: pip install 'fastenv-rl[pettingzoo]'"
    ) from error

__all__ = ["GameAECEnv", "GameParallelEnv", "aec_env", "parallel_env"]

Array = npt.NDArray[Any]
Observation = dict[str, Any]


class _View:
    """What both kinds of environment have: an engine of one lane, spaces, pictures."""

    def __init__(
        self,
        game: Game,
        numbers: tuple[int, ...],
        backend: str | Backend,
        use_numba: bool | None,
        use_cython: bool | None,
        render_mode: str | None,
    ) -> None:
        spec = game.spec
        self.render_mode = check_render_mode(game, render_mode)
        self.engine: BatchEngine = engine_for(game, 1, backend, use_numba, use_cython, 1)
        self.metadata: dict[str, Any] = {
            "name": game.env_id or type(game).__name__,
            "render_modes": list(spec.render_modes),
            "render_fps": 2,
        }
        self.possible_agents = [f"player_{number}" for number in numbers]
        self.agents: list[str] = []
        mask = spaces.Box(0, 1, (spec.num_actions,), np.int8)
        shown = {"observation": observation_space(game), "action_mask": mask}
        self.observation_spaces = {name: spaces.Dict(shown) for name in self.possible_agents}
        self.action_spaces = {
            name: spaces.Discrete(spec.num_actions) for name in self.possible_agents
        }

    @property
    def game(self) -> Game:
        """The game, with the shared record that its engine plays by."""
        return self.engine.game

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of ``{"observation", "action_mask"}``, always the same object."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """Return the space of actions, always the same object."""
        return self.action_spaces[agent]

    def render(self) -> Any:
        """Return the state as text (``ansi``) or as a picture (``rgb_array``)."""
        if self.render_mode is None:
            return None
        if self.engine.never_reset().any():
            raise ResetNeededError("there is nothing to render before the first reset()")
        return self.game.render(self.engine.get_states()[0], self.render_mode)

    def close(self) -> None:
        """End the episode; a later ``reset`` starts another."""
        self.agents = []

    def _restart(self, seed: int | None) -> None:
        self.engine.reset_many(seeds=None if seed is None else [seed])
        self.agents = [*self.possible_agents]

    def _check_running(self) -> None:
        if not self.agents:
            raise ResetNeededError(
                "this environment has no running episode: call reset() before step()"
            )

    def _as_action(self, action: Any, agent: str) -> int:
        """Return an action in range; errors name the agent."""
        number, allowed = as_int(action, f"{agent}: "), self.engine.num_actions - 1
        if not 0 <= number <= allowed:
            raise InvalidActionError(
                f"{agent}: action {show(number)} is out of range, allowed are 0..{allowed}"
            )
        return number


class GameAECEnv(_View, AECEnv):  # type: ignore[misc]
    """A game in turns, every seat of it played from outside.

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
    Agents are ``player_0``, ``player_1``, ... by their seats. :meth:`observe` of the agent on turn
    is what its seat may see, and its legal actions; that of the others what they saw at their own
    last decision (zeros before their first), and no legal action. The episode ends for all at once.
    """

    def __init__(
        self,
        game: Game,
        *,
        backend: str | Backend = "auto",
        use_numba: bool | None = None,
        use_cython: bool | None = None,
        render_mode: str | None = None,
    ) -> None:
        if game.seats is None or game.seats.fields is None:
            raise ConfigError("game: its seats must all be played from outside, by seats='all'")
        self.seats: Seats = game.seats
        self._fields: SeatFields = game.seats.fields
        flags = (backend, use_numba, use_cython)
        super().__init__(game, self.seats.outside, *flags, render_mode)
        self.metadata["is_parallelizable"] = False
        self._nothing = shown_obs(np.zeros_like(self.engine.obs[0]))
        self._no_actions = np.zeros(game.spec.num_actions, np.int8)
        self._seen: dict[str, Any] = {}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start an episode.

        Parameters
        ----------
        seed : int, optional
            Seeds the game's generator; without one its stream goes on.
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
        self._scores = self.engine.info[self._fields.scores][0].tolist()
        self._seen = {}
        self._give_turn()

    def _give_turn(self) -> None:
        """Select who decides; it keeps what it sees."""
        self.agent_selection = f"player_{self.engine.info[self._fields.actor][0]}"
        self._seen[self.agent_selection] = shown_obs(self.engine.obs[0])

    def observe(self, agent: str) -> Observation:
        """Return what a seat sees; see the class."""
        on_turn = agent == self.agent_selection and not self.engine.ended[0]
        mask = self.engine.mask[0].astype(np.int8) if on_turn else self._no_actions.copy()
        return {"observation": self._seen.get(agent, self._nothing), "action_mask": mask}

    def step(self, action: int | None) -> None:
        """Take the decision of ``agent_selection``; None, and only None, if its episode is over.

        Raises
        ------
        InvalidActionError
            Not an integer, out of range or illegal now (a ``ValueError``). Nothing has moved.
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
        if not engine.mask[0, number]:
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
        """Pay what the scores have changed by."""
        scores = self.engine.info[self._fields.scores][0].tolist()
        if scores == self._scores:
            self._clear_rewards()
            return
        for seat, agent in zip(self.seats.outside, self.possible_agents, strict=True):
            self.rewards[agent] = (scores[seat] - self._scores[seat]) * self._fields.unit
        self._scores = scores
        self._accumulate_rewards()


class GameParallelEnv(_View, ParallelEnv):  # type: ignore[misc]
    """A game whose K agents act at the same time.

    Parameters
    ----------
    game : Game
        A game of several agents.
    backend, use_numba, use_cython
        See :func:`fastenv.backend.resolve`.
    render_mode : {None, "ansi", "rgb_array"}

    Attributes
    ----------
    engine : BatchEngine
        Of one lane.

    Notes
    -----
    Agents are ``player_0`` to ``player_{K-1}``. For one that does not act in a step the mask allows
    action 0 only; it may send any action, which is ignored, or none. ``infos`` have
    ``needs_action``, which is False for all once the episode is over, ``tau``, the frames since the
    agent's last decision, in games whose decisions last, and the columns of the game: of those with
    an entry an agent
    (:class:`fastenv.game.GameSpec`) the agent's own. All of it is numbers, as TorchRL needs them:
    ``env.game.shown(name, number)`` returns what another view shows where a column has labels.
    """

    def __init__(
        self,
        game: Game,
        *,
        backend: str | Backend = "auto",
        use_numba: bool | None = None,
        use_cython: bool | None = None,
        render_mode: str | None = None,
    ) -> None:
        agents = game.spec.num_agents
        if agents == 1:
            raise ConfigError("game: its num_agents is 1, parallel_env needs several")
        flags = (backend, use_numba, use_cython)
        super().__init__(game, tuple(range(agents)), *flags, render_mode)

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
        return self._observations(), self._infos()

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
        engine.step_many(self._as_array(actions), autoreset=False)
        terminated, truncated = bool(engine.terminated[0]), bool(engine.truncated[0])
        rewards = dict(zip(agents, engine.reward[0].tolist(), strict=True))
        if terminated or truncated:
            self.agents = []
        return (
            self._observations(),
            rewards,
            dict.fromkeys(agents, terminated),
            dict.fromkeys(agents, truncated),
            self._infos(),
        )

    def _as_array(self, actions: Mapping[str, int]) -> Array:
        if not isinstance(actions, Mapping):
            raise InvalidActionError(f"actions must map agents to integers, got {show(actions)}")
        for name in actions:
            if name not in self.possible_agents:
                allowed = ", ".join(self.possible_agents)
                raise InvalidActionError(f"actions: {show(name)} must be one of {allowed}")
        engine, chosen = self.engine, np.zeros((1, len(self.agents)), np.int64)
        strict = engine.spec.illegal_actions == "raise"
        for k, (name, must) in enumerate(zip(self.agents, engine.needs_action()[0], strict=True)):
            if not must:  # what it sends is ignored
                continue
            if name not in actions:
                raise InvalidActionError(f"actions: that of {show(name)} is missing, it must act")
            number = self._as_action(actions[name], name)
            if strict and not engine.mask[0, k, number]:
                raise engine.illegal_action((0, k), number, name)
            chosen[0, k] = number
        return chosen

    def _observations(self) -> dict[str, Observation]:
        engine = self.engine
        masks = engine.mask[0].astype(np.int8)
        return {
            name: {"observation": shown_obs(engine.obs[0, k]), "action_mask": masks[k]}
            for k, name in enumerate(self.possible_agents)
        }

    def _infos(self) -> dict[str, dict[str, Any]]:
        engine, agents = self.engine, self.possible_agents
        waits = engine.needs_action()[0] & ~engine.ended[0]
        infos = [{"needs_action": must} for must in waits.tolist()]
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
    """Return a game in turns with every seat played from outside.

    Parameters
    ----------
    game : str or Game
        An id of :func:`fastenv.list_envs` whose game takes the option ``seats="all"`` (Skull King:
        docs/skullking.md, 9.5), or such a game.
    backend, use_numba, use_cython, render_mode
        See :func:`fastenv.make`.
    **config
        Options of the game.

    Raises
    ------
    ConfigError
        A game without seats, an unknown option or a value that is not allowed.
    """
    if isinstance(game, str):
        if not _has_seats(game):
            raise ConfigError(
                f"id {show(game)}: its game has no option seats='all', by which players take turns"
            )
        config = {"seats": "all", **config}
    flags: dict[str, Any] = {"backend": backend, "use_numba": use_numba, "use_cython": use_cython}
    return GameAECEnv(as_game(game, config), render_mode=render_mode, **flags)


def _has_seats(env_id: str) -> bool:
    make_game(env_id)  # an unknown id is another error
    try:
        seats = make_game(env_id, seats="all").seats
        return seats is not None and seats.fields is not None
    except ConfigError:
        return False


def parallel_env(
    game: str | Game,
    *,
    backend: str | Backend = "auto",
    use_numba: bool | None = None,
    use_cython: bool | None = None,
    render_mode: str | None = None,
    **config: Any,
) -> GameParallelEnv:
    """Return a game whose K agents act at the same time.

    Parameters
    ----------
    game : str or Game
        An id of :func:`fastenv.list_envs` whose game has several agents, or such a game.
    backend, use_numba, use_cython, render_mode
        See :func:`fastenv.make`.
    **config
        Options of the game.

    Raises
    ------
    ConfigError
        A game of one agent, an unknown option or a value that is not allowed.
    """
    flags: dict[str, Any] = {"backend": backend, "use_numba": use_numba, "use_cython": use_cython}
    return GameParallelEnv(as_game(game, config), render_mode=render_mode, **flags)

"""One way to lead any environment: reset, step, what it shows, who may choose what.

A track says what it shows as a *frame*: fields of everybody who is shown something (an agent, a
lane of a vector, or "" for the one of a single environment), copied.
"""

from __future__ import annotations

import copy
import math
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from gymnasium import Env, spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space

from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError
from fastenv.testing.laws import (
    CLOSE,
    FIVE,
    PARALLEL,
    STARTED,
    STEP,
    STEPPED,
    TURNS,
    VECTOR,
    Laws,
)
from fastenv.testing.masks import FIELDS, find_mask, find_method
from fastenv.testing.report import Call
from fastenv.testing.values import keep, of_lane, overwrite, parts_of, say_error, to_action

Frame = dict[tuple[str, str], Any]
Actions = dict[str, Any]  # plain actions by who chooses
PAID = ("reward", "terminated", "truncated")
ACTIONS = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)


@dataclass
class Choice:
    """The actions that somebody may choose from now.

    Parameters
    ----------
    space : gymnasium.spaces.Space
    mask : numpy.ndarray of bool, optional
        Which actions of a ``Discrete`` space are legal, or of each part of a ``MultiDiscrete`` one,
        one after the other; None: all.
    """

    space: spaces.Space[Any]
    mask: np.ndarray | None = None

    def allows(self, plain: Any) -> bool:
        """Return whether a plain action may be chosen."""
        if not self.space.contains(to_action(self.space, plain)):
            return False
        return self.mask is None or all(
            number in legal for number, legal in zip(np.ravel(plain), self.legal(), strict=True)
        )

    def legal(self) -> list[np.ndarray]:
        """Return the legal numbers of each part of a discrete space."""
        parts, begin = [], 0
        for size, first in parts_of(self.space):
            mask = np.ones(size) if self.mask is None else self.mask[begin : begin + size]
            parts.append(np.flatnonzero(mask) + first)
            begin += size
        return parts


class Track(ABC):
    """An environment that is led through episodes.

    Parameters
    ----------
    env : object
        The environment.
    laws : Laws
        What it does is held to the rules of its interface.

    Attributes
    ----------
    over : bool
        Whether the episode is over, or none has begun.
    turn : dict of Choice
        From what everybody may choose who must choose now.
    begun, resting : set of str
        Whose episode began in the last call; whose is over, so that a reset comes next.
    """

    kind: str
    mode: AutoresetMode | None = None  # of a vector

    def __init__(self, env: Any, laws: Laws) -> None:
        self.env = env
        self.laws = laws
        self.num_lanes: int = 1
        self.over: bool = True
        self.turn: dict[str, Choice] = {}
        self.begun: set[str] = set()
        self.resting: set[str] = set()
        self._returned: dict[str, Any] = {}  # what the last call handed out, and a copy of it
        self._kept: dict[str, Any] = {}
        self.ask: Callable[[], Any] | None = find_method(env)

    def call(self, call: Call) -> Frame:
        """Make a call of a case: a reset with a seed, or a step with actions."""
        return self.step(call) if isinstance(call, dict) else self.reset(call)

    def attempt(self, call: Call) -> Frame | str:
        """Make a call of a case; return what it shows, or the text of the error that it raises."""
        try:
            return self.call(call)
        except Exception as error:
            return say_error(error)

    @abstractmethod
    def reset(self, seed: int | None) -> Frame:
        """Begin an episode, or one in each lane."""

    @abstractmethod
    def step(self, actions: Actions) -> Frame:
        """Take the chosen actions."""

    def allows(self, actions: Actions) -> bool:
        """Return whether these are legal actions of those whose turn it is."""
        turn = self.turn
        return actions.keys() == turn.keys() and all(turn[k].allows(actions[k]) for k in turn)

    def singles(self) -> dict[str, Any]:
        """Return the single environments whose state can be set."""
        return {}

    def copied(self, how: str) -> Track:
        """Return a copy of the environment in a track of its own, by ``copy`` or ``pickle``."""
        is_pickle = how == "pickle"
        env = pickle.loads(pickle.dumps(self.env)) if is_pickle else copy.deepcopy(self.env)
        return self.around(env, Laws())

    def around(self, env: Any, laws: Laws) -> Track:
        """Return a track at the same place of its episode around another environment."""
        twin = copy.copy(self)
        own = {name: dict(value) for name, value in vars(self).items() if type(value) is dict}
        vars(twin).update(own, env=env, laws=laws, ask=find_method(env), _returned={}, _kept={})
        return twin

    def _settle(
        self, *, over: bool = False, begun: Iterable[str] = (), resting: Iterable[str] = ()
    ) -> None:
        """Say where the episodes are after a call; nobody's turn is known yet."""
        self.over, self.begun, self.resting, self.turn = over, set(begun), set(resting), {}

    def _hand_out(self, **values: Any) -> None:
        """Take what a call returned; hold what the call before returned to be as it was."""
        kept, before, self._returned = self._kept, self._returned, values
        if not self.laws.quiet:
            self._kept = keep(values)
            self.laws.check_kept(kept, before)

    def observe_again(self) -> None:
        """Ask once more for what can be asked for without a step."""
        if self.ask is not None:
            self.ask()

    def overwrite_returned(self) -> None:
        """Write into everything that the last call handed out."""
        overwrite(self._returned)

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def finish(self) -> None:
        """Close the environment at the end, and hold that to raise nothing."""
        try:
            self.close()
        except Exception as error:
            rule = "an environment can be closed at any time"
            self.laws.hold(False, rule, CLOSE, say_error(error), "nothing raised")


class Pulse:
    """Told of every frame, so that whoever waits knows that the environments answer."""

    beat: Callable[[], None] = staticmethod(lambda: None)


def make_frame(who: str, mask: Any, observation: Any, paid: Any, info: Any) -> Frame:
    """Build the frame of an agent or lane: mask, observation, rewards and flags, info."""
    Pulse.beat()
    frame: Frame = {} if mask is None else {(who, "mask"): keep(mask)}
    frame[who, "observation"] = keep(observation)
    frame |= {(who, name): keep(value) for name, value in zip(PAID, paid, strict=False)}
    named = info.items() if isinstance(info, Mapping) else ()
    return frame | {(who, f"info.{k}"): keep(value) for k, value in named if k != "action_mask"}


class SingleTrack(Track):
    """A :class:`gymnasium.Env`."""

    kind = "a Gymnasium environment"

    def singles(self) -> dict[str, Any]:  # noqa: D102
        return {"": self.env}

    def reset(self, seed: int | None) -> Frame:  # noqa: D102
        self._steps = 0
        return self._show(self.env.reset(seed=seed), STARTED)

    def step(self, actions: Actions) -> Frame:  # noqa: D102
        self._steps += 1
        action = to_action(self.env.action_space, actions[""])
        return self._show(self.env.step(action), STEPPED)

    def _show(self, result: Any, form: tuple[str, str, str]) -> Frame:
        observation, *paid, info = self.laws.check_result(result, *form)
        over = any(map(bool, paid[1:]))
        self._settle(over=over, begun=() if paid else ("",), resting=("",) if over else ())
        self._hand_out(observation=observation, reward=paid[:1], info=info)
        self._check_paid(paid)
        space, found = self.env.action_space, find_mask(self.ask, info, observation)
        mask = self.laws.check_mask(found, space, needed=not over)
        self.laws.check_observation(observation, self.env.observation_space)
        if over:  # nobody chooses then: masks of two packages need not agree there
            return make_frame("", None, observation, paid, info)
        self.turn[""] = Choice(space, mask)
        return make_frame("", mask, observation, paid, info)

    def _check_paid(self, paid: list[Any]) -> None:
        """Hold reward, flags and the length of the episode to what they must be."""
        for reward in paid[:1]:
            self.laws.check_reward(reward)
        for name, flag in zip(PAID[1:], paid[1:], strict=False):
            is_flag = isinstance(flag, (bool, np.bool_))
            self.laws.hold(is_flag, f"{name} is a bool", STEP, flag, "True or False")
        limit = getattr(getattr(self.env, "spec", None), "max_episode_steps", None) or -1
        rule = "no episode is longer than the limit that the id says"
        source = "Gymnasium, EnvSpec.max_episode_steps"
        self.laws.hold(limit < 0 or self._steps <= limit, rule, source, self._steps, limit)


class VectorTrack(Track):
    """A :class:`gymnasium.vector.VectorEnv`, in any autoreset mode.

    With disabled autoreset the lanes that ended are reset at once, as its user would.
    """

    kind = "a vector environment"

    def __init__(self, env: Any, laws: Laws) -> None:
        super().__init__(env, laws)
        self.num_lanes: int = int(env.num_envs)
        mode = (getattr(env, "metadata", None) or {}).get("autoreset_mode")
        if mode is None:
            rule = "a vector environment declares its autoreset mode; taken as NEXT_STEP"
            laws.note(rule, "Gymnasium, VectorEnv.metadata['autoreset_mode']")
        self.mode: AutoresetMode | None = AutoresetMode(mode or AutoresetMode.NEXT_STEP)
        self._space: spaces.Space[Any] = env.observation_space
        if not isinstance(env, VectorEnv):  # EnvPool calls that of one lane its space
            single = getattr(env, "single_observation_space", env.observation_space)
            self._space = batch_space(single, self.num_lanes)
        self._ended: np.ndarray = np.zeros(self.num_lanes, np.bool_)
        self._finals: list[tuple[str, str]] = []  # final observations, and what came after them

    def reset(self, seed: int | None) -> Frame:  # noqa: D102
        shown, _ = self._take(self.env.reset(seed=seed), STARTED)
        self._ended = np.zeros(self.num_lanes, np.bool_)
        self._settle(begun=self._lanes(~self._ended))
        return self._frame([shown] * self.num_lanes, (), {})

    def step(self, actions: Actions) -> Frame:  # noqa: D102
        space = self.env.single_action_space
        chosen = [to_action(space, actions[f"lane {k}"]) for k in range(self.num_lanes)]
        batch: Any = tuple(chosen)
        if not isinstance(space, (spaces.Dict, spaces.Tuple)):
            batch = np.asarray(chosen, self.env.action_space.dtype)
        first, paid = self._take(self.env.step(batch), STEPPED)
        self._check_paid(paid)
        rewards, terminated, truncated = paid = [np.asarray(each) for each in paid]
        before, self._ended = self._ended, (terminated != 0) | (truncated != 0)
        shown, final = [first] * self.num_lanes, dict[int, Any]()
        if self.mode is AutoresetMode.NEXT_STEP:
            self._settle(begun=self._lanes(before), resting=self._lanes(self._ended))
            rule = "the step after an end resets the lane: it pays nothing and ends nothing"
            right = not (before & ((rewards != 0) | self._ended)).any()
            self.laws.hold(right, rule, f"{VECTOR}, NEXT_STEP", rewards, "0 where it was reset")
            return self._frame(shown, paid, final)
        self._settle(begun=self._lanes(self._ended))
        if self._ended.any() and self.mode is AutoresetMode.SAME_STEP:
            final = self._find_final(*first)
        elif self._ended.any():
            lanes = np.flatnonzero(self._ended).tolist()
            final = {lane: keep(of_lane(first[0], lane)) for lane in lanes}
            again = self.env.reset(options={"reset_mask": self._ended.copy()})
            begun, _ = self._take(again, STARTED)
            shown = [begun if k in final else first for k in range(self.num_lanes)]
        return self._frame(shown, paid, final)

    def singles(self) -> dict[str, Any]:  # noqa: D102
        return {f"lane {k}": env for k, env in enumerate(getattr(self.env, "envs", ()))}

    def _take(self, result: Any, form: tuple[str, str, str]) -> tuple[tuple[Any, Any], list[Any]]:
        """Hold what a call returned to its form; return (observations, infos), and what it pays."""
        observations, *paid, infos = self.laws.check_result(result, *form)
        self._hand_out(observation=observations, paid=paid, info=infos)
        self.laws.check_observation(observations, self._space)
        return (observations, infos), paid

    @staticmethod
    def _lanes(which: np.ndarray) -> list[str]:
        return [f"lane {k}" for k in np.flatnonzero(which)]

    def _check_paid(self, paid: list[Any]) -> None:
        """Hold rewards and flags to be arrays with an entry for each lane."""
        for name, values in zip(("rewards", "terminations", "truncations"), paid, strict=True):
            shape, expected = np.shape(values), (self.num_lanes,)
            rule = f"{name} of a vector are an array with an entry for each lane"
            self.laws.hold(shape == expected, rule, VECTOR, shape, expected, fatal=True)
            if name == "rewards":
                for value in np.asarray(values).tolist():
                    self.laws.check_reward(value)
            else:
                dtype = np.asarray(values).dtype
                rule = "terminations and truncations of a vector are arrays of bool"
                self.laws.hold(dtype == np.bool_, rule, VECTOR, dtype.name, "bool")

    def _find_final(self, observations: Any, infos: Any) -> dict[int, Any]:
        """Return the final observations of the lanes that ended, by lane.

        They are those of the end: if all of them were the first of the next episode, that is wrong.
        """
        source, given = f"{VECTOR}, SAME_STEP", infos.get("final_obs")
        rule = "where lanes end, the infos have 'final_obs'"
        self.laws.hold(given is not None, rule, source, sorted(infos), "'final_obs'")
        if given is None:
            return {}
        said = np.asarray(infos.get("_final_obs", self._ended), np.bool_)
        right = np.array_equal(said, self._ended)
        self.laws.hold(right, "'_final_obs' says which lanes ended", source, said, self._ended)
        final = {int(k): of_lane(given, int(k)) for k in np.flatnonzero(self._ended)}
        for lane, observation in final.items():
            self.laws.check_observation(observation, self.env.single_observation_space)
            self._finals.append((repr(observation), repr(of_lane(observations, lane))))
        same = sum(end == begin for end, begin in self._finals)
        begins = len({begin for _, begin in self._finals})
        rule = "'final_obs' is what the episode ended with, not the next one's beginning"
        right = begins < 3 or same < len(self._finals)
        self.laws.hold(right, rule, source, f"the beginning, {same} times", "the end")
        return final

    def _frame(self, shown: list[tuple[Any, Any]], paid: Any, final: dict[int, Any]) -> Frame:
        """Return the frame of what each lane's observations and infos say of it."""
        space = self.env.single_action_space
        frame: Frame = {}
        ask = self.ask and cache(self.ask)  # once for all lanes
        for lane, (observations, infos) in enumerate(shown):
            who, mask = f"lane {lane}", None
            if who not in self.resting:
                found = find_mask(ask, infos, observations, lane)
                mask = self.laws.check_mask(found, space)
            self.turn[who] = Choice(space, mask)
            each = [values[lane] for values in paid]
            seen = of_lane(observations, lane)
            frame |= make_frame(who, mask, seen, each, lane_info(infos, lane))
            if lane in final:
                frame[who, "final observation"] = keep(final[lane])
        return frame


def side_by_side(make: Callable[[], Any], like: Any, laws: Laws) -> Track:
    """Return single environments as a vector, of as many lanes and of the mode of another track."""
    makers = [make] * like.num_lanes
    return VectorTrack(SyncVectorEnv(makers, autoreset_mode=like.mode), laws)


def lane_info(infos: Any, lane: int) -> dict[str, Any]:
    """Return the info of a lane from a vector's infos, without that of the final step."""
    found: dict[str, Any] = {}
    for key, value in infos.items():
        if key.startswith(("_", "final_")) or key in FIELDS:
            continue
        given = infos.get(f"_{key}")
        if given is not None and not given[lane]:
            continue
        if isinstance(value, np.ndarray) and value.ndim and len(value) > lane:
            found[key] = value[lane]
    return found


class EngineTrack(Track):
    """A :class:`fastenv.BatchEngine`: lanes that begin again in the step that ends an episode."""

    kind = "an engine"
    mode: AutoresetMode | None = AutoresetMode.SAME_STEP

    def __init__(self, env: BatchEngine, laws: Laws) -> None:
        super().__init__(env, laws)
        self.num_lanes: int = env.num_envs

    def reset(self, seed: int | None) -> Frame:  # noqa: D102
        self.env.reset_many(seeds=seed)
        return self._frame(stepped=False)

    def step(self, actions: Actions) -> Frame:  # noqa: D102
        chosen = np.array(list(actions.values()), np.int64)
        self.env.step_many(chosen.reshape(self.env.mask.shape[:-1]))
        return self._frame(stepped=True)

    def _frame(self, *, stepped: bool) -> Frame:
        engine = self.env
        frame: Frame = {}
        self._settle()
        masks = engine.mask.reshape(self.num_lanes, -1, engine.num_actions) != 0
        for lane in range(self.num_lanes):
            who, space = f"lane {lane}", spaces.Discrete(engine.num_actions)
            for agent, mask in enumerate(masks[lane]):
                key = who if masks.shape[1] == 1 else f"{who}, agent {agent}"
                self.turn[key] = Choice(space, mask if mask.any() else None)
            flags = bool(engine.terminated[lane]), bool(engine.truncated[lane])
            paid = (engine.reward[lane], *flags) if stepped else ()
            info = {name: column[lane] for name, column in engine.info.items()}
            frame |= make_frame(who, engine.mask[lane], engine.obs[lane], paid, info)
            if stepped and any(flags):
                frame[who, "final observation"] = keep(engine.final_obs[lane])
        return frame

    def close(self) -> None:
        """Leave the engine to its garbage collector: it has nothing to close."""


class ParallelTrack(Track):
    """A PettingZoo environment whose agents act at the same time."""

    kind = "a parallel PettingZoo environment"

    def reset(self, seed: int | None) -> Frame:  # noqa: D102
        observations, infos = self.laws.check_result(self.env.reset(seed=seed), *STARTED)
        return self._frame(observations, (), infos)

    def step(self, actions: Actions) -> Frame:  # noqa: D102
        acting = list(self.env.agents)
        chosen = {k: to_action(self.env.action_space(k), actions[str(k)]) for k in acting}
        result = self.laws.check_result(self.env.step(chosen), "step", FIVE, PARALLEL)
        for each in result:
            rule = "step returns five dicts, one key for each agent that acted"
            same = set(each) == set(result[0]) >= set(acting)
            self.laws.hold(same, rule, PARALLEL, [*each], acting, fatal=True)
        for reward in result[1].values():
            self.laws.check_reward(reward, PARALLEL)
        observations, *paid, infos = result
        return self._frame(observations, paid, infos)

    def _frame(self, observations: Any, paid: Any, infos: Any) -> Frame:
        self._hand_out(observation=observations)
        frame: Frame = {("", "agents"): list(self.env.agents)}
        self._settle(over=not self.env.agents)
        for agent, observation in observations.items():
            who = str(agent)
            space, info = self.env.action_space(agent), infos.get(agent, {})
            mask = self.laws.check_mask(find_mask(None, info, observation), space, needed=False)
            self.laws.check_observation(observation, self.env.observation_space(agent), who)
            if agent in self.env.agents:
                self.turn[who] = Choice(space, mask if mask is not None and mask.any() else None)
            each = [values[agent] for values in paid]
            frame |= make_frame(who, mask, observation, each, info)
        return frame


class TurnsTrack(Track):
    """A PettingZoo environment whose agents act in turn (AEC)."""

    kind = "an AEC PettingZoo environment"

    def __init__(self, env: Any, laws: Laws) -> None:
        super().__init__(env, laws)
        self._owed: dict[str, float] = {}  # rewards of each agent since it acted

    def reset(self, seed: int | None) -> Frame:  # noqa: D102
        self.env.reset(seed=seed)
        self._owed = dict.fromkeys(self.env.agents, 0.0)
        return self._frame()

    def step(self, actions: Actions) -> Frame:  # noqa: D102
        agent = self.env.agent_selection
        self._act(to_action(self.env.action_space(agent), actions[str(agent)]))
        frame, gone = self._frame(), {}
        while self.env.agents and self._is_gone(self.env.agent_selection):
            agent, left = self.env.agent_selection, list(self.env.agents)
            gone[str(agent), "last reward"] = keep(self._last()[1])
            self._act(None)
            rule = "step(None) takes the agent away whose episode is over"
            taken = len(self.env.agents) < len(left)
            self.laws.hold(
                taken, rule, TURNS, self.env.agents, f"{left} without {agent}", fatal=True
            )
        if gone:
            frame |= {**gone, ("", "agents left"): list(self.env.agents)}
            self.find_turn()
        return frame

    def _act(self, action: Any) -> None:
        agent = self.env.agent_selection
        self.env.step(action)
        if action is not None:
            self._owed[agent] = 0.0
        for other, reward in self.env.rewards.items():
            self._owed[other] = self._owed.get(other, 0.0) + reward

    def _is_gone(self, agent: str) -> bool:
        return bool(self.env.terminations[agent] or self.env.truncations[agent])

    def _last(self) -> Any:
        """Check that the reward of ``last()`` is what the agent is owed; return its result."""
        last, agent = self.env.last(), self.env.agent_selection
        self.laws.check_result(last, "last()", FIVE, TURNS)
        right = math.isclose(last[1], self._owed[agent], rel_tol=1e-6, abs_tol=1e-9)
        rule = "the reward of last() is the sum of an agent's rewards since it acted"
        self.laws.hold(right, rule, TURNS, last[1], f"{self._owed[agent]!r} for {agent}")
        return last

    def find_turn(self) -> None:
        """Find out whose turn it is, and what may be chosen."""
        env = self.env
        self._settle(over=not env.agents)
        if not self.over:
            agent, space = env.agent_selection, env.action_space(env.agent_selection)
            mask = find_mask(None, env.infos[agent], env.observe(agent))
            needed = not self._is_gone(agent)
            self.turn[str(agent)] = Choice(space, self.laws.check_mask(mask, space, needed=needed))

    def _frame(self) -> Frame:
        env = self.env
        frame: Frame = {("", "agents"): list(env.agents)}
        if env.agents:
            self._check_tables()
            frame["", "turn"] = env.agent_selection
        self.find_turn()
        if self.over:
            return frame
        shown = {agent: env.observe(agent) for agent in env.agents}
        observation, reward, terminated, truncated, _ = self._last()
        self._hand_out(last=observation, observation=shown)
        for agent, seen in shown.items():
            self.laws.check_observation(seen, env.observation_space(agent), str(agent))
            mask = find_mask(None, env.infos[agent], seen)
            paid = env.rewards[agent], env.terminations[agent], env.truncations[agent]
            frame |= make_frame(str(agent), mask, seen, paid, env.infos[agent])
        frame[str(env.agent_selection), "last"] = keep((observation, reward, terminated, truncated))
        return frame

    def _check_tables(self) -> None:
        """Hold the environment's own tables to its agents."""
        env, hold = self.env, self.laws.hold
        rule = "the agent whose turn it is is one of the agents"
        known = env.agent_selection in env.agents
        hold(known, rule, TURNS, env.agent_selection, env.agents, fatal=True)
        for name in ("rewards", "terminations", "truncations"):
            keys, rule = [*getattr(env, name)], f"{name} has a key for each agent"
            right = set(keys) == set(env.agents)
            hold(right, rule, TURNS, keys, env.agents, fatal=True)
        for reward in env.rewards.values():
            self.laws.check_reward(reward, TURNS)

    def observe_again(self) -> None:  # noqa: D102
        for _ in range(2):
            for agent in self.env.agents:
                self.env.observe(agent)
        if self.env.agents:
            self.env.last()


def make_track(env: Any, laws: Laws) -> Track:
    """Return the track that leads an environment.

    Raises
    ------
    ConfigError
        It is none of the kinds that are known, or has actions of another kind.
    """
    if isinstance(env, BatchEngine):
        return EngineTrack(env, laws)
    is_vector = isinstance(env, VectorEnv) or hasattr(env, "single_action_space")
    given: list[Any] = []
    if is_vector:
        given = [env.single_action_space]
    elif hasattr(env, "possible_agents"):
        given = [*map(env.action_space, env.possible_agents)]
    elif hasattr(env, "action_space") and not callable(env.action_space):
        given = [env.action_space]
    for space in given:
        _refuse_space(type(env).__name__, space)
    if is_vector:
        return VectorTrack(env, laws)
    if hasattr(env, "agent_iter") and hasattr(env, "last"):
        return TurnsTrack(env, laws)
    if hasattr(env, "possible_agents"):
        return ParallelTrack(env, laws)
    if given:
        return SingleTrack(env, laws)
    own = "" if not isinstance(env, Env) else ": it has no action_space"
    raise ConfigError(
        f"{type(env).__name__}: must be an environment of Gymnasium (single or vector) or "
        f"PettingZoo, or an engine of fastenv{own}"
    )


def _refuse_space(name: str, space: Any) -> None:
    """Refuse actions that cannot be drawn and written as plain numbers."""
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        inside = space.spaces
        for each in inside.values() if isinstance(inside, Mapping) else inside:
            _refuse_space(name, each)
    elif not isinstance(space, ACTIONS):
        allowed = ", ".join(kind.__name__ for kind in ACTIONS)
        raise ConfigError(
            f"{name}: actions must be of {allowed}, or Dict and Tuple of them, got "
            f"{type(space).__name__}"
        )

"""One way to lead any environment: reset, step, what it shows, who may choose what.

A track says what it shows as a *frame*: fields of everybody who is shown something (an agent, a
lane of a vector, or "" for the one of a single environment), copied, in the order in which they
are compared: masks come first.
"""

from __future__ import annotations

import copy
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv

from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError
from fastenv.testing.laws import Laws
from fastenv.testing.values import keep, of_lane, overwrite, to_action

Frame = dict[tuple[str, str], Any]
Actions = dict[str, Any]  # plain actions by who chooses


@dataclass
class Choice:
    """The actions that somebody may choose from now.

    Parameters
    ----------
    space : gymnasium.spaces.Space
    mask : numpy.ndarray of bool, optional
        Which actions of a ``Discrete`` space are legal; None: all.
    """

    space: spaces.Space[Any]
    mask: np.ndarray | None = None

    def allows(self, plain: Any) -> bool:
        """Return whether a plain action may be chosen."""
        if self.mask is None or not isinstance(self.space, spaces.Discrete):
            return True
        place = int(plain) - int(self.space.start)
        return 0 <= place < len(self.mask) and bool(self.mask[place])


class Track(ABC):
    """An environment that is led through episodes.

    Parameters
    ----------
    env : object
        The environment.
    laws : Laws
        Takes what it does against the rules of its interface.
    """

    kind: str

    def __init__(self, env: Any, laws: Laws) -> None:
        self.env = env
        self.laws = laws
        self.over = True
        self.returned: list[Any] = []  # what the last call handed out
        self._kept: Any = []  # a copy of it
        self.turn: dict[str, Choice] = {}

    @abstractmethod
    def reset(self, seed: int | None) -> Frame:
        """Begin an episode, or one in each lane."""

    @abstractmethod
    def step(self, actions: Actions) -> Frame:
        """Take the chosen actions."""

    def copied(self, how: str) -> Track:
        """Return a copy of the environment in a track of its own, by ``copy`` or ``pickle``."""
        twin = copy.copy(self)
        twin.laws = Laws(quiet=True)
        if how == "copy":
            twin.env = copy.deepcopy(self.env)
        else:
            twin.env = pickle.loads(pickle.dumps(self.env))
        twin.turn, twin.returned = dict(self.turn), []
        return twin

    def _hand_out(self, values: list[Any]) -> None:
        """Take what a call returned; hold what the call before returned to be as it was."""
        if not self.laws.quiet:
            self.laws.check_kept(self._kept, self.returned)
            self._kept = keep(values)
        self.returned = values

    def observe_again(self) -> None:  # noqa: B027
        """Ask once more for what can be asked for without a step."""

    def overwrite_returned(self) -> None:
        """Write into everything that the last call handed out."""
        for value in self.returned:
            overwrite(value)

    def close(self) -> None:
        """Close the environment."""
        self.env.close()


def find_mask(env: Any, info: Any, observation: Any = None) -> Any:
    """Return the mask of legal actions that an environment gives, or None.

    Looked for in the observation (``"action_mask"``), in the info, and by the method
    ``action_masks``.
    """
    for where in (observation, info):
        if isinstance(where, Mapping) and "action_mask" in where:
            return where["action_mask"]
    for name in ("action_masks", "valid_action_mask"):
        method = getattr(getattr(env, "unwrapped", env), name, None)
        if callable(method):
            return method()
    return None


class SingleTrack(Track):
    """A :class:`gymnasium.Env`."""

    kind = "a Gymnasium environment"

    def reset(self, seed: int | None) -> Frame:  # noqa: D102
        result = self.env.reset(seed=seed)
        observation, info = self.laws.check_reset(result)
        self.over = False
        self._steps: int = 0
        self._hand_out([observation, info])
        return self._frame(observation, info)

    def step(self, actions: Actions) -> Frame:  # noqa: D102
        self._steps += 1
        self.laws.check_limit(self._steps, getattr(self.env, "spec", None))
        result = self.env.step(to_action(self.env.action_space, actions[""]))
        observation, reward, terminated, truncated, info = self.laws.check_step(result)
        self.over = bool(terminated or truncated)
        self._hand_out([observation, reward, info])
        return self._frame(observation, info, reward, terminated, truncated)

    def follow(self, actions: Actions, ended: bool) -> None:
        """Step the environment for its clock alone; whether the episode ends is said."""
        self.step(actions)
        self.over: bool = ended
        self.turn = {} if ended else {"": Choice(self.env.action_space)}

    def _frame(self, observation: Any, info: Any, *paid: Any) -> Frame:
        space = self.env.action_space
        mask = self.laws.check_mask(find_mask(self.env, info), space, self.over)
        self.laws.check_observation(observation, self.env.observation_space)
        self.turn: dict[str, Choice] = {} if self.over else {"": Choice(space, mask)}
        return make_frame("", mask, observation, paid, info)


class Pulse:
    """Told of every frame, so that whoever waits knows that the environments answer."""

    beat: Callable[[], None] = staticmethod(lambda: None)


def make_frame(who: str, mask: Any, observation: Any, paid: Any, info: Any) -> Frame:
    """Return what somebody is shown as fields: mask, observation, rewards and flags, info."""
    Pulse.beat()
    frame: Frame = {}
    if mask is not None:
        frame[who, "mask"] = keep(mask)
    frame[who, "observation"] = keep(observation)
    for name, value in zip(("reward", "terminated", "truncated"), paid, strict=False):
        frame[who, name] = keep(value)
    if isinstance(info, Mapping):
        for key, value in info.items():
            if key != "action_mask":
                frame[who, f"info.{key}"] = keep(value)
    return frame


class VectorTrack(Track):
    """A :class:`gymnasium.vector.VectorEnv`, in any autoreset mode.

    With disabled autoreset the lanes that ended are reset at once, as its user would.
    """

    kind = "a vector environment"

    def __init__(self, env: Any, laws: Laws) -> None:
        super().__init__(env, laws)
        self.num_lanes: int = int(env.num_envs)
        self.mode: AutoresetMode = autoreset_mode(env, laws)
        self.ended: np.ndarray = np.zeros(self.num_lanes, np.bool_)

    def reset(self, seed: int | None) -> Frame:  # noqa: D102
        observations, infos = self.laws.check_reset(self.env.reset(seed=seed))
        self.over = False
        self.ended = np.zeros(self.num_lanes, np.bool_)
        self._hand_out([observations, infos])
        return self._frame(observations, infos, None, {})

    def step(self, actions: Actions) -> Frame:  # noqa: D102
        space = self.env.single_action_space
        chosen = [to_action(space, actions[f"lane {k}"]) for k in range(self.num_lanes)]
        batch: Any = tuple(chosen)
        if not isinstance(space, (spaces.Dict, spaces.Tuple)):
            batch = np.asarray(chosen, self.env.action_space.dtype)
        result = self.laws.check_step(self.env.step(batch), lanes=self.num_lanes)
        observations, rewards, terminated, truncated, infos = result
        self._hand_out([observations, rewards, terminated, truncated, infos])
        before, self.ended = self.ended, np.asarray(terminated | truncated, np.bool_)
        if self.mode is AutoresetMode.NEXT_STEP:
            self.laws.check_restart(before, rewards, self.ended)
        final: dict[int, Any] = {}
        if self.ended.any():
            if self.mode is AutoresetMode.SAME_STEP:
                space = self.env.single_observation_space
                final = self.laws.check_final(infos, self.ended, space, observations)
            elif self.mode is AutoresetMode.DISABLED:
                final = {
                    int(k): keep(of_lane(observations, int(k))) for k in np.flatnonzero(self.ended)
                }
                again = self.env.reset(options={"reset_mask": self.ended.copy()})
                observations, infos = self.laws.check_reset(again)
        return self._frame(observations, infos, (rewards, terminated, truncated), final)

    def _frame(self, observations: Any, infos: Any, paid: Any, final: dict[int, Any]) -> Frame:
        self.laws.check_observation(observations, self.env.observation_space)
        masks = find_mask(self.env, infos)
        space = self.env.single_action_space
        frame: Frame = {}
        self.turn: dict[str, Choice] = {}
        for lane in range(self.num_lanes):
            who = f"lane {lane}"
            waits = bool(self.ended[lane]) and self.mode is AutoresetMode.NEXT_STEP
            mask = None
            if masks is not None and not waits:
                mask = self.laws.check_mask(masks[lane], space, False)
            self.turn[who] = Choice(space, mask)
            each = () if paid is None else [values[lane] for values in paid]
            frame |= make_frame(
                who, mask, of_lane(observations, lane), each, lane_info(infos, lane)
            )
            if lane in final:
                frame[who, "final observation"] = keep(final[lane])
        return frame


def autoreset_mode(env: Any, laws: Laws) -> AutoresetMode:
    """Return the mode that a vector environment declares; by default it is the next step."""
    mode = (getattr(env, "metadata", None) or {}).get("autoreset_mode")
    if mode is None:
        laws.note(
            "a vector environment declares its autoreset mode; taken as NEXT_STEP",
            "Gymnasium, VectorEnv.metadata['autoreset_mode']",
        )
        return AutoresetMode.NEXT_STEP
    return AutoresetMode(mode) if isinstance(mode, str) else mode


def lane_info(infos: Any, lane: int) -> dict[str, Any]:
    """Return what a vector's infos say of a lane, without what is said of the final step."""
    found: dict[str, Any] = {}
    for key, value in (infos or {}).items():
        if key.startswith(("_", "final_")) or key == "action_mask":
            continue
        given = infos.get(f"_{key}")
        if given is not None and not given[lane]:
            continue
        if isinstance(value, np.ndarray) and value.ndim and len(value) > lane:
            found[key] = value[lane]
    return found


class LanesTrack(Track):
    """Single environments side by side, reset as a vector environment of some mode does it.

    Parameters
    ----------
    make : callable
        Makes one of them.
    num_lanes : int
    mode : AutoresetMode
    laws : Laws
    """

    kind = "single environments side by side"

    def __init__(
        self, make: Callable[[], Any], num_lanes: int, mode: AutoresetMode, laws: Laws
    ) -> None:
        self.lanes: list[SingleTrack] = [SingleTrack(make(), laws) for _ in range(num_lanes)]
        super().__init__(self.lanes[0].env, laws)
        self.mode = mode
        self.restarted: list[int] = []  # lanes that began an episode in the last call

    def reset(self, seed: int | None) -> Frame:  # noqa: D102
        self.over = False
        self.restarted = list(range(len(self.lanes)))
        frames = [lane.reset(None if seed is None else seed + k) for k, lane in self._numbered()]
        return self._join(frames)

    def step(self, actions: Actions) -> Frame:  # noqa: D102
        frames = []
        self.restarted = []
        for k, lane in self._numbered():
            if lane.over:  # NEXT_STEP: the action is not looked at
                frame = lane.reset(None) | {("", "reward"): 0.0}
                frame |= {("", name): False for name in ("terminated", "truncated")}
                self.restarted.append(k)
            else:
                frame = lane.step({"": actions[f"lane {k}"]})
                if lane.over and self.mode is not AutoresetMode.NEXT_STEP:
                    final = frame["", "observation"]
                    paid = {key: value for key, value in frame.items() if key[1] in PAID}
                    frame = lane.reset(None) | paid | {("", "final observation"): final}
                    self.restarted.append(k)
            frames.append(frame)
        return self._join(frames)

    def follow(self, actions: Actions, frame: Frame) -> None:
        """Step the lanes for their clocks alone: which of them end is what another frame says."""
        self.restarted = []
        for k, lane in self._numbered():
            who = f"lane {k}"
            ended = bool(frame[who, "terminated"] or frame[who, "truncated"])
            if lane.over:
                lane.reset(None)
                self.restarted.append(k)
                continue
            lane.follow({"": actions[who]}, ended)
            if ended and self.mode is not AutoresetMode.NEXT_STEP:
                lane.reset(None)
                self.restarted.append(k)
        self._find_turns()

    def _find_turns(self) -> None:
        choice = Choice(self.env.action_space)
        self.turn: dict[str, Choice] = {
            f"lane {k}": lane.turn.get("", choice) for k, lane in self._numbered()
        }

    def _numbered(self) -> list[tuple[int, SingleTrack]]:
        return list(enumerate(self.lanes))

    def _join(self, frames: list[Frame]) -> Frame:
        self._find_turns()
        joined: Frame = {}
        for k, lane in self._numbered():
            who = f"lane {k}"
            ordered = sorted(frames[k].items(), key=lambda item: item[0][1] != "mask")
            if lane.over:  # the vector's lane waits for its reset; its mask means nothing
                ordered = [item for item in ordered if item[0][1] != "mask"]
            joined |= {(who, field): value for (_, field), value in ordered}
        return joined

    def close(self) -> None:  # noqa: D102
        for lane in self.lanes:
            lane.close()


PAID = ("reward", "terminated", "truncated")


class EngineTrack(Track):
    """A :class:`fastenv.BatchEngine`: lanes that begin again in the step that ends an episode."""

    kind = "an engine"
    mode = AutoresetMode.SAME_STEP

    def __init__(self, env: BatchEngine, laws: Laws) -> None:
        super().__init__(env, laws)
        self.num_lanes: int = env.num_envs

    def reset(self, seed: int | None) -> Frame:  # noqa: D102
        self.env.reset_many(seeds=seed)
        self.over = False
        return self._frame(stepped=False)

    def step(self, actions: Actions) -> Frame:  # noqa: D102
        chosen = np.array(list(actions.values()), np.int64)
        self.env.step_many(chosen.reshape(self.env.mask.shape[:-1]))
        return self._frame(stepped=True)

    def _frame(self, *, stepped: bool) -> Frame:
        engine = self.env
        frame: Frame = {}
        self.turn: dict[str, Choice] = {}
        masks = engine.mask.reshape(self.num_lanes, -1, engine.num_actions)
        for lane in range(self.num_lanes):
            who = f"lane {lane}"
            for agent, mask in enumerate(masks[lane] != 0):
                key = who if masks.shape[1] == 1 else f"{who}, agent {agent}"
                self.turn[key] = Choice(
                    spaces.Discrete(engine.num_actions), mask if mask.any() else None
                )
            paid: list[Any] = []
            if stepped:
                paid = [engine.reward[lane], engine.terminated[lane], engine.truncated[lane]]
                paid[1:] = [bool(flag) for flag in paid[1:]]
            info = {name: column[lane] for name, column in engine.info.items()}
            frame |= make_frame(who, engine.mask[lane], engine.obs[lane], paid, info)
            if stepped and (paid[1] or paid[2]):
                frame[who, "final observation"] = keep(engine.final_obs[lane])
        return frame

    def close(self) -> None:
        """Leave the engine to its garbage collector: it has nothing to close."""


class ParallelTrack(Track):
    """A PettingZoo environment whose agents act at the same time."""

    kind = "a parallel PettingZoo environment"

    def reset(self, seed: int | None) -> Frame:  # noqa: D102
        observations, infos = self.laws.check_reset(self.env.reset(seed=seed))
        self._hand_out(list(observations.values()))
        return self._frame(observations, infos)

    def step(self, actions: Actions) -> Frame:  # noqa: D102
        acting = list(self.env.agents)
        chosen = {k: to_action(self.env.action_space(k), actions[k]) for k in acting}
        result = self.laws.check_parallel(self.env.step(chosen), acting)
        observations, rewards, terminated, truncated, infos = result
        self._hand_out(list(observations.values()))
        return self._frame(observations, infos, rewards, terminated, truncated)

    def _frame(self, observations: Any, infos: Any, *paid: Any) -> Frame:
        frame: Frame = {}
        self.turn: dict[str, Choice] = {}
        for agent, observation in observations.items():
            space, info = self.env.action_space(agent), infos.get(agent, {})
            gone = agent not in self.env.agents
            found = find_mask(None, info, observation)
            mask = self.laws.check_mask(found, space, gone, optional=True)
            self.laws.check_observation(observation, self.env.observation_space(agent), agent)
            if not gone:
                self.turn[agent] = Choice(space, mask if mask is not None and mask.any() else None)
            each = [values[agent] for values in paid]
            frame |= make_frame(agent, mask, observation, each, info)
        frame["", "agents"] = list(self.env.agents)
        self.over: bool = not self.env.agents
        return frame


class TurnsTrack(Track):
    """A PettingZoo environment whose agents act in turn (AEC)."""

    kind = "an AEC PettingZoo environment"

    def __init__(self, env: Any, laws: Laws) -> None:
        super().__init__(env, laws)
        self.owed: dict[str, float] = {}

    def reset(self, seed: int | None) -> Frame:  # noqa: D102
        self.env.reset(seed=seed)
        self.owed = dict.fromkeys(self.env.agents, 0.0)
        return self._frame()

    def step(self, actions: Actions) -> Frame:  # noqa: D102
        agent = self.env.agent_selection
        self.env.step(to_action(self.env.action_space(agent), actions[agent]))
        self.owed[agent] = 0.0
        self._add_rewards()
        frame = self._frame()
        gone: Frame = {}
        while self.env.agents and self._is_gone(self.env.agent_selection):
            agent = self.env.agent_selection
            gone[agent, "last reward"] = keep(self._last()[1])
            self.env.step(None)
            self._add_rewards()
        if gone:
            frame = frame | gone | {("", "agents left"): list(self.env.agents)}
        self.over = not self.env.agents
        self.turn = {} if self.over else self._turn()
        return frame

    def copied(self, how: str) -> Track:  # noqa: D102
        twin = super().copied(how)
        assert isinstance(twin, TurnsTrack)
        twin.owed = dict(self.owed)
        return twin

    def _add_rewards(self) -> None:
        for agent, reward in self.env.rewards.items():
            self.owed[agent] = self.owed.get(agent, 0.0) + reward

    def _is_gone(self, agent: str) -> bool:
        return bool(self.env.terminations[agent] or self.env.truncations[agent])

    def _last(self) -> Any:
        agent = self.env.agent_selection
        last = self.env.last()
        self.laws.check_last(last, self.owed[agent], agent)
        return last

    def _turn(self) -> dict[str, Choice]:
        agent = self.env.agent_selection
        found = find_mask(None, self.env.infos[agent], self.env.observe(agent))
        space = self.env.action_space(agent)
        mask = self.laws.check_mask(found, space, self._is_gone(agent))
        return {agent: Choice(space, mask)}

    def _frame(self) -> Frame:
        env = self.env
        self.over: bool = not env.agents
        if self.over:
            return {("", "agents"): []}
        self.laws.check_turns(env)
        self.turn: dict[str, Choice] = self._turn()
        shown = {agent: env.observe(agent) for agent in env.agents}
        observation, reward, terminated, truncated, _ = self._last()
        self._hand_out([observation, *shown.values()])
        frame: Frame = {("", "turn"): env.agent_selection, ("", "agents"): list(env.agents)}
        for agent, seen in shown.items():
            self.laws.check_observation(seen, env.observation_space(agent), agent)
            mask = find_mask(None, env.infos[agent], seen)
            paid = env.rewards[agent], env.terminations[agent], env.truncations[agent]
            frame |= make_frame(agent, mask, seen, paid, env.infos[agent])
        frame[env.agent_selection, "last"] = keep((observation, reward, terminated, truncated))
        return frame

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
        It is none of the kinds that are known.
    """
    if isinstance(env, BatchEngine):
        return EngineTrack(env, laws)
    if isinstance(env, VectorEnv) or hasattr(env, "single_action_space"):
        return VectorTrack(env, laws)
    if hasattr(env, "agent_iter") and hasattr(env, "last"):
        return TurnsTrack(env, laws)
    if hasattr(env, "possible_agents"):
        return ParallelTrack(env, laws)
    if isinstance(env, gymnasium.Env) or hasattr(env, "action_space"):
        return SingleTrack(env, laws)
    raise ConfigError(
        f"{type(env).__name__}: must be an environment of Gymnasium (single or vector) or "
        "PettingZoo, or an engine of fastenv"
    )

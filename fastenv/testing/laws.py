"""The rules of the interfaces, held against everything that an environment returns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from fastenv.testing.report import Finding
from fastenv.testing.values import first_difference, of_lane, show

RESET = "Gymnasium, Env.reset"
STEP = "Gymnasium, Env.step"
VECTOR = "Gymnasium, VectorEnv"
MASKS = "a mask of legal actions, as sb3-contrib and PettingZoo read it"
PARALLEL = "PettingZoo, Parallel API"
TURNS = "PettingZoo, AEC API"
OWNED = "Gymnasium, Env.step returns values; VectorEnv, copy=True by default"


class Broken(Exception):
    """An environment returned what nobody can go on from; the finding is in ``Laws`` already."""


class Laws:
    """The rules that an environment broke so far, each once.

    Parameters
    ----------
    quiet : bool
        Keep nothing: for tracks that are only compared with.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.findings: dict[str, Finding] = {}
        self.quiet = quiet
        self._ends = self._same = 0  # final observations, and those that are the next beginning
        self._begins: set[str] = set()

    def broken(self, rule: str, source: str, value: Any, expected: str) -> None:
        """Keep that a rule is broken, unless it is known."""
        if not self.quiet and rule not in self.findings:
            names = "returned", "allowed"
            self.findings[rule] = Finding(
                "law broken", rule, source, names=names, values=(show(value), expected)
            )

    def note(self, rule: str, source: str) -> None:
        """Keep a remark that is no fault."""
        if not self.quiet:
            self.findings.setdefault(rule, Finding("note", rule, source))

    def _fail(self, rule: str, source: str, value: Any, expected: str) -> Broken:
        self.broken(rule, source, value, expected)
        return Broken(f"{rule}: {show(value)}")

    def check_kept(self, kept: Any, returned: Any) -> None:
        """Hold what an earlier call returned to be as it was."""
        found = first_difference("returned", kept, returned)
        if found is not None:
            rule = "what a call returned stays as it was, whatever is called later"
            self.broken(rule, OWNED, found[2], f"{show(found[1])}, as it was returned")

    # -- what reset and step return ---------------------------------------------------------------

    def check_reset(self, result: Any) -> tuple[Any, Any]:
        """Return observation and info of a reset."""
        if not (isinstance(result, tuple) and len(result) == 2):
            raise self._fail(
                "reset returns (observation, info)", RESET, type(result).__name__, "a pair"
            )
        if not isinstance(result[1], Mapping):
            raise self._fail("info is a dict", RESET, result[1], "a dict")
        return result

    def check_step(self, result: Any, lanes: int | None = None) -> tuple[Any, ...]:
        """Return what a step returned: observation, reward, terminated, truncated, info.

        Parameters
        ----------
        result : object
        lanes : int, optional
            Of a vector environment; rewards and flags are arrays of that length.
        """
        if not (isinstance(result, tuple) and len(result) == 5):
            five = "(observation, reward, terminated, truncated, info)"
            got = f"{type(result).__name__} of {len(result) if hasattr(result, '__len__') else '?'}"
            raise self._fail(f"step returns {five}", STEP, got, "five values")
        observation, reward, terminated, truncated, info = result
        if not isinstance(info, Mapping):
            raise self._fail("info is a dict", STEP, info, "a dict")
        if lanes is None:
            self.check_reward(reward)
            for name, flag in (("terminated", terminated), ("truncated", truncated)):
                if not isinstance(flag, (bool, np.bool_)):
                    self.broken(f"{name} is a bool", STEP, flag, "True or False")
            return result
        for name, values in (("rewards", reward), ("terminations", terminated)):
            shape = np.shape(values)
            if shape != (lanes,):
                rule = f"{name} of a vector are an array with an entry for each lane"
                raise self._fail(rule, VECTOR, shape, f"shape ({lanes},)")
        if np.shape(truncated) != (lanes,):
            rule = "truncations of a vector are an array with an entry for each lane"
            raise self._fail(rule, VECTOR, np.shape(truncated), f"shape ({lanes},)")
        for value in np.asarray(reward).tolist():
            self.check_reward(value)
        flags = np.asarray(terminated), np.asarray(truncated)
        for each in flags:
            if each.dtype != np.bool_:
                rule = "terminations and truncations of a vector are arrays of bool"
                self.broken(rule, VECTOR, each.dtype.name, "bool")
        return observation, np.asarray(reward), flags[0] != 0, flags[1] != 0, info

    def check_limit(self, steps: int, spec: Any) -> None:
        """Hold an episode to the longest one that the id of its environment allows."""
        limit = getattr(spec, "max_episode_steps", None)
        if limit is not None and steps > limit:
            rule = "no episode is longer than the limit that the id says"
            source = "Gymnasium, EnvSpec.max_episode_steps"
            self.broken(rule, source, steps, f"at most {limit}")

    def check_reward(self, reward: Any, source: str = STEP) -> None:
        """Hold a reward to be a finite number."""
        if self.quiet:
            return
        try:
            finite = np.shape(reward) == () and math.isfinite(reward)
        except (TypeError, ValueError):
            finite = False
        if not finite:
            self.broken("a reward is a finite number", source, reward, "a finite number")

    def check_observation(
        self, observation: Any, space: spaces.Space[Any], agent: str = ""
    ) -> None:
        """Hold an observation to its space: shape, dtype, bounds."""
        if self.quiet:
            return
        try:
            inside = space.contains(observation)
        except Exception as error:
            inside, observation = False, f"{observation!r} ({type(error).__name__}: {error})"
        if not inside:
            of = f" of {agent}" if agent else ""
            wrong = why_outside(observation, space)
            source = TURNS if agent else "Gymnasium, Env.observation_space"
            self.broken(f"an observation{of} lies in its space", source, wrong, show(space))

    def check_mask(
        self, mask: Any, space: spaces.Space[Any], over: bool, *, optional: bool = False
    ) -> np.ndarray | None:
        """Return a mask as an array of bool, or None where there is none.

        Parameters
        ----------
        mask : object
            As the environment gives it.
        space : gymnasium.spaces.Space
            Of the actions.
        over : bool
            Whether the episode is over, so that no action need be legal.
        optional : bool
            Whether no action need be legal while it runs, as for an agent who waits.
        """
        if mask is None or not isinstance(space, spaces.Discrete):
            return None
        values = np.asarray(mask)
        if values.shape != (int(space.n),):
            rule = "a mask has an entry for each action"
            raise self._fail(rule, MASKS, values.shape, f"shape ({int(space.n)},)")
        if not ((values == 0) | (values == 1)).all():
            self.broken("a mask holds only 0 and 1", MASKS, mask, "0 and 1")
        if not over and not optional and not values.any():
            rule = "while an episode runs, some action is legal"
            raise self._fail(rule, MASKS, mask, "at least one 1")
        return np.asarray(values != 0)

    # -- vectors -----------------------------------------------------------------------------------

    def check_restart(self, restarted: Any, rewards: Any, ended: Any) -> None:
        """Hold the step that resets lanes (NEXT_STEP) to pay nothing and to end nothing."""
        if (restarted & ((np.asarray(rewards) != 0) | ended)).any():
            rule = "the step after an end resets the lane: it pays nothing and ends nothing"
            self.broken(rule, f"{VECTOR}, NEXT_STEP", rewards, "0 where the lane was reset")

    def _check_ends(self, final: dict[int, Any], observations: Any) -> None:
        """Hold final observations to be those of the end, not those of the next beginning."""
        for lane, observation in final.items():
            first = of_lane(observations, lane)
            self._ends += 1
            self._begins.add(repr(first))
            if first_difference("", observation, first) is None:
                self._same += 1
        if self._same == self._ends >= 3 and len(self._begins) >= 3:
            rule = "'final_obs' is what the episode ended with, not the next one's beginning"
            value = f"the beginning, {self._same} times"
            self.broken(rule, f"{VECTOR}, SAME_STEP", value, "the end")

    def check_final(
        self, infos: Any, ended: Any, space: spaces.Space[Any], observations: Any
    ) -> dict[int, Any]:
        """Return the final observations of the lanes that ended (SAME_STEP), by lane."""
        lanes = [int(lane) for lane in np.flatnonzero(ended)]
        source = f"{VECTOR}, SAME_STEP"
        given = infos.get("final_obs")
        if given is None:
            rule = "where lanes end, the infos have 'final_obs'"
            self.broken(rule, source, sorted(infos), "'final_obs'")
            return {}
        said = infos.get("_final_obs")
        if said is not None and not np.array_equal(np.asarray(said, np.bool_), ended):
            rule = "'_final_obs' says which lanes ended"
            self.broken(rule, source, said, show(ended))
        final = {lane: of_lane(given, lane) for lane in lanes}
        self._check_ends(final, observations)
        for observation in final.values():
            self.check_observation(observation, space)
        return final

    # -- several agents ----------------------------------------------------------------------------

    def check_parallel(self, result: Any, acting: list[str]) -> tuple[Any, ...]:
        """Return the five dicts of a parallel step."""
        if not (isinstance(result, tuple) and len(result) == 5):
            rule = "step returns five dicts, one key for each agent"
            raise self._fail(rule, PARALLEL, type(result).__name__, "five dicts")
        for each in result:
            if set(each) != set(acting):
                rule = "step returns five dicts, one key for each agent that acted"
                raise self._fail(rule, PARALLEL, sorted(each), show(acting))
        for reward in result[1].values():
            self.check_reward(reward, PARALLEL)
        return result

    def check_turns(self, env: Any) -> None:
        """Hold an AEC environment's own tables to its agents."""
        if env.agent_selection not in env.agents:
            rule = "the agent whose turn it is is one of the agents"
            raise self._fail(rule, TURNS, env.agent_selection, show(env.agents))
        for name in ("rewards", "terminations", "truncations", "infos"):
            table = getattr(env, name)
            if set(table) != set(env.agents):
                rule = f"{name} has a key for each agent"
                raise self._fail(rule, TURNS, sorted(table), show(env.agents))
        for reward in env.rewards.values():
            self.check_reward(reward, TURNS)

    def check_last(self, last: Any, owed: float, agent: str) -> None:
        """Hold the reward of ``last()`` to the sum of rewards since the agent acted."""
        if not (isinstance(last, tuple) and len(last) == 5):
            rule = "last() returns (observation, reward, terminated, truncated, info)"
            raise self._fail(rule, TURNS, type(last).__name__, "five values")
        if not math.isclose(last[1], owed, rel_tol=1e-6, abs_tol=1e-9):
            rule = "the reward of last() is the sum of an agent's rewards since it acted"
            self.broken(rule, TURNS, last[1], f"{owed!r} for {agent}")


def why_outside(value: Any, space: spaces.Space[Any]) -> str:
    """Say in which way a value does not lie in its space."""
    if isinstance(space, spaces.Dict) and isinstance(value, Mapping):
        if set(value) != set(space.spaces):
            return f"keys {sorted(map(str, value))}"
        for key, each in space.spaces.items():
            if not each.contains(value[key]):
                return f"[{key!r}]: {why_outside(value[key], each)}"
    if isinstance(space, spaces.Box) and isinstance(value, np.ndarray):
        if value.shape != space.shape:
            return f"shape {value.shape}"
        if not np.can_cast(value.dtype, space.dtype):
            return f"dtype {value.dtype}"
        with np.errstate(invalid="ignore"):
            outside = ~((value >= space.low) & (value <= space.high))
        if outside.any():
            place = tuple(int(k) for k in np.argwhere(outside)[0])
            bounds = f"{space.low[place]} to {space.high[place]}"
            return f"{value[place]} at {list(place)}, where {bounds} is allowed"
    return f"{show(value)} ({type(value).__name__})"

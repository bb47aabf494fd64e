"""Hidden information: worlds that look the same to an agent must show it the same."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fastenv.testing.laws import Laws
from fastenv.testing.report import Fault, Missing, Refused
from fastenv.testing.stress import Make, Stress, Tracks, between, is_rare, play_on
from fastenv.testing.tracks import ParallelTrack, Track, TurnsTrack, find_mask, find_method
from fastenv.testing.values import first_difference, say_error, show

WORLDS = 3  # of a position and an agent
RULE = "an agent sees nothing of what is hidden from it"
REACHED = "a drawn world is reached by legal actions from the beginning"
STEPS = 12  # that a world is played on

Twin = Callable[[Any, Any, Any], Any]


def stress_of(twin: Twin) -> Stress:
    """Return the stress in which the worlds that a twin draws look the same and are possible."""

    def lead(make: Make) -> Tracks:
        rng = np.random.default_rng(5)

        def check(track: Track, number: int) -> None:
            if track.mode is not None:
                raise Missing("a twin is of one environment, and this is a vector")
            if is_rare(number) and not track.over:
                for agent in _agents(track.env):
                    _check_worlds(twin, track, agent, rng)

        return between(check)(make)

    return Stress("beside worlds that look the same", RULE, "the game's own twin", lead)


def _agents(env: Any) -> list[str]:
    return list(getattr(env, "agents", [""]))


def _look(env: Any, agent: str) -> dict[str, Any]:
    """Return the current observation and mask of an agent.

    Raises
    ------
    Missing
        No method returns the observation.
    """
    game, info = getattr(env, "unwrapped", env), getattr(env, "infos", {})
    looks: list[tuple[Any, tuple[Any, ...]]] = [(getattr(env, "observe", None), (agent,))]
    looks += [(getattr(game, name, None), ()) for name in ("_obs", "_get_obs", "get_obs")]
    for look, given in looks:
        if callable(look) and _can_call(look, given):
            observation = look(*given)
            info = info.get(agent, {}) if isinstance(info, Mapping) else {}
            mask = find_mask(find_method(env), info, observation)
            return {"observation": observation} | ({} if mask is None else {"mask": mask})
    raise Missing("no method shows what an agent sees now: observe(agent), _get_obs() or _obs()")


def _can_call(method: Callable[..., Any], given: tuple[Any, ...]) -> bool:
    try:
        inspect.signature(method).bind(*given)
    except (TypeError, ValueError):
        return False
    return True


def _check_worlds(twin: Twin, track: Track, agent: str, rng: np.random.Generator) -> None:
    """Hold worlds to look the same, and to be possible: they play on, a replay leads there.

    Raises
    ------
    Fault
    """
    before = _look(track.env, agent)
    for _ in range(WORLDS):
        try:
            world, replay = twin(track.env, agent, rng), None
            if isinstance(world, tuple):
                world, replay = world
            seen = _look(world, agent)
        except Exception as error:
            raise Refused(f"twin: {say_error(error)}") from error
        _hold_same("drawing a world changes nothing", agent, before, _look(track.env, agent))
        _hold_same(RULE, agent, before, seen)
        if replay is not None:
            start = _replay(replay[0], replay[1], agent)
            for each in _agents(start):
                _hold_same(REACHED, agent, _look(start, each), _look(world, each))
    trouble = _trouble_of(track, world, rng)
    if trouble:
        rule = "a drawn world is possible: it plays on by legal actions"
        raise Fault((trouble, "nothing"), rule=rule, who=str(agent))


def _hold_same(rule: str, agent: str, a: dict[str, Any], b: dict[str, Any]) -> None:
    for name in a | b:
        found = first_difference(name, a.get(name, "nothing"), b.get(name, "nothing"))
        if found is not None:
            path, *values = found
            x, y = map(show, values)
            raise Fault((x, y), rule=f"{rule}: {path}", who=str(agent))


def _replay(start: Any, actions: list[Any], agent: str) -> Any:
    """Lead the beginning of an AEC game to a world by legal actions, and return it."""
    for number, action in enumerate(actions):
        mask = start.observe(start.agent_selection)
        mask = mask.get("action_mask") if isinstance(mask, dict) else None
        if mask is not None and not mask[int(action)]:
            said = f"action {action!r} of step {number} is not legal"
            raise Fault((said, "legal actions"), rule=REACHED, who=str(agent))
        start.step(action)
    return start


def _trouble_of(track: Track, world: Any, rng: np.random.Generator) -> str:
    """Play on in a world; return the first error or broken rule, "" if there is none."""
    played = track.around(world, Laws(()))
    if isinstance(played, TurnsTrack):
        played.find_turn()  # the others may have other choices there
    elif isinstance(played, ParallelTrack) and any(
        each.mask is not None for each in played.turn.values()
    ):
        return ""
    return play_on(played, rng, STEPS)

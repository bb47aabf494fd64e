"""Hidden information: worlds that look the same to an agent must show it the same."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from fastenv.testing.laws import Laws
from fastenv.testing.stress import Fault, Make, Question, Tracks, is_rare, lead_again, play_on
from fastenv.testing.tracks import ParallelTrack, Track, TurnsTrack
from fastenv.testing.values import first_difference, show

WORLDS = 3  # of a position and an agent
RULE = "an agent sees nothing of what is hidden from it"
REACHED = "a drawn world is reached by legal actions from the beginning"
STEPS = 12  # that a world is played on
WORLDS_DRAWN = "beside worlds that look the same"

Twin = Callable[[Any, Any, Any], Any]


def question_of(twin: Twin) -> Question:
    """Return the question whether the worlds that a twin draws look the same and are possible."""

    def lead(make: Make) -> Tracks:
        rng = np.random.default_rng(5)
        for number, track in zip(count(), lead_again(make), strict=False):
            yield track
            if is_rare(number) and not track.over:
                for agent in _agents(track.env):
                    _check_worlds(twin, track, agent, rng)

    return Question(WORLDS_DRAWN, RULE, "the game's own twin", lead)


def _agents(env: Any) -> list[str]:
    return list(getattr(env, "agents", [""]))


def _look(env: Any, agent: str) -> Any:
    """Return the current observation of an agent, None if no method returns it."""
    if hasattr(env, "observe"):
        return env.observe(agent)
    game = getattr(env, "unwrapped", env)
    for name in ("_obs", "_get_obs", "get_obs"):
        if callable(getattr(game, name, None)):
            return getattr(game, name)()
    return None


def _check_worlds(twin: Twin, track: Track, agent: str, rng: np.random.Generator) -> None:
    """Hold worlds to look the same, and to be possible: they play on, a replay leads there.

    Raises
    ------
    Fault
    """
    before = _look(track.env, agent)
    for _ in range(WORLDS):
        world, replay = twin(track.env, agent, rng), None
        if isinstance(world, tuple):
            world, replay = world
        _hold_same("drawing a world changes nothing", agent, before, _look(track.env, agent))
        _hold_same(RULE, agent, before, _look(world, agent))
        if replay is not None:
            start = _replay(replay[0], replay[1], agent)
            for each in _agents(start):
                _hold_same(REACHED, agent, _look(start, each), _look(world, each))
    trouble = _trouble_of(track, world, rng)
    if trouble:
        rule = "a drawn world is possible: it plays on by legal actions"
        raise Fault(rule, (trouble, "nothing"), agent)


def _hold_same(rule: str, agent: str, a: Any, b: Any) -> None:
    found = first_difference("observation", a, b)
    if found is not None:
        raise Fault(f"{rule}: {found[0]}", (show(found[1]), show(found[2])), agent)


def _replay(start: Any, actions: list[Any], agent: str) -> Any:
    """Lead the beginning of an AEC game to a world by legal actions, and return it."""
    for number, action in enumerate(actions):
        mask = start.observe(start.agent_selection)
        mask = mask.get("action_mask") if isinstance(mask, dict) else None
        if mask is not None and not mask[int(action)]:
            said = f"action {action!r} of step {number} is not legal"
            raise Fault(REACHED, (said, "legal actions"), agent)
        start.step(action)
    return start


def _trouble_of(track: Track, world: Any, rng: np.random.Generator) -> str:
    """Play on in a world; return the first error or broken rule, "" if there is none."""
    laws = Laws()
    played = track.around(world, laws)
    if isinstance(played, TurnsTrack):
        played.find_turn()  # the others may have other choices there
    elif isinstance(played, ParallelTrack) and any(
        each.mask is not None for each in played.turn.values()
    ):
        return ""
    raised = play_on(played, rng, STEPS)
    broken = [f"{rule}: {found.values[0]}" for rule, found in laws.broken.items()]
    return raised or next(iter(broken), "")

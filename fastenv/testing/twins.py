"""Hidden information: worlds that look the same to an agent must show it the same."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from fastenv.testing.laws import Laws
from fastenv.testing.play import say_error
from fastenv.testing.stress import Fault, Make, Stress, Tracks, is_rare, play_some
from fastenv.testing.tracks import ParallelTrack, Track, TurnsTrack
from fastenv.testing.values import first_difference, show

WORLDS = 3  # of a position and an agent
RULE = "an agent sees nothing of what is hidden from it"
REACHED = "a drawn world is reached by legal actions from the beginning"
STEPS = 12  # that a world is played on

Twin = Callable[[Any, Any, Any], Any]


def stress_of(twin: Twin | None) -> Stress:
    """Return the stress that draws worlds by a twin in the positions of a case."""

    def lead(make: Make) -> Tracks:
        track, rng = make(), np.random.default_rng(5)
        try:
            for number in count():
                yield track
                if is_rare(number) and not track.over:
                    for agent in getattr(track.env, "agents", [""]):
                        _check_worlds(twin, track, agent, rng)
        finally:
            track.close()

    return Stress("beside worlds that look the same", RULE, "the game's own twin", lead)


def _look(env: Any, agent: str) -> Any:
    """Return what an environment shows an agent now, mask included."""
    if hasattr(env, "observe"):
        return env.observe(agent)
    game = getattr(env, "unwrapped", env)
    for name in ("_obs", "_get_obs", "get_obs"):
        if callable(getattr(game, name, None)):
            return getattr(game, name)()
    return None


def _check_worlds(twin: Any, track: Track, agent: str, rng: np.random.Generator) -> None:
    """Hold worlds to look the same, and to be possible: they play on, a replay leads there.

    Raises
    ------
    Fault
    """
    before = _look(track.env, agent)
    for _ in range(WORLDS):
        result = twin(track.env, agent, rng)
        world, replay = result if isinstance(result, tuple) else (result, None)
        _hold_same("drawing a world changes nothing", agent, before, _look(track.env, agent))
        _hold_same(RULE, agent, before, _look(world, agent))
        if replay is not None:
            start = _replay(*replay, agent)
            for each in getattr(start, "agents", [""]):
                _hold_same(REACHED, agent, _look(start, each), _look(world, each))
    trouble = _play_on(track, world, rng)
    if trouble is not None:
        rule = "a drawn world is possible: it plays on by legal actions"
        raise Fault(rule, (trouble, "nothing"), agent)


def _hold_same(rule: str, agent: str, a: Any, b: Any) -> None:
    found = first_difference("observation", a, b)
    if found is not None:
        raise Fault(f"{rule}: {found[0]}", (show(found[1]), show(found[2])), agent)


def _replay(start: Any, actions: list[Any], agent: str) -> Any:
    """Lead the beginning of an AEC game to a world by legal actions, and return it."""
    for number, action in enumerate(actions):
        actor = start.agent_selection
        mask = start.observe(actor)
        mask = mask.get("action_mask") if isinstance(mask, dict) else None
        if mask is not None and not mask[int(action)]:
            said = f"action {action!r} of step {number} is not legal"
            raise Fault(REACHED, (said, "legal actions"), agent)
        start.step(action)
    return start


def _play_on(track: Track, world: Any, rng: np.random.Generator) -> str | None:
    """Return what a world raises or breaks when it is played on."""
    laws = Laws()
    twin = track.around(world, laws)
    if isinstance(twin, TurnsTrack):
        twin.find_turn()  # the others may have other choices there
    elif isinstance(twin, ParallelTrack) and any(
        each.mask is not None for each in twin.turn.values()
    ):
        return None
    try:
        play_some(twin, rng, STEPS)
    except Exception as error:
        return say_error(error)
    broken = [each for each in laws.findings.values() if each.kind == "law broken"]
    return f"{broken[0].rule}: {broken[0].values[0]}" if broken else None

"""Hidden information: worlds that look the same to an agent must show it the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastenv.testing.laws import Broken, Laws
from fastenv.testing.report import Episode, Finding
from fastenv.testing.runner import raises
from fastenv.testing.search import Player, Search, sample
from fastenv.testing.tracks import Track, make_track
from fastenv.testing.values import first_difference, show, to_action

SOURCE = "the game's own twin(env, agent, rng)"
EPISODES, WORLDS, STEPS = 60, 3, 60


Twin = Callable[[Any, Any, Any], Any]


def check_twins(make: Callable[[Laws], Track], twin: Twin, search: Search) -> Finding | None:
    """Draw worlds in random positions, and return the first fault.

    A world must show the agent the same observation and mask, must leave the environment as it is,
    and must be possible: it plays on by legal actions, and where the twin gives a replay, that
    leads there.
    """
    for number in range(EPISODES if search.episodes is None else search.episodes):
        if search.spent > search.seconds / 3:
            return None
        rng = np.random.default_rng([search.seed, 17, number])
        track = make(Laws(quiet=True))
        episode = Episode(search.seed + number)
        search.send("case", [episode])
        player = Player(rng, "random", set())
        try:
            track.reset(episode.seed)
            while not track.over and len(episode.actions) < STEPS:
                for agent in agents_of(track):
                    fault = check_worlds(twin, track, agent, rng)
                    if fault is not None:
                        rule, a, b = fault
                        return _finding(rule, agent, (a, b), episode)
                episode.actions.append(player.choose(track))
                track.step(episode.actions[-1])
        except Broken:
            return None
        finally:
            track.close()
    return None


def agents_of(track: Track) -> list[str]:
    """Return the agents who see something."""
    return list(getattr(track.env, "agents", [""]))


def seen(env: Any, agent: str) -> Any:
    """Return what an environment shows an agent now, mask included."""
    if hasattr(env, "observe"):
        return env.observe(agent)
    game = getattr(env, "unwrapped", env)
    for name in ("_obs", "_get_obs", "get_obs"):
        if callable(getattr(game, name, None)):
            return getattr(game, name)()
    return None


def check_worlds(
    twin: Twin, track: Track, agent: str, rng: np.random.Generator
) -> tuple[str, str, str] | None:
    """Return which rule a world of this position breaks, and both values."""
    for _ in range(WORLDS):
        before = seen(track.env, agent)
        result = twin(track.env, agent, rng)
        world, replay = result if isinstance(result, tuple) else (result, None)
        after = seen(track.env, agent)
        found = first_difference("observation", before, after)
        if found is not None:
            return "drawing a world changes nothing", show(found[1]), show(found[2])
        shown = seen(world, agent)
        found = first_difference("observation", before, shown)
        if found is not None:
            rule = f"an agent sees nothing of what is hidden from it: {found[0]}"
            return rule, show(found[1]), show(found[2])
        if replay is not None:
            fault = check_replay(world, *replay)
            if fault is not None:
                return fault
        trouble = play_on(track, world, rng)
        if trouble is not None:
            return "a drawn world is possible: it plays on by legal actions", trouble, "nothing"
    return None


def check_replay(world: Any, start: Any, actions: list[Any]) -> tuple[str, str, str] | None:
    """Return the fault of a replay that should lead to a world from its beginning."""
    rule = "a drawn world is reached by legal actions from the beginning"
    track = make_track(start, Laws(quiet=True))
    for number, action in enumerate(actions):
        agent = start.agent_selection
        mask = seen(start, agent).get("action_mask")
        if mask is not None and not mask[int(action)]:
            return rule, f"action {action!r} of step {number} is not legal", "legal actions"
        start.step(to_action(start.action_space(agent), action))
    for agent in agents_of(track):
        found = first_difference(agent, seen(start, agent), seen(world, agent))
        if found is not None:
            return f"{rule}: {found[0]}", show(found[1]), show(found[2])
    return None


def play_on(track: Track, world: Any, rng: np.random.Generator) -> str | None:
    """Return what a world raises when it is played on."""
    quiet = Laws()
    twin = make_track(world, quiet)
    if hasattr(twin, "owed"):
        twin.owed = dict(getattr(track, "owed", {}))
    twin.over, twin.turn = track.over, dict(track.turn)
    try:
        for _ in range(12):
            if twin.over:
                return None
            twin.step({who: sample(choice, rng) for who, choice in twin.turn.items()})
    except Broken as error:
        return str(error)
    except Exception as error:
        return raises(error)
    broken = [each for each in quiet.findings.values() if each.kind == "law broken"]
    return f"{broken[0].rule}: {broken[0].values[0]}" if broken else None


def _finding(rule: str, agent: str, values: tuple[str, str], episode: Episode) -> Finding:
    where = f"{agent or 'the agent'}, after {len(episode.actions)} steps"
    return Finding(
        "difference",
        rule,
        SOURCE,
        where,
        ("the environment", "a twin of it"),
        values,
        [episode],
    )

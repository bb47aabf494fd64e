"""What an environment must bear: the same seeds and actions, while something else happens.

Each stress is a generator: it yields the track that takes the next call of a case, and disturbs
between two calls. Whatever it does, the track must show what the first one showed, which nothing
disturbed.
"""

from __future__ import annotations

import inspect
import pickle
import random
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from types import ModuleType
from typing import Any

import numpy as np
from gymnasium.spaces import Space

from fastenv.testing.laws import CLOSE, OWNED, RESET, Laws
from fastenv.testing.masks import find_mask, find_method
from fastenv.testing.report import Fault, Finding, Kind, Missing, Refused
from fastenv.testing.search import sample
from fastenv.testing.tracks import Frame, ParallelTrack, Track, TurnsTrack
from fastenv.testing.values import first_difference, say_error, show

WORLDS_DRAWN = 3  # of a position and an agent
HIDDEN = "an agent sees nothing of what is hidden from it"
REACHED = "a drawn world is reached by legal actions from the beginning"
STEPS_IN_WORLD = 12  # that a world is played on

Twin = Callable[[Any, Any, Any], Any]

# Makes a track, with more keyword arguments of the environment; whoever gives it closes the tracks.
Make = Callable[..., Track]
Tracks = Generator[Track, None, None]
Lead = Callable[[Make], Tracks]


def lead_again(make: Make) -> Tracks:
    """Do nothing else."""
    track = make()
    while True:
        yield track


def between(disturb: Callable[[Track, int], None]) -> Lead:
    """Return what disturbs a track after each of its calls, with the number of the call."""

    def lead(make: Make) -> Tracks:
        for number, track in enumerate(lead_again(make)):
            yield track
            disturb(track, number)

    return lead


def _lead_anew(make: Make) -> Tracks:
    while True:
        track = make()
        yield track
        while not track.over:
            yield track


def _lead_beside(make: Make) -> Tracks:
    track, other, rng = make(), make(), np.random.default_rng(5)
    other.reset(93)
    while True:
        yield track
        if other.over or rng.random() < 0.1:
            other.reset(int(rng.integers(1000)))
        play_on(other, rng, 1)


def _lead_closed(make: Make) -> Tracks:
    other = make()
    other.reset(95)
    play_on(other, np.random.default_rng(5), 3)
    track = make()
    other.close()
    other.close()
    while True:
        yield track


def _lead_copied(make: Make, how: str = "copy", original: bool = False) -> Tracks:
    """Let a copy go on while the original plays something else, or the other way round."""
    rng, track = np.random.default_rng(5), make()
    for number in count():
        yield track
        if is_rare(number) and not track.over:
            try:
                twin = track.copied(how)
            except Exception as error:
                raise Missing(say_error(error)) from error
            play_on(twin if original else track, rng, 3)
            track = track if original else twin


def _lead_rendered(make: Make) -> Tracks:
    try:
        track = make(render_mode="rgb_array")
        track.reset(94)
        picture = track.env.render()
    except Exception as error:
        raise Missing(say_error(error)) from error
    if picture is None:
        raise Missing("render() returns None")
    for number in count():
        yield track
        if is_rare(number):
            track.env.render()


def _lead_unseeded(make: Make) -> Tracks:
    """Compare the starts after a reset without a seed, before any call of the case."""
    firsts, seconds = [], []
    for seed in range(8):
        track = make()
        firsts.append(_look_of(track.reset(seed)))
        seconds.append(_look_of(track.reset(None)))
    random_start = len(set(firsts)) > 2
    if random_start and (len(set(seconds)) == 1 or seconds == firsts):
        raise Fault(("the same start each time", "another start each time"))
    yield from lead_again(make)


def _check_lanes(track: Track, number: int) -> None:
    """Hold a step of a lane to be the same, whatever the other lanes choose.

    Only of a lane whose episode goes on: the next ones may be drawn for all lanes in turn. So may
    what happens in a step; then actions of other lanes change what is left to draw.

    Raises
    ------
    Fault, Missing
    """
    rng = np.random.default_rng([5, number])
    lane = f"lane {rng.integers(track.num_lanes)}"
    if not is_rare(number) or lane in track.resting:
        return
    actions = {who: sample(choice, rng) for who, choice in track.turn.items()}
    others = {
        who: sample(choice, rng)
        for who, choice in track.turn.items()
        if who.partition(",")[0] != lane
    }
    try:
        one, another = track.copied("copy"), track.copied("copy")
    except Exception as error:
        raise Missing(say_error(error)) from error
    shown, beside = one.attempt(actions), another.attempt(actions | others)
    if isinstance(shown, str) or isinstance(beside, str):  # it is found where it is looked at
        return
    if any(each[lane, flag] for each in (shown, beside) for flag in ("terminated", "truncated")):
        return
    for who, name in shown:
        if who == lane and not name.startswith("info."):
            found = first_difference(name, shown[who, name], beside.get((who, name)))
            if found is not None and not _draw_in_turn(one, another):
                raise Fault((show(found[1]), show(found[2])), who=lane, field=found[0])


def _draw_in_turn(one: Track, another: Track) -> bool:
    """Return whether lanes share a generator from which two vectors have not drawn as often."""
    drawn, others = _generators(one.env), _generators(another.env)
    return len(drawn) < one.num_lanes and drawn != others


def _generators(env: Any) -> list[bytes]:
    """Return the states of all generators that an object has, as far as they can be found.

    Those of spaces do not count: whoever samples actions draws from them.
    """
    found: dict[int, bytes] = {}
    seen, left = set(), [env]
    while left:
        each = left.pop()
        if id(each) in seen or isinstance(each, type | ModuleType | Space):
            continue
        seen.add(id(each))
        if isinstance(each, np.random.Generator):
            found[id(each)] = pickle.dumps(each.bit_generator.state)
        elif isinstance(each, np.random.RandomState):
            found[id(each)] = pickle.dumps(each.get_state())
        elif isinstance(each, random.Random):
            found[id(each)] = pickle.dumps(each.getstate())
        elif isinstance(each, Mapping):
            left += each.values()
        elif isinstance(each, list | tuple | set):
            left += each
        else:
            left += getattr(each, "__dict__", {}).values()
    return list(found.values())


def _look_of(frame: Frame) -> str:
    return str(sorted((str(key), repr(value)) for key, value in frame.items() if key[1] != "mask"))


def play_on(track: Track, rng: np.random.Generator, steps: int) -> str:
    """Lead a track through random steps of its episode; return what goes wrong, "" if nothing.

    Most often nobody looks: what it raises is found where it is looked at.
    """
    try:
        for _ in range(steps):
            if not track.over:
                track.step({who: sample(choice, rng) for who, choice in track.turn.items()})
    except Exception as error:
        track.over = True
        return str(error) if isinstance(error, Fault) else say_error(error)
    return ""


def is_rare(number: int) -> bool:
    """Return whether this call is one of those that are worth a copy or a picture."""
    return number < 6 or number % 7 == 0


def move_generators(seed: int) -> None:
    """Seed Python's and NumPy's global generators."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002


@dataclass(frozen=True)
class Stress:
    """What happens to a second track, which must show what the first one showed.

    Parameters
    ----------
    name : str
        As scripts write it; "" of the case itself: alone, or beside a reference.
    rule, source : str
        What must hold, and who says so.
    lead : callable
        Takes what makes a track, and yields the second track of each call.
    kind, names
        Of a finding; by default a difference between the track alone and under the stress.
    """

    name: str
    rule: str
    source: str
    lead: Lead = lead_again
    kind: Kind = "difference"
    names: tuple[str, ...] = ()

    def find(self, index: int, fault: Fault) -> Finding:
        """Return the finding of a fault in a call of a case."""
        fields = {name: getattr(self, name) for name in ("kind", "rule", "source")}
        fields |= {"names": self.names or ("alone", self.name), "stress": self.name}
        return Finding(**(fields | fault.fields), index=index)


AGAIN = Stress("again", "the same seed and actions give the same episode", f"{RESET}: the seed")
ANEW = Stress(
    "made anew for each episode",
    "what happened in other episodes does not change an episode",
    f"{RESET}: a new episode",
    _lead_anew,
)
BESIDE = Stress(
    "beside another instance",
    "instances do not share anything that changes",
    "Gymnasium, Env: each instance has its own state and generator",
    _lead_beside,
)
OVERWRITTEN = Stress(
    "with what it returned overwritten",
    "what it returned belongs to the caller",
    OWNED,
    between(lambda track, _number: track.overwrite_returned()),
)
MOVED = Stress(
    "with the global generators moved",
    "an environment draws from its own generator alone",
    "Gymnasium, Env.np_random",
    between(lambda _track, number: move_generators(number)),
)
OBSERVED = Stress(
    "with everybody observed again",
    "looking changes nothing",
    "masks; PettingZoo: observe",
    between(lambda track, _number: track.observe_again()),
)
CLOSED = Stress(
    "beside a closed instance", "closing one, even twice, changes no other", CLOSE, _lead_closed
)
COPIED = Stress(
    "copied",
    "a copy goes on as the original would, and neither changes the other",
    "Python, copy.deepcopy",
    _lead_copied,
)
PICKLED = Stress(
    "pickled",
    "what was pickled and read goes on as the original would",
    "Python, pickle",
    partial(_lead_copied, how="pickle"),
)
BESIDE_COPY = Stress(
    "beside its copy", COPIED.rule, COPIED.source, partial(_lead_copied, original=True)
)
RENDERED = Stress("rendered", "drawing changes nothing", "Gymnasium, Env.render", _lead_rendered)
UNSEEDED = Stress(
    "reset without a seed",
    "a reset without a seed goes on with the generator",
    f"{RESET}: without a seed the generator is not reset",
    _lead_unseeded,
)
LANES = Stress(
    "with other actions in the other lanes",
    "a lane of a vector does not depend on the others",
    "Gymnasium, VectorEnv: independent copies of an environment",
    between(_check_lanes),
)
COPIES = COPIED, PICKLED, BESIDE_COPY, LANES
# Repeating the case comes first.
STRESSES = (
    *(AGAIN, ANEW, BESIDE, OVERWRITTEN, MOVED, OBSERVED, CLOSED),
    *(*COPIES, RENDERED, UNSEEDED),
)
OF_TWO = BESIDE, RENDERED, COPIED, UNSEEDED  # what two that are led alike do not show


def stresses_for(track: Track, *, copies: bool) -> list[Stress]:
    """Return the stresses that apply to a track."""
    left_out = set() if copies else {*COPIES}
    if not isinstance(track, TurnsTrack) and track.ask is None:
        left_out.add(OBSERVED)
    if track.num_lanes < 2:
        left_out.add(LANES)
    modes = (getattr(track.env, "metadata", None) or {}).get("render_modes") or ()
    if track.mode is not None or "rgb_array" not in modes:
        left_out.add(RENDERED)
    return [each for each in STRESSES if each not in left_out]


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

    return Stress("beside worlds that look the same", HIDDEN, "the game's own twin", lead)


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
    for _ in range(WORLDS_DRAWN):
        try:
            world, replay = twin(track.env, agent, rng), None
            if isinstance(world, tuple):
                world, replay = world
            seen = _look(world, agent)
        except Exception as error:
            raise Refused(f"twin: {say_error(error)}") from error
        _hold_same("drawing a world changes nothing", agent, before, _look(track.env, agent))
        _hold_same(HIDDEN, agent, before, seen)
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
    return play_on(played, rng, STEPS_IN_WORLD)

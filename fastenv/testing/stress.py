"""What an environment must bear: the same seeds and actions, while something else happens.

Each stress is a generator: it yields the track that takes the next call of a case, and disturbs
between two calls. Whatever it does, the track must show what the first one showed, which nothing
disturbed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from fastenv.testing.laws import OWNED, RESET
from fastenv.testing.search import sample
from fastenv.testing.tracks import MASKS, SingleTrack, Track, TurnsTrack

Make = Callable[..., Track]  # takes keyword arguments of the environment; its laws are quiet
Tracks = Generator[Track, None, None]
Lead = Callable[[Make], Tracks]


class Missing(Exception):
    """The environment cannot do what a stress needs, such as copies."""


class Fault(Exception):
    """A rule of its own that a stress found broken."""

    def __init__(self, rule: str, values: tuple[str, str], who: str = "") -> None:
        super().__init__(rule)
        self.rule: str = rule
        self.values: tuple[str, str] = values
        self.who: str = who


@dataclass(frozen=True)
class Stress:
    """A way to disturb.

    Parameters
    ----------
    name : str
        As scripts write it.
    rule, source : str
        What must hold, and who says so.
    lead : callable
        Takes what makes a track, and yields the track of the next call.
    """

    name: str
    rule: str
    source: str
    lead: Lead


STRESSES: dict[str, Stress] = {}


def _stress(name: str, rule: str, source: str) -> Callable[[Lead], Lead]:
    def keep(lead: Lead) -> Lead:
        STRESSES[name] = Stress(name, rule, source, lead)
        return lead

    return keep


@_stress("again", "the same seed and actions give the same episode", f"{RESET}: the seed")
def _lead_again(make: Make) -> Tracks:
    track = make()
    try:
        while True:
            yield track
    finally:
        track.close()


@_stress(
    "made anew for each episode",
    "what happened in other episodes does not change an episode",
    f"{RESET}: a new episode",
)
def _lead_anew(make: Make) -> Tracks:
    while True:
        track = make()
        yield track
        while not track.over:
            yield track
        track.close()


@_stress(
    "beside another instance",
    "instances do not share anything that changes",
    "Gymnasium, Env: each instance has its own state and generator",
)
def _lead_beside(make: Make) -> Tracks:
    track, other, rng = make(), make(), np.random.default_rng(5)
    other.reset(93)
    try:
        while True:
            yield track
            if other.over or rng.random() < 0.1:
                other.reset(int(rng.integers(1000)))
            _play_aside(other, rng, 1)
    finally:
        other.close()
        track.close()


def _lead_disturbed(make: Make, disturb: Callable[[Track, int], object]) -> Tracks:
    for number, track in enumerate(_lead_again(make)):
        yield track
        disturb(track, number)


_stress("with what it returned overwritten", "what it returned belongs to the caller", OWNED)(
    lambda make: _lead_disturbed(make, lambda track, _: track.overwrite_returned())
)
_stress(
    "with the global generators moved",
    "an environment draws from its own generator alone",
    "Gymnasium, Env.np_random",
)(lambda make: _lead_disturbed(make, lambda _, number: move_generators(number)))
_stress("with everybody observed again", "looking changes nothing", "masks; PettingZoo: observe")(
    lambda make: _lead_disturbed(make, lambda track, _: track.observe_again())
)


@_stress(
    "beside a closed instance", "closing one, even twice, changes no other", "Gymnasium, Env.close"
)
def _lead_closed(make: Make) -> Tracks:
    other = make()
    other.reset(95)
    _play_aside(other, np.random.default_rng(5), 3)
    track = make()
    other.close()
    other.close()
    try:
        while True:
            yield track
    finally:
        track.close()
        track.close()


def _lead_copied(make: Make, how: str = "copy", original: bool = False) -> Tracks:
    """Let a copy go on while the original plays something else, or the other way round."""
    rng, track = np.random.default_rng(5), make()
    for number in count():
        yield track
        if is_rare(number) and not track.over:
            try:
                twin = track.copied(how)
            except Exception as error:
                raise Missing(f"{type(error).__name__}: {error}") from error
            _play_aside(twin if original else track, rng, 3)
            track = track if original else twin


UNSEEDED = "reset without a seed"
COPIED = "a copy goes on as the original would, and neither changes the other"
_stress("copied", COPIED, "Python, copy.deepcopy")(_lead_copied)
_stress("pickled", "what was pickled and read goes on as the original would", "Python, pickle")(
    lambda make: _lead_copied(make, "pickle")
)
_stress("beside its copy", COPIED, "Python, copy.deepcopy")(
    lambda make: _lead_copied(make, original=True)
)


@_stress("rendered", "drawing changes nothing", "Gymnasium, Env.render")
def _lead_rendered(make: Make) -> Tracks:
    try:
        track = make(render_mode="rgb_array")
        track.reset(94)
        picture = track.env.render()
    except Exception as error:
        raise Missing(f"{type(error).__name__}: {error}") from error
    if picture is None:
        raise Missing("render() returns None")
    try:
        for number in count():
            yield track
            if is_rare(number):
                track.env.render()
    finally:
        track.close()


@_stress(
    UNSEEDED,
    "a reset without a seed goes on with the generator",
    f"{RESET}: without a seed the generator is not reset",
)
def _lead_unseeded(make: Make) -> Tracks:
    """Compare the starts after a reset without a seed, before any call of the case."""
    starts: list[list[Any]] = []
    for seed in range(8):
        track = make()
        try:
            starts.append([_look_of(track.reset(given)) for given in (seed, None)])
        except Exception:  # others say so
            break
        finally:
            track.close()
    firsts, seconds = zip(*starts, strict=True) if len(starts) == 8 else ((), ())
    random_start = len(set(firsts)) > 2
    if random_start and (len(set(seconds)) == 1 or seconds == firsts):
        rule = STRESSES[UNSEEDED].rule
        raise Fault(rule, ("the same start each time", "another start each time"))
    yield from _lead_again(make)


def _look_of(frame: Any) -> str:
    return str(sorted((str(key), repr(value)) for key, value in frame.items() if key[1] != "mask"))


def play_some(track: Track, rng: np.random.Generator, steps: int) -> None:
    """Lead a track through some random steps of its episode."""
    for _ in range(steps):
        if not track.over:
            track.step({who: sample(choice, rng) for who, choice in track.turn.items()})


def _play_aside(track: Track, rng: np.random.Generator, steps: int) -> None:
    """Play what nobody looks at; what it raises is found where it is looked at."""
    try:
        play_some(track, rng, steps)
    except Exception:
        track.over = True


def is_rare(number: int) -> bool:
    """Return whether this call is one of those that are worth a copy or a picture."""
    return number < 6 or number % 7 == 0


def move_generators(seed: int) -> None:
    """Seed Python's and NumPy's global generators."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002


def stresses_for(track: Track, copies: bool) -> list[str]:
    """Return what a track of this kind must bear; that it gives the same again comes first."""
    left_out = set() if copies else {"copied", "pickled", "beside its copy"}
    game = getattr(track.env, "unwrapped", track.env)
    if not isinstance(track, TurnsTrack) and not any(hasattr(game, name) for name in MASKS):
        left_out.add("with everybody observed again")
    modes = (getattr(track.env, "metadata", None) or {}).get("render_modes") or ()
    if not isinstance(track, (SingleTrack, TurnsTrack)) or "rgb_array" not in modes:
        left_out.add("rendered")
    return [name for name in STRESSES if name not in left_out]

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

import numpy as np

from fastenv.errors import ConfigError
from fastenv.testing.laws import CLOSE, OWNED, RESET
from fastenv.testing.report import Finding, Kind
from fastenv.testing.search import sample
from fastenv.testing.tracks import Frame, Track, TurnsTrack
from fastenv.testing.values import say_error

# Makes a track, with more keyword arguments of the environment; whoever gives it closes the tracks.
Make = Callable[..., Track]
Tracks = Generator[Track, None, None]
Lead = Callable[[Make], Tracks]


class Missing(Exception):
    """The environment cannot do what a stress needs, such as copies."""


class Refused(ConfigError):
    """A function that the caller gave does not do what it must."""


class Fault(Exception):
    """A rule of its own that a stress found broken."""

    def __init__(self, rule: str, values: tuple[str, str], who: str = "") -> None:
        super().__init__(rule)
        self.rule: str = rule
        self.values: tuple[str, str] = values
        self.who: str = who


def lead_again(make: Make) -> Tracks:
    """Do nothing else."""
    track = make()
    while True:
        yield track


@dataclass(frozen=True)
class Question:
    """What must hold in every case.

    Parameters
    ----------
    name : str
        What is done to a second track, as scripts write it; "" of the case itself.
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

    def find(self, index: int, a: str, b: str, who: str = "", field: str = "") -> Finding:
        """Build the finding of a call in a case: both values, the agent and the field."""
        first, second = self.names or ("alone", self.name)
        return Finding(
            self.kind,
            self.rule,
            self.source,
            (first, second),
            (a, b),
            index=index,
            who=who,
            field=field,
            stress=self.name,
        )


AGAIN = "again"
UNSEEDED = "reset without a seed"
COPIED = "a copy goes on as the original would, and neither changes the other"
STRESSES: dict[str, Question] = {
    AGAIN: Question(AGAIN, "the same seed and actions give the same episode", f"{RESET}: the seed")
}


def _stress(name: str, rule: str, source: str) -> Callable[[Lead], Lead]:
    def keep(lead: Lead) -> Lead:
        STRESSES[name] = Question(name, rule, source, lead)
        return lead

    return keep


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


@_stress(
    "beside another instance",
    "instances do not share anything that changes",
    "Gymnasium, Env: each instance has its own state and generator",
)
def _lead_beside(make: Make) -> Tracks:
    track, other, rng = make(), make(), np.random.default_rng(5)
    other.reset(93)
    while True:
        yield track
        if other.over or rng.random() < 0.1:
            other.reset(int(rng.integers(1000)))
        play_on(other, rng, 1)


@_stress("with what it returned overwritten", "what it returned belongs to the caller", OWNED)
def _lead_overwritten(make: Make) -> Tracks:
    for track in lead_again(make):
        yield track
        track.overwrite_returned()


@_stress(
    "with the global generators moved",
    "an environment draws from its own generator alone",
    "Gymnasium, Env.np_random",
)
def _lead_moved(make: Make) -> Tracks:
    for number, track in enumerate(lead_again(make)):
        yield track
        move_generators(number)


@_stress("with everybody observed again", "looking changes nothing", "masks; PettingZoo: observe")
def _lead_observed(make: Make) -> Tracks:
    for track in lead_again(make):
        yield track
        track.observe_again()


@_stress("beside a closed instance", "closing one, even twice, changes no other", CLOSE)
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
        raise Missing(say_error(error)) from error
    if picture is None:
        raise Missing("render() returns None")
    for number in count():
        yield track
        if is_rare(number):
            track.env.render()


@_stress(
    UNSEEDED,
    "a reset without a seed goes on with the generator",
    f"{RESET}: without a seed the generator is not reset",
)
def _lead_unseeded(make: Make) -> Tracks:
    """Compare the starts after a reset without a seed, before any call of the case."""
    firsts, seconds = [], []
    for seed in range(8):
        track = make()
        firsts.append(_look_of(track.reset(seed)))
        seconds.append(_look_of(track.reset(None)))
    random_start = len(set(firsts)) > 2
    if random_start and (len(set(seconds)) == 1 or seconds == firsts):
        rule = STRESSES[UNSEEDED].rule
        raise Fault(rule, ("the same start each time", "another start each time"))
    yield from lead_again(make)


def _look_of(frame: Frame) -> str:
    return str(sorted((str(key), repr(value)) for key, value in frame.items() if key[1] != "mask"))


def play_on(track: Track, rng: np.random.Generator, steps: int) -> str:
    """Lead a track through random steps of its episode, and return what it raises, "" if nothing.

    Most often nobody looks: what it raises is found where it is looked at.
    """
    try:
        for _ in range(steps):
            if not track.over:
                track.step({who: sample(choice, rng) for who, choice in track.turn.items()})
    except Exception as error:
        track.over = True
        return say_error(error)
    return ""


def is_rare(number: int) -> bool:
    """Return whether this call is one of those that are worth a copy or a picture."""
    return number < 6 or number % 7 == 0


def move_generators(seed: int) -> None:
    """Seed Python's and NumPy's global generators."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002


def stresses_for(track: Track, copies: bool) -> dict[str, Question]:
    """Return the stresses that apply to a track, by name; repeating the case comes first."""
    left_out = set() if copies else {"copied", "pickled", "beside its copy"}
    if not isinstance(track, TurnsTrack) and track.ask is None:
        left_out.add("with everybody observed again")
    modes = (getattr(track.env, "metadata", None) or {}).get("render_modes") or ()
    if track.mode is not None or "rgb_array" not in modes:
        left_out.add("rendered")
    return {name: each for name, each in STRESSES.items() if name not in left_out}
